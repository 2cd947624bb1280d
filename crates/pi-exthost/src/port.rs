//! All that an extension may ask of its conversation.
//!
//! [`SessionPort`] is one function over a closed list of [`Request`]s, each with the sender of its own typed answer, so a
//! session takes them straight into its mailbox. Guests do not see it: they get a [`Conversation`], which knows who asks
//! and has a function for everything. Whether an extension may ask at all is decided before, by whoever holds the
//! conversation in its name.

mod conversation;
mod draw;
mod noun;

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use pi_extproto::{
    connector::{session::Delivery, tool::ContentBlock},
    hook::DraftMessage,
};
use pi_transcript::{
    Entry, EntryId, Header, ModelId, ProviderId, ThinkingLevel,
    event::CompactionResult,
    message::AssistantMessage,
    question::{Announcement, Approval, Asked},
};

pub use self::{
    conversation::Conversation,
    draw::{Canvas, Drawing, Easel, Frame, Size, canvas},
    noun::{
        CommandInfo, CommandSource, Completion, Mode, ModelInfo, ModelName, Navigation, Notice, ScopedModel,
        SessionState, Settled, ToolInfo,
    },
};
use crate::guest::GuestId;

/// A conversation, as extensions reach it.
///
/// Implemented by the session and by the double of the tests; it cuts the cycle agent → extension → session → agent.
pub trait SessionPort: Send + Sync {
    /// Takes a request in. Requests of one guest are taken in the order in which they were submitted. The future ends
    /// when the request is in the mailbox, not when it is answered; dropping it before that withdraws the request.
    fn submit(&self, from: GuestId, request: Request) -> BoxFuture<'_, ()>;
}

/// Takes the answer to a request. Dropped unanswered it says [`Refusal::Gone`]; [`oneshot::Sender::closed`] tells that
/// nobody waits any more, and then the work is to be stopped.
pub type Reply<T> = oneshot::Sender<Result<T, Refusal>>;

/// Why a conversation does not do what an extension asks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The session has ended, or was left for another.
    #[error("the session is gone")]
    Gone,
    /// There is no such entry, model or session.
    #[error("there is no {what}")]
    NotFound { what: String },
    /// Not while a run is in flight, a compaction goes on, or in this mode.
    #[error("not now: {reason}")]
    NotNow { reason: String },
    /// What is asked for makes no sense.
    #[error("{message}")]
    Invalid { message: String },
    /// It was tried, and went wrong.
    #[error("{message}")]
    Failed { message: String },
}

/// What an extension asks of its conversation.
///
/// What reads answers at once. What starts work ([`Request::SendMessage`], [`Request::SendUserMessage`],
/// [`Request::Abort`], [`Request::Quit`]) is answered when it is queued. [`Request::Complete`], [`Request::Compact`], [`Request::Ask`] and
/// [`Request::Control`] are answered when it is done.
#[derive(Debug)]
pub enum Request {
    State(Reply<SessionState>),
    SystemPrompt(Reply<String>),
    Header(Reply<Header>),
    Entries(Selection, Reply<Vec<Arc<Entry>>>),
    Entry(EntryId, Reply<Option<Arc<Entry>>>),
    Label(EntryId, Reply<Option<String>>),
    Tools(Reply<Vec<ToolInfo>>),
    Commands(Reply<Vec<CommandInfo>>),
    Models(Reply<Vec<ModelInfo>>),
    /// Those that are gone through by whoever goes from one to the next; none where that is all of them.
    ScopedModels(Reply<Vec<ScopedModel>>),
    /// What stands in the editor of the client, if it has one.
    EditorText(Reply<Option<String>>),

