//! A provider as data: how to reach it, what it can do, how to ask it and how to read its answers.
//!
//! A [`Manifest`] is AI-Protocol V2; files of older versions are promoted to it on loading. The types below are what was
//! written, with defaults filled in; they decide nothing. Its three rings are in three groups of modules: [`endpoint`]
//! and [`failure`] (ring 1), [`capability`], [`parameter`] and [`streaming`] (ring 2), everything else (ring 3).
//! [`load`](load()) reads a file and says what is wrong with it.

pub mod capability;
pub mod contract;
pub mod declared;
pub mod diagnostic;
pub mod endpoint;
pub mod experimental;
pub(crate) mod expression;
pub mod failure;
pub mod load;
pub mod media;
pub mod model;
pub(crate) mod names;
mod number;
pub mod parameter;
mod promote;
pub(crate) mod quirks;
pub mod resilience;
pub mod streaming;
mod tree;
pub mod wording;
mod write;

use indexmap::IndexMap;
use pi_transcript::ProviderId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::{
    capability::{Capabilities, Capability},
    contract::Contract,
    diagnostic::{Diagnostic, Rule, Severity},
    endpoint::{Auth, Endpoint, Operation},
    failure::ErrorClassification,
    load::{
        Document, Format, KeySource, Loaded, MissingKey, load, load_any, load_contract, load_models, load_pi_models,
    },
    model::ModelEntry,
    names::{Module, modules},
    parameter::Parameter,
    quirks::Quirks,
    streaming::Streaming,
    write::{to_document, to_yaml},
};

use crate::secret::HIDDEN;

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
    /// Where it differs from its dialect in the words of Pi's `models.json`. What a model says of itself comes first.
    #[serde(skip)]
    pub quirks: Option<Box<Quirks>>,
    /// Models by id, in the order of the file.
    #[serde(default)]
    pub models: IndexMap<String, ModelEntry>,
    /// What else the file says about itself: licences, kits, notes.
    #[serde(default)]
    pub metadata: Map<String, Value>,
    #[serde(default)]
    pub api_families: declared::ApiFamilies,
    #[serde(default)]
    pub default_api_family: Option<String>,
    #[serde(default)]
    pub availability: Option<declared::Availability>,
    #[serde(default)]
    pub regions: Vec<declared::Region>,
    #[serde(default)]
    pub pricing: Option<declared::ProviderPricing>,
    #[serde(default)]
    pub context_policy: Option<declared::ContextPolicy>,
    #[serde(default)]
    pub routing: declared::Hints,
    #[serde(default)]
    pub telemetry: declared::Hints,
    #[serde(default)]
    pub multimodal: Option<media::Multimodal>,
    #[serde(default)]
    pub computer_use: Option<media::ComputerUse>,
    #[serde(default)]
    pub mcp: Option<media::Mcp>,
    #[serde(default)]
    pub capability_profile: Option<declared::CapabilityProfile>,
    #[serde(default)]
    pub features: declared::Features,
    #[serde(default)]
    pub experimental: experimental::Experimental,
    /// Members of the root that are not known, as they were written.
    #[serde(default)]
    pub extensions: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    #[default]
    Stable,
    Beta,
    Deprecated,
}

impl Manifest {
    /// The operation that is written under exactly this name. There are few, and every call asks for some: comparing names
    /// takes less than a lookup.
    pub(crate) fn written_operation(&self, name: &str) -> Option<&Operation> {
        self.endpoints.iter().find(|(known, _)| *known == name).map(|(_, operation)| operation)
    }

    /// What a model costs: one that is not listed has the provider's prices, where it has any.
    pub fn pricing_of(&self, model: Option<&ModelEntry>) -> Option<model::Pricing> {
        match model {
            Some(model) => model.pricing.clone(),
            None => self.usual_pricing(),
        }
    }

    /// A model of which nobody knows more than that it thinks.
    pub fn thinking_stranger(&self) -> ModelEntry {
        let mut described = ModelEntry { pricing: self.usual_pricing(), ..ModelEntry::default() };
        described.model_capabilities.reasoning = Some(true);
        described
    }

