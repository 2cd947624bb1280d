//! How a stream is cut into frames and how frames become events.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::expression;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Streaming {
    pub decoder: Decoder,
    /// Frames for which this condition is false are skipped.
    #[serde(default, deserialize_with = "expression::optional_condition")]
    pub frame_selector: Option<String>,
    #[serde(default)]
    pub candidate: Option<Candidate>,
    #[serde(default)]
    pub accumulator: Option<Accumulator>,
    #[serde(default)]
    pub event_map: Vec<Rule>,
    /// The stream is over when a frame fulfils this condition.
    #[serde(default, deserialize_with = "expression::optional_condition")]
    pub stop_condition: Option<String>,
    #[serde(default, deserialize_with = "expression::optional_path")]
    pub content_path: Option<String>,
    #[serde(default, deserialize_with = "expression::optional_path")]
    pub tool_call_path: Option<String>,
    #[serde(default, deserialize_with = "expression::optional_path")]
    pub usage_path: Option<String>,
    #[serde(default, deserialize_with = "expression::optional_path")]
    pub extra_metadata_path: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decoder {
    /// `sse`, `anthropic_sse`, `gemini_sse`, `openai_sse`, `ndjson`, `jsonl`, `gemini_json`, `cohere_native`.
    #[serde(default)]
    pub format: Option<String>,
    /// What the frames mean: `openai_chat`, `anthropic_event_stream`, `gemini_generate`, `cohere_v2`.
    #[serde(default)]
    pub strategy: Option<String>,
    #[serde(default)]
    pub delimiter: Option<String>,
    #[serde(default)]
    pub prefix: Option<String>,
    /// Empty means that there is none.
    #[serde(default)]
    pub done_signal: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    #[serde(default, deserialize_with = "expression::optional_plain_path")]
    pub candidate_id_path: Option<String>,
    #[serde(default)]
    pub fan_out: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accumulator {
    #[serde(default)]
    pub stateful_tool_parsing: bool,
    #[serde(default, deserialize_with = "expression::optional_path")]
    pub key_path: Option<String>,
    #[serde(default, deserialize_with = "expression::optional_condition")]
    pub flush_on: Option<String>,
}

/// Frames that fulfil `condition` give an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    #[serde(rename = "match", deserialize_with = "expression::condition")]
    pub condition: String,
    /// The name of the event.
    pub emit: String,
    /// Field of the event to a path or a literal.
    #[serde(default, alias = "fields", deserialize_with = "expression::sources")]
    pub extract: IndexMap<String, Value>,
}
