//! Writes down what is asked of guests: in the ledger always, in the trace if there is one.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use serde_json::json;
use tokio::time::Instant;

use pi_extproto::{
    Object,
    hook::event::Event,
    message::{ErrorReport, EventHook, Payload, SlashCommand, SlashResult, ToolCall, ToolResult},
};
use pi_transcript::json::Extra;

use crate::{
    content,
    guest::{GuestFault, GuestId, ToolAnswer, ToolInvocation},
    incident::{During, Trouble},
    ledger::{Ledger, Occasion, Pen, Span},
    stopwatch::Stopwatch,
    trace::Trace,
};

/// Sees everything that is asked of the guests of a session.
#[derive(Debug, Clone)]
pub(super) struct Witness {
    pub(super) ledger: Ledger,
    pub(super) trace: Option<Trace>,
}

/// The same for one guest; one that sees nothing where nobody wants to know.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watch {
    seen: Option<(Pen, Option<Trace>)>,
    tally: Arc<Tally>,
}

/// How much was asked of a guest, and how long it took, without the time in which a person was waited for.
#[derive(Debug, Default)]
pub(super) struct Tally {
    asked: AtomicU64,
    micros: AtomicU64,
}

/// Something that was asked and is not answered yet.
pub(crate) struct Watched {
    span: Option<Span>,
    trace: Option<Trace>,
    id: String,
    tally: Arc<Tally>,
    stopwatch: Stopwatch,
    began: Instant,
}

impl Witness {
    pub(super) fn of(&self, guest: &GuestId, tally: Arc<Tally>) -> Watch {
        let pen = Pen::new(self.ledger.clone(), guest.clone(), None);
        Watch { seen: Some((pen, self.trace.clone())), tally }
    }
}

impl Watch {
    pub(super) fn unrecorded(tally: Arc<Tally>) -> Self {
        Self { seen: None, tally }
    }

    pub(crate) fn tool(&self, call: &ToolInvocation, stopwatch: &Stopwatch) -> Watched {
        let id = call.call_id.to_string();
        self.see(Occasion::ToolCall(call.call_id.clone()), &call.name, (id, stopwatch), || {
            Payload::ToolCall(ToolCall {
                call_id: call.call_id.clone(),
                name: call.name.clone(),
                input: call.input.clone(),
                context: None,
                extra: Extra::new(),
            })
        })
    }

    pub(crate) fn command(&self, name: &str, arguments: &str, stopwatch: &Stopwatch) -> Watched {
        self.see(Occasion::SlashCommand(name.to_owned()), name, (name.to_owned(), stopwatch), || {
            let args = Some(arguments.split_whitespace().map(str::to_owned).collect());
            Payload::SlashCommand(SlashCommand { name: name.to_owned(), args, input: None, extra: Extra::new() })
        })
    }

    pub(crate) fn event(&self, event: &Event, stopwatch: &Stopwatch) -> Watched {
        if self.seen.is_none() {
            return self.unseen(String::new(), stopwatch);
        }
        let name = event.hook().map_or("", |hook| hook.as_str()).to_owned();
        self.see(Occasion::Event(name.clone()), &name, (name.clone(), stopwatch), || {
            let (name, data) = event.write();
            Payload::EventHook(EventHook { event: name.to_owned(), data, extra: Extra::new() })
        })
    }

    /// The guest failed at something.
    pub(crate) fn failed(&self, during: &During, trouble: &Trouble) {
        if let Some((_, Some(trace))) = &self.seen {
            let details = json!({ "during": during.to_string() });
            trace.write(
                &during.to_string(),
                Payload::Error(ErrorReport {
                    code: code(trouble).to_owned(),
                    message: trouble.told(),
                    details: details.as_object().cloned(),
                    extra: Extra::new(),
                }),
            );
        }
    }

    fn see(
        &self,
        occasion: Occasion,
        name: &str,
        (id, stopwatch): (String, &Stopwatch),
        message: impl FnOnce() -> Payload,
    ) -> Watched {
        let Some((pen, trace)) = &self.seen else { return self.unseen(id, stopwatch) };
        if let Some(trace) = trace {
            trace.write(&id, message());
        }
        let mut watched = self.unseen(id, stopwatch);
        (watched.span, watched.trace) = (Some(pen.begin(occasion, name)), trace.clone());
        watched
    }

    /// Something of which nobody wants to know more than that it was.
    fn unseen(&self, id: String, stopwatch: &Stopwatch) -> Watched {
        let (tally, stopwatch) = (Arc::clone(&self.tally), stopwatch.clone());
        Watched { span: None, trace: None, id, tally, stopwatch, began: Instant::now() }
    }

    /// How much was asked of the guest so far, and how long it was busy with that.
    pub(crate) fn asked(&self) -> (u64, Duration) {
        self.tally.read()
    }
}

impl Tally {
    pub(super) fn read(&self) -> (u64, Duration) {
        let Self { asked, micros } = self;
        (asked.load(Relaxed), Duration::from_micros(micros.load(Relaxed)))
    }
}

