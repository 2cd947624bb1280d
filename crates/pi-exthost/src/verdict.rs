//! What came of an event once every guest was heard, one small type per family.
//!
//! The default of each is what it is when nobody had anything to say. Whatever somebody did say names the guest, so that
//! envelope and log can name it too.

use pi_extproto::{
    Object,
    connector::tool::{ContentBlock, ImageBlock},
    hook::{BashResult, DraftMessage, Family, HeaderChange, ResourcePaths, Summary, TreeSummary, WarmingOutcome},
};
use pi_transcript::{Message, ToolCall};
use serde_json::Value;

use crate::guest::GuestId;

/// The verdict on an event, of the family of the event.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    Notice,
    Session(SessionVerdict),
    Compaction(CompactionVerdict),
    Tree(TreeVerdict),
    Input(InputVerdict),
    Start(StartVerdict),
    Turn(TurnVerdict),
    Message(MessageVerdict),
    ToolCall(ToolCallVerdict),
    ToolResult(ToolResultVerdict),
    Bash(BashVerdict),
    Context(ContextVerdict),
    Request(RequestVerdict),
    /// In the order in which they are to be made.
    Headers(Vec<(GuestId, HeaderChange)>),
    /// Of everybody who named some.
    Resources(Vec<(GuestId, ResourcePaths)>),
    Trust(TrustVerdict),
    SessionDirectory(Option<(GuestId, String)>),
    Warming(Option<(GuestId, WarmingOutcome)>),
}

impl Verdict {
    /// The verdict when nobody has anything to say.
    pub fn untouched(family: Family) -> Self {
        match family {
            Family::Notice => Self::Notice,
            Family::Session => Self::Session(SessionVerdict::default()),
            Family::Compaction => Self::Compaction(CompactionVerdict::default()),
            Family::Tree => Self::Tree(TreeVerdict::default()),
            Family::Input => Self::Input(InputVerdict::default()),
            Family::Start => Self::Start(StartVerdict::default()),
            Family::Turn => Self::Turn(TurnVerdict::default()),
            Family::Message => Self::Message(MessageVerdict::default()),
            Family::ToolCall => Self::ToolCall(ToolCallVerdict::default()),
            Family::ToolResult => Self::ToolResult(ToolResultVerdict::default()),
            Family::Bash => Self::Bash(BashVerdict::default()),
            Family::Context => Self::Context(ContextVerdict::default()),
            Family::Request => Self::Request(RequestVerdict::default()),
            Family::Headers => Self::Headers(Vec::new()),
            Family::Resources => Self::Resources(Vec::new()),
            Family::Trust => Self::Trust(TrustVerdict::default()),
            Family::SessionDirectory => Self::SessionDirectory(None),
            Family::Warming => Self::Warming(None),
        }
    }
}

/// Whether a session may be left or forked. The first objection counts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SessionVerdict {
    #[default]
    Proceed,
    Cancelled {
        by: GuestId,
    },
}

/// How a conversation is compacted. The first objection counts; of several summaries the last.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum CompactionVerdict {
    #[default]
    Proceed,
    Cancelled {
        by: GuestId,
    },
    Replaced {
        by: GuestId,
        summary: Summary,
    },
}

/// How another branch becomes the current one. The first objection counts; of several summaries the last.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum TreeVerdict {
    #[default]
    Proceed,
    Cancelled {
        by: GuestId,
    },
    Replaced {
        by: GuestId,
        summary: TreeSummary,
    },
}

/// What becomes of input.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum InputVerdict {
    #[default]
    Proceed,
    /// All of it, images included. The last that changed it is named.
    Transformed { by: GuestId, text: String, images: Vec<ImageBlock> },
    /// The model does not see it.
    Handled { by: GuestId },
}

/// What a run begins with besides its prompt.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StartVerdict {
    pub messages: Vec<(GuestId, DraftMessage)>,
    /// For this run only; the last that changed it is named.
    pub system_prompt: Option<(GuestId, String)>,
}

/// What is added at the end of a turn, and whether the model goes on.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TurnVerdict {
    /// Session entries as they stand in a session file, without ids.
    pub entries: Vec<(GuestId, Object)>,
    /// The last wish, if anybody has one.
    pub resume: Option<bool>,
}

/// What becomes of a complete message.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum MessageVerdict {
    #[default]
    Keep,
    /// Of the same role. The last that replaced it is named.
    Replaced {
        by: GuestId,
        message: Box<Message>,
        /// Calls of tools that a guest put in or changed, as it left them.
        calls: Vec<(GuestId, ToolCall)>,
    },
}

/// Whether a tool runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ToolCallVerdict {
    #[default]
    Proceed,
    /// With other arguments, which are not validated again. All that changed them are named, in order.
    Transformed { by: Vec<GuestId>, input: Object },
    Blocked {
        by: GuestId,
        /// What the model reads.
        reason: Option<String>,
        /// Whether the run ends as well.
        terminate: bool,
    },
}

/// What the model sees of the result of a tool.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ToolResultVerdict {
    #[default]
    Keep,
    /// All of it. The last that changed it is named.
    Transformed { by: GuestId, content: Vec<ContentBlock>, details: Option<Value>, is_error: bool },
}

/// Whether a shell command of a person runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum BashVerdict {
    #[default]
    Proceed,
    /// The extension ran it.
    Handled { by: GuestId, result: BashResult },
    /// A guest that should have judged it failed.
    Blocked { by: GuestId, reason: String },
}

/// Which messages go to a model.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ContextVerdict {
    #[default]
    Keep,
    /// The last that replaced them is named.
    Replaced { by: GuestId, messages: Vec<Message> },
}

/// What goes to a provider.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum RequestVerdict {
    #[default]
    Keep,
    /// The last that replaced it is named.
    Replaced { by: GuestId, payload: Value },
}

/// Whether a project is trusted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TrustVerdict {
    #[default]
    Undecided,
    Trusted {
        by: GuestId,
        remember: bool,
    },
    Distrusted {
        by: GuestId,
        remember: bool,
    },
}
