//! Finds model servers on this machine, without configuration.
//!
//! Which servers there are is data: a manifest with a section `metadata.local` says where its server usually listens
//! (`endpoint.base_url`), by which answers it is recognised, and where its list of models tells what. A server that does not
//! answer like the one it is looked for as is left alone: port 8080 belongs to many. Only loopback is asked, unless the
//! person names another address in the variable of that server. Manifests of a project that nobody trusts are not looked
//! at: they could name any variable and any address.
//!
//! Start with [`Probe::all`], which decides what is asked, and [`find`], which asks.

use std::{net::IpAddr, time::Duration};

use futures_util::future::join_all;
use indexmap::IndexMap;
use pi_transcript::ProviderId;
use reqwest::{
    Method,
    header::{CONTENT_TYPE, HeaderMap, HeaderValue},
};
use serde::Deserialize;
use serde_json::Value;
use url::{Host, Url};

use crate::{
    catalog::Entry,
    condition::Condition,
    credential::{Attachment, Lookup},
    dialect::{Chat, Dialect},
    manifest::{Manifest, ModelEntry, expression, model::Modalities},
    path::{Path, syntax::SyntaxError},
    request::in_form_of,
    transport::{Inflow, Outgoing, Transport, read_body},
};

/// How long servers are waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// A server answers this fast, or is not there. Where nobody listens that is known at once.
    pub presence: Duration,
    /// One that is there may be busy, and what it tells of its models is worth more than the time.
    pub details: Duration,
}

pub const USUAL_PATIENCE: Patience =
    Patience { presence: Duration::from_millis(1500), details: Duration::from_secs(3) };
/// More models than this are not asked about one by one; the others are as the list tells.
const MOST_ASKED: usize = 32;
/// Larger answers are not read.
const LARGEST: usize = 4 << 20;

/// A server that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalServer {
    pub provider: ProviderId,
    /// Where it answers; to be used instead of the manifest's.
    pub base_url: String,
    /// What it serves, in its own order.
    pub models: IndexMap<String, ModelEntry>,
}

/// What came of looking for servers, in the order of the probes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sightings {
    pub servers: Vec<LocalServer>,
    /// Somebody answers there, and wants a credential, or another one.
    pub refused: Vec<Refused>,
}

/// A server that does not tell whether it is the one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub provider: ProviderId,
    /// Scheme, host and port.
    pub address: String,
    pub status: u16,
}

/// What one probe saw.
enum Sighting {
    Server {
        server: LocalServer,
        /// It asked for the credential, so that it gets it.
        wants_credential: bool,
    },
    Refused(u16),
    /// Nobody, or another server.
    Nothing,
}

/// What is asked to find one kind of server.
#[derive(Debug, Clone)]
pub struct Probe {
    pub provider: ProviderId,
    /// Without a slash at the end.
    pub base_url: String,
    /// The variable that names this address, where it is not the manifest's.
    pub named_by: Option<String>,
    /// Sent to a server that asks for one, and to no other.
    pub credential: Vec<Attachment>,
    signs: Vec<(String, Condition)>,
    list: String,
    binding: Option<Path>,
    fields: Fields,
    server: Option<(String, Path)>,
    details: Option<Details>,
    kinds: IndexMap<String, ModelEntry>,
    /// Parts of names to what such a model gives back, for models of which the server tells nothing else.
    names: IndexMap<String, String>,
}

/// Where the server tells more of one model.
#[derive(Debug, Clone)]
struct Details {
    path: String,
    /// The member of the question that names the model.
    name: String,
    /// A list of words.
    abilities: Path,
    words: Words,
    /// Where sizes are, and how the name of the one for the window ends.
    sizes: Path,
    context_window: String,
}

/// The server's words for what a model can do.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    answers: String,
    tools: String,
    thinks: String,
    sees: String,
    embeds: String,
}

/// Why a manifest with a section for local servers cannot be used to find one.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    #[error("metadata.local cannot be read")]
    Section(#[source] serde_json::Error),
    #[error("metadata.local: {text:?} is no path or condition")]
    Syntax {
        text: String,
        #[source]
        source: SyntaxError,
    },
    #[error("services.list_models is missing")]
    NoList,
    #[error("endpoint.base_url is not an address on this machine")]
    Elsewhere,
    /// Its value is not told: the variable may hold something else entirely.
    #[error("{variable} does not hold an address")]
    Variable { variable: String },
    #[error("{variable} names an http:// address, but this provider is reached by https://")]
    InTheClear { variable: String },
}