    fn usual_pricing(&self) -> Option<model::Pricing> {
        self.pricing.as_ref().and_then(declared::ProviderPricing::of_model)
    }

    /// Gives the provider's prices to those of its models that have none of their own.
    pub(crate) fn price_models(&mut self) {
        let usual = self.usual_pricing();
        for model in self.models.values_mut() {
            // What a model says of its prices counts, also where none of it can be used.
            model.pricing = match model.pricing.take() {
                Some(own) => Some(own).filter(model::Pricing::is_known),
                None => usual.clone(),
            };
        }
    }

    /// Takes away the variable that moves the address: it stands for the address that the manifest brings, and not for one
    /// that somebody has written in its place.
    pub(crate) fn forget_address_variable(&mut self) {
        if let Some(Value::Object(local)) = self.metadata.get_mut("local") {
            local.shift_remove("base_url_env");
        }
    }

    /// The same without what may be secret in it: parts of the address, and values of headers. Names of variables stay.
    #[must_use]
    pub fn shown(&self) -> Self {
        let mut shown = self.clone();
        shown.endpoint.base_url = endpoint::shown_address(&self.endpoint.base_url);
        for header in &mut shown.contract.request_mapping.required_headers {
            if !header.is_harmless() && !endpoint::is_variable(&header.value) {
                HIDDEN.clone_into(&mut header.value);
            }
        }
        for service in shown.services.values_mut() {
            *service = service.shown();
        }
        for operation in shown.endpoints.values_mut() {
            operation.path = endpoint::shown_path(&operation.path);
        }
        if let endpoint::Placement::Bearer { prefix, .. } = &mut shown.endpoint.auth.placement
            && !endpoint::is_scheme(prefix.trim())
        {
            HIDDEN.clone_into(prefix);
        }
        // Nobody asks for keys there, and people put them there.
        for (name, value) in shown.metadata.iter_mut().chain(&mut shown.extensions) {
            diagnostic::hide_member(name, value);
        }
        shown
    }

    /// A provider of which only ring 1 is known; everything else is at its default.
    pub fn bare(id: ProviderId, endpoint: Endpoint, error_classification: ErrorClassification) -> Self {
        Self {
            id,
            aliases: Vec::new(),
            protocol_version: "2.0".to_owned(),
            name: None,
            version: None,
            status: Status::Stable,
            category: None,
            official_url: None,
            support_contact: None,
            endpoint,
            error_classification,
            capabilities: Capabilities::default(),
            parameters: IndexMap::new(),
            streaming: None,
            endpoints: IndexMap::new(),
            services: IndexMap::new(),
            rate_limit_headers: resilience::RateLimitHeaders::default(),
            retry_policy: resilience::RetryPolicy::default(),
            termination: resilience::TerminationMap::default(),
            guardrails: resilience::Guardrails::default(),
            contract: Contract::default(),
            quirks: None,
            models: IndexMap::new(),
            metadata: Map::new(),
            api_families: IndexMap::new(),
            default_api_family: None,
            availability: None,
            regions: Vec::new(),
            pricing: None,
            context_policy: None,
            routing: Map::new(),
            telemetry: Map::new(),
            multimodal: None,
            computer_use: None,
            mcp: None,
            capability_profile: None,
            features: declared::Features::default(),
            experimental: experimental::Experimental::default(),
            extensions: Map::new(),
        }
    }

    /// An operation under any of its names: `images` and `image_generation` are the same.
    pub fn operation(&self, name: &str) -> Option<&Operation> {
        self.endpoints.get(name).or_else(|| self.endpoints.get(names::operation(name)))
    }

    /// How tools of MCP servers reach the model, where the provider declares that they may: in its contract's own way, or
    /// as tools like any others.
    pub fn mcp_integration(&self) -> Option<&str> {
        let written = self.contract.capability_contracts.mcp.integration_method.as_deref();
        self.capabilities.has(Capability::McpClient).then(|| written.unwrap_or("tool_bridge"))
    }

    /// Whether the provider is called that.
    pub fn is_called(&self, name: &str) -> bool {
        self.id.as_str() == name || self.aliases.iter().any(|alias| alias == name)
    }
}
