//! A provider as data: how to reach it, what it can do, how to ask it and how to read its answers.
//!
//! A [`Manifest`] is AI-Protocol V2; files of older versions are promoted to it on loading. The types below are what was
//! written, with defaults filled in; they decide nothing. Its three rings are in three groups of modules: [`endpoint`]
//! and [`failure`] (ring 1), [`capability`], [`parameter`] and [`streaming`] (ring 2), everything else (ring 3).

pub mod capability;
pub mod contract;
pub mod endpoint;
pub mod failure;
pub mod model;
pub mod parameter;
pub mod resilience;
pub mod streaming;

use indexmap::IndexMap;
use pi_transcript::ProviderId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::{
    capability::{Capabilities, Capability},
    contract::Contract,
    endpoint::{Auth, Endpoint, Operation},
    failure::ErrorClassification,
    model::ModelEntry,
    parameter::Parameter,
    streaming::Streaming,
};

/// A provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub id: ProviderId,
    /// Other names under which it is found.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// As written in the file, also where it was promoted: `2.0`, `1.5`, `1.1`.
    pub protocol_version: String,
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub version: Option<String>,
    #[serde(default)]
    pub status: Status,
    #[serde(default)]
    pub category: Option<String>,
    #[serde(default)]
    pub official_url: Option<String>,
    #[serde(default)]
    pub support_contact: Option<String>,
    pub endpoint: Endpoint,
    pub error_classification: ErrorClassification,
    #[serde(default)]
    pub capabilities: Capabilities,
    /// Standard name or provider's name (with `alias`) to what may be sent.
    #[serde(default)]
    pub parameters: IndexMap<String, Parameter>,
    #[serde(default)]
    pub streaming: Option<Streaming>,
    /// Operations by name: `chat`, `stream_chat`, `embeddings`, `rerank`, and any other.
    #[serde(default)]
    pub endpoints: IndexMap<String, Operation>,
    #[serde(default)]
    pub services: IndexMap<String, endpoint::Service>,
    #[serde(default)]
    pub rate_limit_headers: resilience::RateLimitHeaders,
    #[serde(default)]
    pub retry_policy: resilience::RetryPolicy,
    #[serde(default)]
    pub termination: resilience::TerminationMap,
    #[serde(default)]
    pub guardrails: resilience::Guardrails,
    /// How its messages look on the wire, where that differs from what its dialect does by itself.
    #[serde(default, rename = "provider_contract")]
    pub contract: Contract,
    /// Models by id, in the order of the file.
    #[serde(default)]
    pub models: IndexMap<String, ModelEntry>,
    /// Sections that are shown and otherwise not used, as they were written.
    #[serde(default)]
    pub declared: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    #[default]
    Stable,
    Beta,
    Deprecated,
}