/// The word for a failure.
fn code(trouble: &Trouble) -> &'static str {
    match trouble {
        Trouble::Fault(GuestFault::Threw { .. }) => "threw",
        Trouble::Fault(GuestFault::Cancelled) => "cancelled",
        Trouble::Fault(GuestFault::NotOffered { .. }) => "not_offered",
        Trouble::Fault(GuestFault::Misused { .. }) => "misused",
        Trouble::Fault(GuestFault::Nonsense { .. }) => "nonsense",
        Trouble::Fault(GuestFault::OverLimit { .. }) => "over_limit",
        Trouble::Fault(GuestFault::Gone) => "gone",
        Trouble::Panicked { .. } => "panicked",
        Trouble::Hung { .. } => "hung",
        Trouble::Deaf { .. } => "deaf",
        Trouble::WrongFamily => "wrong_family",
        Trouble::Misfit { .. } => "misfit",
    }
}

impl Watched {
    /// It takes longer than it should, and goes on.
    pub(crate) fn is_slow(&self, after: Duration) {
        if let Some(span) = &self.span {
            span.is_slow(after);
        }
    }

    pub(crate) fn answered_tool(self, result: &Result<ToolAnswer, Trouble>) {
        let is_error = result.as_ref().map_or(true, |answer| answer.is_error);
        if let Some(trace) = &self.trace {
            let output = match result {
                Ok(answer) => json!(content::output_to_protocol(&answer.output)),
                Err(trouble) => json!({ "content": [{ "type": "text", "text": trouble.to_string() }] }),
            };
            let output = output.as_object().cloned().unwrap_or_default();
            let call_id = self.id.clone().into();
            trace.write(&self.id, Payload::ToolResult(ToolResult { call_id, output, is_error, extra: Extra::new() }));
        }
        self.ended(result.as_ref().err(), is_error.then_some("the tool failed"));
    }

    pub(crate) fn answered_command(self, result: &Result<(), Trouble>) {
        if let Some(trace) = &self.trace {
            let (output, is_error) = (Object::new(), result.is_err());
            trace.write(&self.id, Payload::SlashResult(SlashResult { output, is_error, extra: Extra::new() }));
        }
        self.ended(result.as_ref().err(), None);
    }

    /// What a guest answers to an event is no message of the protocol.
    pub(crate) fn heard(self, trouble: Option<&Trouble>) {
        self.ended(trouble, None);
    }

    fn ended(mut self, trouble: Option<&Trouble>, otherwise: Option<&str>) {
        if let Some(span) = self.span.take() {
            let told = trouble.map(Trouble::told);
            span.end(told.as_deref().or(otherwise), self.stopwatch.attended());
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let attended = self.stopwatch.attended();
        if let Some(span) = self.span.take() {
            span.abandon(attended);
        }
        let took = self.began.elapsed().saturating_sub(attended);
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.tally.asked.fetch_add(1, Relaxed);
        self.tally.micros.fetch_add(took, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use pi_extproto::log::LogEvent;
    use pi_policy::Moment;
    use pi_redact::{Evidence, Options, Personal, Redactor};
    use serde_json::Value;
    use tokio::time::advance;

    use super::*;
    use crate::ledger::{self, reading};

    #[tokio::test(start_paused = true)]
    async fn work_that_is_dropped_while_a_person_is_asked_tells_how_long_that_was() {
        let folder = tempfile::tempdir().expect("a folder");
        let options = Options { secrets: Vec::new(), evidence: Evidence::KeysAndShapes, personal: Personal::Keep };
        let settings = ledger::Settings::new(folder.path().to_owned(), "s1");
        let now = || Moment::from_unix_millis(0);
        let ledger = Ledger::open(settings, Arc::new(Redactor::new(options)), now).expect("a ledger");
        let witness = Witness { ledger: ledger.clone(), trace: None };
        let (tally, stopwatch) = (Arc::default(), Stopwatch::unlimited());
        let work = witness.of(&"g1".into(), Arc::clone(&tally)).command("go", "", &stopwatch);
        advance(Duration::from_secs(2)).await;
        let attending = stopwatch.attend();
        advance(Duration::from_secs(30)).await;
        drop((work, attending));
        ledger.close().await.expect("it is written");

        let mut entries = reading::read(folder.path(), "s1").expect("a ledger").entries.into_iter();
        let end = entries.find(|entry| entry.event == LogEvent::SlashCommandEnd).and_then(|entry| entry.data);
        let mut end = end.expect("it ended");
        end.remove("chain");
        let expected = json!({
            "name": "go", "duration_ms": 32_000, "person_ms": 30_000, "is_error": true,
            "error": { "message": "nobody waits for it any more" },
        });
        assert_eq!(Value::Object(end), expected);
        assert_eq!(tally.read(), (1, Duration::from_secs(2)));
    }
}
