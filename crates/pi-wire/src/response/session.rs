//! What session commands answer.

use pi_envelope::Tokens;
use pi_transcript::{
    EntryId, Message, Model, ModelId, ProviderId, ThinkingLevel,
    json::{nullable, nullable_schema, present},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::id::ContextSourceId;

/// To `get_available_models`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ModelList {
    pub models: Vec<Model>,
    /// Those that could be asked if their provider had a credential.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub lacking: Option<Vec<LackingModel>>,
}

/// A model that cannot be asked for want of a credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct LackingModel {
    pub provider: ProviderId,
    pub id: ModelId,
    /// The variables in which the server looks for a credential; any of them will do.
    pub needs: Vec<String>,
}

/// To `get_commands`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct SlashCommandList {
    pub commands: Vec<SlashCommand>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct SlashCommand {
    /// Without the slash.
    pub name: String,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub source: SlashCommandSource,
    /// Whether it is the user's or the project's.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum SlashCommandSource {
    Extension,
    Skill,
    Prompt,
}

/// To `get_skills`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct SkillList {
    pub skills: Vec<Skill>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct Skill {
    pub name: String,
    pub description: String,
    pub file_path: String,
    pub source: String,
}

/// To `get_tools`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolList {
    pub tools: Vec<ListedTool>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ListedTool {
    pub name: String,
    pub description: String,
    /// Whether the model is offered it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    /// Who brought it: `builtin`, an extension, an MCP server.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The source of `list_context_sources` that it is switched with.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub source_id: Option<ContextSourceId>,
    /// What it takes in every turn while it is offered: its definition, and what the system prompt says because of it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
}

/// To `list_session_files`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionFileList {
    pub files: Vec<SessionFile>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct SessionFile {
    pub path: String,
    pub name: String,
    /// ISO 8601.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub modified_at: Option<String>,
}

/// To `get_messages`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct MessageList {
    pub messages: Vec<Message>,
    /// The entry of each message, if the command asked for a page.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub entry_ids: Option<Vec<EntryId>>,
    /// Whether there are more in the direction asked for, if the command asked for a page.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub has_more: Option<bool>,
}

/// To `set_model`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ChosenModel {
    pub model: Model,
}

/// To `cycle_model`; `null` if there is no other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct CycledModel {
    pub model: Model,
    pub thinking_level: ThinkingLevel,
    /// Whether only chosen models are gone through.
    pub is_scoped: bool,
}

/// To `cycle_thinking_level`; `null` if the model cannot think.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct CycledThinkingLevel {
    pub level: ThinkingLevel,
}

/// To `bash`. A command that fails is still a success of `bash`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct BashResult {
    /// 0 if it is not known.
    pub exit_code: i64,
    pub output: String,
    pub cancelled: bool,
    /// Ours: `output` is the end of what was written, for all of it would be too much.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
    /// Ours: where all of it is, on the machine of the server.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
}

/// To `export_html`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ExportedFile {
    pub path: String,
}

/// To `new_session` and `switch_session_file`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct Cancellable {
    /// Whether an extension prevented it.
    pub cancelled: bool,
}

/// To `fork`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct Forked {
    /// The message from before which the fork starts.
    pub text: String,
    /// Whether an extension prevented it.
    pub cancelled: bool,
}

/// To `get_fork_messages`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ForkMessageList {
    pub messages: Vec<ForkMessage>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ForkMessage {
    pub entry_id: EntryId,
    pub text: String,
}

/// To `get_tree`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct EntryTree {
    #[serde(deserialize_with = "nullable")]
    #[schemars(schema_with = "nullable_schema::<EntryId>")]
    #[ts(optional = false)]
    pub current_leaf_id: Option<EntryId>,
    pub nodes: Vec<TreeNode>,
    /// Whether there are more entries than fit.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct TreeNode {
    pub entry_id: EntryId,
    #[serde(deserialize_with = "nullable")]
    #[schemars(schema_with = "nullable_schema::<EntryId>")]
    #[ts(optional = false)]
    pub parent_id: Option<EntryId>,
    /// The entry's type, as in the session file.
    pub entry_type: String,
    /// The role of a message.
    #[serde(deserialize_with = "nullable")]
    #[schemars(schema_with = "nullable_schema::<String>")]
    #[ts(optional = false)]
    pub role: Option<String>,
    /// Its beginning.
    pub text: String,
    /// ISO 8601.
    #[serde(deserialize_with = "nullable")]
    #[schemars(schema_with = "nullable_schema::<String>")]
    #[ts(optional = false)]
    pub timestamp: Option<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// To `navigate_tree`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Navigated {
    /// What to put into the editor.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub editor_text: Option<String>,
    /// Whether an extension prevented it.
    pub cancelled: bool,
    /// Whether the summary was aborted.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub aborted: Option<bool>,
}

/// To `get_last_assistant_text`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct LastAssistantText {
    #[serde(deserialize_with = "nullable")]
    #[schemars(schema_with = "nullable_schema::<String>")]
    pub text: Option<String>,
}

/// To `list_files`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct FileList {
    pub files: Vec<ListedFile>,
    /// Whether there are more than fit.
    pub truncated: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ListedFile {
    /// Relative to the session's directory.
    pub path: String,
    pub kind: FileKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    File,
    Directory,
}
