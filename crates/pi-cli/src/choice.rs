//! Which model is asked, and why.
//!
//! What was named; else what the settings name; else of the providers whose credential is found that whose usual model
//! costs least, of those that call tools if any does; else one of the user's own that needs none; else a server on this
//! machine; else the demo. Whoever is asked, the command says so. What a provider's usual model is stands in [`usual`].

pub(crate) mod ending;
mod preference;
mod spoken;
mod usual;

use std::{fmt, time::Duration};

use pi_provider::{
    CallError, Target,
    catalog::{Asked, Entry, FindError, Found, Origin},
    credential::{AttachError, Credential, SourceKind, Trust, attach},
    guardrail::Guardrails,
    local::{self, Probe, ProbeError, Refused, Served},
    manifest::{Capability, Format, ModelEntry, load, model::Pricing},
    transport::{Network, Transport},
};
use pi_session::settings::Settings;
use url::Url;

use crate::{
    arguments::model::ReachArguments,
    asking,
    console::Console,
    env,
    failure::{Failure, ModelFailure},
    providers::{DEMO, Providers, Shown},
};

pub(crate) use self::{
    preference::{OwnSettings, Preference, scoped_level},
    spoken::Spoken,
};
use self::{spoken::full_name, usual::usual_model};

/// The manifest of a server that has none: of the OpenAI kind, as nearly all are.
const SERVER: &str = include_str!("choice/server.yaml");
/// The id in it: sessions remember it as that of their provider.
pub(crate) const SERVER_ID: &str = "server";

/// How many models an error lists.
pub(crate) const LISTED: usize = 10;

/// How long a server may take to list its models.
const LIST_PATIENCE: Duration = Duration::from_secs(5);

/// The model that is asked. It owns what it needs, so that the catalogue may still change. Its manifest is trusted:
/// [`Chosen::of`] refuses others.
pub(crate) struct Chosen {
    pub(crate) entry: Entry,
    pub(crate) model: String,
    pub(crate) known: Option<ModelEntry>,
    pub(crate) base_url: Option<String>,
    pub(crate) why: Why,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Why {
    Named,
    /// At an address that was given, with the manifest of a provider.
    ProviderAt,
    /// At an address that was given, without a manifest.
    ServerAt,
    Settings,
    /// It is the first of those that are gone through.
    Scope,
    /// It answered before.
    Session,
    /// It answered before, on a server without a manifest.
    SessionAt {
        address: String,
    },
    /// Somebody chose it in the chat.
    Chosen,
    Credential {
        /// Where it is.
        source: String,
        /// How many providers have one, those that were left aside not counted.
        count: usize,
        /// How many were left aside because their usual model calls no tools.
        without_tools: usize,
        priced: Priced,
    },
    OwnWithout,
    Local,
    Demo {
        instead: Instead,
    },
}

/// What there is where nobody but the demo can be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Instead {
    Nobody,
    /// What runs on this machine has no model that answers, in words.
    Unfit(String),
    /// A server on this machine tells nothing.
    Refusing {
        /// In words, with its address.
        server: String,
        credential: Held,
    },
}

/// Whether there is a credential for a server that refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    No,
    Refused,
}

/// Of how many of the providers that could be asked the price is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Priced {
    All,
    Some,
    None,
}

/// What was asked for.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) model: Option<&'a str>,
    /// Whose it is, where that was said apart from its name.
    pub(crate) provider: Option<&'a str>,
    pub(crate) base_url: Option<&'a str>,
    /// The variable that holds the credential for that address, where one was named.
    pub(crate) api_key_env: Option<&'a str>,
}

impl Wanted<'_> {
    /// Whether somebody was named at all.
    pub(crate) fn is_anybody(&self) -> bool {
        self.model.is_some() || self.provider.is_some() || self.base_url.is_some()
    }
}

impl Chosen {
    fn of(found: &Found<'_>, why: Why) -> Result<Self, ModelFailure> {
        check_trust(found.entry)?;
        let (entry, model, known) = (found.entry.clone(), found.id.clone(), found.model.cloned());
        Ok(Chosen { entry, model, known, base_url: None, why })
    }

