//! A model and how hard it may think.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use ts_rs::TS;

use crate::{
    id::{ModelId, ProviderId},
    json::{Amount, Extra, Open, present},
};

/// A model that can be asked, as anybody may see it: it is sent to every client and stands in logs.
///
/// What a request needs beyond that is the provider's secret. The models of other programs have a member `headers` with
/// keys in it; it is dropped on reading, so that no answer and no debug print can pass it on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Model {
    pub id: ModelId,
    pub name: String,
    /// The dialect that is spoken with the provider.
    pub api: String,
    pub provider: ProviderId,
    pub base_url: String,
    /// Whether it can think before it answers.
    pub reasoning: bool,
    pub input: Vec<Open<Modality>>,
    pub cost: ModelCost,
    /// Tokens that fit into one call, question and answer together.
    pub context_window: u64,
    /// Tokens that one answer may have.
    pub max_tokens: u64,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub compat: Option<Value>,
    /// Thinking level to the provider's word for it; `null` for a level that the model does not have.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub thinking_level_map: Option<Map<String, Value>>,
    #[serde(flatten, deserialize_with = "without_headers")]
    #[ts(skip)]
    pub extra: Extra,
}

/// What a model can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum Modality {
    Text,
    Image,
}

/// US dollars for a million tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ModelCost {
    pub input: Amount,
    pub output: Amount,
    pub cache_read: Amount,
    pub cache_write: Amount,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// How hard a model may think, from not at all to as hard as it can.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingLevel {
    #[default]
    Off,
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
    Max,
}

/// The word is not a thinking level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{word:?} is not a thinking level")]
pub struct UnknownThinkingLevel {
    pub word: String,
}

impl ThinkingLevel {
    /// Every level, the weakest first.
    pub const ALL: [Self; 7] = [Self::Off, Self::Minimal, Self::Low, Self::Medium, Self::High, Self::Xhigh, Self::Max];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }
}

impl fmt::Display for ThinkingLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ThinkingLevel {
    type Err = UnknownThinkingLevel;

    fn from_str(word: &str) -> Result<Self, UnknownThinkingLevel> {
        let known = Self::ALL.into_iter().find(|level| level.as_str() == word);
        known.ok_or_else(|| UnknownThinkingLevel { word: word.to_owned() })
    }
}

fn without_headers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Extra, D::Error> {
    let mut extra = Extra::deserialize(deserializer)?;
    extra.retain(|name, _| !name.eq_ignore_ascii_case("headers"));
    Ok(extra)
}
