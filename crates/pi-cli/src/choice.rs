//! Which model is asked, and why.
//!
//! What was named; else what the settings name; else the first provider whose credential is found; else a server on this
//! machine; else the demo. Whoever is asked, the command says so.

use std::fmt;

use pi_provider::{
    Target,
    catalog::{Asked, Entry, FindError, Found, Origin},
    credential::{SourceKind, Trust},
    manifest::{Format, ModelEntry, load},
};
use serde_json::Value;
use url::Url;

use crate::{
    console::Console,
    env::{self, Environment},
    failure::{Failure, ModelFailure},
    input,
    providers::{DEMO, Providers, Shown, is_local},
};

/// The manifest of a server that has none: of the OpenAI kind, as nearly all are.
const SERVER: &str = include_str!("choice/server.yaml");

/// The model that is asked. It owns what it needs, so that the catalogue may still change. Its manifest is trusted:
/// [`Chosen::of`] refuses others.
pub(crate) struct Chosen {
    pub(crate) entry: Entry,
    pub(crate) model: String,
    pub(crate) known: Option<ModelEntry>,
    pub(crate) base_url: Option<String>,
    pub(crate) why: Why,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Why {
    Named,
    Settings,
    Credential(String),
    Local,
    Demo,
}

/// What was asked for.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) model: Option<&'a str>,
    pub(crate) base_url: Option<&'a str>,
}

impl Chosen {
    fn of(found: &Found<'_>, why: Why) -> Result<Self, ModelFailure> {
        if !found.entry.is_trusted() {
            let (provider, file) = (found.entry.manifest.id.to_string(), found.entry.file.clone());
            return Err(ModelFailure::Untrusted { provider, file });
        }
        let (entry, model, known) = (found.entry.clone(), found.id.clone(), found.model.cloned());
        Ok(Chosen { entry, model, known, base_url: None, why })
    }

    pub(crate) fn target(&self) -> Target<'_> {
        let asked = Asked { model: &self.model, known: self.known.as_ref(), base_url: self.base_url.as_deref() };
        self.entry.target(asked, &env::lookup)
    }

    /// `provider/model`.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.entry.manifest.id, self.model)
    }

    pub(crate) fn is_demo(&self) -> bool {
        self.entry.manifest.id.as_str() == DEMO
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Named => f.write_str("as asked for"),
            Why::Settings => f.write_str("the default in settings.json"),
            Why::Credential(source) => write!(f, "its credential is found in {source}"),
            Why::Local => f.write_str("it runs on this machine"),
            Why::Demo => f.write_str("there is no credential and no server on this machine"),
        }
    }
}

pub(crate) async fn choose(
    wanted: Wanted<'_>,
    providers: &mut Providers,
    environment: &Environment,
    console: &mut Console,
) -> Result<Chosen, Failure> {
    if let Some(address) = wanted.base_url {
        return at(address, wanted.model, providers);
    }
    if let Some(name) = wanted.model {
        return named(name, Why::Named, providers, console).await;
    }
    if let Some(name) = default_of_settings(environment) {
        return named(&name, Why::Settings, providers, console).await;
    }
    if let Some((found, source)) = with_credential(providers) {
        return Ok(Chosen::of(&found, Why::Credential(source))?);
    }
    providers.look_around(console).await;
    let local = providers.found().iter().find_map(|id| first_model(providers.catalog.provider(id.as_str())?));
    if let Some(found) = local {
        return Ok(Chosen::of(&found, Why::Local)?);
    }
    let demo = providers.get(DEMO)?;
    let found = first_model(demo).ok_or_else(|| ModelFailure::NoModelNamed { provider: DEMO.to_owned() })?;
    Ok(Chosen::of(&found, Why::Demo)?)
}

/// A model behind an address. A provider's manifest is used if a model that it lists is named in full; everything else is the name of
/// a model on a server of the OpenAI kind, which gets no credential but one that is spelled out.
fn at(address: &str, model: Option<&str>, providers: &Providers) -> Result<Chosen, Failure> {
    let address = checked(address)?;
    let listed = model.and_then(|model| {
        let (provider, id) = model.split_once('/')?;
        let entry = providers.catalog.provider(provider)?;
        let known = entry.manifest.models.get(id)?;
        Some(Found { entry, id: id.to_owned(), model: Some(known) })
    });
    let mut chosen = match (listed, model) {
        (Some(found), _) => Chosen::of(&found, Why::Named)?,
        (None, Some(model)) => server(model),
        (None, None) => return Err(ModelFailure::NoModelAtAddress.into()),
    };
    chosen.base_url = Some(address);
    Ok(chosen)
}

