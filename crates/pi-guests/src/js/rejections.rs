//! Promises that were rejected and that nobody listens to.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, PoisonError},
};

use rquickjs::{Runtime, Value};

use super::{raw, traces::frames};

/// How many of a turn are told of; the others are counted. They are kept in the memory of the host.
const MOST: usize = 64;
/// How many bytes of each.
const LONGEST: usize = 4 << 10;
/// How the engine begins to tell that there is no memory left.
const OUT_OF_MEMORY: &str = "out of memory";

/// What was rejected, by the promise that was. The engine tells of it in a callback that must be `Send`, so this is
/// shared and locked, although one thread alone uses it.
#[derive(Clone, Default)]
pub(super) struct Rejections {
    kept: Arc<Mutex<Kept>>,
}

#[derive(Default)]
struct Kept {
    told: HashMap<u64, String>,
    /// Those beyond.
    others: u64,
    is_out_of_memory: bool,
}

/// What nobody listened to.
pub(super) struct Unheard {
    pub(super) told: Vec<String>,
    /// Whether one of them says that there was no memory left.
    pub(super) is_out_of_memory: bool,
}

impl Rejections {
    pub(super) fn watch(runtime: &Runtime) -> Self {
        let rejections = Self::default();
        let (kept, identity) = (Arc::clone(&rejections.kept), RandomState::new());
        runtime.set_host_promise_rejection_tracker(Some(Box::new(move |_, promise, reason, is_handled| {
            let promise = identity.hash_one(&promise);
            // Before the lock: to look at what was thrown may run code of the extension, which may reject something else.
            let told = (!is_handled).then(|| told(&reason));
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            match told {
                Some(told) => kept.keep(promise, told),
                None => kept.forget(promise),
            }
        })));
        rejections
    }

    /// Those that nobody listens to by now.
    pub(super) fn take(&self) -> Unheard {
        let Kept { told, others, is_out_of_memory } =
            std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner));
        let is_out_of_memory = is_out_of_memory || told.values().any(|told| told.starts_with(OUT_OF_MEMORY));
        let more = (others > 0).then(|| format!("{others} further promises were rejected and nobody listened"));
        Unheard { told: told.into_values().chain(more).collect(), is_out_of_memory }
    }
}

impl Kept {
    fn keep(&mut self, promise: u64, mut told: String) {
        if self.told.len() < MOST {
            told.truncate(told.floor_char_boundary(LONGEST));
            told.shrink_to_fit();
            self.told.insert(promise, told);
        } else {
            self.others += 1;
            self.is_out_of_memory |= told.starts_with(OUT_OF_MEMORY);
        }
    }

    /// Somebody listens after all.
    fn forget(&mut self, promise: u64) {
        if self.told.remove(&promise).is_none() {
            self.others = self.others.saturating_sub(1);
        }
    }
}

fn told(reason: &Value<'_>) -> String {
    if let Some(text) = reason.as_string() {
        return raw::text(text);
    }
    let Some(object) = reason.as_object() else { return reason.type_name().to_owned() };
    let part = |name: &str| {
        let value = object.get::<_, Value<'_>>(name).ok()?;
        value.as_string().map(raw::text)
    };
    match (part("message"), part("stack")) {
        (Some(message), Some(stack)) => format!("{message}\n{}", frames(&stack)),
        (Some(message), None) => message,
        (None, _) => "something that is no error".to_owned(),
    }
}