    pub(crate) fn target(&self) -> Target<'_> {
        let asked = Asked { model: &self.model, known: self.known.as_ref(), base_url: self.base_url.as_deref() };
        self.entry.target(asked, &env::lookup)
    }

    /// Where it is reached, where that is not the address of its provider.
    pub(crate) fn address(&self) -> Option<&str> {
        self.base_url.as_deref().or_else(|| Some(self.known.as_ref()?.base_url.as_ref()?.0.as_str()))
    }

    /// What it costs, where anybody knows.
    pub(crate) fn pricing(&self) -> Option<Pricing> {
        self.entry.manifest.pricing_of(self.known.as_ref())
    }

    /// `provider/model`.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.entry.manifest.id, self.model)
    }

    /// Takes whoever wants it to think at its word, where the manifest says nothing about the model and its kind can.
    pub(crate) fn may_think(&mut self) {
        if self.known.is_none() && self.entry.manifest.capabilities.has(Capability::Reasoning) {
            self.known = Some(self.entry.manifest.thinking_stranger());
        }
    }

    /// An error as it is told of whoever was asked: a server without a manifest has no name but its address.
    pub(crate) fn failure(&self, error: CallError) -> ModelFailure {
        match self.bare_server() {
            Some(address) => ModelFailure::AtAddress(error.told_of(&without_secrets(address))),
            None => ModelFailure::Call(error),
        }
    }

    /// The same error with the name under which whoever asked knows the server.
    pub(crate) fn told(&self, error: CallError) -> CallError {
        match self.bare_server() {
            Some(address) => error.told_of(&without_secrets(address)),
            None => error,
        }
    }

    /// The address of a server that has no manifest.
    fn bare_server(&self) -> Option<&str> {
        match self.why {
            Why::ServerAt | Why::SessionAt { .. } => self.base_url.as_deref(),
            Why::Named
            | Why::Chosen
            | Why::ProviderAt
            | Why::Settings
            | Why::Scope
            | Why::Session
            | Why::Credential { .. }
            | Why::OwnWithout
            | Why::Local
            | Why::Demo { .. } => None,
        }
    }

    pub(crate) fn is_demo(&self) -> bool {
        self.entry.manifest.id.as_str() == DEMO
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Named => f.write_str("as asked for"),
            Why::ProviderAt => f.write_str(
                "at the address that was given, as the manifest of its provider says; --provider server takes the whole \
                 name to a server of the OpenAI kind",
            ),
            Why::ServerAt => f.write_str("at the address that was given, as a server of the OpenAI kind"),
            Why::Session => f.write_str("the model of this session"),
            Why::SessionAt { address } => write!(f, "at {address}, where this session was led before"),
            Why::Chosen => f.write_str("chosen here"),
            Why::Settings => f.write_str("the default in settings.json"),
            Why::Scope => f.write_str("the first of enabledModels or --models"),
            Why::Credential { source, count: ..=1, without_tools: 0, .. } => {
                write!(f, "its credential is found in {source}")
            }
            Why::Credential { source, count: ..=1, without_tools, .. } => {
                let all = without_tools + 1;
                write!(
                    f,
                    "its credential is found in {source}, and of {all} providers with one only its usual model calls \
                     tools; --model names another"
                )
            }
            Why::Credential { source, count, without_tools, priced } => {
                let called = if *without_tools == 0 { "" } else { " whose usual model calls tools" };
                let reason = match priced {
                    Priced::All => "its usual model costs least",
                    Priced::Some => "its usual model costs least as far as prices are known",
                    Priced::None => "it is the first, and no price is known",
                };
                write!(
                    f,
                    "its credential is found in {source}, and of {count} providers with one{called} {reason}; --model \
                     names another"
                )
            }
            Why::OwnWithout => f.write_str("a provider of your own that needs no credential"),
            Why::Local => f.write_str("it runs on this machine"),
            Why::Demo { instead: Instead::Nobody } => f.write_str("there is no credential and no server on this machine"),
            Why::Demo { instead: Instead::Unfit(unfit) } => write!(f, "there is no credential, and {unfit}"),
            Why::Demo { instead: Instead::Refusing { server, credential: Held::No } } => {
                write!(f, "there is no credential, and {server} wants one")
            }
            Why::Demo { instead: Instead::Refusing { server, credential: Held::Refused } } => {
                write!(f, "{server} wants another credential than the one that is set")
            }
        }
    }
}

