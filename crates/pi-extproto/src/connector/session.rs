//! The conversation, as far as an extension may see and steer it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use pi_transcript::{EntryId, ModelId, ProviderId, SessionId, ThinkingLevel, json::present};

use super::tool::{Content, ContentBlock};

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
    /// Output: [`SystemPrompt`].
    GetSystemPrompt,
    /// The first line of the session file. Output: [`SessionHeader`].
    GetHeader,
    /// Output: [`Entries`].
    GetEntries { selection: EntrySelection },
    /// Output: [`FoundEntry`].
    GetEntry { entry_id: EntryId },
    /// Output: [`EntryLabel`].
    GetLabel { entry_id: EntryId },
    /// Adds an entry that the model does not see. Output: [`AppendedEntry`].
    AppendEntry {
        custom_type: String,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
    },
    /// Adds a message of the extension's own type. Output: empty.
    SendMessage {
        custom_type: String,
        /// Plain text of scripts alone: the record of components is as it was published.
        #[schemars(with = "Vec<ContentBlock>")]
        content: Content,
        display: bool,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
        delivery: Delivery,
        trigger_turn: bool,
    },
    /// Speaks in the user's place; always a turn. Output: empty.
    SendUserMessage {
        content: Vec<ContentBlock>,
        delivery: Delivery,
        /// Whether skills and prompt templates are expanded, as if a person had typed it.
        expand: bool,
    },
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
    /// Output: [`ScopedModels`].
    GetScopedModels,
    /// Output: [`GitBranch`].
    GetGitBranch,
    /// Output: [`Acceptance`]; refused without a key for the provider.
    SetModel { provider: ProviderId, model: ModelId },
    /// Clamped to what the model can do. Output: [`ChosenLevel`].
    SetThinkingLevel { level: ThinkingLevel },
    /// A model call of the extension's own; it needs no key. Output: [`Completion`].
    Complete {
        /// The model of the conversation, unless given.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        model: Option<ModelName>,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        system_prompt: Option<String>,
        messages: Vec<Value>,
        /// Tools that the model may call: name, description and parameters of each. The caller answers the calls.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        tools: Option<Vec<Value>>,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        max_tokens: Option<u64>,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        thinking_level: Option<ThinkingLevel>,
    },
    /// Output: [`Compaction`].
    Compact {
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        instructions: Option<String>,
    },
    /// Stops the run. Output: empty.
    Abort,
    /// Output: empty, once nothing runs and nothing is queued.
    WaitForIdle,
    /// Output: [`Acceptance`].
    NewSession {
        /// The file of the session that it comes from.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        parent: Option<String>,
    },
    /// Output: [`Acceptance`].
    Fork { entry_id: EntryId, position: ForkPoint },
    /// Output: [`Acceptance`].
    NavigateTree {
        entry_id: EntryId,
        summarize: bool,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        instructions: Option<String>,
        /// Whether the instructions take the place of the usual ones.
        replace_instructions: bool,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// Output: [`Acceptance`].
    SwitchSession { path: String },
    /// Loads the extensions anew. Output: [`Acceptance`].
    Reload,
    /// What the extension offers has changed. Output: empty.
    RegistrationChanged,
    /// Ends the program in good order, when nothing runs; whoever owns the session may refuse. Output: empty.
    Quit,
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

/// Whether the entry itself is in the fork.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum ForkPoint {
    Before,
    At,
}

/// Who is at the other end of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum SessionMode {
    /// A person at a terminal.
    Terminal,
    /// Clients of the server.
    Server,
    /// A program that reads events.
    Json,
    /// Nobody who could answer.
    Print,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct SessionState {
    pub session_id: SessionId,
    /// Absent until something was said.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The folder of session files.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub leaf_id: Option<EntryId>,
    pub cwd: String,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelName>,
    /// Everything that is known about the model.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub model_info: Option<Value>,
    pub thinking_level: ThinkingLevel,
    pub is_idle: bool,
    pub has_pending_messages: bool,
    pub mode: SessionMode,
    pub has_ui: bool,
    pub is_project_trusted: bool,
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

/// What a model is told before everything else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SystemPrompt {
    pub text: String,
}

/// The header of a session as it stands in its file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SessionHeader {
    pub header: Value,
}

/// Absent `entry` means that there is none of this id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct FoundEntry {
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub entry: Option<Value>,
}

/// Absent `label` means that the entry has none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct EntryLabel {
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// What a thinking level became.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ChosenLevel {
    pub level: ThinkingLevel,
}

/// What was compacted, as it stands in a session file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Compaction {
    pub result: Value,
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
#[ts(optional_fields)]
pub struct ToolInfo {
    pub name: String,
    pub description: String,
    pub parameters: Value,
    pub is_active: bool,
    /// The path of the extension that it is from; absent for a built-in one.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Commands {
    pub commands: Vec<CommandInfo>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct CommandInfo {
    /// Without the slash.
    pub name: String,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub source: CommandSource,
    /// The file that it is from; absent for a built-in one.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// Where a slash command comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum CommandSource {
    BuiltIn,
    Extension,
    Prompt,
    Skill,
}

/// All models, with those that cannot be used now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Models {
    pub models: Vec<ModelInfo>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ModelInfo {
    pub provider: ProviderId,
    pub model: ModelId,
    /// Whether there is a key for it.
    pub is_usable: bool,
    /// Everything that is known about it.
    pub info: Value,
}

/// The models that somebody goes through who goes from one to the next, in their order; none where that is all of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ScopedModels {
    pub models: Vec<ScopedModel>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct ScopedModel {
    pub provider: ProviderId,
    pub model: ModelId,
    /// How hard it thinks when somebody comes to it; absent where nobody says.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<ThinkingLevel>,
    /// Everything that is known about it.
    pub info: Value,
}

/// The branch that is checked out in the folder of the session, or `detached`; absent outside of a git repository.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct GitBranch {
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
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
