//! How a provider's errors are told apart.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::error::ErrorCode;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ErrorClassification {
    #[serde(default)]
    pub by_http_status: IndexMap<String, ErrorCode>,
    /// The provider's code or type in the body; it beats the status.
    #[serde(default)]
    pub by_error_code: IndexMap<String, ErrorCode>,
    #[serde(default)]
    pub by_error_message: Vec<MessagePattern>,
    #[serde(default)]
    pub retry_after_extraction: Option<RetryAfterExtraction>,
    #[serde(default)]
    pub notes: Vec<String>,
}

/// Words in a message that name the error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessagePattern {
    /// A regular expression; case does not matter.
    pub pattern: String,
    pub maps_to: ErrorCode,
}

/// Where a message says how long to wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryAfterExtraction {
    /// A regular expression whose first group is the number.
    pub pattern: String,
    #[serde(default)]
    pub unit: TimeUnit,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeUnit {
    #[default]
    Seconds,
    Milliseconds,
}
