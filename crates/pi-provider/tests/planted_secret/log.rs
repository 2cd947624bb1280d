//! Everything that is logged, as text.

use std::{
    fmt::{Debug, Write as _},
    sync::{Arc, Mutex, OnceLock},
};

use tracing::{
    Event, Id, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Record},
};

/// What was logged since the first [`capture`].
#[derive(Clone, Default)]
pub(crate) struct Logged(Arc<Mutex<String>>);

/// Listens to all that this program logs, whatever its level.
pub(crate) fn capture() -> Logged {
    static LISTENER: OnceLock<Logged> = OnceLock::new();
    let listen = || {
        let logged = Logged::default();
        tracing::subscriber::set_global_default(logged.clone()).expect("nobody else listens");
        logged
    };
    LISTENER.get_or_init(listen).clone()
}

impl Logged {
    pub(crate) fn text(&self) -> String {
        self.0.lock().expect("nobody panics while writing").clone()
    }

    fn with(&self, write: impl FnOnce(&mut String)) {
        write(&mut self.0.lock().expect("nobody panics while writing"));
    }
}

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0, " {field}={value:?}");
    }
}

impl Subscriber for Logged {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.with(|text| {
            let _ = write!(text, "\nspan {} {}", span.metadata().target(), span.metadata().name());
            span.record(&mut Fields(text));
        });
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        self.with(|text| values.record(&mut Fields(text)));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.with(|text| {
            let _ = write!(text, "\n{} {}", event.metadata().level(), event.metadata().target());
            event.record(&mut Fields(text));
        });
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