/// The address that a person names in the variable of a server.
pub(crate) struct Named {
    pub(crate) variable: String,
    pub(crate) address: String,
}

impl Named {
    /// What the variable of a manifest names, `None` if it has none or nobody has set it. Whoever is named is asked, or
    /// nobody: that no server was found there does not mean that another one is meant.
    pub(crate) fn of(manifest: &Manifest, environment: Lookup<'_>) -> Result<Option<Self>, ProbeError> {
        let variable = manifest.metadata.get("local").and_then(|local| local.get("base_url_env")?.as_str());
        Self::by(variable, &manifest.endpoint.base_url, environment)
    }

    fn by(variable: Option<&str>, usual: &str, environment: Lookup<'_>) -> Result<Option<Self>, ProbeError> {
        let Some(variable) = variable.map(str::to_owned) else { return Ok(None) };
        let Some(value) = environment(&variable).filter(|value| !value.trim().is_empty()) else { return Ok(None) };
        match address(&value, usual) {
            Meant::Address(address) => Ok(Some(Self { variable, address })),
            Meant::InTheClear => Err(ProbeError::InTheClear { variable }),
            Meant::Nothing => Err(ProbeError::Variable { variable }),
        }
    }
}

/// Where an entry of the list tells what.
#[derive(Debug, Clone)]
struct Fields {
    id: Path,
    family: Option<Path>,
    kind: Option<Path>,
    context_window: Option<Path>,
    largest_context_window: Option<Path>,
}

