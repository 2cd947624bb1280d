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

impl Cost {
    fn add(&mut self, other: &Self) {
        let pairs = [
            (&mut self.input, &other.input),
            (&mut self.output, &other.output),
            (&mut self.cache_read, &other.cache_read),
            (&mut self.cache_write, &other.cache_write),
            (&mut self.total, &other.total),
        ];
        for (own, other) in pairs {
            *own = own.plus(other);
        }
        self.total_from_provider = match (&self.total_from_provider, &other.total_from_provider) {
            (Some(own), Some(other)) => Some(own.plus(other)),
            (own, other) => own.clone().or_else(|| other.clone()),
        };
    }
}

fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    }
}

impl Usage {
    /// Adds what another call consumed. Members that we do not know stay as they are.
    pub fn add(&mut self, other: &Self) {
        let total = self.total().saturating_add(other.total());
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.cache_write_1h = sum(self.cache_write_1h, other.cache_write_1h);
        self.reasoning = sum(self.reasoning, other.reasoning);
        self.total_tokens = Some(total);
        self.cost.add(&other.cost);
    }

    /// All tokens: as the provider counted them, or else the sum of the parts.
    pub fn total(&self) -> u64 {
        let parts = [self.output, self.cache_read, self.cache_write];
        self.total_tokens.unwrap_or_else(|| parts.into_iter().fold(self.input, u64::saturating_add))
    }
}
