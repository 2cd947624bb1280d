//! What an entry is, in one byte.

use pi_transcript::{Entry, Message};

use crate::offer;

/// The type of an entry, and of a message its role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    User,
    Assistant,
    ToolResult,
    /// A message of another role.
    OtherMessage,
    ModelChange,
    ThinkingLevelChange,
    Compaction,
    BranchSummary,
    Custom,
    /// What a person chose to offer to the model.
    Offer,
    CustomMessage,
    Label,
    SessionInfo,
    Usage,
    ContextEdit,
    /// A type that we do not know.
    Other,
}

impl Kind {
    pub fn of(entry: &Entry) -> Self {
        match entry {
            Entry::Message(entry) => Self::of_role(entry.message.role()),
            Entry::ModelChange(_) => Self::ModelChange,
            Entry::ThinkingLevelChange(_) => Self::ThinkingLevelChange,
            Entry::Compaction(_) => Self::Compaction,
            Entry::BranchSummary(_) => Self::BranchSummary,
            Entry::Custom(entry) if offer::is_told_by(entry) => Self::Offer,
            Entry::Custom(_) => Self::Custom,
            Entry::CustomMessage(_) => Self::CustomMessage,
            Entry::Label(_) => Self::Label,
            Entry::SessionInfo(_) => Self::SessionInfo,
            Entry::Usage(_) => Self::Usage,
            Entry::ContextEdit(_) => Self::ContextEdit,
            Entry::Other(_) => Self::Other,
        }
    }

    /// By the words of a line. An entry of such a type can still turn out to be one that we do not know, because a member
    /// is missing; who needs to be sure reads it.
    pub fn named(kind: &str, role: Option<&str>, custom_type: Option<&str>) -> Self {
        match kind {
            "message" => Self::of_role(role.unwrap_or_default()),
            "model_change" => Self::ModelChange,
            "thinking_level_change" => Self::ThinkingLevelChange,
            "compaction" => Self::Compaction,
            "branch_summary" => Self::BranchSummary,
            "custom" if custom_type == Some(offer::TYPE) => Self::Offer,
            "custom" => Self::Custom,
            "custom_message" => Self::CustomMessage,
            "label" => Self::Label,
            "session_info" => Self::SessionInfo,
            "usage" => Self::Usage,
            "context_edit" => Self::ContextEdit,
            _ => Self::Other,
        }
    }

    /// Whether what the model sees can depend on it.
    pub const fn is_seen(self) -> bool {
        match self {
            Self::User
            | Self::Assistant
            | Self::ToolResult
            | Self::OtherMessage
            | Self::ModelChange
            | Self::ThinkingLevelChange
            | Self::Compaction
            | Self::BranchSummary
            | Self::Offer
            | Self::CustomMessage
            | Self::ContextEdit => true,
            Self::Custom | Self::Label | Self::SessionInfo | Self::Usage | Self::Other => false,
        }
    }

    /// Whether it can have said something: a message, or a summary of some.
    pub const fn speaks(self) -> bool {
        self.is_message() || matches!(self, Self::Compaction | Self::BranchSummary | Self::CustomMessage)
    }

    /// Whether it is a message of any role.
    pub const fn is_message(self) -> bool {
        matches!(self, Self::User | Self::Assistant | Self::ToolResult | Self::OtherMessage)
    }

    fn of_role(role: &str) -> Self {
        match role {
            "user" => Self::User,
            "assistant" => Self::Assistant,
            "toolResult" => Self::ToolResult,
            _ => Self::OtherMessage,
        }
    }
}

/// The role decides, not whether the rest of the message is as we know it.
impl From<&Message> for Kind {
    fn from(message: &Message) -> Self {
        Self::of_role(message.role())
    }
}
