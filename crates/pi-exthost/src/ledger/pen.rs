//! A ledger in the hands of one guest: it knows in whose name it writes.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::time::Instant;

use pi_extproto::{
    Object,
    log::{Component, Level, LogEntry, LogEvent, LogNote},
};
use pi_transcript::ToolCallId;

use super::{
    Admission, Ledger,
    flood::{Flood, Passage},
    line::{CallEnd, CallLine, CallNote, Letterhead, Line, WorkEnd, WorkLine, WorkNote},
};
use crate::guest::GuestId;

/// The event by which the log names what takes too long.
pub(super) const SLOW_EVENT: &str = "extension.slow";

/// The event by which the log says that a guest was stopped.
pub(super) const STOPPED_EVENT: &str = "extension.stopped";

/// How work ends that nobody waits for any more.
const ABANDONED: &str = "nobody waits for it any more";

/// What a guest is doing when it asks or says something: the id by which lines are joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Occasion {
    Loading,
    ToolCall(ToolCallId),
    /// The id of the run of a command.
    SlashCommand(String),
    /// The id of an event.
    Event(String),
    /// A timer, or whatever goes on by itself.
    Background,
}

/// Writes in the name of one guest. Clones are the same.
#[derive(Clone)]
pub struct Pen {
    shared: Arc<Shared>,
}

struct Shared {
    ledger: Ledger,
    head: Arc<Letterhead>,
    /// A lock and no task: it is held for a count.
    flood: Mutex<Flood>,
}

/// Something that a guest was asked to do and has not done yet. Dropping it says that nobody waits for it any more.
#[must_use = "it ends as soon as this is dropped"]
#[derive(Debug)]
pub struct Span {
    pen: Pen,
    work: Arc<WorkNote>,
    began: Instant,
    is_over: bool,
}

impl Pen {
    pub fn new(ledger: Ledger, guest: GuestId, artifact: Option<String>) -> Self {
        let flood = Mutex::new(Flood::new(ledger.allowance().lines, ledger.now()));
        let (session, scenario) = (ledger.session().to_owned(), ledger.scenario().to_owned());
        let head = Arc::new(Letterhead { guest, artifact, session, scenario, process: std::process::id() });
        Self { shared: Arc::new(Shared { ledger, head, flood }) }
    }

    pub fn guest(&self) -> &GuestId {
        &self.shared.head.guest
    }

    /// Writes a line about the guest. Never waits.
    pub fn write(
        &self,
        event: LogEvent,
        level: Level,
        message: impl Into<String>,
        occasion: &Occasion,
        data: Option<Object>,
    ) {
        self.shared.write((event, level), message.into(), occasion, data);
    }

    /// The guest was loaded and offers something.
    pub fn registered(&self, data: Object) {
        self.write(LogEvent::ExtensionRegister, Level::Info, "registered", &Occasion::Loading, Some(data));
    }

    /// The guest can be asked.
    pub fn ready(&self, took: Duration) {
        let data = object(json!({ "duration_ms": millis(took) }));
        self.write(LogEvent::ExtensionReady, Level::Info, "ready", &Occasion::Loading, data);
    }

    /// Something about the guest will not work as its author thinks.
    pub fn warn(&self, message: impl Into<String>, data: Option<Object>) {
        self.write(LogEvent::CompatWarning, Level::Warn, message, &Occasion::Loading, data);
    }

    /// The guest had to be stopped.
    pub fn stopped(&self, reason: &str) {
        self.write(LogEvent::from(STOPPED_EVENT), Level::Warn, reason, &Occasion::Background, None);
    }

    /// What the guest says itself. What is too much is left out and counted, what is too long is cut. Answers what was
    /// written, if it was.
    pub fn note(&self, note: LogNote, occasion: &Occasion) -> Option<LogEntry> {
        let LogNote { level, event, message, data } = note;
        let passage = {
            let mut flood = self.shared.flood.lock().unwrap_or_else(PoisonError::into_inner);
            flood.next(self.shared.ledger.now())
        };
        match passage {
            Passage::LeftOut { .. } => None,
            Passage::Passed { left_out } => {
                self.shared.tell_left_out(left_out);
                let bytes = self.shared.ledger.allowance().bytes;
                let (message, data) = (cut(message, bytes), data.map(|it| small(it, bytes)));
                let Shared { ledger, head, .. } = &*self.shared;
                let mut entry = head.entry(ledger.now(), (event, level), message, occasion, data);
                entry.source = head.source(Component::Extension);
                ledger.write(Line::Entry(Box::new(entry.clone())));
                Some(entry)
            }
        }
    }

