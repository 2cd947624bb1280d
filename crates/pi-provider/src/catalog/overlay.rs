//! What is laid over a manifest: contracts that stand beside it, and Pi's `models.json`.

use indexmap::IndexMap;
use pi_transcript::ProviderId;
use serde_json::{Map, Value};

use super::{Entry, Finding, Loading};
use crate::{
    builtin,
    credential::Trust,
    dialect::{Chat, Dialect},
    manifest::{
        Auth, Capability, Contract, Endpoint, ErrorClassification, Format, Manifest, Operation, Quirks,
        diagnostic::{Diagnostic, Rule, Severity},
        endpoint::{OwnAddress, Placement},
        load,
        load::{PiProvider, Place, compat},
        wording::Wording,
    },
    request::{in_form_of, versioned},
};

/// Pi's name of Mistral's chats.
const MISTRAL_API: &str = "mistral-conversations";

/// Why a provider of `models.json` cannot be asked.
#[derive(Debug, thiserror::Error)]
enum Incomplete {
    #[error("{0:?} cannot be the name of a provider: it is empty, or has a slash or a control character in it")]
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
    let told = fault.told(Severity::Warning, file, name, provider.place);
    let hint = match fault {
        Incomplete::Name(_) => told.hint,
        Incomplete::Missing { .. } | Incomplete::Api(_) => {
            format!("without it {name} is left out, unless a manifest of yours brings a provider of this name")
        }
    };
    Some(Diagnostic { hint, ..told })
}

/// How a provider is spoken with.
enum Api {
    Spoken(Dialect),
    /// Chat Completions as Mistral's manifest has them.
    Mistral,
}

/// Pi takes any name. A slash would end it where a model is named, and nobody can type what is not printed.
fn is_name(name: &str) -> bool {
    !name.trim().is_empty() && !name.contains(|letter: char| letter == '/' || letter.is_control())
}

/// The address of a provider and how it is spoken with.
fn complete<'p>(name: &str, provider: &'p PiProvider) -> Result<(&'p str, Api), Incomplete> {
    if !is_name(name) {
        return Err(Incomplete::Name(name.to_owned()));
    }
    let missing = |member| Incomplete::Missing { provider: name.to_owned(), member };
    let of_model = || provider.models.iter().find_map(|model| model.base_url.as_deref());
    let base_url = provider.base_url.as_deref().or_else(of_model).ok_or_else(|| missing("baseUrl"))?;
    let api = provider.api.as_ref().or_else(|| provider.models.iter().find_map(|model| model.api.as_ref()));
    let api = api.ok_or_else(|| missing("api"))?;
    let dialect = Dialect::from_word(api).ok_or_else(|| Incomplete::Api(api.clone()))?;
    Ok((base_url, if api == MISTRAL_API { Api::Mistral } else { Api::Spoken(dialect) }))
}

impl Incomplete {
    fn told(&self, severity: Severity, file: &str, name: &str, place: Place) -> Diagnostic {
        let Place { line, column, length } = place;
        let path = format!("providers.{name}");
        let usual = Diagnostic::new(severity, Rule::PiProvider, file, self.to_string());
        let hint = match self {
            Self::Name(_) => "choose a name that can stand before the slash in PROVIDER/MODEL".to_owned(),
            Self::Missing { .. } | Self::Api(_) => usual.hint,
        };
        Diagnostic { line, column, length, path, hint, ..usual }
    }
}

impl Loading<'_> {
    /// A provider of Pi's `models.json`: changes one that there is, or brings a new one.
    pub(super) fn overlay(&mut self, file: &str, name: &str, provider: PiProvider) {
        let known = self.catalog.entries.values().filter(|entry| entry.manifest.is_called(name));
        let (own, strange): (Vec<&Entry>, Vec<&Entry>) = known.partition(|entry| entry.trust == self.source.trust);
        // Of a project that nobody trusts, nothing is changed; what stands here alone is a provider of its own.
        if !own.is_empty()
            || strange.iter().any(|entry| entry.is_trusted())
            || self.only_changes(&strange, name, &provider)
        {
            for id in self.reachable(file, name) {
                if let Some(entry) = self.catalog.entries.get_mut(&id) {
                    let idle = change(entry, provider.clone());
                    self.tell_idle(file, name, idle);
                }
            }
            return;
        }
        let place = provider.place;
        match self.bring(file, name, provider) {
            Ok((entry, idle)) => {
                if let Some(stranger) = self.catalog.take_stranger(name) {
                    self.catalog.hold_back(stranger);
                }
                self.catalog.entries.insert(name.to_owned(), entry);
                self.tell_idle(file, name, idle);
            }
            Err(fault) => {
                let diagnostic = fault.told(Severity::Error, file, name, place);
                self.catalog.findings.push(Finding { diagnostic, origin: self.source.origin, source: None });
            }
        }
    }

    /// Whether a provider is no whole one, and was to change one of a project that nobody trusts.
    fn only_changes(&self, strange: &[&Entry], name: &str, provider: &PiProvider) -> bool {
        !strange.is_empty() && complete(name, provider).is_err()
    }

    /// Tells of changes of models that nobody lists.
    fn tell_idle(&mut self, file: &str, name: &str, idle: Vec<(String, Place)>) {
        for (id, Place { line, column, length }) in idle {
            let message = format!("{name} lists no model {id:?}, so nothing is changed");
            let path = format!("providers.{name}.modelOverrides.{id}");
            let usual = Diagnostic::new(Severity::Warning, Rule::PiProvider, file, message);
            let hint = format!("`pi models {name}` shows those that it lists; a new one stands below models");
            let diagnostic = Diagnostic { line, column, length, path, hint, ..usual };
            self.catalog.findings.push(Finding { diagnostic, origin: self.source.origin, source: None });
        }
    }

    fn bring(&self, file: &str, name: &str, provider: PiProvider) -> Result<(Entry, Vec<(String, Place)>), Incomplete> {
        let (base_url, api) = complete(name, &provider)?;
        let mut entry = Entry {
            manifest: match api {
                Api::Mistral => like_mistral(name, base_url),
                Api::Spoken(dialect) => manifest(name, base_url, dialect),
            }
            .into(),
            origin: self.source.origin,
            file: file.to_owned(),
            promoted_from: None,
            trust: self.source.trust,
            key: None,
            headers: IndexMap::new(),
            ignored: Vec::new(),
        };
        if provider.api_key.is_none() && !provider.auth_header {
            entry.manifest.endpoint.auth.is_optional = true;
        }
        let idle = change(&mut entry, provider);
        Ok((entry, idle))
    }
}

