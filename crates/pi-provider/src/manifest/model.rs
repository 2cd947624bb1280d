//! A model as its provider's manifest describes it.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{endpoint::OwnAddress, expression, load::KeySource, quirks::Quirks};

/// What is known of a model. `None` means unknown, never "no" or zero.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelEntry {
    #[serde(default, alias = "display_name")]
    pub name: Option<String>,
    /// The name on the wire, where it differs from the id.
    #[serde(default)]
    pub model_id: Option<String>,
    #[serde(default)]
    pub family: Option<String>,
    #[serde(default)]
    pub context_window: Option<u64>,
    #[serde(default)]
    pub max_output_tokens: Option<u64>,
    #[serde(default)]
    pub release_date: Option<String>,
    #[serde(default)]
    pub knowledge_cutoff: Option<String>,
    #[serde(default)]
    pub status: Option<String>,
    /// Ours: the day on which it is or was switched off, as 2027-01-14.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_on: Option<String>,
    /// Ours: the id of the model that its provider names in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successor: Option<String>,
    #[serde(default)]
    pub pricing: Option<Pricing>,
    #[serde(default)]
    pub model_capabilities: ModelCapabilities,
    #[serde(default)]
    pub modalities: Option<Modalities>,
    /// Thinking level (`off` … `max`) to what the provider is sent; `null` for a level that the model does not have.
    /// Ours: the standard has `reasoning_options` without a form.
    #[serde(default)]
    pub thinking_levels: Option<IndexMap<String, Value>>,
    /// Ours: the name of the form in which this model is told how hard to think, one of the contract's
    /// `reasoning_mode.formats` or of the built-in ones.
    #[serde(default)]
    pub thinking_format: Option<String>,
    /// Ours: standard parameter to its dotted member, where this model differs from its provider:
    /// `max_tokens: max_completion_tokens`.
    #[serde(default, deserialize_with = "expression::members")]
    pub parameter_aliases: IndexMap<String, String>,
    /// Ours: standard parameters that this model refuses.
    #[serde(default)]
    pub unsupported_parameters: Vec<String>,
    /// Ours: in place of the contract's `missing_signature`; empty for a model that needs none.
    #[serde(default)]
    pub missing_signature: Option<String>,
    /// Ours: in place of the contract's `caching.markers`.
    #[serde(default)]
    pub cache_markers: Option<bool>,
    /// Members that every request for this model carries.
    #[serde(default, deserialize_with = "expression::filled_members")]
    pub request_defaults: Map<String, Value>,
    /// The dialect, where this model speaks another one than its provider: `openai_responses`.
    #[serde(default)]
    pub api: Option<String>,
    /// Where Pi's `models.json` says that this model is reached, where that is not where its provider is.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<OwnAddress>,
    /// Headers of its own beside its provider's, from Pi's `models.json`. Their values may be secret.
    #[serde(skip)]
    pub headers: IndexMap<String, KeySource>,
    /// Where it differs from its dialect in the words of Pi's `models.json`, those about its provider included.
    #[serde(skip)]
    pub quirks: Option<Box<Quirks>>,
    /// Whether the levels that `thinking_levels` does not name are those of the form, as Pi has it; else there are no others.
    #[serde(skip)]
    pub has_usual_levels: bool,
    /// What the standard has for people and other programs, and Pi's `compat`.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl ModelEntry {
    /// Whether it takes words and answers with words; others embed, rank, draw or speak. One that does not say is taken for
    /// one that does.
    pub fn answers(&self) -> bool {
        let has_text = |kinds: &[String]| kinds.is_empty() || kinds.iter().any(|it| it == "text");
        self.modalities.as_ref().is_none_or(|it| has_text(&it.input) && has_text(&it.output))
    }
}

/// Members of the standard that mean nothing here and are kept as they are written.
pub(crate) const KEPT: [&str; 7] =
    ["capabilities", "agentic_capabilities", "architecture", "notes", "tags", "thinking", "verification"];

/// What a model costs, in US dollars for a million tokens. `None` is a price that nobody knows, never zero.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Pricing {
    #[serde(default)]
    pub input_per_1m: Option<f64>,
    #[serde(default)]
    pub output_per_1m: Option<f64>,
    #[serde(default)]
    pub cache_hit_input_per_1m: Option<f64>,
    /// Ours.
    #[serde(default)]
    pub cache_write_per_1m: Option<f64>,
    /// Ours: writing into a cache that keeps it for an hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_1h_per_1m: Option<f64>,
    /// Ours: which part of these prices, which are those of the peak, is asked for when few ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off_peak_factor: Option<f64>,
    /// Ours: something beside tokens is charged too, such as a search, so that these prices are the least that is asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub extra_fees: bool,
    /// Prices in another currency than US dollars are left out when a file is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// Ours: other prices for requests with long prompts, the shortest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<PriceTier>,
}

