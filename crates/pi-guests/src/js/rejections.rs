//! Promises that were rejected and that nobody listens to.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, PoisonError},
};

use rquickjs::{Runtime, Value};

use super::raw;

/// What was rejected, by the promise that was. The engine tells of it in a callback that must be `Send`, so this is
/// shared and locked, although one thread alone uses it.
#[derive(Clone, Default)]
pub(super) struct Rejections {
    unheard: Arc<Mutex<HashMap<u64, String>>>,
}

impl Rejections {
    pub(super) fn watch(runtime: &Runtime) -> Self {
        let rejections = Self::default();
        let (unheard, identity) = (Arc::clone(&rejections.unheard), RandomState::new());
        runtime.set_host_promise_rejection_tracker(Some(Box::new(move |_, promise, reason, is_handled| {
            let promise = identity.hash_one(&promise);
            let mut unheard = unheard.lock().unwrap_or_else(PoisonError::into_inner);
            if is_handled {
                unheard.remove(&promise);
            } else {
                unheard.insert(promise, told(&reason));
            }
        })));
        rejections
    }

    /// Those that nobody listens to by now.
    pub(super) fn take(&self) -> Vec<String> {
        let mut unheard = self.unheard.lock().unwrap_or_else(PoisonError::into_inner);
        if unheard.is_empty() { Vec::new() } else { unheard.drain().map(|(_, told)| told).collect() }
    }
}

fn told(reason: &Value<'_>) -> String {
    if let Some(text) = reason.as_string() {
        return raw::text(text);
    }
    let Some(object) = reason.as_object() else { return format!("{:?}", reason.type_of()) };
    let part = |name: &str| {
        let value = object.get::<_, Value<'_>>(name).ok()?;
        value.as_string().map(raw::text)
    };
    match (part("message"), part("stack")) {
        (Some(message), Some(stack)) => format!("{message}\n{stack}"),
        (Some(message), None) => message,
        (None, _) => "something that is no error".to_owned(),
    }
}