/// Changes what a provider of `models.json` says and leaves the rest. What comes back are changes of models that it does not
/// list; a server on this machine says later which it has.
fn change(entry: &mut Entry, mut provider: PiProvider) -> Vec<(String, Place)> {
    let manifest = &mut entry.manifest;
    if provider.name.is_some() {
        manifest.name = provider.name.take();
    }
    if let Some(url) = &provider.base_url {
        manifest.endpoint.base_url = in_form_of(manifest, None, url).into_owned();
        manifest.forget_address_variable();
    }
    if provider.auth_header {
        manifest.endpoint.auth.placement = bearer();
    }
    if !provider.compat.is_empty() {
        manifest.quirks = Some(Box::new(Quirks::of(&provider.compat)));
        for model in manifest.models.values_mut() {
            compat::apply(model, &provider.compat);
        }
    }
    for mut model in std::mem::take(&mut provider.models) {
        let (id, own) = (std::mem::take(&mut model.id), model.base_url.take());
        let mut brought = model.into_entry(&provider.compat);
        // The address of a provider has the form of its own dialect.
        let is_foreign = Dialect::of(manifest, Some(&brought)) != Dialect::of(manifest, None);
        let url = own.as_ref().or(provider.base_url.as_ref().filter(|_| is_foreign));
        brought.base_url = url.map(|url| OwnAddress(in_form_of(manifest, Some(&brought), url).into_owned()));
        manifest.models.insert(id, brought);
    }
    let (mut idle, is_local) = (Vec::new(), manifest.is_local());
    for (id, mut model) in std::mem::take(&mut provider.model_overrides) {
        let url = model.base_url.take();
        let url = url.map(|url| OwnAddress(in_form_of(manifest, manifest.models.get(&id), &url).into_owned()));
        match manifest.models.get_mut(&id) {
            Some(known) => {
                known.base_url = url.or(known.base_url.take());
                model.apply(known, &Map::new());
            }
            None if !is_local => idle.push((id, model.place)),
            None => {}
        }
    }
    if provider.compat.get("supportsUsageInStreaming") == Some(&Value::Bool(false)) {
        manifest.capabilities.feature_flags.streaming_usage = Some(false);
    }
    // A command of a file that nobody trusts is forgotten, and so is every other key in it.
    if entry.trust == Trust::Trusted {
        entry.key = provider.api_key.or_else(|| entry.key.take());
        entry.headers.extend(provider.headers);
    } else {
        manifest.models.values_mut().for_each(|model| model.headers.clear());
    }
    entry.ignored.extend(provider.ignored);
    idle
}

fn bearer() -> Placement {
    Placement::Bearer { header: "Authorization".to_owned(), prefix: "Bearer".to_owned() }
}

/// A server that is spoken with as Mistral is, at another address. Pi leaves the version out of it.
fn like_mistral(name: &str, base_url: &str) -> Manifest {
    let mistral = builtin::find("mistral").expect("it comes with the program, which a test checks");
    let loaded = load(mistral.json, &mistral.path(), Format::Json);
    let mut manifest = loaded.manifest.expect("our own manifests are valid, which a test checks");
    let version = manifest.endpoint.base_url.rsplit('/').next().unwrap_or_default().to_owned();
    let base_url = base_url.trim_end_matches('/');
    let has_version = base_url.ends_with(&format!("/{version}"));
    manifest.id = ProviderId::from(name);
    manifest.endpoint.base_url = if has_version { base_url.to_owned() } else { format!("{base_url}/{version}") };
    manifest.endpoint.auth.token_env = None;
    manifest.aliases.clear();
    manifest.models.clear();
    manifest.metadata.clear();
    (manifest.name, manifest.official_url, manifest.pricing) = (None, None, None);
    manifest
}

/// What a provider of `models.json` can do is not written; it is what its dialect can do.
fn manifest(name: &str, base_url: &str, dialect: Dialect) -> Manifest {
    let usual = Chat::of(dialect);
    let placement = usual.key_header.clone().map_or_else(bearer, |header| Placement::CustomHeader { header });
    let auth = Auth::by(placement);
    let endpoint = Endpoint { base_url: versioned(base_url, usual).into_owned(), timeout_ms: None, auth };
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
        price_factor: None,
        max_inputs: None,
    };
    if let Some(path) = Chat::stream_beside(&usual.path) {
        manifest.endpoints.insert("stream_chat".to_owned(), chat(path));
    }
    manifest.endpoints.insert("chat".to_owned(), chat(usual.path.clone()));
    manifest
}
