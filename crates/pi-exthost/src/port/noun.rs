//! The nouns of requests and their answers.

use pi_extproto::{connector::tool::CommandDefinition, connector::tool::ToolDefinition};
use pi_transcript::{
    AssistantMessageEvent, ContextUsage, EntryId, Message, Model, ModelId, ProviderId, SessionId, ThinkingLevel,
    message,
    question::{Answer, NotifyType},
};
use tokio::sync::mpsc;

use crate::guest::GuestId;

/// How a session stands. Small: what grows with the conversation is asked for by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionState {
    pub session_id: SessionId,
    /// Nothing until something was said, and in a session that is not kept.
    pub file: Option<String>,
    /// The folder of session files.
    pub folder: Option<String>,
    pub name: Option<String>,
    pub leaf_id: Option<EntryId>,
    pub cwd: String,
    pub model: Option<Model>,
    pub thinking_level: ThinkingLevel,
    pub is_idle: bool,
    pub has_pending_messages: bool,
    pub mode: Mode,
    pub is_project_trusted: bool,
    pub context_usage: Option<ContextUsage>,
}

/// What the program itself tells whoever is there. No extension can: what one says is an announcement in its own name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub message: String,
    pub notify_type: NotifyType,
    /// The extension that it is about.
    pub about: Option<GuestId>,
}

/// Who is at the other end of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A person at a terminal.
    Terminal,
    /// Clients of the server.
    Server,
    /// A program that reads events.
    Json,
    /// Nobody who could answer.
    Print,
}

impl Mode {
    /// Whether somebody could answer a question.
    pub fn has_ui(self) -> bool {
        match self {
            Self::Terminal | Self::Server => true,
            Self::Json | Self::Print => false,
        }
    }
}

/// A tool that the session has, of whatever origin.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolInfo {
    pub definition: ToolDefinition,
    pub is_active: bool,
    /// The path of the extension it is from; nothing for a built-in one.
    pub source: Option<String>,
}

/// A slash command that the session has.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandInfo {
    pub definition: CommandDefinition,
    pub source: CommandSource,
}

/// Where a slash command comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandSource {
    BuiltIn,
    Extension { path: String },
    Prompt { path: String },
    Skill { path: String },
}

/// A model, and whether there is a key for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelInfo {
    pub model: Model,
    pub is_usable: bool,
}

/// A model that is gone through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopedModel {
    pub model: Model,
    pub thinking_level: Option<ThinkingLevel>,
}

/// Which model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelName {
    pub provider: ProviderId,
    pub model: ModelId,
}

/// A model call of an extension's own.
#[derive(Debug)]
pub struct Completion {
    /// The model of the conversation, unless given.
    pub model: Option<ModelName>,
    pub system_prompt: Option<String>,
    pub messages: Vec<Message>,
    pub tools: Vec<message::ToolDefinition>,
    pub max_tokens: Option<u64>,
    pub thinking_level: Option<ThinkingLevel>,
    /// Where the answer goes while it comes; the call waits while the channel is full.
    pub steps: Option<mpsc::Sender<AssistantMessageEvent>>,
}

/// Another place in the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Navigation {
    pub entry: EntryId,
    pub summarize: bool,
    pub instructions: Option<String>,
    /// Whether the instructions take the place of the usual ones.
    pub replaces_instructions: bool,
    pub label: Option<String>,
}

/// How a question ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// With an answer that fits it; never [`Answer::Cancelled`].
    Answered(Answer),
    /// The person put it away.
    Dismissed,
    /// There is no person, or what asked it went away.
    Cancelled,
    TimedOut,
}
