//! Who said what: messages of every role.
//!
//! [`Message`] reads any JSON object. What it knows it gives a type; a role that it does not know, or a known role whose
//! members are missing or of the wrong type, is kept whole in [`Message::Other`], so that a message can always be
//! written again as it was.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ts_rs::TS;

use crate::{
    content::{Block, Content},
    id::{EntryId, ModelId, ProviderId, ToolCallId},
    json::{Extra, Loose, Open, present},
    model::ThinkingLevel,
    usage::Usage,
};

/// A message. Times are milliseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum Message {
    User(UserMessage),
    Assistant(Box<AssistantMessage>),
    ToolResult(Box<ToolResultMessage>),
    BashExecution(BashExecutionMessage),
    Custom(CustomMessage),
    BranchSummary(BranchSummaryMessage),
    CompactionSummary(CompactionSummaryMessage),
    System(SystemMessage),
    /// A role that we do not know, or a known one with a member that is missing or of the wrong type.
    #[serde(untagged)]
    #[ts(skip)]
    Other(Map<String, Value>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct UserMessage {
    pub content: Content,
    pub timestamp: u64,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// What the model said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct AssistantMessage {
    pub content: Vec<Block>,
    /// The dialect that was spoken with the provider.
    pub api: String,
    pub provider: ProviderId,
    /// The model that was asked.
    pub model: ModelId,
    #[ts(as = "Usage")]
    pub usage: Loose<Usage>,
    pub stop_reason: Open<StopReason>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    pub timestamp: u64,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// The model that answered, where the provider chose another one.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub response_model: Option<ModelId>,
    /// The provider's own word for why it stopped.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub raw_stop_reason: Option<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<Open<ThinkingLevel>>,
    /// The level that was sent, in the provider's words.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub provider_thinking_level: Option<Value>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub diagnostics: Option<Value>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub deferred: Option<Value>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub end_turn: Option<Value>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    Stop,
    Length,
    ToolUse,
    Error,
    Aborted,
    /// Still streaming; never written to a file.
    Pending,
    Deferred,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ToolResultMessage {
    pub tool_call_id: ToolCallId,
    pub tool_name: String,
    pub content: Vec<Block>,
    /// For people and programs, never for the model.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    pub is_error: bool,
    pub timestamp: u64,
    /// What model calls made by the tool consumed.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[ts(as = "Option<Usage>")]
    pub usage: Option<Loose<Usage>>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub nested_calls: Option<Value>,
    /// Ours: how long the call took.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Ours: who did not allow the call, if somebody did not.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub denied_by: Option<Open<DeniedBy>>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// Who did not allow a call of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum DeniedBy {
    /// Somebody who was asked said no, or put the question away.
    Person,
    /// Nobody was there to be asked, or nobody answered.
    Nobody,
    /// A rule, the mode of the policy, or what is denied whoever asks.
    Rule,
}

/// A command that the user ran, not the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct BashExecutionMessage {
    pub command: String,
    pub output: String,
    /// Absent when the command did not end by itself.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    pub cancelled: bool,
    pub truncated: bool,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub exclude_from_context: Option<bool>,
    pub timestamp: u64,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// A message of an extension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct CustomMessage {
    pub custom_type: String,
    pub content: Content,
    /// Whether people see it.
    pub display: bool,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    pub timestamp: u64,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// What happened on a branch that was left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct BranchSummaryMessage {
    pub summary: String,
    pub from_id: EntryId,
    pub timestamp: u64,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// What stands for the messages before a compaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct CompactionSummaryMessage {
    pub summary: String,
    pub tokens_before: u64,
    pub timestamp: u64,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// A change of the system prompt or of the tools that the model is offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct SystemMessage {
    pub content: Content,
    /// Named parts of the system prompt, in order: the new text, or `null` for a part that is gone.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub sections: Option<Map<String, Value>>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub tools_added: Option<Vec<ToolDefinition>>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub tools_removed: Option<Vec<ToolReference>>,
    pub timestamp: u64,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// A tool as it is offered to a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ToolDefinition {
    pub name: String,
    pub description: String,
    /// A JSON Schema of the arguments.
    pub parameters: Value,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ToolReference {
    pub name: String,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

impl Message {
    /// When it was said, in milliseconds since 1970. `None` if it is of a kind that we do not know.
    pub fn timestamp(&self) -> Option<u64> {
        match self {
            Self::User(message) => Some(message.timestamp),
            Self::Assistant(message) => Some(message.timestamp),
            Self::ToolResult(message) => Some(message.timestamp),
            Self::BashExecution(message) => Some(message.timestamp),
            Self::Custom(message) => Some(message.timestamp),
            Self::BranchSummary(message) => Some(message.timestamp),
            Self::CompactionSummary(message) => Some(message.timestamp),
            Self::System(message) => Some(message.timestamp),
            Self::Other(_) => None,
        }
    }

    /// Every role that has a variant of its own.
    pub const ROLES: [&'static str; 8] =
        ["user", "assistant", "toolResult", "bashExecution", "custom", "branchSummary", "compactionSummary", "system"];

    /// The role as it is written; empty if there is none.
    pub fn role(&self) -> &str {
        match self {
            Self::User(_) => "user",
            Self::Assistant(_) => "assistant",
            Self::ToolResult(_) => "toolResult",
            Self::BashExecution(_) => "bashExecution",
            Self::Custom(_) => "custom",
            Self::BranchSummary(_) => "branchSummary",
            Self::CompactionSummary(_) => "compactionSummary",
            Self::System(_) => "system",
            Self::Other(object) => object.get("role").and_then(Value::as_str).unwrap_or_default(),
        }
    }

    /// What the user said.
    pub fn user(content: impl Into<Content>, timestamp: u64) -> Self {
        Self::User(UserMessage { content: content.into(), timestamp, extra: Extra::new() })
    }
}

/// Any object is a message, if need be one of a role that we do not know.
impl From<Map<String, Value>> for Message {
    fn from(object: Map<String, Value>) -> Self {
        Self::deserialize(&object).unwrap_or(Self::Other(object))
    }
}