/// Chooses a model, and tells what nobody would notice of its provider.
pub(crate) async fn choose(
    wanted: Wanted<'_>,
    preference: Option<Preference>,
    providers: &mut Providers,
    console: &mut Console,
) -> Result<Chosen, Failure> {
    let chosen = find(wanted, preference, providers, console).await?;
    tell(&chosen, console);
    Ok(chosen)
}

/// What nobody would notice: a model that ends, a header without its value, or a filter that is to keep something back and
/// finds nothing.
fn tell(chosen: &Chosen, console: &mut Console) {
    if let Some(note) = ending::note(chosen) {
        console.note(&note);
    }
    for (name, missing) in chosen.entry.missing_headers(chosen.known.as_ref(), &env::lookup) {
        console.note(&format!("header {} is not sent: {missing}", name.to_lowercase()));
    }
    for problem in Guardrails::compile(&chosen.entry.manifest.guardrails).idle() {
        console.note(&format!("{problem} and keeps nothing back (manifest of {})", chosen.entry.manifest.id));
    }
}

async fn find(
    wanted: Wanted<'_>,
    preference: Option<Preference>,
    providers: &mut Providers,
    console: &mut Console,
) -> Result<Chosen, Failure> {
    if let Some(address) = wanted.base_url {
        if wanted.model.is_none() && wanted.provider.is_none_or(|provider| provider == SERVER_ID) {
            return the_only_one_at(address, wanted.api_key_env, console).await;
        }
        return at(address, wanted, providers);
    }
    if let Some(name) = full_name(wanted.provider, wanted.model) {
        return named(&name, Why::Named, providers, console).await;
    }
    if let Some(preference) = preference {
        let chosen = named(&preference.name, preference.why.clone(), providers, console).await;
        return chosen.map_err(|failure| preference.blame(failure));
    }
    if let Some((found, why)) = with_credential(providers) {
        return Ok(Chosen::of(&found, why)?);
    }
    if let Some(found) = without_credential(providers) {
        return Ok(Chosen::of(&found, Why::OwnWithout)?);
    }
    providers.look_around(console).await;
    let here = || providers.found().iter().filter_map(|id| providers.catalog.provider(id.as_str()));
    let answering = here().filter_map(usual_model).find(|found| answers(found.model));
    if let Some(found) = answering {
        return Ok(Chosen::of(&found, Why::Local)?);
    }
    let instead = match (providers.refused().first(), here().next()) {
        (Some(refused), _) => refusing(refused, providers),
        (None, Some(entry)) => Instead::Unfit(unfit(entry)),
        (None, None) => Instead::Nobody,
    };
    let demo = providers.get(DEMO)?;
    let found = usual_model(demo).ok_or_else(|| ModelFailure::NoModelNamed { provider: DEMO.to_owned() })?;
    Ok(Chosen::of(&found, Why::Demo { instead })?)
}

/// A server that would be asked if it took the credential that is there, or if there were one.
fn refusing(refused: &Refused, providers: &Providers) -> Instead {
    let Refused { provider, address, status } = refused;
    let entry = providers.catalog.provider(provider.as_str());
    let has_one = entry.is_some_and(|entry| providers.credential(entry, None).credential.is_some());
    let credential = if has_one { Held::Refused } else { Held::No };
    Instead::Refusing {
        server: format!("the server at {address}, where {provider} is looked for ({status}),"),
        credential,
    }
}

/// Why a server on this machine is not asked although it runs.
fn unfit(entry: &Entry) -> String {
    let (provider, models) = (&entry.manifest.id, &entry.manifest.models);
    match models.keys().next() {
        None => format!("{provider} on this machine has no model"),
        Some(only) if models.len() == 1 => {
            format!("the only model of {provider} on this machine, {only}, answers no questions")
        }
        Some(_) => format!("none of the {} models of {provider} on this machine answers questions", models.len()),
    }
}