    /// Adds an entry that the model does not see.
    AppendEntry {
        custom_type: String,
        data: Option<Value>,
        reply: Reply<EntryId>,
    },
    /// Adds a message of the extension's own type.
    SendMessage {
        message: DraftMessage,
        delivery: Delivery,
        /// Whether it starts a run if there is none.
        trigger_turn: bool,
        reply: Reply<()>,
    },
    /// Speaks in the user's place; always a turn.
    SendUserMessage {
        content: Vec<ContentBlock>,
        delivery: Delivery,
        expansion: Expansion,
        reply: Reply<()>,
    },
    SetName(String, Reply<()>),
    /// Nothing removes the label.
    SetLabel(EntryId, Option<String>, Reply<()>),
    /// Names that do not exist are ignored.
    SetActiveTools(Vec<String>, Reply<()>),
    /// Answers whether it could be done: not without a key for the provider.
    SetModel(ProviderId, ModelId, Reply<bool>),
    /// Clamped to what the model can do; answers what it became.
    SetThinkingLevel(ThinkingLevel, Reply<ThinkingLevel>),
    /// Stops the run.
    Abort(Reply<()>),
    Compact {
        instructions: Option<String>,
        reply: Reply<CompactionResult>,
    },
    /// A model call of the extension's own; it needs no key and gets none.
    Complete(Box<Completion>, Reply<Box<AssistantMessage>>),

    /// Puts a question before a person.
    Ask(Asked, Reply<Settled>),
    /// The host's own question whether the extension may do something.
    AskApproval(Approval, Asked, Reply<Settled>),
    Announce(Announcement, Reply<()>),
    /// The program's own words.
    Tell(Notice, Reply<()>),
    /// Room to draw in; nothing where nobody could see it.
    Draw(Drawing, Reply<Option<Canvas>>),

    /// Says something to every extension that listens to the channel.
    Emit {
        channel: String,
        data: Value,
        reply: Reply<()>,
    },
    /// What the guest offers has changed.
    RegistrationChanged(Reply<()>),
    /// The guest has gone, and another may come in its place: what it shows is taken away. Said for it by whoever ended it.
    Left(Reply<()>),
    /// Ends the program in good order, when nothing runs. Whoever owns the session may refuse.
    Quit(Reply<()>),
    /// Leaves, forks or replaces the session; only for commands, which the pass proves. Answers whether it was done: an
    /// extension may have objected.
    Control(Control, ControlPass, Reply<bool>),
}

/// Which entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection {
    /// The whole tree, in the order of the file.
    All,
    /// From the root to the current leaf.
    Branch,
}

/// What becomes of a text that an extension says in the user's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expansion {
    /// It is said as it stands, even if it begins with a slash.
    Verbatim,
    /// Skills and prompt templates are expanded, as if a person had typed it.
    Templates,
}

/// What only a command may do to a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Control {
    /// Waits until nothing runs and nothing is queued.
    WaitForIdle,
    NewSession {
        parent: Option<String>,
    },
    Fork {
        entry: EntryId,
        position: ForkPosition,
    },
    Navigate(Navigation),
    SwitchSession {
        path: String,
    },
    /// Loads the extensions anew.
    Reload,
}

/// Whether the entry itself is in the fork.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkPosition {
    Before,
    At,
}

/// The proof that a command runs. Only this crate makes one, for the command that it starts, and it is worth
/// nothing once that command has ended.
#[derive(Clone)]
pub struct ControlPass {
    ended: CancellationToken,
    /// The session that the command left its own for. A lock and no task: it is held for a look.
    successor: Arc<Mutex<Option<Arc<dyn SessionPort>>>>,
}

impl ControlPass {
    pub(crate) fn new(ended: CancellationToken) -> Self {
        Self { ended, successor: Arc::default() }
    }

    /// Whether the command still runs.
    pub fn is_valid(&self) -> bool {
        !self.ended.is_cancelled()
    }

    /// Signalled when the command has ended.
    pub fn ended(&self) -> CancellationToken {
        self.ended.clone()
    }

    /// What the command asks from here on is asked of another session: the one that it left its own for. Whatever else its
    /// extension does stays where it is.
    pub fn lead_to(&self, port: Arc<dyn SessionPort>) {
        *self.successor.lock().unwrap_or_else(PoisonError::into_inner) = Some(port);
    }

    pub(crate) fn successor(&self) -> Option<Arc<dyn SessionPort>> {
        self.successor.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for ControlPass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControlPass").field("is_valid", &self.is_valid()).finish()
    }
}
