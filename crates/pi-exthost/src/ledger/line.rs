//! What the writer is handed: the parts of a line, as whoever hands it in has them.
//!
//! An entry is some twenty pieces of memory. Made by one thread and given back by another, each costs a lock of the allocator
//! for which both wait (ADR 342). So lines that come with every call are put together where they are written, and of what
//! they need most belongs to the guest and is shared.

use std::{sync::Arc, time::Duration};

use serde_json::json;

use pi_extproto::{
    Object,
    count::Count,
    host::ErrorCode,
    log::{Component, Correlation, Level, LogEntry, LogEvent, LogSchema, Source, ledger::Start},
};
use pi_policy::Moment;
use pi_transcript::json::Extra;

use super::{Occasion, millis, object};
use crate::guest::GuestId;

/// In whose name lines are written.
#[derive(Debug)]
pub(crate) struct Letterhead {
    pub(super) guest: GuestId,
    pub(super) artifact: Option<String>,
    pub(super) session: String,
    pub(super) scenario: String,
    pub(super) process: u32,
}

/// A line on its way to the writer.
#[derive(Debug)]
pub(super) enum Line {
    Entry(Box<LogEntry>),
    Call(CallLine),
    Work(WorkLine),
}

/// A host call, as both of its lines name it.
#[derive(Debug)]
pub(crate) struct CallNote {
    pub(crate) id: String,
    pub(crate) start: Start,
    pub(crate) occasion: Occasion,
}

/// How a host call ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallEnd {
    pub(crate) took: Duration,
    pub(crate) error: Option<ErrorCode>,
    /// Nobody waited for it any more.
    pub(crate) is_dropped: bool,
}

/// One of the two lines of a host call; the first has no end.
#[derive(Debug)]
pub(super) struct CallLine {
    pub(super) head: Arc<Letterhead>,
    pub(super) at: Moment,
    pub(super) call: Arc<CallNote>,
    pub(super) end: Option<CallEnd>,
}

/// Something that a guest was asked to do, as both of its lines name it.
#[derive(Debug)]
pub(super) struct WorkNote {
    pub(super) occasion: Occasion,
    pub(super) name: String,
}

/// How that ended.
#[derive(Debug)]
pub(super) struct WorkEnd {
    pub(super) took: Duration,
    /// How much of that a person took.
    pub(super) attended: Duration,
    pub(super) error: Option<String>,
}

/// One of the two lines of what a guest was asked to do; the first has no end.
#[derive(Debug)]
pub(super) struct WorkLine {
    pub(super) head: Arc<Letterhead>,
    pub(super) at: Moment,
    pub(super) work: Arc<WorkNote>,
    pub(super) end: Option<WorkEnd>,
}

impl Letterhead {
    pub(super) fn entry(
        &self,
        at: Moment,
        (event, level): (LogEvent, Level),
        message: String,
        occasion: &Occasion,
        data: Option<Object>,
    ) -> LogEntry {
        let mut correlation = Correlation::new(self.guest.as_str(), self.scenario.as_str());
        correlation.session_id = Some(self.session.clone());
        correlation.artifact_id.clone_from(&self.artifact);
        match occasion {
            Occasion::ToolCall(id) => correlation.tool_call_id = Some(id.to_string()),
            Occasion::SlashCommand(id) => correlation.slash_command_id = Some(id.clone()),
            Occasion::Event(id) => correlation.event_id = Some(id.clone()),
            Occasion::Loading | Occasion::Background => {}
        }
        LogEntry {
            schema: LogSchema::V1,
            ts: at.to_string(),
            level,
            event,
            message,
            correlation,
            source: self.source(Component::Runtime),
            data,
            extra: Extra::new(),
        }
    }

    pub(super) fn source(&self, component: Component) -> Option<Source> {
        let pid = Some(Count::from(u64::from(self.process)));
        Some(Source { component, host: None, pid, extra: Extra::new() })
    }
}

impl CallLine {
    pub(super) fn entry(&self) -> LogEntry {
        let CallNote { id, start, occasion } = &*self.call;
        let (about, message, data) = match &self.end {
            None => {
                let message = format!("{} through {}", start.capability, start.method);
                ((LogEvent::HostCallStart, Level::Info), message, start.to_data())
            }
            Some(CallEnd { took, error, is_dropped }) => {
                let how = match error {
                    None => "done",
                    Some(_) if *is_dropped => "given up",
                    Some(_) => "failed",
                };
                let mut data = start.clone().end(millis(*took), *error).to_data();
                if *is_dropped {
                    data.insert("dropped".to_owned(), json!(true));
                }
                ((LogEvent::HostCallEnd, level(error.is_some())), format!("{} {how}", start.method), data)
            }
        };
        let mut entry = self.head.entry(self.at, about, message, occasion, Some(data));
        entry.correlation.host_call_id = Some(id.clone());
        entry
    }
}

impl WorkLine {
    pub(super) fn entry(&self) -> LogEntry {
        let WorkNote { occasion, name } = &*self.work;
        let (start, end, what) = match occasion {
            Occasion::ToolCall(_) => (LogEvent::ToolCallStart, LogEvent::ToolCallEnd, "tool call"),
            Occasion::SlashCommand(_) => (LogEvent::SlashCommandStart, LogEvent::SlashCommandEnd, "command"),
            Occasion::Event(_) => (LogEvent::EventHookStart, LogEvent::EventHookEnd, "event"),
            Occasion::Loading | Occasion::Background => {
                (LogEvent::from("extension.work.start"), LogEvent::from("extension.work.end"), "work")
            }
        };
        let (about, message, data) = match &self.end {
            None => ((start, Level::Info), format!("{what} {name}"), json!({ "name": name })),
            Some(WorkEnd { took, attended, error }) => {
                let mut data = json!({ "name": name, "duration_ms": millis(*took), "is_error": error.is_some() });
                if !attended.is_zero() {
                    data["person_ms"] = millis(*attended).into();
                }
                if let Some(error) = error {
                    data["error"] = json!({ "message": error });
                }
                let how = if error.is_some() { "failed" } else { "done" };
                ((end, level(error.is_some())), format!("{name} {how}"), data)
            }
        };
        self.head.entry(self.at, about, message, occasion, object(data))
    }
}

fn level(is_error: bool) -> Level {
    if is_error { Level::Warn } else { Level::Info }
}
