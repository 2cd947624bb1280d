//! What the commands about extensions answer.

use pi_transcript::json::present;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::id::ExtensionId;

/// To `list_extensions` and `reload_extensions`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionList {
    pub extensions: Vec<ListedExtension>,
}

/// To `enable_extension` and `disable_extension`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionState {
    pub extension: ListedExtension,
}

/// An extension and what it has done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ListedExtension {
    pub extension_id: ExtensionId,
    pub name: String,
    pub version: String,
    pub tier: ExtensionTier,
    pub enabled: bool,
    pub state: ExtensionPhase,
    /// Why it does not run.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Where it was found.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What it may do.
    pub capabilities: Vec<String>,
    pub tools: Vec<String>,
    /// Slash commands.
    pub commands: Vec<String>,
    /// About what its tools cost in every request to a model, in tokens.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub tool_tokens: Option<u64>,
    /// Tools, commands and events that it was asked for.
    pub calls: u64,
    /// Calls of its own that policy did not allow.
    pub denials: u64,
    /// Milliseconds that it took for what it was asked for.
    pub busy_ms: u64,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
}

/// How an extension runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum ExtensionTier {
    /// A WebAssembly component.
    Wasm,
    /// JavaScript or TypeScript.
    Js,
    /// An MCP server.
    Mcp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum ExtensionPhase {
    /// Not started yet.
    Idle,
    Running,
    /// Stopped until it is used again.
    Parked,
    Disabled,
    /// It failed to load or failed too often.
    Failed,
    /// It waits for the project to be trusted.
    Untrusted,
}