/// The prices of a whole request whose prompt is longer than this. What they leave out is not known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PriceTier {
    /// Tokens of the prompt, those from a cache included.
    pub above_prompt_tokens: u64,
    #[serde(default)]
    pub input_per_1m: Option<f64>,
    #[serde(default)]
    pub output_per_1m: Option<f64>,
    #[serde(default)]
    pub cache_hit_input_per_1m: Option<f64>,
    #[serde(default)]
    pub cache_write_per_1m: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_1h_per_1m: Option<f64>,
}

/// The prices of one request, in US dollars for a million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Prices {
    pub input: Option<f64>,
    pub output: Option<f64>,
    pub cache_read: Option<f64>,
    pub cache_write: Option<f64>,
    pub cache_write_1h: Option<f64>,
}

impl Pricing {
    /// The prices of a request with so many tokens in its prompt.
    pub fn of_prompt(&self, tokens: u64) -> Prices {
        let reached = self.tiers.iter().filter(|tier| tokens > tier.above_prompt_tokens);
        match reached.max_by_key(|tier| tier.above_prompt_tokens) {
            Some(tier) => Prices {
                input: tier.input_per_1m,
                output: tier.output_per_1m,
                cache_read: tier.cache_hit_input_per_1m,
                cache_write: tier.cache_write_per_1m,
                cache_write_1h: tier.cache_write_1h_per_1m,
            },
            None => Prices {
                input: self.input_per_1m,
                output: self.output_per_1m,
                cache_read: self.cache_hit_input_per_1m,
                cache_write: self.cache_write_per_1m,
                cache_write_1h: self.cache_write_1h_per_1m,
            },
        }
    }

    /// These prices where only this part of them is asked for. Whether that is so of what is read from a cache too, which is
    /// cheaper already, differs: its price is not known.
    #[must_use]
    pub fn reduced(&self, factor: f64) -> Self {
        let part = |price: Option<f64>| price.map(|price| price * factor);
        let tier = |tier: &PriceTier| PriceTier {
            above_prompt_tokens: tier.above_prompt_tokens,
            input_per_1m: part(tier.input_per_1m),
            output_per_1m: part(tier.output_per_1m),
            cache_hit_input_per_1m: None,
            cache_write_per_1m: part(tier.cache_write_per_1m),
            cache_write_1h_per_1m: part(tier.cache_write_1h_per_1m),
        };
        Self {
            input_per_1m: part(self.input_per_1m),
            output_per_1m: part(self.output_per_1m),
            cache_hit_input_per_1m: None,
            cache_write_per_1m: part(self.cache_write_per_1m),
            cache_write_1h_per_1m: part(self.cache_write_1h_per_1m),
            tiers: self.tiers.iter().map(tier).collect(),
            ..self.clone()
        }
    }

    /// Whether anything has a price.
    pub fn is_known(&self) -> bool {
        let is_priced = |prices: [Option<f64>; 2]| prices.iter().any(Option::is_some);
        is_priced([self.input_per_1m, self.output_per_1m])
            || self.tiers.iter().any(|tier| is_priced([tier.input_per_1m, tier.output_per_1m]))
    }

    /// Whether both what is sent and what comes back have a price.
    pub fn is_whole(&self) -> bool {
        self.input_per_1m.is_some() && self.output_per_1m.is_some()
    }

    /// Whether what comes from a cache has a price, at any length of the prompt. Where everything is free, so is that.
    pub fn has_cache_price(&self) -> bool {
        let is_known = |input: Option<f64>, cached: Option<f64>| cached.is_some() || input == Some(0.0);
        is_known(self.input_per_1m, self.cache_hit_input_per_1m)
            && self.tiers.iter().all(|tier| is_known(tier.input_per_1m, tier.cache_hit_input_per_1m))
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelCapabilities {
    #[serde(default)]
    pub tool_call: Option<bool>,
    #[serde(default)]
    pub structured_output: Option<bool>,
    #[serde(default)]
    pub reasoning: Option<bool>,
    #[serde(default)]
    pub attachment: Option<bool>,
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Modalities {
    #[serde(default)]
    pub input: Vec<String>,
    #[serde(default)]
    pub output: Vec<String>,
}