/// `metadata.local` as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Section {
    #[serde(default)]
    base_url_env: Option<String>,
    signs: Vec<Sign>,
    model: ModelSection,
    #[serde(default)]
    server: Option<ServerSection>,
    #[serde(default)]
    details: Option<DetailsSection>,
    #[serde(default)]
    kinds: IndexMap<String, ModelEntry>,
    #[serde(default)]
    names: IndexMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DetailsSection {
    path: String,
    name: String,
    #[serde(deserialize_with = "expression::plain_path")]
    abilities: String,
    words: Words,
    #[serde(deserialize_with = "expression::plain_path")]
    sizes: String,
    context_window: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sign {
    path: String,
    #[serde(rename = "match", deserialize_with = "expression::condition")]
    condition: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelSection {
    #[serde(deserialize_with = "expression::plain_path")]
    id: String,
    #[serde(default, deserialize_with = "expression::optional_plain_path")]
    family: Option<String>,
    #[serde(default, deserialize_with = "expression::optional_plain_path")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "expression::optional_plain_path")]
    context_window: Option<String>,
    #[serde(default, deserialize_with = "expression::optional_plain_path")]
    largest_context_window: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerSection {
    path: String,
    #[serde(deserialize_with = "expression::plain_path")]
    context_window: String,
}

/// Asks for all of these servers at once and gives back those that are there. Takes no longer than `patience` says; dropping
/// the future closes all connections.
pub async fn find(transport: &Transport, probes: &[Probe], patience: Patience) -> Sightings {
    let attempts = probes.iter().map(|probe| async move {
        let Ok(sighting) = tokio::time::timeout(patience.presence, probe.ask(transport)).await else {
            tracing::debug!(provider = probe.provider.as_str(), "no answer in time");
            return Sighting::Nothing;
        };
        let Sighting::Server { mut server, wants_credential } = sighting else { return sighting };
        if let Some(details) = &probe.details {
            let credential = if wants_credential { &probe.credential[..] } else { &[] };
            let asking = Asking { transport, base_url: &probe.base_url, credential };
            details.fill(asking, &mut server, patience.details).await;
        }
        Sighting::Server { server, wants_credential }
    });
    let mut found = Sightings::default();
    for (probe, sighting) in probes.iter().zip(join_all(attempts).await) {
        match sighting {
            Sighting::Server { server, .. } => found.servers.push(server),
            Sighting::Refused(status) => {
                let address = Url::parse(&probe.base_url).map(|url| url.origin().ascii_serialization());
                let address = address.unwrap_or_default();
                found.refused.push(Refused { provider: probe.provider.clone(), address, status });
            }
            Sighting::Nothing => {}
        }
    }
    found
}

impl Probe {
    /// Probes for every manifest that describes a local server. One that cannot be used is reported to the log and left out.
    pub fn all<'e>(entries: impl IntoIterator<Item = &'e Entry>, environment: Lookup<'_>) -> Vec<Self> {
        let probe = |entry: &Entry| match Self::of(entry, environment) {
            Ok(probe) => probe,
            Err(error) => {
                tracing::warn!(provider = entry.manifest.id.as_str(), %error, "local servers are not looked for");
                None
            }
        };
        entries.into_iter().filter_map(probe).collect()
    }

    /// The probe of a manifest, `None` if it does not describe a local server or nobody trusts it.
    pub fn of(entry: &Entry, environment: Lookup<'_>) -> Result<Option<Self>, ProbeError> {
        if !entry.is_trusted() || !entry.manifest.is_local() {
            return Ok(None);
        }
        let manifest = &entry.manifest;
        let Some(section) = manifest.metadata.get("local") else { return Ok(None) };
        let section: Section = serde_json::from_value(section.clone()).map_err(ProbeError::Section)?;
        let usual = &manifest.endpoint.base_url;
        let (base_url, named_by) = match Named::by(section.base_url_env.as_deref(), usual, environment)? {
            Some(Named { variable, address }) => (in_form_of(manifest, None, &address).into_owned(), Some(variable)),
            None if is_loopback(usual) => (usual.trim_end_matches('/').to_owned(), None),
            None => return Err(ProbeError::Elsewhere),
        };
        let list = manifest.services.get("list_models").ok_or(ProbeError::NoList)?;
        let signs = section.signs.into_iter().map(|sign| Ok((sign.path, condition(&sign.condition)?)));
        let optional = |text: &Option<String>| text.as_deref().map(path).transpose();
        Ok(Some(Self {
            provider: manifest.id.clone(),
            base_url,
            named_by,
            credential: Vec::new(),
            signs: signs.collect::<Result<_, ProbeError>>()?,
            list: list.path.clone(),
            binding: optional(&list.response_binding)?,
            fields: Fields {
                id: path(&section.model.id)?,
                family: optional(&section.model.family)?,
                kind: optional(&section.model.kind)?,
                context_window: optional(&section.model.context_window)?,
                largest_context_window: optional(&section.model.largest_context_window)?,
            },
            server: section.server.map(|server| Ok((server.path, path(&server.context_window)?))).transpose()?,
            details: section.details.map(Details::of).transpose()?,
            kinds: section.kinds,
            names: section.names,
        }))
    }

    /// The server, if it is there and is the one. The credential goes only to one that asks for it.
    async fn ask(&self, transport: &Transport) -> Sighting {
        let mut asking = Asking { transport, base_url: &self.base_url, credential: &[] };
        let mut told = asking.get(&self.list).await;
        if matches!(told, Told::Refused(401 | 403)) && !self.credential.is_empty() {
            asking.credential = &self.credential;
            told = asking.get(&self.list).await;
        }
        let list = match told {
            Told::Answer(list) => list,
            Told::Refused(status @ (401 | 403)) => return Sighting::Refused(status),
            Told::Refused(_) | Told::Nothing => return Sighting::Nothing,
        };
        let mut known = false;
        for (path, condition) in &self.signs {
            known = if *path == self.list {
                condition.holds(&list)
            } else {
                asking.get(path).await.answer().is_some_and(|answer| condition.holds(&answer))
            };
            if known {
                break;
            }
        }
        if !known {
            tracing::debug!(provider = self.provider.as_str(), "another server answers there");
            return Sighting::Nothing;
        }
        let window = match &self.server {
            Some((path, window)) => asking.get(path).await.answer().and_then(|answer| number(window, &answer)),
            None => None,
        };
        let entries = match &self.binding {
            Some(binding) => binding.first(&list).and_then(Value::as_array),
            None => list.as_array(),
        };
        let Some(entries) = entries else { return Sighting::Nothing };
        let models = entries.iter().filter_map(|entry| self.model(entry, window)).collect();
        let (provider, base_url) = (self.provider.clone(), self.base_url.clone());
        let server = LocalServer { provider, base_url, models };
        Sighting::Server { server, wants_credential: !asking.credential.is_empty() }
    }

    fn model(&self, entry: &Value, window: Option<u64>) -> Option<(String, ModelEntry)> {
        let text = |path: &Option<Path>| path.as_ref()?.first(entry)?.as_str().map(str::to_owned);
        let count = |path: &Option<Path>| number(path.as_ref()?, entry);
        let id = self.fields.id.first(entry)?.as_str()?.to_owned();
        let fields = &self.fields;
        let mut model = text(&fields.kind).and_then(|kind| self.kinds.get(&kind).cloned()).unwrap_or_default();
        model.name.get_or_insert_with(|| id.clone());
        model.family = text(&fields.family).or(model.family);
        model.context_window =
            count(&fields.context_window).or(window).or_else(|| count(&fields.largest_context_window));
        let text = || "text".to_owned();
        model.modalities.get_or_insert_with(|| {
            let output = self.given_by_name(&id).unwrap_or_else(text);
            Modalities { input: vec![text()], output: vec![output] }
        });
        Some((id, model))
    }

    /// What a model gives back, as far as its name tells.
    fn given_by_name(&self, id: &str) -> Option<String> {
        let id = id.to_lowercase();
        self.names.iter().find(|(part, _)| id.contains(part.as_str())).map(|(_, given)| given.clone())
    }
}

impl Details {
    fn of(section: DetailsSection) -> Result<Self, ProbeError> {
        let DetailsSection { path: place, name, abilities, words, sizes, context_window } = section;
        let (abilities, sizes) = (path(&abilities)?, path(&sizes)?);
        Ok(Self { path: place, name, abilities, words, sizes, context_window })
    }

    /// Asks about every model at once. One about which nothing comes in time stays as the list tells.
    async fn fill(&self, asking: Asking<'_>, server: &mut LocalServer, patience: Duration) {
        let asked = server.models.iter_mut().take(MOST_ASKED).map(|(id, model)| async move {
            let body = Value::Object([(self.name.clone(), Value::from(id.as_str()))].into_iter().collect());
            let question = Question { method: Method::POST, path: &self.path, body: Some(body) };
            match tokio::time::timeout(patience, asking.exchange(question)).await {
                Ok(Told::Answer(answer)) => self.apply(&answer, model),
                Ok(Told::Refused(_) | Told::Nothing) | Err(_) => {
                    tracing::debug!(model = id.as_str(), "nothing more is told of it");
                }
            }
        });
        join_all(asked).await;
    }

    fn apply(&self, answer: &Value, model: &mut ModelEntry) {
        let sizes = self.sizes.first(answer).and_then(Value::as_object);
        let mut window = sizes.into_iter().flatten().filter(|(name, _)| name.ends_with(&self.context_window));
        let window = window.find_map(|(_, size)| size.as_u64().filter(|size| *size > 0));
        model.context_window = model.context_window.or(window);
        // Older servers do not tell what a model can do.
        let told = self.abilities.first(answer).and_then(Value::as_array);
        let Some(abilities) = told.filter(|abilities| !abilities.is_empty()) else { return };
        let can = |word: &String| abilities.iter().any(|ability| ability == word);
        let of = |kinds: &[(bool, &str)]| -> Vec<String> {
            kinds.iter().filter(|(is_there, _)| *is_there).map(|(_, kind)| (*kind).to_owned()).collect()
        };
        let (answers, sees) = (can(&self.words.answers), can(&self.words.sees));
        let input = of(&[(true, "text"), (sees, "image")]);
        let output = of(&[(answers, "text"), (can(&self.words.embeds), "embedding")]);
        // A list of nothing would mean that nobody knows.
        let output = if output.is_empty() { vec!["other".to_owned()] } else { output };
        model.modalities = Some(Modalities { input, output });
        let capabilities = &mut model.model_capabilities;
        capabilities.tool_call = Some(can(&self.words.tools));
        capabilities.reasoning = Some(can(&self.words.thinks));
        capabilities.attachment = Some(sees);
    }
}

/// What a server of the OpenAI kind says of its models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Served {
    /// Their names, in its order.
    Models(Vec<String>),
    /// It wants a credential, or another one.
    Refused { status: u16 },
    /// It does not tell.
    Nothing,
}

/// The models that a server of the OpenAI kind lists. It is sent only a credential that somebody spelled out for it. An
/// address without the version of the API is asked with it too.
pub async fn served_at(
    transport: &Transport,
    address: &str,
    credential: Option<&Attachment>,
    patience: Duration,
) -> Served {
    // People copy the address of a chat.
    let (base, query) = address.split_at(address.find('?').unwrap_or(address.len()));
    let base = base.trim_end_matches('/');
    let base = base.strip_suffix(Chat::of(Dialect::OpenaiChat).path.as_str()).unwrap_or(base);
    let address = &format!("{base}{query}");
    let credential = credential.map(std::slice::from_ref).unwrap_or_default();
    let asking = Asking { transport, base_url: address, credential };
    let list = async {
        let mut served = Served::Nothing;
        for path in ["/models", "/v1/models"] {
            match asking.get(path).await {
                Told::Answer(answer) => match listed(&answer) {
                    Some(models) => return Served::Models(models),
                    None => continue,
                },
                Told::Refused(status @ (401 | 403)) => served = Served::Refused { status },
                Told::Refused(_) | Told::Nothing => {}
            }
        }
        served
    };
    tokio::time::timeout(patience, list).await.unwrap_or(Served::Nothing)
}

fn listed(answer: &Value) -> Option<Vec<String>> {
    let models = ["data", "models"].iter().find_map(|name| answer.get(name)?.as_array())?;
    let name = |model: &Value| ["id", "name"].iter().find_map(|name| model.get(name)?.as_str().map(str::to_owned));
    Some(models.iter().filter_map(name).collect())
}

/// Whom questions go to.
#[derive(Clone, Copy)]
struct Asking<'a> {
    transport: &'a Transport,
    base_url: &'a str,
    credential: &'a [Attachment],
}

