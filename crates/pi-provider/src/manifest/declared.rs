//! Declarations that are shown and given as hints: availability, prices, policies, families of interfaces, features.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{model::Pricing, number};

/// A section whose members the standard leaves open.
pub type Hints = Map<String, Value>;

/// Whether and where the provider can be reached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Availability {
    /// Whether it must be reachable when we start.
    pub required: bool,
    pub regions: Vec<Region>,
    pub check: Option<HealthCheck>,
    pub interval_ms: Option<u64>,
    pub fallback: Option<HealthCheck>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Region {
    Cn,
    Global,
    Us,
    Eu,
}

/// A request that shows whether the provider is there. A refusal (401) may count as being there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthCheck {
    #[serde(default = "get")]
    pub method: String,
    pub path: String,
    #[serde(default)]
    pub expected_status: Vec<u16>,
    #[serde(default = "three_seconds")]
    pub timeout_ms: u64,
}

/// What the provider costs where its models do not say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProviderPricing {
    pub input_per_1k_tokens: Option<f64>,
    pub output_per_1k_tokens: Option<f64>,
    pub currency: String,
    pub last_updated: Option<String>,
}

/// What to do when a conversation outgrows the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContextPolicy {
    pub strategy: Option<ContextStrategy>,
    pub token_budget: Hints,
    pub sliding_window: Hints,
    pub summarization: Hints,
    pub overflow_handling: Option<Value>,
    pub provider_specific: Hints,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextStrategy {
    SlidingWindow,
    Summarize,
    TruncateOldest,
    TokenBudget,
    Adaptive,
}

/// A staged description of what goes in and comes out. Metadata: nothing follows from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapabilityProfile {
    pub phase: ProfilePhase,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<ProfileInputs>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcomes: Option<ProfileOutcomes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub systems: Option<ProfileSystems>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProfileProcess>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<ProfileContract>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub future_reserved: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfilePhase {
    /// Inputs, outcomes, systems.
    #[default]
    IosV1,
    /// The same, and process or contract.
    IospcV1,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProfileInputs {
    pub modalities: Vec<String>,
    pub max_references: Option<u32>,
    #[serde(serialize_with = "number::one")]
    pub max_payload_mb: Option<f64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProfileOutcomes {
    pub types: Vec<String>,
    pub quality_tier: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProfileSystems {
    pub requires: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProfileProcess {
    pub mode: Option<String>,
    pub supports_callbacks: Option<bool>,
    pub max_async_jobs: Option<u32>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProfileContract {
    pub safety_profile: Option<String>,
    pub cost_class: Option<String>,
    pub error_model_ref: Option<String>,
    pub sla_tier: Option<String>,
}

/// Features of the first generation that outlived it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Features {
    pub multi_candidate: Option<MultiCandidate>,
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// Several answers to one question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MultiCandidate {
    pub support_type: CandidateSupport,
    #[serde(default)]
    pub param_name: Option<String>,
    #[serde(default)]
    pub max_concurrent: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CandidateSupport {
    Native,
    Simulated,
}

/// A family of interfaces. A file that lists names only gives families without formats.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ApiFamily {
    pub request_format: Option<String>,
    pub response_format: Option<String>,
}

/// Families by name, in the order of the file.
pub type ApiFamilies = IndexMap<String, ApiFamily>;

impl ProviderPricing {
    /// The prices as a model has them. In another currency there are none: what a call costs is told in US dollars.
    pub fn of_model(&self) -> Option<Pricing> {
        let per_million = |price: Option<f64>| price.filter(|&price| price >= 0.0).map(|price| price * 1000.0);
        let (input, output) = (per_million(self.input_per_1k_tokens), per_million(self.output_per_1k_tokens));
        let is_known = is_dollars(&self.currency) && (input.is_some() || output.is_some());
        is_known.then(|| Pricing { input_per_1m: input, output_per_1m: output, ..Pricing::default() })
    }
}

/// What a call costs is told in no other currency.
pub(super) fn is_dollars(currency: &str) -> bool {
    currency.eq_ignore_ascii_case("USD")
}

impl Default for ProviderPricing {
    fn default() -> Self {
        Self { input_per_1k_tokens: None, output_per_1k_tokens: None, currency: "USD".to_owned(), last_updated: None }
    }
}

fn get() -> String {
    "GET".to_owned()
}

const fn three_seconds() -> u64 {
    3000
}
