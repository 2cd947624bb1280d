//! What `get_metrics` answers.

use std::collections::BTreeMap;

use pi_transcript::{
    ProviderId,
    json::{Amount, nullable, nullable_schema, present},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

/// To `get_metrics`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Metrics {
    pub session_count: u64,
    pub connection_count: u64,
    pub pending_connection_count: u64,
    pub total_commands_executed: u64,
    pub commands_rejected: RejectedCommands,
    pub zombie_sessions_detected: u64,
    pub zombie_sessions_cleaned: u64,
    pub double_unregister_errors: u64,
    pub rate_limit_usage: RateLimitUsage,
    pub stores: StoreMetrics,
    pub circuit_breakers: Vec<CircuitBreakerMetrics>,
    pub bash_circuit_breaker: BashCircuitBreakerMetrics,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub metrics: Option<RecordedMetrics>,
}

/// Refused commands by limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct RejectedCommands {
    pub session_limit: u64,
    pub message_size: u64,
    pub rate_limit: u64,
    pub global_rate_limit: u64,
    pub connection_limit: u64,
    #[serde(rename = "extensionUIResponseRateLimit")]
    pub extension_ui_response_rate_limit: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct RateLimitUsage {
    pub global_count: u64,
    pub global_limit: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct StoreMetrics {
    pub replay: ReplayMetrics,
    pub version: VersionMetrics,
    pub execution: ExecutionMetrics,
    pub lock: LockMetrics,
    #[serde(rename = "extensionUI")]
    pub extension_ui: ExtensionUiMetrics,
    pub session_store: SessionStoreMetrics,
    pub journal: JournalMetrics,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ReplayMetrics {
    pub in_flight_count: u64,
    pub outcome_count: u64,
    pub idempotency_cache_size: u64,
    pub max_in_flight_commands: u64,
    pub max_command_outcomes: u64,
    pub in_flight_rejections: u64,
    /// As many outcomes are kept as may be: for so long, commands that change something are refused as busy.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub outcomes_full_for_ms: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct VersionMetrics {
    pub session_count: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionMetrics {
    pub lane_count: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct LockMetrics {
    pub active_locks: u64,
    pub timeout_count: u64,
    pub waiting_count: u64,
    pub queue_full_rejections: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ExtensionUiMetrics {
    /// Questions that wait for a person now.
    pub pending_count: u64,
    /// Questions of one session that may wait.
    pub max_pending_requests: u64,
    /// Questions that were not put before anybody, because as many waited as may.
    pub rejected_count: u64,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub answered_count: Option<u64>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub timed_out_count: Option<u64>,
    /// Questions that a person dismissed, or whose extension went away.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub cancelled_count: Option<u64>,
    /// Answers that did not fit, or to questions that were not open; such a question is none of those above.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub refused_answer_count: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct SessionStoreMetrics {
    pub metadata_reset_count: u64,
    /// Sessions whose file cannot be written, or was taken away while they are loaded.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub unwritten_sessions: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct JournalMetrics {
    pub enabled: bool,
    pub initialized: bool,
    pub journal_path: String,
    pub schema_version: u64,
    pub append_failure_policy: AppendFailurePolicy,
    pub redaction: RedactionHooks,
    pub entries_written: u64,
    pub write_errors: u64,
    pub entries_scanned: u64,
    pub malformed_entries: u64,
    pub unsupported_version_entries: u64,
    pub recovered_outcomes: u64,
    pub recovered_in_flight_failures: u64,
    pub retention: Retention,
    pub compaction: JournalCompaction,
}

/// What happens to a command whose record cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum AppendFailurePolicy {
    BestEffort,
    FailClosed,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct RedactionHooks {
    pub before_persist_hook_enabled: bool,
    pub before_export_hook_enabled: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Retention {
    pub enabled: bool,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub max_entries: Option<u64>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub max_age_ms: Option<u64>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct JournalCompaction {
    pub runs: u64,
    pub dropped_entries: u64,
    /// Milliseconds since 1970.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub last_compaction_at: Option<u64>,
    pub last_entries_before: u64,
    pub last_entries_after: u64,
    pub last_bytes_before: u64,
    pub last_bytes_after: u64,
}

/// A provider's circuit breaker. Times are milliseconds since 1970.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct CircuitBreakerMetrics {
    pub provider_name: ProviderId,
    pub state: CircuitState,
    pub failure_count: u64,
    #[serde(deserialize_with = "nullable")]
    #[schemars(schema_with = "nullable_schema::<u64>")]
    #[ts(optional = false)]
    pub last_failure_time: Option<u64>,
    pub last_state_change: u64,
    pub last_access_time: u64,
    pub total_calls: u64,
    pub total_rejected: u64,
    pub total_slow_calls: u64,
    pub total_successes: u64,
    pub total_failures: u64,
    pub avg_latency_ms: Amount,
    pub half_open_calls: u64,
    /// For how many milliseconds nothing new is asked of it yet; only while it is open.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum CircuitState {
    Closed,
    Open,
    HalfOpen,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct BashCircuitBreakerMetrics {
    pub enabled: bool,
    pub global_state: CircuitState,
    pub global_failure_count: u64,
    pub session_count: u64,
    pub open_session_count: u64,
    pub total_calls: u64,
    pub total_timeouts: u64,
    pub total_rejected: u64,
}

/// What the server's own recorder holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct RecordedMetrics {
    pub counters: BTreeMap<String, Amount>,
    pub gauges: BTreeMap<String, Amount>,
    pub histograms: BTreeMap<String, Value>,
    pub recent_events: Vec<RecordedEvent>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct RecordedEvent {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub tags: Option<BTreeMap<String, String>>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub value: Option<Amount>,
    /// Milliseconds since 1970.
    pub timestamp: u64,
}