/// What a server is asked.
struct Question<'a> {
    method: Method,
    path: &'a str,
    body: Option<Value>,
}

/// What came of it.
enum Told {
    Answer(Value),
    Refused(u16),
    Nothing,
}

impl Told {
    fn answer(self) -> Option<Value> {
        match self {
            Told::Answer(answer) => Some(answer),
            Told::Refused(_) | Told::Nothing => None,
        }
    }
}

impl Asking<'_> {
    async fn get(self, path: &str) -> Told {
        self.exchange(Question { method: Method::GET, path, body: None }).await
    }

    async fn exchange(self, question: Question<'_>) -> Told {
        let Self { transport, base_url, credential } = self;
        let Question { method, path, body } = question;
        // Without the slash, `@elsewhere` would be another server.
        let slash = if path.starts_with('/') { "" } else { "/" };
        let (base, query) = base_url.split_at(base_url.find('?').unwrap_or(base_url.len()));
        let Ok(url) = Url::parse(&format!("{}{slash}{path}{query}", base.trim_end_matches('/'))) else {
            return Told::Nothing;
        };
        let mut headers = HeaderMap::new();
        if body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let body = body.map(|body| bytes::Bytes::from(body.to_string())).unwrap_or_default();
        let outgoing = Outgoing { method, url, headers, body, hidden: Vec::new(), secrets: Vec::new(), named_by: None };
        let Ok(response) = transport.send(&outgoing, credential).await else { return Told::Nothing };
        if !response.status().is_success() {
            return Told::Refused(response.status().as_u16());
        }
        let body = read_body(&mut Inflow::of(response), LARGEST).await.ok();
        body.and_then(|body| serde_json::from_slice(&body).ok()).map_or(Told::Nothing, Told::Answer)
    }
}