/// Provider and model of the name that was meant, where no provider of that name is known: an extension may bring one. Not
/// where a session names the model: it is open to be read without it.
pub(crate) fn strangers_name(
    spoken: &Spoken,
    reach: &ReachArguments,
    is_in_session: bool,
    settings: &Settings,
    providers: &Providers,
) -> Option<(String, String)> {
    let said = full_name(spoken.provider.as_deref(), spoken.model.as_deref());
    let usual = || Preference::of_resolved(settings, providers).map(|preference| preference.name);
    let name = if is_in_session { said } else { said.or_else(usual) }?;
    let (provider, model) = name.split_once('/').filter(|(_, model)| !model.is_empty())?;
    let is_stranger = provider != SERVER_ID && providers.trusted(provider).is_none();
    (is_stranger && reach.base_url.is_none()).then(|| (provider.to_owned(), model.to_owned()))
}

/// The model that answered in a session before, by its full name.
pub(crate) async fn of_session(
    name: &str,
    providers: &mut Providers,
    console: &mut Console,
) -> Result<Chosen, Failure> {
    let chosen = named(name, Why::Session, providers, console).await?;
    tell(&chosen, console);
    Ok(chosen)
}

/// A model behind an address. The manifest of a provider is used if that is named, apart, in front of the model or alone; a
/// name without one is that of a model on a server of the OpenAI kind, which gets no credential but one that is spelled out.
fn at(address: &str, wanted: Wanted<'_>, providers: &Providers) -> Result<Chosen, Failure> {
    let address = checked(address)?;
    // The demo answers inside pi, so at an address its name can only be that of a model.
    let is_provider = |name: &str| name != DEMO && providers.trusted(name).is_some();
    let is_known = |provider: &str| provider == SERVER_ID || providers.catalog.provider(provider).is_some();
    let (provider, model) = match (wanted.provider, wanted.model) {
        (Some(provider), model) => {
            let own = |model: &'_ str| model.strip_prefix(&format!("{provider}/")).map(str::to_owned);
            (Some(provider), model.map(|model| own(model).unwrap_or_else(|| model.to_owned())))
        }
        (None, Some(model)) => match model.split_once('/') {
            Some((provider, id)) if !id.is_empty() && is_known(provider) => (Some(provider), Some(id.to_owned())),
            None if is_provider(model) => (Some(model), None),
            Some(_) | None => (None, Some(model.to_owned())),
        },
        (None, None) => (None, None),
    };
    let mut chosen = match (provider.filter(|id| *id != SERVER_ID), model) {
        (Some(provider), Some(model)) => {
            let entry = providers.get(provider)?;
            let known = entry.manifest.models.get(&model);
            Chosen::of(&Found { entry, id: model, model: known }, Why::ProviderAt)?
        }
        (Some(provider), None) => {
            let entry = providers.get(provider)?;
            check_trust(entry)?;
            let found =
                usual_model(entry).ok_or_else(|| ModelFailure::NoModelNamed { provider: provider.to_owned() })?;
            Chosen::of(&found, Why::ProviderAt)?
        }
        (None, Some(model)) => server(&model),
        (None, None) => return Err(ModelFailure::NoModelAtAddress.into()),
    };
    chosen.base_url = Some(address);
    Ok(chosen)
}