fn server(model: &str) -> Chosen {
    let loaded = load(SERVER, "<built in>/server.yaml", Format::Yaml);
    let manifest = loaded.manifest.expect("our own manifest is valid, which a test checks");
    let entry = Entry {
        manifest,
        origin: Origin::CommandLine,
        file: "--base-url".to_owned(),
        trust: Trust::Trusted,
        key: None,
        headers: indexmap::IndexMap::new(),
        ignored: Vec::new(),
    };
    Chosen { entry, model: model.to_owned(), known: None, base_url: None, why: Why::Named }
}

pub(crate) fn checked(text: &str) -> Result<String, ModelFailure> {
    let bad = |reason: &str| ModelFailure::BadAddress { text: text.to_owned(), reason: reason.to_owned() };
    let url = Url::parse(text).map_err(|error| bad(&error.to_string()))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(text.trim_end_matches('/').to_owned()),
        _ => Err(bad("only http and https are spoken")),
    }
}

async fn named(name: &str, why: Why, providers: &mut Providers, console: &mut Console) -> Result<Chosen, Failure> {
    let provider = name.split_once('/').map_or(name, |(provider, _)| provider);
    if providers.catalog.provider(provider).is_some_and(|entry| is_local(&entry.manifest)) {
        let id = providers.get(provider)?.manifest.id.to_string();
        providers.look_for(&id, console).await;
    } else if matches!(providers.catalog.find_model(name), Err(FindError::NoMatch { .. })) {
        // It may be a model that only a server on this machine knows.
        providers.look_around(console).await;
    }
    if let Some(entry) = providers.catalog.provider(name) {
        let found = first_model(entry).ok_or_else(|| ModelFailure::NoModelNamed { provider: name.to_owned() })?;
        return Ok(Chosen::of(&found, why)?);
    }
    match providers.catalog.find_model(name) {
        Ok(found) => Ok(Chosen::of(&found, why)?),
        Err(FindError::NoModel { provider, model, nearest }) => {
            let found = providers.catalog.unlisted(&provider, &model);
            let found = found.ok_or_else(|| ModelFailure::NoSuchProvider { id: provider.clone(), nearest: None })?;
            let chosen = Chosen::of(&found, why)?;
            let meant = nearest.first().map(|it| format!("; did you mean {it}?")).unwrap_or_default();
            console.note(&format!("{provider} lists no model {model}; it is asked for it all the same{meant}"));
            Ok(chosen)
        }
        Err(error) => Err(ModelFailure::NotFound(error).into()),
    }
}

/// Pi's `defaultProvider` and `defaultModel`. A file that cannot be read names nothing.
fn default_of_settings(environment: &Environment) -> Option<String> {
    let path = environment.agent_directory.as_ref()?.join("settings.json");
    let settings: Value = serde_json::from_slice(input::read(&path).ok()?.bytes()).ok()?;
    let text = |name: &str| settings.get(name).and_then(Value::as_str).filter(|it| !it.is_empty());
    match (text("defaultProvider"), text("defaultModel")) {
        (Some(provider), Some(model)) => Some(format!("{provider}/{model}")),
        (None, Some(name)) | (Some(name), None) => Some(name.to_owned()),
        (None, None) => None,
    }
}

/// The first provider of those that need a credential and have one, and where that is.
fn with_credential(providers: &Providers) -> Option<(Found<'_>, String)> {
    providers.catalog.providers().find_map(|entry| {
        let shown = Shown::of(&providers.credential(entry, None));
        let has_one = shown.available && shown.source != SourceKind::None;
        let found = first_model(entry).filter(|_| has_one)?;
        Some((found, shown.words()))
    })
}

fn first_model(entry: &Entry) -> Option<Found<'_>> {
    let (id, model) = entry.manifest.models.first()?;
    Some(Found { entry, id: id.clone(), model: Some(model) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_without_a_manifest_has_a_valid_one() {
        let loaded = load(SERVER, "server.yaml", Format::Yaml);
        assert_eq!(loaded.diagnostics, []);
        assert_eq!(loaded.ignored, []);
    }

    #[test]
    fn addresses_are_checked() {
        for (text, expected) in [
            ("http://127.0.0.1:8080/v1", Some("http://127.0.0.1:8080/v1")),
            ("https://models.example/v1/", Some("https://models.example/v1")),
            ("127.0.0.1:8080", None),
            ("ftp://models.example", None),
            ("nonsense", None),
        ] {
            assert_eq!(checked(text).ok().as_deref(), expected, "{text}");
        }
    }
}
