//! What a model call consumed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::json::{Amount, Extra, present};

/// Tokens and money of one model call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Usage {
    /// Tokens sent that no cache held.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// The part of `cache_write` that is kept for an hour.
    #[serde(rename = "cacheWrite1h")]
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<u64>,
    /// The part of `output` that was thinking.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
    /// As the provider counts; the first files did not have it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    pub cost: Cost,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// Money, in US dollars.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Cost {
    pub input: Amount,
    pub output: Amount,
    pub cache_read: Amount,
    pub cache_write: Amount,
    pub total: Amount,
    /// What the provider itself said the call costs.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub total_from_provider: Option<Amount>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

impl Usage {
    /// All tokens: as the provider counted them, or else the sum of the parts.
    pub fn total(&self) -> u64 {
        let parts = [self.output, self.cache_read, self.cache_write];
        self.total_tokens.unwrap_or_else(|| parts.into_iter().fold(self.input, u64::saturating_add))
    }
}