/// The model of a server that has only one; of several nobody knows which is meant.
async fn the_only_one_at(address: &str, api_key_env: Option<&str>, console: &mut Console) -> Result<Chosen, Failure> {
    let address = checked(address)?;
    let auth = server("").entry.manifest.endpoint.auth.clone();
    let key = asking::spelled_out(api_key_env)?.map(|secret| attach(&auth, &Credential::key(secret))).transpose();
    let unusable =
        |error: AttachError| CallError::Option { option: "credential".to_owned(), reason: error.to_string() };
    let credential = key.map_err(|error| ModelFailure::Call(unusable(error)))?;
    console.activity(&format!("asking {} for its models", without_secrets(&address)));
    let transport = Transport::new(&Network::from_environment(&env::lookup), LIST_PATIENCE);
    let served = match &transport {
        Ok(transport) => local::served_at(transport, &address, credential.as_ref(), LIST_PATIENCE).await,
        Err(_) => Served::Nothing,
    };
    let models = match served {
        Served::Models(models) => models,
        Served::Nothing => Vec::new(),
        Served::Refused { status } => {
            return Err(ModelFailure::ListRefused { address: without_secrets(&address), status }.into());
        }
    };
    match models.as_slice() {
        [model] => Ok(Chosen { base_url: Some(address), ..server(model) }),
        [] => Err(ModelFailure::NoModelAtAddress.into()),
        several => Err(ModelFailure::SeveralAtAddress { models: several.to_vec() }.into()),
    }
}

pub(crate) fn server(model: &str) -> Chosen {
    let loaded = load(SERVER, "<built in>/server.yaml", Format::Yaml);
    let manifest = loaded.manifest.expect("our own manifest is valid, which a test checks");
    let entry = Entry {
        manifest: manifest.into(),
        origin: Origin::CommandLine,
        file: "--base-url".to_owned(),
        promoted_from: None,
        trust: Trust::Trusted,
        key: None,
        headers: indexmap::IndexMap::new(),
        ignored: Vec::new(),
    };
    Chosen { entry, model: model.to_owned(), known: None, base_url: None, why: Why::ServerAt }
}

/// Stands for a model that cannot be asked, so that a conversation with it can be read: it is nowhere.
pub(crate) fn stand_in(provider: &str, model: &str) -> Chosen {
    let mut chosen = server(model);
    chosen.entry.manifest.id = provider.into();
    chosen.base_url = Some("http://nowhere.invalid".to_owned());
    // Whatever level it had, it keeps.
    chosen.may_think();
    chosen
}

pub(crate) fn checked(text: &str) -> Result<String, ModelFailure> {
    let bad = |reason: &str| ModelFailure::BadAddress { text: without_secrets(text), reason: reason.to_owned() };
    let url = Url::parse(text).map_err(|error| bad(&error.to_string()))?;
    if !url.username().is_empty() || url.password().is_some() {
        let reason = "a name or a password in an address would be kept with the session; put what the server wants to see \
                      into a variable and name that with --api-key-env";
        return Err(bad(reason));
    }
    if url.fragment().is_some() {
        return Err(bad("what follows a # is never sent to a server; write it as %23 if it belongs to the path"));
    }
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(text.trim_end_matches('/').to_owned()),
        _ => Err(bad("only http and https are spoken")),
    }
}

/// What was written without the parts in which people put passwords and keys: it is no address, so the parts are guessed
/// generously.
fn without_secrets(text: &str) -> String {
    let (scheme, rest) = text.split_once("://").map_or(("", text), |(scheme, _)| text.split_at(scheme.len() + 3));
    let (rest, query) = rest.split_once('?').map_or((rest, ""), |(rest, _)| (rest, "?***"));
    match rest.rsplit_once('@') {
        Some((_, rest)) => format!("{scheme}***@{rest}{query}"),
        None => format!("{scheme}{rest}{query}"),
    }
}