/// A number that means something: zero is unknown.
fn number(path: &Path, value: &Value) -> Option<u64> {
    path.first(value)?.as_u64().filter(|number| *number > 0)
}

fn path(text: &str) -> Result<Path, ProbeError> {
    Path::parse(text).map_err(|source| ProbeError::Syntax { text: text.to_owned(), source })
}

fn condition(text: &str) -> Result<Condition, ProbeError> {
    Condition::parse(text).map_err(|source| ProbeError::Syntax { text: text.to_owned(), source })
}

/// What the value of a variable comes to.
#[derive(Debug, PartialEq)]
enum Meant {
    Address(String),
    /// It would take TLS away from the usual address.
    InTheClear,
    /// It is no address.
    Nothing,
}

/// What a variable such as `OLLAMA_HOST` means: a host, a host with a port, a port alone or an address; what it leaves out
/// is as usual, and so is TLS. An address to listen on everywhere, or a port alone, is asked on this machine.
fn address(named: &str, usual: &str) -> Meant {
    let Some(url) = Url::parse(usual).ok().and_then(|usual| url_of(named.trim(), &usual)) else {
        return Meant::Nothing;
    };
    match url.scheme() {
        "http" if usual.starts_with("https://") => Meant::InTheClear,
        "http" | "https" => Meant::Address(url.as_str().trim_end_matches('/').to_owned()),
        _ => Meant::Nothing,
    }
}

