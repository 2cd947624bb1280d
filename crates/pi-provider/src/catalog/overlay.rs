//! What is laid over a manifest: contracts that stand beside it, and Pi's `models.json`.

use indexmap::IndexMap;
use pi_transcript::ProviderId;
use serde_json::{Map, Value};

use super::{Entry, Finding, Loading};
use crate::{
    credential::Trust,
    dialect::{Chat, Dialect},
    manifest::{
        Auth, Capability, Contract, Endpoint, ErrorClassification, Manifest, Operation,
        diagnostic::{Diagnostic, Rule, Severity},
        endpoint::Placement,
        is_id,
        load::{PiProvider, Place},
        wording::Wording,
    },
    request::in_form_of,
};

/// Why a provider of `models.json` cannot be asked.
#[derive(Debug, thiserror::Error)]
enum Incomplete {
    #[error("{0:?} cannot be the name of a provider")]
    Name(String),
    #[error("{member} of {provider} is missing")]
    Missing { provider: String, member: &'static str },
    #[error("the api {0:?} is not known")]
    Api(String),
}

/// The contract of a manifest, completed by one that stands beside it.
pub(super) fn contract(beside: &Contract, own: &Contract) -> Contract {
    let value = |contract: &Contract| serde_json::to_value(contract).expect("a contract has text keys only");
    serde_json::from_value(merge(value(beside), value(own))).expect("two contracts have the shape of one")
}

/// The second where it says something, else the first.
fn merge(first: Value, second: Value) -> Value {
    match (first, second) {
        (Value::Object(mut first), Value::Object(second)) => {
            for (key, value) in second {
                let merged = merge(first.remove(&key).unwrap_or_default(), value);
                first.insert(key, merged);
            }
            Value::Object(first)
        }
        (first, Value::Null) => first,
        (first, Value::Array(second)) if second.is_empty() && first.is_array() => first,
        (_, second) => second,
    }
}

/// What a provider of Pi's `models.json` lacks, unless a manifest brings one of this name: whoever looks at the file alone
/// cannot know that.
pub fn examine_provider(file: &str, name: &str, provider: &PiProvider) -> Option<Diagnostic> {
    let fault = complete(name, provider).err()?;
    let hint = format!("without it {name} is left out, unless a manifest of yours brings a provider of this name");
    Some(Diagnostic { hint, ..fault.told(Severity::Warning, file, name, provider.place) })
}

/// The address of a provider and how it is spoken with.
fn complete<'p>(name: &str, provider: &'p PiProvider) -> Result<(&'p str, Dialect), Incomplete> {
    if !is_id(name) {
        return Err(Incomplete::Name(name.to_owned()));
    }
    let missing = |member| Incomplete::Missing { provider: name.to_owned(), member };
    let base_url = provider.base_url.as_deref().ok_or_else(|| missing("baseUrl"))?;
    let api = provider.api.as_ref().or_else(|| provider.models.iter().find_map(|model| model.api.as_ref()));
    let api = api.ok_or_else(|| missing("api"))?;
    let dialect = Dialect::from_word(api).ok_or_else(|| Incomplete::Api(api.clone()))?;
    Ok((base_url, dialect))
}

impl Incomplete {
    fn told(&self, severity: Severity, file: &str, name: &str, place: Place) -> Diagnostic {
        let Place { line, column, length } = place;
        let path = format!("providers.{name}");
        Diagnostic { line, column, length, path, ..Diagnostic::new(severity, Rule::PiProvider, file, self.to_string()) }
    }
}