async fn named(name: &str, why: Why, providers: &mut Providers, console: &mut Console) -> Result<Chosen, Failure> {
    let provider = name.split_once('/').map_or(name, |(provider, _)| provider);
    if let Some(entry) = providers.trusted(provider).filter(|entry| entry.manifest.is_local()) {
        let id = entry.manifest.id.to_string();
        providers.look_for(&id, console).await;
    } else if matches!(lookup(name, &why, providers), Err(FindError::NoMatch { .. })) {
        // It may be a model that only a server on this machine knows.
        providers.look_around(console).await;
    }
    if let Some(entry) = providers.trusted(name) {
        let found = usual_model(entry).ok_or_else(|| no_model(name, entry, providers))?;
        return Ok(Chosen::of(&found, why)?);
    }
    match lookup(name, &why, providers) {
        Ok(found) => taken(&found, name, why, console),
        Err(FindError::NoModel { provider, model, nearest }) => {
            let found = providers.catalog.unlisted(&provider, &model);
            let found = found.ok_or_else(|| ModelFailure::NoSuchProvider { id: provider.clone(), nearest: None })?;
            let chosen = Chosen::of(&found, why)?;
            let meant = nearest.first().map(|it| format!("; did you mean {it}?")).unwrap_or_default();
            let price = if chosen.pricing().is_some() { "" } else { ", and what it costs is not known" };
            console.note(&format!("{provider} lists no model {model}; it is asked for it all the same{price}{meant}"));
            Ok(chosen)
        }
        Err(FindError::Ambiguous { .. }) => taken(&only_one(name, providers)?, name, why, console),
        Err(error) => {
            // A provider that nobody trusts takes no name away, but where nobody else has it, that is why it is not asked.
            providers.catalog.provider(name).map_or(Ok(()), check_trust)?;
            Err(providers.missed(ModelFailure::NotFound(error)).into())
        }
    }
}

/// Nobody types what settings and sessions name, so there it is never a part of a name.
fn lookup<'a>(name: &str, why: &Why, providers: &'a Providers) -> Result<Found<'a>, FindError> {
    match why {
        Why::Named => providers.catalog.find_model(name),
        Why::ProviderAt
        | Why::ServerAt
        | Why::Settings
        | Why::Scope
        | Why::Session
        | Why::SessionAt { .. }
        | Why::Chosen
        | Why::Credential { .. }
        | Why::OwnWithout
        | Why::Local
        | Why::Demo { .. } => providers.catalog.find_exactly(name),
    }
}

/// The model that a name stands for, which is told where it is not its own.
fn taken(found: &Found<'_>, name: &str, why: Why, console: &mut Console) -> Result<Chosen, Failure> {
    let chosen = Chosen::of(found, why)?;
    if !found.is_called(name) {
        console.note(&format!("asking {} for {name:?}", chosen.name()));
    }
    Ok(chosen)
}

fn check_trust(entry: &Entry) -> Result<(), ModelFailure> {
    if entry.is_trusted() {
        return Ok(());
    }
    Err(ModelFailure::Untrusted { provider: entry.manifest.id.to_string(), file: entry.file.clone() })
}

/// Why there is no model of a provider that was looked for: a server on this machine that does not run lists none.
fn no_model(name: &str, entry: &Entry, providers: &Providers) -> ModelFailure {
    let provider = &entry.manifest.id;
    if let Some(Refused { address, status, .. }) = providers.refusal(provider) {
        let variables = entry.manifest.variables();
        let (address, status) = (address.clone(), *status);
        return ModelFailure::ServerRefused { provider: provider.to_string(), address, status, variables };
    }
    let probe = match Probe::of(entry, &env::lookup) {
        Ok(probe) => probe.filter(|_| !providers.found().contains(provider)),
        Err(fault @ (ProbeError::Variable { .. } | ProbeError::InTheClear { .. })) => {
            let option = "base_url".to_owned();
            return ModelFailure::Call(CallError::Option { option, reason: fault.to_string() });
        }
        Err(ProbeError::Section(_) | ProbeError::Syntax { .. } | ProbeError::NoList | ProbeError::Elsewhere) => None,
    };
    match probe.and_then(|probe| Some((Url::parse(&probe.base_url).ok()?, probe.named_by))) {
        Some((url, named_by)) => {
            let address = url.origin().ascii_serialization();
            ModelFailure::Call(CallError::NothingAnswers { provider: provider.clone(), address, named_by })
        }
        None => ModelFailure::NoModelNamed { provider: name.to_owned() },
    }
}

