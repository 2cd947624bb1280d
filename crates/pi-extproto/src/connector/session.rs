//! The conversation, as far as an extension may see and steer it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use pi_transcript::{EntryId, ModelId, ProviderId, SessionId, ThinkingLevel, json::present};

use super::tool::ContentBlock;

/// Parameters of `session`. Everything that starts work enqueues it and returns at once, except [`Complete`] and
/// operations that answer [`Acceptance`]: those wait.
///
/// [`Complete`]: SessionCall::Complete
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "op", rename_all = "snake_case")]
#[ts(optional_fields)]
pub enum SessionCall {
    /// Output: [`SessionState`].
    GetState,
    /// Output: [`Entries`].
    GetEntries { selection: EntrySelection },
    /// Adds an entry that the model does not see. Output: [`AppendedEntry`].
    AppendEntry {
        custom_type: String,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
    },
    /// Adds a message of the extension's own type. Output: empty.
    SendMessage {
        custom_type: String,
        content: Vec<ContentBlock>,
        display: bool,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
        delivery: Delivery,
        trigger_turn: bool,
    },
    /// Speaks in the user's place; always a turn. Output: empty.
    SendUserMessage { content: Vec<ContentBlock>, delivery: Delivery },
    /// Output: empty.
    SetName { name: String },
    /// Absent `label` removes it. Output: empty.
    SetLabel {
        entry_id: EntryId,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// Output: [`Tools`].
    GetTools,
    /// Names that do not exist are ignored. Output: empty.
    SetActiveTools { names: Vec<String> },
    /// Output: [`Commands`].
    GetCommands,
    /// Output: [`Models`].
    GetModels,
    /// Output: [`Acceptance`]; refused without a key for the provider.
    SetModel { provider: ProviderId, model: ModelId },
    /// Clamped to what the model can do. Output: empty.
    SetThinkingLevel { level: ThinkingLevel },
    /// A model call of the extension's own; it needs no key. Output: [`Completion`].
    Complete {
        /// The model of the conversation, unless given.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        model: Option<ModelName>,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        system_prompt: Option<String>,
        messages: Vec<Value>,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        max_tokens: Option<u64>,
    },
    /// Output: [`Acceptance`].
    Compact {
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        instructions: Option<String>,
    },
    /// Stops the run. Output: empty.
    Abort,
    /// Output: empty, once nothing runs and nothing is queued.
    WaitForIdle,
    /// Output: [`Acceptance`].
    NewSession,
    /// Output: [`Acceptance`].
    Fork { entry_id: EntryId },
    /// Output: [`Acceptance`].
    NavigateTree {
        entry_id: EntryId,
        summarize: bool,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        instructions: Option<String>,
    },
    /// Output: [`Acceptance`].
    SwitchSession { path: String },
    /// Loads the extensions anew. Output: [`Acceptance`].
    Reload,
}

/// When a message reaches a model that is at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// As soon as the running tools are done.
    Steer,
    /// When the run would end.
    FollowUp,
    /// Together with the next prompt.
    NextTurn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum EntrySelection {
    /// The whole tree.
    All,
    /// From the root to the current leaf.
    Branch,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct SessionState {
    pub session_id: SessionId,
    /// Absent until something was said.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub leaf_id: Option<EntryId>,
    pub cwd: String,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelName>,
    pub thinking_level: ThinkingLevel,
    pub system_prompt: String,
    pub is_idle: bool,
    pub has_pending_messages: bool,
    pub has_ui: bool,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub context_usage: Option<ContextUsage>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct ContextUsage {
    /// Absent when not known, for instance after compaction.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    pub context_window: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ModelName {
    pub provider: ProviderId,
    pub model: ModelId,
}

/// Session entries as they stand in a session file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Entries {
    pub entries: Vec<Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct AppendedEntry {
    pub entry_id: EntryId,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Tools {
    pub tools: Vec<ToolInfo>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ToolInfo {
    pub name: String,
    pub description: String,
    pub parameters: Value,
    pub is_active: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Commands {
    pub commands: Vec<super::tool::CommandDefinition>,
}

/// The models that can be used now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Models {
    pub models: Vec<ModelName>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Acceptance {
    pub accepted: bool,
}

/// The assistant message that a model answered with, as it stands in a transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Completion {
    pub message: Value,
}
