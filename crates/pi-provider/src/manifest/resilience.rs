//! Ring 3: limits, retries, the words for an end, and filters.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::expression;
use crate::event::Termination;

/// Names of the headers in which limits are told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateLimitHeaders {
    #[serde(default)]
    pub requests_limit: Option<String>,
    #[serde(default)]
    pub requests_remaining: Option<String>,
    #[serde(default)]
    pub requests_reset: Option<String>,
    #[serde(default)]
    pub tokens_limit: Option<String>,
    #[serde(default)]
    pub tokens_remaining: Option<String>,
    #[serde(default)]
    pub tokens_reset: Option<String>,
    #[serde(default)]
    pub retry_after: Option<String>,
}

/// When a call is tried again before its first byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RetryPolicy {
    pub strategy: Strategy,
    pub max_retries: u32,
    pub min_delay_ms: u64,
    pub max_delay_ms: u64,
    pub jitter: Jitter,
    /// Empty means: as the standard code says.
    pub retry_on_http_status: Vec<u16>,
    /// Standard names; empty means: as the standard code says.
    pub retry_on_error_code: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    None,
    ExponentialBackoff,
    LinearBackoff,
    FixedDelay,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Jitter {
    None,
    /// Anything between the shortest delay and the computed one.
    Full,
    /// At least half of the computed delay.
    Equal,
}

/// The provider's words for the end of an answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TerminationMap {
    #[serde(default, deserialize_with = "expression::optional_path")]
    pub source_field: Option<String>,
    #[serde(default)]
    pub mapping: IndexMap<String, Termination>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Guardrails {
    #[serde(default)]
    pub input_filters: Vec<Filter>,
    #[serde(default)]
    pub output_filters: Vec<Filter>,
    /// What was written there and could not be read. Nothing passes by it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<UnreadFilter>,
}

/// Filters that were written and could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadFilter {
    /// Where, such as `guardrails.input_filters[0]`.
    pub path: String,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Filter {
    /// `content_safety`, `pii_detection`, or a name of the file's own.
    #[serde(rename = "type")]
    pub kind: String,
    pub action: FilterAction,
    /// What the filter looks for, in its own words: `patterns`, `words`, `categories`.
    #[serde(flatten)]
    pub settings: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FilterAction {
    Block,
    Warn,
    Log,
    Mask,
}

impl FilterAction {
    /// Whether what is found does not pass.
    pub fn keeps_back(self) -> bool {
        match self {
            Self::Block | Self::Mask => true,
            Self::Warn | Self::Log => false,
        }
    }
}

impl Guardrails {
    /// Nothing was written.
    pub fn is_empty(&self) -> bool {
        self.input_filters.is_empty() && self.output_filters.is_empty() && self.unread.is_empty()
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            strategy: Strategy::ExponentialBackoff,
            max_retries: 3,
            min_delay_ms: 1000,
            max_delay_ms: 30_000,
            jitter: Jitter::Full,
            retry_on_http_status: Vec::new(),
            retry_on_error_code: Vec::new(),
        }
    }
}