    /// What the guest wrote to one of its standard streams.
    pub fn output(&self, stream: &str, text: &str, occasion: &Occasion) {
        let (event, level) = (LogEvent::from(format!("extension.{stream}").as_str()), Level::Info);
        // It stands in the ledger; nobody traces what comes by another way than a call.
        drop(self.note(LogNote { level, event, message: text.to_owned(), data: None }, occasion));
    }

    /// A tool call, a command or an event begins; what follows is its end.
    pub fn begin(&self, occasion: Occasion, name: &str) -> Span {
        let work = Arc::new(WorkNote { occasion, name: name.to_owned() });
        self.write_work(&work, None);
        Span { pen: self.clone(), work, began: Instant::now(), is_over: false }
    }

    fn write_work(&self, work: &Arc<WorkNote>, end: Option<WorkEnd>) {
        let Shared { ledger, head, .. } = &*self.shared;
        let (head, work) = (Arc::clone(head), Arc::clone(work));
        ledger.write(Line::Work(WorkLine { head, at: ledger.now(), work, end }));
    }

    /// A host call that was admitted begins; [`Pen::end_call`] is its end.
    pub(crate) fn begin_call(&self, admission: Admission, call: CallNote) -> Arc<CallNote> {
        let call = Arc::new(call);
        self.shared.ledger.begin(admission, self.call_line(&call, None));
        call
    }

    pub(crate) fn end_call(&self, call: &Arc<CallNote>, end: CallEnd) {
        self.shared.ledger.write(self.call_line(call, Some(end)));
    }

    fn call_line(&self, call: &Arc<CallNote>, end: Option<CallEnd>) -> Line {
        let Shared { ledger, head, .. } = &*self.shared;
        let (head, call) = (Arc::clone(head), Arc::clone(call));
        Line::Call(CallLine { head, at: ledger.now(), call, end })
    }

    /// Says how many lines were left out, if that was not said yet.
    pub fn settle(&self) {
        let left_out = self.shared.flood.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.shared.tell_left_out(left_out);
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.shared.ledger
    }
}

impl Shared {
    fn write(&self, about: (LogEvent, Level), message: String, occasion: &Occasion, data: Option<Object>) {
        let entry = self.head.entry(self.ledger.now(), about, message, occasion, data);
        self.ledger.write(Line::Entry(Box::new(entry)));
    }

    fn tell_left_out(&self, left_out: u64) {
        if left_out == 0 {
            return;
        }
        let message = format!("{left_out} lines were left out: the extension logs too much");
        let data = object(json!({ "left_out": left_out }));
        let event = LogEvent::from("log.flood");
        self.write((event, Level::Warn), message, &Occasion::Background, data);
    }
}

impl Span {
    /// It was done, or went wrong in the way that `error` says. A person was waited for as long as `attended` says.
    pub fn end(mut self, error: Option<&str>, attended: Duration) {
        self.finish(error, attended);
    }

    /// Nobody waits for it any more; a person was waited for until then as long as `attended` says.
    pub fn abandon(mut self, attended: Duration) {
        self.finish(Some(ABANDONED), attended);
    }

    /// It takes longer than `after`, and goes on.
    pub fn is_slow(&self, after: Duration) {
        let WorkNote { occasion, name } = &*self.work;
        tracing::warn!(guest = %self.pen.guest(), name, ?after, "an extension is slow");
        let data = json!({ "name": name, "after_ms": millis(after) });
        let message = format!("{name} takes longer than {after:?}");
        self.pen.write(LogEvent::from(SLOW_EVENT), Level::Warn, message, occasion, object(data));
    }

    fn finish(&mut self, error: Option<&str>, attended: Duration) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        let error = error.map(|error| cut(error.to_owned(), self.pen.ledger().allowance().bytes));
        self.pen.write_work(&self.work, Some(WorkEnd { took: self.began.elapsed(), attended, error }));
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        self.finish(Some(ABANDONED), Duration::ZERO);
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let left_out = self.flood.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        self.tell_left_out(left_out);
    }
}

pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

pub(crate) fn object(value: Value) -> Option<Object> {
    match value {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

fn cut(mut text: String, bytes: usize) -> String {
    let length = text.len();
    if length > bytes {
        text.truncate(text.floor_char_boundary(bytes));
        text.push_str(&format!("… ({length} bytes)"));
    }
    text
}

/// The data, or how large it was.
fn small(data: Object, bytes: usize) -> Object {
    let length = serde_json::to_string(&data).map_or(usize::MAX, |text| text.len());
    if length <= bytes { data } else { Object::from_iter([("left_out_bytes".to_owned(), json!(length))]) }
}

impl fmt::Debug for Pen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pen").field("guest", self.guest()).finish_non_exhaustive()
    }
}