fn url_of(named: &str, usual: &Url) -> Option<Url> {
    let here = usual.host_str().filter(|_| is_loopback(usual.as_str())).unwrap_or("127.0.0.1");
    let mut url = if named.contains("://") {
        Url::parse(named).ok()?
    } else {
        let named = named.trim_end_matches('/');
        let whole = if named.starts_with(':') { format!("{here}{named}") } else { named.to_owned() };
        let mut url = Url::parse(&format!("{}://{whole}", usual.scheme())).ok()?;
        // `http://host:80` loses its port, so the text is asked and not the address.
        let has_port = whole.rsplit_once(':').is_some_and(|(host, port)| {
            !port.is_empty()
                && port.bytes().all(|byte| byte.is_ascii_digit())
                && (!host.contains(':') || host.ends_with(']'))
        });
        if !has_port {
            url.set_port(usual.port()).ok()?;
        }
        url
    };
    let everywhere = match url.host()? {
        Host::Ipv4(host) => host.is_unspecified(),
        Host::Ipv6(host) => host.is_unspecified(),
        Host::Domain(_) => false,
    };
    if everywhere {
        url.set_host(Some(here)).ok()?;
    }
    Some(url)
}

fn is_loopback(address: &str) -> bool {
    let Ok(url) = Url::parse(address) else { return false };
    match url.host() {
        Some(Host::Ipv4(host)) => IpAddr::V4(host).is_loopback(),
        Some(Host::Ipv6(host)) => IpAddr::V6(host).is_loopback(),
        Some(Host::Domain(host)) => host == "localhost",
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_variable_means_what_its_server_takes_it_for() {
        let table = [
            ("127.0.0.1:9000", "http://127.0.0.1:9000"),
            ("0.0.0.0", "http://127.0.0.1:11434"),
            ("0.0.0.0:8123", "http://127.0.0.1:8123"),
            (":8123", "http://127.0.0.1:8123"),
            ("box.lan", "http://box.lan:11434"),
            ("http://box.lan:80", "http://box.lan"),
            ("box.lan:80", "http://box.lan"),
            ("https://models.example/ollama/", "https://models.example/ollama"),
            ("[::]:4000", "http://127.0.0.1:4000"),
            ("[::1]", "http://[::1]:11434"),
        ];
        for (named, meant) in table {
            assert_eq!(address(named, "http://127.0.0.1:11434"), Meant::Address(meant.to_owned()), "{named}");
        }
        for named in ["ftp://box.lan", "http://", "two words"] {
            assert_eq!(address(named, "http://127.0.0.1:11434"), Meant::Nothing, "{named}");
        }
    }

    #[test]
    fn a_host_variable_never_takes_tls_away_and_means_this_machine_where_it_names_none() {
        let table = [
            ("box.lan", "https://box.lan:8443"),
            ("box.lan:9000", "https://box.lan:9000"),
            ("0.0.0.0", "https://127.0.0.1:8443"),
            ("[::]", "https://127.0.0.1:8443"),
            (":9000", "https://127.0.0.1:9000"),
            ("https://other.example", "https://other.example"),
        ];
        for (named, meant) in table {
            assert_eq!(address(named, "https://models.example:8443"), Meant::Address(meant.to_owned()), "{named}");
        }
        assert_eq!(address("http://127.0.0.1:11434", "https://models.example:8443"), Meant::InTheClear);
    }

    #[test]
    fn only_this_machine_is_asked_unasked() {
        for (address, local) in [
            ("http://127.0.0.1:8080", true),
            ("http://127.8.8.8", true),
            ("http://[::1]:1", true),
            ("http://localhost:1", true),
            ("http://localhost.example:1", false),
            ("http://10.0.0.1", false),
            ("nonsense", false),
        ] {
            assert_eq!(is_loopback(address), local, "{address}");
        }
    }
}
