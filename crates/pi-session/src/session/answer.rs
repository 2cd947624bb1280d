//! What a session answers: how it stands, what came of what was asked of it, and why something did not.

use std::sync::Arc;

use pi_exthost::{GuestId, port::Refusal, questions::OpenQuestion};
use pi_transcript::{AgentEvent, EntryId, Model, SessionId, ThinkingLevel, event::CompactionResult};
use tokio_util::sync::CancellationToken;

use crate::{
    context::Spoken,
    herald::Subscription,
    input::InputError,
    models::Choice,
    queue::{Waiting, When},
    retry::LeftAlone,
    run::{Ending, compact::Compacted, desk::Gone},
    tree::NoEntry,
};

/// How a session stands.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    pub session: SessionId,
    pub name: Option<String>,
    pub leaf: Option<EntryId>,
    pub model: Arc<Model>,
    pub thinking: ThinkingLevel,
    pub is_running: bool,
    pub waiting: Waiting,
    pub active_tools: Vec<String>,
    pub entries: usize,
    /// Whether its file cannot be written: what is said is in memory only. Never so for a session that has no file.
    pub is_failing: bool,
}

/// What a reader needs who must begin anew.
#[derive(Debug)]
pub struct Reloaded {
    pub state: State,
    /// What was said on the current branch, as [`Session::messages`](super::Session::messages) has it.
    pub messages: Vec<Spoken>,
    /// Questions that wait for a person, the oldest first.
    pub questions: Vec<OpenQuestion>,
    /// The newest frame of every component that an extension draws.
    pub drawings: Vec<AgentEvent>,
    /// What happens from here on.
    pub events: Subscription,
}

/// What came of something that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prompted {
    /// It began a run, which ended like this.
    Ran(Ending),
    /// Somebody stopped it on its way: it was not said, and stands nowhere.
    Unsaid,
    /// As [`Self::Unsaid`], and whoever stopped it has the words.
    TakenBack,
    /// It waits for its turn in the run that is in flight.
    Queued(When),
    /// An extension took it: as a command, which has ended, or instead of the model.
    Handled {
        by: GuestId,
        /// Why the command failed. Everybody was told.
        trouble: Option<String>,
    },
}

/// Whether something is done by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    On,
    Off,
}

/// Which way a list is gone through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Backward,
}

/// Who is asked after somebody went on to the next model.
#[derive(Debug, Clone)]
pub struct Cycled {
    pub choice: Arc<Choice>,
    /// Whether only chosen models are gone through.
    pub is_scoped: bool,
}

/// Why something that was said came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    #[error("the model is at work; say whether to steer it or to follow up")]
    Busy,
    #[error(transparent)]
    Input(#[from] InputError),
    /// It waits, and will be said unless the process ends first.
    #[error("the message waits, but could not be written down: {reason}")]
    Unwritten { reason: String },
    /// It would begin a run. Nothing was said.
    #[error(transparent)]
    LeftAlone(#[from] LeftAlone),
    #[error(transparent)]
    Gone(#[from] SessionGone),
}

/// Why a conversation was not compacted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompactError {
    #[error("the model is at work; wait, or abort it")]
    Busy,
    #[error("there is nothing to compact: what was said last is always kept as it is (compaction.keepRecentTokens)")]
    Nothing,
    #[error("the compaction was aborted")]
    Aborted,
    #[error(transparent)]
    LeftAlone(#[from] LeftAlone),
    #[error("{message}")]
    Failed { message: String },
    #[error(transparent)]
    Gone(#[from] SessionGone),
}

/// Whether the model sees a command that a person runs, and what came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposure {
    Shown,
    Hidden,
}

/// A command that a person sent.
#[derive(Debug)]
pub(crate) struct Typed {
    pub(crate) command: String,
    pub(crate) exposure: Exposure,
    /// Extensions that wrote in it: they answer for it.
    pub(crate) written_by: Vec<GuestId>,
    /// By which events say to what they belong.
    pub(crate) name: Option<String>,
    /// It took too long: it is ended, and the conversation does not remember it.
    pub(crate) late: CancellationToken,
}

/// Why a command of a person was not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BashError {
    #[error("{reason}")]
    Refused { reason: String },
    /// The shell did not start, or could not be followed.
    #[error("{reason}")]
    Broken { reason: String },
    /// Whoever asked found that it took too long.
    #[error("it took too long")]
    TimedOut,
    #[error(transparent)]
    Gone(#[from] SessionGone),
}

/// A way to another entry of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Journey {
    pub target: EntryId,
    pub summarise: Summarise,
    /// A bookmark for the entry.
    pub label: Option<String>,
}

/// Whether what is left is summarised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Summarise {
    No,
    Yes,
    /// With these instructions beside our own.
    With(String),
    /// With these instead of our own.
    Instead(String),
}

/// Where a conversation went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Went {
    pub leaf: Option<EntryId>,
    /// What the person said there and may want to say anew.
    pub text: Option<String>,
    pub is_summarised: bool,
}

/// Why a conversation stayed where it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NavigateError {
    #[error("the model is at work; wait, or abort it")]
    Busy,
    #[error(transparent)]
    NoEntry(#[from] NoEntry),
    #[error("it was aborted")]
    Aborted,
    /// The model was to write a summary.
    #[error(transparent)]
    LeftAlone(#[from] LeftAlone),
    #[error("{message}")]
    Failed { message: String },
    #[error(transparent)]
    Gone(#[from] SessionGone),
}

/// The session has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the session has ended")]
pub struct SessionGone;

impl From<CompactError> for Refusal {
    fn from(error: CompactError) -> Self {
        let message = error.to_string();
        match error {
            CompactError::Busy | CompactError::LeftAlone(_) => Self::NotNow { reason: message },
            CompactError::Gone(_) => Self::Gone,
            CompactError::Nothing | CompactError::Aborted | CompactError::Failed { .. } => Self::Failed { message },
        }
    }
}

impl From<NavigateError> for Refusal {
    fn from(error: NavigateError) -> Self {
        let message = error.to_string();
        match error {
            NavigateError::Busy | NavigateError::LeftAlone(_) => Self::NotNow { reason: message },
            NavigateError::NoEntry(missing) => Self::NotFound { what: format!("entry {}", missing.id) },
            NavigateError::Gone(_) => Self::Gone,
            NavigateError::Aborted | NavigateError::Failed { .. } => Self::Failed { message },
        }
    }
}

impl From<Gone> for BashError {
    fn from(Gone: Gone) -> Self {
        Self::Gone(SessionGone)
    }
}

impl From<Gone> for NavigateError {
    fn from(Gone: Gone) -> Self {
        Self::Gone(SessionGone)
    }
}

impl From<Compacted> for Result<CompactionResult, CompactError> {
    fn from(compacted: Compacted) -> Self {
        match compacted {
            Compacted::Done(result) => Ok(*result),
            Compacted::Nothing => Err(CompactError::Nothing),
            Compacted::Aborted => Err(CompactError::Aborted),
            Compacted::LeftAlone(left) => Err(left.into()),
            Compacted::Failed(message) => Err(CompactError::Failed { message }),
        }
    }
}
