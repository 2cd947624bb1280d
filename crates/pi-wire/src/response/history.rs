//! The journal: what was recovered at the start, and what commands did.

use pi_transcript::{SessionId, json::present};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::id::{CommandId, IdempotencyKey};

/// To `get_startup_recovery`, and in `startup_recovery_summary`, where paths are redacted and lists are empty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct StartupRecovery {
    pub enabled: bool,
    pub initialized: bool,
    pub init_state: JournalState,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub initialization_error: Option<String>,
    pub journal_path: String,
    pub schema_version: u64,
    pub entries_scanned: u64,
    pub malformed_entries: u64,
    pub unsupported_version_entries: u64,
    pub recovered_outcomes: u64,
    pub recovered_outcome_ids: Vec<CommandId>,
    pub recovered_outcome_ids_truncated: bool,
    pub recovered_in_flight_failures: u64,
    pub recovered_in_flight: Vec<RecoveredCommand>,
    pub recovered_in_flight_truncated: bool,
    pub max_items_returned: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum JournalState {
    Disabled,
    Pending,
    Ready,
    Failed,
    TimedOut,
}

/// A command that was in flight when the server stopped. It is failed, never run again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct RecoveredCommand {
    pub command_id: CommandId,
    pub command_type: String,
    pub lane_key: String,
    pub last_phase: Phase,
    pub reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    CommandAccepted,
    CommandStarted,
    CommandFinished,
}

/// To `get_command_history`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct CommandHistory {
    pub enabled: bool,
    pub initialized: bool,
    pub init_state: JournalState,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub initialization_error: Option<String>,
    pub journal_path: String,
    pub schema_version: u64,
    pub filters: HistoryFilters,
    /// Newest first.
    pub entries: Vec<HistoryEntry>,
    pub returned: u64,
    pub truncated: bool,
    /// The limit in force.
    pub max_items_returned: u64,
    pub max_items_allowed: u64,
}

/// The filters of the command, as they were understood.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct HistoryFilters {
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub session_id_filter: Option<SessionId>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub command_id: Option<CommandId>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub from_timestamp: Option<u64>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub to_timestamp: Option<u64>,
}

/// One phase of one command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct HistoryEntry {
    /// Milliseconds since 1970.
    pub recorded_at: u64,
    pub phase: Phase,
    pub command_id: CommandId,
    pub command_type: String,
    pub lane_key: String,
    pub lane_sequence: u64,
    pub fingerprint: String,
    /// Whether the client chose the id.
    pub explicit_id: bool,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<Vec<CommandId>>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub if_session_version: Option<u64>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<IdempotencyKey>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub success: Option<bool>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub session_version: Option<u64>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub replayed: Option<bool>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<bool>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub recovered: Option<bool>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub recovery_reason: Option<String>,
}

impl HistoryEntry {
    /// For every other client: an opaque id, and nothing that tells what the command said. Error texts may name ids.
    #[must_use]
    pub fn for_others(self, opaque: CommandId) -> Self {
        Self {
            command_id: opaque,
            fingerprint: String::new(),
            depends_on: None,
            idempotency_key: None,
            error: None,
            ..self
        }
    }
}
