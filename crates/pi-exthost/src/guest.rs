//! What any extension can do, whatever it is written in and however it runs.
//!
//! A tier (WASM, JavaScript, MCP) implements [`Guest`]; nothing above it knows tiers. [`Registration`] is what a guest
//! offers, [`Ask`] accompanies everything that is asked of it.

pub(crate) mod face;
mod fault;
mod registration;

use std::sync::Arc;

use futures_util::{FutureExt, future::BoxFuture};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use pi_extproto::{
    Object,
    hook::{Outcome, event::Event},
    manifest::Tier,
};
use pi_transcript::{
    AssistantMessageEvent, Message, ToolCallId, ToolOutput, entry::CustomEntry, message::AssistantMessage,
};

pub use self::{
    face::{RefusedTool, ToolFault, presentable},
    fault::{Certainty, CodePlace, GuestFault},
    registration::{
        CommandOffer, Flag, FlagDefault, GuestId, Introduction, LONGEST_TOOL_NAME, ProviderOffer, Registration,
        RendererOffer, Shortcut, ToolOffer, UnusableOffer, chord, is_tool_name,
    },
};
use crate::{port::ControlPass, stopwatch::Stopwatch};

/// An extension that runs.
///
/// Implemented by each tier and by the scripted guest of the tests. Every call may come at any time and beside others;
/// a guest that can do one thing at a time queues them, in the order in which the futures were first polled.
///
/// # What is guaranteed on cancellation
///
/// [`Ask::cancel`] is signalled first: a guest that heeds it answers early, usually with [`GuestFault::Cancelled`], and is
/// heard if it does so within 50 ms. After that, and when the stopwatch of the ask has run down, the future is *dropped*.
/// Dropping is the order to stop: the guest interrupts what it was doing, withdraws its host calls and questions, restarts
/// if it must, and takes the next call as if this one had not been. The caller does not wait for any of it. A future
/// does not block its thread; work that does belongs to a thread of the guest.
pub trait Guest: Send + Sync {
    /// What it offers now. Cheap: it is looked at for every event. A guest that registers something later offers it
    /// from then on, and tells the session with [`crate::port::Conversation::registration_changed`].
    fn registration(&self) -> Arc<Registration>;

    /// How it runs, for whoever lists extensions; nothing else depends on it.
    fn tier(&self) -> Tier;

    /// How it stands, for whoever lists extensions.
    fn condition(&self) -> Condition {
        Condition::Running
    }

    /// Waits while its condition is [`Condition::Starting`].
    fn started(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }

    /// How many bytes of memory it has now; nothing where nobody can tell. It may have to be asked, so bound the waiting.
    fn memory(&self) -> BoxFuture<'_, Option<u64>> {
        async { None }.boxed()
    }

    /// One of its handlers hears an event; `handler` counts those of the same hook, in the order of their registration.
    /// A handler that is gone by now has nothing to say ([`Outcome::Notice`]).
    fn handle(&self, handler: usize, event: Arc<Event>, ask: Ask) -> BoxFuture<'_, Result<Outcome, GuestFault>>;

    /// Runs one of its tools. That the tool failed is an answer ([`ToolAnswer::is_error`]) or
    /// [`GuestFault::Threw`]; both become a result that the model reads.
    fn call_tool(&self, call: ToolInvocation, ask: Ask) -> BoxFuture<'_, Result<ToolAnswer, GuestFault>>;

    /// Runs one of its slash commands, to its end.
    fn run_command(&self, call: CommandCall, ask: Ask) -> BoxFuture<'_, Result<(), GuestFault>>;

    /// What could stand in the place of `prefix`, the argument that a person is typing after the command.
    fn complete_argument(
        &self,
        command: String,
        prefix: String,
        ask: Ask,
    ) -> BoxFuture<'_, Result<Vec<Suggestion>, GuestFault>>;

    /// A person pressed one of its shortcuts.
    fn press_shortcut(&self, key: String, ask: Ask) -> BoxFuture<'_, Result<(), GuestFault>>;

    /// Draws a message, a tool call or a result in its own way, as lines of styled text. Nothing means: in the usual way.
    fn render(&self, subject: Rendering, ask: Ask) -> BoxFuture<'_, Result<Option<Vec<String>>, GuestFault>>;

    /// Produces the stream of a model whose provider it registered. Steps go into `steps` while they come; the
    /// answer is the whole message.
    fn stream(&self, call: StreamCall, ask: Ask) -> BoxFuture<'_, Result<Box<AssistantMessage>, GuestFault>>;

    /// Ends it: no call follows, and calls that are still open end with [`GuestFault::Gone`]. The caller waits a bounded
    /// time and then drops the future and the guest.
    fn shutdown(&self) -> BoxFuture<'_, ()>;
}

/// How a guest stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// It is on its way, and offers nothing yet.
    Starting,
    Running,
    /// It was stopped, and starts anew when it is needed.
    Resting,
    /// Nothing can be asked of it now.
    Failed {
        why: String,
    },
}

/// The conditions under which something is asked of a guest.
#[derive(Debug, Clone)]
pub struct Ask {
    /// Signalled when nobody waits for the answer any more.
    pub cancel: CancellationToken,
    /// The time that is left for the guest's own work. Whoever serves a host call of the guest, or puts its question
    /// before a person, holds a [`Stopwatch::pause`] meanwhile.
    pub stopwatch: Stopwatch,
}

/// A call of a tool.
#[derive(Debug)]
pub struct ToolInvocation {
    pub call_id: ToolCallId,
    pub name: String,
    /// As the parameters of the tool describe it; checked against them, unless an extension changed it.
    pub input: Object,
    /// What it has found so far, all of it and not the difference. A full channel drops updates: the next one says more.
    pub updates: mpsc::Sender<ToolOutput>,
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolAnswer {
    pub output: ToolOutput,
    pub is_error: bool,
    /// Whether the run ends after this turn.
    pub terminate: bool,
}

/// A slash command that somebody typed.
#[derive(Debug)]
pub struct CommandCall {
    /// As the guest registered it.
    pub name: String,
    /// Everything behind the name, as it was typed.
    pub arguments: String,
    /// Commands may leave, fork and replace the session; nothing else may.
    pub control: ControlPass,
}

/// One way to complete the argument of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    pub value: String,
    pub label: String,
    pub description: Option<String>,
}

/// Something that a guest may draw in its own way.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendering {
    pub subject: Subject,
    /// How many columns there are.
    pub width: u16,
    /// Whether the person wants to see all of it.
    pub expanded: bool,
}

/// What is drawn.
#[derive(Debug, Clone, PartialEq)]
pub enum Subject {
    /// A message of a type for which the guest registered a renderer.
    Message(Box<Message>),
    /// An entry of a type for which it registered one, which no model sees.
    Entry(Box<CustomEntry>),
    /// A call of one of its tools.
    ToolCall(ToolDrawing),
    /// What one of its tools found, or has found so far.
    ToolResult { call: ToolDrawing, output: ToolOutput, state: ResultState },
}

/// The call of a tool that is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDrawing {
    pub call_id: ToolCallId,
    pub name: String,
    pub input: Object,
}

/// How far a call is whose result is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultState {
    /// It goes on, and finds more.
    Partial,
    Succeeded,
    Failed,
}

/// A model call that a guest answers in the place of a provider.
#[derive(Debug)]
pub struct StreamCall {
    pub provider: String,
    /// The model, its options and what it is given, in the form that Pi's `streamSimple` takes.
    pub model: Value,
    pub context: Value,
    pub options: Value,
    /// Waits while the channel is full.
    pub steps: mpsc::Sender<AssistantMessageEvent>,
}
