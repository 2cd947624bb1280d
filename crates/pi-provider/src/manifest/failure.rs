//! How a provider's errors are told apart.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::expression;
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

/// The statuses whose meaning is the same with everybody.
const USUAL_STATUSES: [u16; 13] = [400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 503, 504];

impl ErrorClassification {
    /// Adds the usual meaning of these statuses, where nothing else is said about them.
    pub(super) fn assume(&mut self, statuses: &[u16]) {
        for &status in statuses {
            self.by_http_status.entry(status.to_string()).or_insert(ErrorCode::from_status(status));
        }
    }

    /// Adds the usual meaning of all usual statuses, for a provider that says nothing about them.
    pub(crate) fn assume_usual(&mut self) {
        self.assume(&USUAL_STATUSES);
    }
}

/// Words in a message that name the error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessagePattern {
    /// A regular expression; case does not matter.
    #[serde(deserialize_with = "expression::words")]
    pub pattern: String,
    pub maps_to: ErrorCode,
}

/// Where a message says how long to wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryAfterExtraction {
    /// A regular expression whose first group is the number.
    #[serde(deserialize_with = "expression::wait")]
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