impl Loading<'_> {
    /// A provider of Pi's `models.json`: changes one that there is, or brings a new one.
    pub(super) fn overlay(&mut self, file: &str, name: &str, provider: PiProvider) {
        if self.catalog.provider(name).is_some() {
            for id in self.reachable(file, name) {
                if let Some(entry) = self.catalog.entries.get_mut(&id) {
                    change(entry, provider.clone());
                }
            }
            return;
        }
        let place = provider.place;
        match self.bring(file, name, provider) {
            Ok(entry) => {
                self.catalog.entries.insert(name.to_owned(), entry);
            }
            Err(fault) => {
                let diagnostic = fault.told(Severity::Error, file, name, place);
                self.catalog.findings.push(Finding { diagnostic, origin: self.source.origin, source: None });
            }
        }
    }

    fn bring(&self, file: &str, name: &str, provider: PiProvider) -> Result<Entry, Incomplete> {
        let (base_url, dialect) = complete(name, &provider)?;
        let mut entry = Entry {
            manifest: manifest(name, base_url, dialect).into(),
            origin: self.source.origin,
            file: file.to_owned(),
            promoted_from: None,
            trust: self.source.trust,
            key: None,
            headers: IndexMap::new(),
            ignored: Vec::new(),
        };
        if provider.api_key.is_none() && !provider.auth_header {
            entry.manifest.endpoint.auth.placement = Placement::None;
        }
        change(&mut entry, PiProvider { base_url: None, ..provider });
        Ok(entry)
    }
}

fn change(entry: &mut Entry, provider: PiProvider) {
    let manifest = &mut entry.manifest;
    if provider.name.is_some() {
        manifest.name = provider.name;
    }
    if let Some(url) = provider.base_url {
        manifest.endpoint.base_url = in_form_of(manifest, &url).into_owned();
    }
    if provider.auth_header {
        manifest.endpoint.auth.placement = bearer();
    }
    for model in provider.models {
        let id = model.id.clone();
        let replaced = model.into_entry(&provider.compat);
        manifest.models.insert(id, replaced);
    }
    for (id, model) in provider.model_overrides {
        if let Some(known) = manifest.models.get_mut(&id) {
            model.apply(known, &Map::new());
        }
    }
    if provider.compat.get("supportsUsageInStreaming") == Some(&Value::Bool(false)) {
        manifest.capabilities.feature_flags.streaming_usage = Some(false);
    }
    // A command of a file that nobody trusts is forgotten, and so is every other key in it.
    if entry.trust == Trust::Trusted {
        entry.key = provider.api_key.or_else(|| entry.key.take());
        entry.headers.extend(provider.headers);
    }
}

/// The address with the version that Pi leaves out and manifests do not.
fn versioned(url: &str, usual: &Chat) -> String {
    let url = url.trim_end_matches('/');
    match &usual.version {
        Some(version) if !url.ends_with(version) => format!("{url}{version}"),
        Some(_) | None => url.to_owned(),
    }
}

fn bearer() -> Placement {
    Placement::Bearer { header: "Authorization".to_owned(), prefix: "Bearer".to_owned() }
}

/// What a provider of `models.json` can do is not written; it is what its dialect can do.
fn manifest(name: &str, base_url: &str, dialect: Dialect) -> Manifest {
    let usual = Chat::of(dialect);
    let placement = usual.key_header.clone().map_or_else(bearer, |header| Placement::CustomHeader { header });
    let auth =
        Auth { placement, token_env: None, extra_headers: Vec::new(), login_refused: None, secret_headers: Vec::new() };
    let endpoint = Endpoint { base_url: versioned(base_url, usual), timeout_ms: None, auth };
    let mut classification = ErrorClassification::default();
    classification.assume_usual();
    let mut manifest = Manifest::bare(ProviderId::from(name), endpoint, classification);
    manifest.capabilities.required = [Capability::Text, Capability::Streaming, Capability::Tools].into();
    manifest.capabilities.optional =
        [Capability::Vision, Capability::ParallelTools, Capability::Reasoning, Capability::StructuredOutput].into();
    // As Pi does: whoever does not know the question says so with `supportsUsageInStreaming`.
    manifest.capabilities.feature_flags.streaming_usage = Some(true);
    let chat = |path: String| Operation {
        path,
        method: "POST".to_owned(),
        adapter: Some(usual.adapter.clone()),
        request_encoding: None,
        response_encoding: None,
        wording: Wording::default(),
    };
    if let Some(path) = Chat::stream_beside(&usual.path) {
        manifest.endpoints.insert("stream_chat".to_owned(), chat(path));
    }
    manifest.endpoints.insert("chat".to_owned(), chat(usual.path.clone()));
    manifest
}
