//! What can be told about a session without reading it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{
    id::SessionId,
    json::{Amount, nullable, nullable_schema, present},
    model::{Model, ThinkingLevel},
};

/// A session that is loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct SessionInfo {
    pub session_id: SessionId,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub session_name: Option<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub session_file: Option<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// Not told of a session that is not loaded.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<ThinkingLevel>,
    /// Whether a run is in flight.
    pub is_streaming: bool,
    pub message_count: u64,
    /// When it was created or loaded, ISO 8601.
    pub created_at: String,
}

/// A session on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct StoredSessionInfo {
    pub session_id: SessionId,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub session_name: Option<String>,
    pub session_file: String,
    /// The same value as `session_file`, under the name that `load_session` takes.
    pub session_path: String,
    pub cwd: String,
    pub created_at: String,
    pub file_exists: bool,
    pub message_count: u64,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<ThinkingLevel>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub is_streaming: Option<bool>,
}

/// What a session holds and has cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct SessionStats {
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub session_file: Option<String>,
    pub session_id: SessionId,
    pub user_messages: u64,
    pub assistant_messages: u64,
    pub tool_calls: u64,
    pub tool_results: u64,
    pub total_messages: u64,
    pub tokens: TokenTotals,
    /// US dollars.
    pub cost: Amount,
    /// Ours: the price of some tokens is not known, and `cost` is what they cost at least.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub cost_at_least: Option<bool>,
    /// Ours: what they cost at most then, where that is known.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub cost_at_most: Option<Amount>,
}

/// Tokens of all model calls of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct TokenTotals {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub total: u64,
}

/// How full the context window is. `null` means not known yet, as after a compaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ContextUsage {
    #[serde(deserialize_with = "nullable")]
    #[schemars(schema_with = "nullable_schema::<u64>")]
    pub tokens: Option<u64>,
    pub context_window: u64,
    #[serde(deserialize_with = "nullable")]
    #[schemars(schema_with = "nullable_schema::<Amount>")]
    pub percent: Option<Amount>,
}