/// Of several models that fit, the one that can be asked now.
fn only_one<'a>(name: &str, providers: &'a Providers) -> Result<Found<'a>, ModelFailure> {
    let all = providers.catalog.candidates(name);
    let can_be_asked = |found: &&Found<'_>| {
        let shown = Shown::of(&providers.credential(found.entry, None));
        // The demo can always be asked, and is hardly ever meant.
        let is_demo = found.entry.manifest.id.as_str() == DEMO;
        providers.is_available(found.entry, &shown) && answers(found.model) && !is_demo
    };
    let mut now: Vec<Found<'a>> = all.iter().filter(can_be_asked).cloned().collect();
    if now.len() == 1 {
        return Ok(now.remove(0));
    }
    let several = if now.is_empty() { all } else { now };
    let candidates = several.iter().take(LISTED).map(Found::name).collect();
    let more = several.len().saturating_sub(LISTED);
    Err(ModelFailure::Several { pattern: name.to_owned(), candidates, more })
}

/// Whether a model takes words and answers with words. One of which nobody says anything is taken for one that does.
pub(crate) fn answers(model: Option<&ModelEntry>) -> bool {
    model.is_none_or(ModelEntry::answers)
}

/// Of the providers that need a credential and have one, that whose usual model costs least; of several that cost the
/// same, or whose price nobody knows, the first. Those whose usual model calls no tools count where there are no others:
/// most work needs them.
fn with_credential(providers: &Providers) -> Option<(Found<'_>, Why)> {
    let asked = |entry| {
        let shown = Shown::of(&providers.credential(entry, None));
        let has_one = shown.available && shown.source != SourceKind::None;
        let found = usual_model(entry).filter(|_| has_one)?;
        Some((found, shown.words()))
    };
    // Manifests of which nothing is wanted are not read.
    let entries = providers.catalog.providers().filter(|entry| providers.may_have_credential(entry));
    let all: Vec<(Found<'_>, String)> = entries.filter_map(asked).collect();
    let (calling, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|(found, _)| usual::calls_tools(found));
    let (all, without_tools) = if calling.is_empty() { (others, 0) } else { (calling, others.len()) };
    let count = all.len();
    let price = |found: &Found<'_>| usual::price(found.model);
    let priced = match all.iter().filter(|(found, _)| price(found).is_some()).count() {
        0 => Priced::None,
        known if known == count => Priced::All,
        _ => Priced::Some,
    };
    let rank = |found: &Found<'_>| price(found).unwrap_or(f64::INFINITY);
    let (found, source) = all.into_iter().min_by(|(left, _), (right, _)| rank(left).total_cmp(&rank(right)))?;
    Some((found, Why::Credential { source, count, without_tools, priced }))
}

/// The first provider that the user wrote down and that needs no credential. Servers that are looked for come later.
fn without_credential(providers: &Providers) -> Option<Found<'_>> {
    providers.catalog.providers().find_map(|entry| {
        let is_own = matches!(entry.origin, Origin::User | Origin::CommandLine) && !entry.manifest.is_local();
        let needs_none = is_own && {
            let shown = Shown::of(&providers.credential(entry, None));
            shown.available && shown.source == SourceKind::None
        };
        needs_none.then(|| usual_model(entry)).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_without_a_manifest_has_a_valid_one() {
        let loaded = load(SERVER, "server.yaml", Format::Yaml);
        assert_eq!(loaded.diagnostics, []);
        assert_eq!(loaded.ignored, []);
        assert_eq!(loaded.manifest.map(|manifest| manifest.id.to_string()).as_deref(), Some(SERVER_ID));
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

    #[test]
    fn refused_addresses_are_shown_without_passwords() {
        for (text, expected) in [
            ("ftp://me:hunter2@models.example/v1", "ftp://***@models.example/v1"),
            ("https://me:hunter2@models.example/v1", "https://***@models.example/v1"),
            ("https://hunter2@models.example/v1", "https://***@models.example/v1"),
            ("ftp://me:hun/ter@2@models.example", "ftp://***@models.example"),
            ("me:hunter2@models.example", "***@models.example"),
            ("ftp://models.example?key=hunter2@x", "ftp://models.example?***"),
            ("nonsense", "nonsense"),
        ] {
            let Err(ModelFailure::BadAddress { text: shown, .. }) = checked(text) else { panic!("{text} is taken") };
            assert_eq!(shown, expected, "{text}");
        }
    }
}
