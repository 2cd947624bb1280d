//! What is asked of a guest, on its way to the guest's thread and back.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use pi_exthost::{
    Ask, GuestFault, Stopwatch,
    guest::{Rendering, Suggestion, ToolAnswer},
    port::ControlPass,
};
use pi_extproto::{
    Object,
    hook::{Outcome, event::Event},
};
use pi_transcript::{AssistantMessageEvent, ToolCallId, ToolOutput, message::AssistantMessage};

/// Counts what is asked of a guest.
pub(crate) type JobId = u64;

/// One thing that is asked of a guest.
pub(crate) struct Job {
    pub(crate) id: JobId,
    pub(crate) task: Task,
    pub(crate) terms: JobTerms,
    pub(crate) reply: oneshot::Sender<Result<Answer, GuestFault>>,
}

/// Under which conditions.
#[derive(Clone)]
pub(crate) struct JobTerms {
    pub(crate) cancel: CancellationToken,
    pub(crate) stopwatch: Stopwatch,
    pub(crate) control: Option<ControlPass>,
}

impl JobTerms {
    /// With a signal that ends together with whoever waits.
    pub(crate) fn new(ask: &Ask, control: Option<ControlPass>) -> Self {
        Self { cancel: ask.cancel.child_token(), stopwatch: ask.stopwatch.clone(), control }
    }
}

/// What is to be done.
pub(crate) enum Task {
    /// The factory, once.
    Load,
    Handle {
        handler: usize,
        event: Arc<Event>,
    },
    Tool {
        call_id: ToolCallId,
        name: String,
        input: Object,
        updates: mpsc::Sender<ToolOutput>,
    },
    Command {
        name: String,
        arguments: String,
    },
    Complete {
        command: String,
        prefix: String,
    },
    Shortcut {
        key: String,
    },
    Render(Rendering),
    Stream {
        provider: String,
        model: Value,
        context: Value,
        options: Value,
        steps: mpsc::Sender<AssistantMessageEvent>,
    },
    /// What it registered, in the form of the conformance harness.
    Inspect,
    /// How much memory it uses.
    Measure,
}

/// What came of it.
#[derive(Debug)]
pub(crate) enum Answer {
    Done,
    Outcome(Box<Outcome>),
    Tool(Box<ToolAnswer>),
    Suggestions(Vec<Suggestion>),
    Drawn(Option<Vec<String>>),
    Message(Box<AssistantMessage>),
    Inspected(Value),
    Bytes(u64),
}
