//! The experimental section of the standard. Parsed and shown; only the circuit breaker has an effect.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Experimental {
    pub description: Option<String>,
    pub status: Option<String>,
    pub multimodal_interleave: Option<MultimodalInterleave>,
    pub rtc_events: Option<RtcEvents>,
    pub schema_less_mapping: Option<SchemaLessMapping>,
    pub streaming_events_v2: Option<StreamingEvents>,
    pub performance: Performance,
    /// Names alone, as the first generation listed them.
    pub names: Vec<String>,
}

/// Several streams of content decoded at the same time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MultimodalInterleave {
    pub description: Option<String>,
    pub frame_interleave: FrameInterleave,
    pub content_fusion: ContentFusion,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FrameInterleave {
    pub operators: Vec<String>,
    pub synchronization: Synchronization,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Synchronization {
    pub timestamp_alignment: Option<String>,
    pub frame_rate_matching: Option<String>,
    pub buffer_strategy: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContentFusion {
    pub fusion_rules: Vec<FusionRule>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FusionRule {
    #[serde(rename = "match")]
    pub operators: Vec<String>,
    pub operator: String,
}

/// The agent's state and the progress of its tools, sent over a boundary.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RtcEvents {
    pub description: Option<String>,
    pub state_sync: StateSync,
    pub tool_streaming: ToolStreaming,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StateSync {
    pub operators: Vec<String>,
    pub state_model: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolStreaming {
    pub execution_feedback: Vec<String>,
    pub coordination: Coordination,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Coordination {
    pub parallel_execution: Option<bool>,
    pub dependency_resolution: Option<String>,
    pub rollback_support: Option<bool>,
}

/// Fields that no schema names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SchemaLessMapping {
    pub description: Option<String>,
    pub dynamic_fields: DynamicFields,
    pub type_inference: TypeInference,
    pub extra_metadata: ExtraMetadata,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DynamicFields {
    pub strategy: Option<String>,
    pub validation: Option<String>,
    pub metadata_extraction: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TypeInference {
    pub primitives: Vec<String>,
    pub complex_types: Vec<String>,
    pub custom_types: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExtraMetadata {
    pub storage: Option<String>,
    pub indexing: Option<String>,
    pub querying: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StreamingEvents {
    pub supported_events: Vec<String>,
    pub event_correlation: EventCorrelation,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EventCorrelation {
    pub session_id: Option<String>,
    pub sequence_number: Option<String>,
    pub causal_dependencies: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Performance {
    pub adaptive_batching: Option<AdaptiveBatching>,
    pub circuit_breaker: CircuitBreaker,
    pub qos: Option<Qos>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AdaptiveBatching {
    pub strategy: Option<String>,
    pub max_batch_size: Option<u32>,
    pub timeout_ms: Option<u64>,
}

/// When a provider that fails is left alone for a while.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CircuitBreaker {
    /// The share of failures in the window that opens the circuit, between 0 and 1.
    pub failure_threshold: f64,
    pub recovery_timeout_ms: u64,
    pub monitoring_window_ms: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Qos {
    pub priority_levels: Vec<String>,
    pub sla_guarantees: Vec<String>,
}

impl Default for CircuitBreaker {
    fn default() -> Self {
        Self { failure_threshold: 0.5, recovery_timeout_ms: 30_000, monitoring_window_ms: 60_000 }
    }
}
