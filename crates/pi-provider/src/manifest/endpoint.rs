//! Where a provider is reached and how a caller shows who they are.

use std::{fmt, net::IpAddr, num::NonZeroU32};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize, Serializer};
use url::{Host, Url};

use super::{
    expression,
    load::{KeySource, MissingKey},
    wording::Wording,
};
use crate::secret::{HIDDEN, Secret};

/// Ring 1: the address and the credential. Paths of operations are in [`Manifest::endpoints`](super::Manifest), also those
/// that the file wrote here.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// May hold `${NAME}` for values of the environment.
    pub base_url: String,
    /// How long a call that does not stream may take as a whole, and how long a stream may be silent before its first byte.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
    pub auth: Auth,
}

/// Where the credential comes from and where it is put.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Auth {
    #[serde(flatten)]
    pub placement: Placement,
    /// The variable that holds it.
    #[serde(default)]
    pub token_env: Option<String>,
    /// Headers that every request carries and everybody may see. Others of the file are in `secret_headers`.
    #[serde(default)]
    pub extra_headers: Vec<Header>,
    /// Ours: why the access token of a login (OAuth) is of no use here, where the provider takes it from its own programs
    /// only. Such a login is then reported instead of sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login_refused: Option<String>,
    /// Headers that are treated like the credential: what a manifest adds under names that are not [known to be
    /// harmless](Header::is_harmless), and the user's own of Pi's `models.json`.
    #[serde(skip)]
    pub secret_headers: Vec<SecretHeader>,
    /// Headers that should be among them and have no value, each with the reason. A request is sent without them, and says so.
    #[serde(skip)]
    pub missing_headers: Vec<(String, MissingKey)>,
    /// Whether the server is asked without a credential where none is found: Pi's `models.json` need not name one.
    #[serde(skip)]
    pub is_optional: bool,
}

impl Endpoint {
    /// Stands in for one that cannot be read.
    pub(super) fn nowhere() -> Self {
        Self { base_url: String::new(), timeout_ms: None, auth: Auth::by(Placement::None) }
    }
}

impl Auth {
    /// A credential that is put there, and nothing else.
    pub(crate) fn by(placement: Placement) -> Self {
        Self {
            placement,
            token_env: None,
            extra_headers: Vec::new(),
            login_refused: None,
            secret_headers: Vec::new(),
            missing_headers: Vec::new(),
            is_optional: false,
        }
    }

    /// Takes the values of these headers from where they are. A command that brings one is run, which may take seconds.
    pub fn carry<'h>(
        &mut self,
        headers: impl IntoIterator<Item = (&'h str, &'h KeySource)>,
        environment: &dyn Fn(&str) -> Option<String>,
    ) {
        self.secret_headers.clear();
        self.missing_headers.clear();
        for (name, source) in headers {
            match source.look_up(environment) {
                Ok(value) => self.secret_headers.push(SecretHeader { name: name.to_owned(), value }),
                Err(missing) => self.missing_headers.push((name.to_owned(), missing)),
            }
        }
    }
}

/// Where the credential is put.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Placement {
    /// `Authorization: Bearer …`, or another header and prefix.
    Bearer {
        header: String,
        prefix: String,
    },
    CustomHeader {
        header: String,
    },
    QueryParam {
        param_name: String,
    },
    /// A server on this machine that asks for nothing. Ours: the standard has no word for it.
    None,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    pub name: String,
    pub value: String,
}

/// Headers that say what is spoken and who asks, and open no door.
const HARMLESS: [&str; 14] = [
    "accept",
    "accept-encoding",
    "accept-language",
    "anthropic-beta",
    "anthropic-dangerous-direct-browser-access",
    "anthropic-version",
    "api-version",
    "content-type",
    "http-referer",
    "openai-beta",
    "referer",
    "user-agent",
    "x-api-version",
    "x-title",
];

impl Header {
    /// Whether its value may be shown: the name is one of those that never hold a key, and no variable is in the value.
    pub fn is_harmless(&self) -> bool {
        is_harmless(&self.name, &self.value)
    }
}

pub(crate) fn is_harmless(name: &str, value: &str) -> bool {
    HARMLESS.iter().any(|known| name.eq_ignore_ascii_case(known)) && !value.contains('$')
}

/// Whether this is the name of a scheme, as it stands before a credential. Others may be the credential itself.
pub(crate) fn is_scheme(prefix: &str) -> bool {
    const LONGEST: usize = 16;
    prefix.len() <= LONGEST && prefix.chars().all(|letter| letter.is_ascii_alphabetic() || letter == '-')
}

/// The address of a provider as people may see it: without who is named before its host and without the values of its
/// query, under whatever name. Names of variables stay, they say where something comes from.
pub fn shown_address(base_url: &str) -> String {
    let (rest, query) = base_url.split_once('?').map_or((base_url, None), |(rest, query)| (rest, Some(query)));
    let (scheme, rest) = rest.split_at(rest.find("://").map_or(0, |at| at + "://".len()));
    let server = rest.find(['/', '#']).unwrap_or(rest.len());
    let user = rest[..server].rfind('@').map_or("", |_| "***@");
    let rest = rest[..server].rfind('@').map_or(rest, |at| &rest[at + 1..]);
    let hidden = |pair: &str| match pair.split_once('=') {
        Some((name, value)) if !is_variable(value) => format!("{name}={HIDDEN}"),
        None if !is_variable(pair) && !pair.is_empty() => HIDDEN.to_owned(),
        Some(_) | None => pair.to_owned(),
    };
    let query = query.map(|query| format!("?{}", query.split('&').map(hidden).collect::<Vec<_>>().join("&")));
    format!("{scheme}{user}{rest}{}", query.unwrap_or_default())
}

/// Where one model is reached, if that is not where its provider is. As people may see it in `Debug` and in JSON.
#[derive(Clone, PartialEq, Eq)]
pub struct OwnAddress(pub String);

impl fmt::Debug for OwnAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&shown_address(&self.0), f)
    }
}

impl Serialize for OwnAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&shown_address(&self.0))
    }
}

/// Whether a text is the name of a variable and nothing else.
pub(crate) fn is_variable(text: &str) -> bool {
    text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).is_some_and(|name| !name.contains(['$', '{', '}']))
}

/// Whether a text can be the name of a variable.
pub(crate) fn is_variable_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { base_url, timeout_ms, auth } = self;
        let base_url = shown_address(base_url);
        f.debug_struct("Endpoint")
            .field("base_url", &base_url)
            .field("timeout_ms", timeout_ms)
            .field("auth", auth)
            .finish()
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = if self.is_harmless() { &self.value } else { HIDDEN };
        f.debug_struct("Header").field("name", &self.name).field("value", &value).finish()
    }
}

/// A header whose value may be secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretHeader {
    pub name: String,
    pub value: Secret,
}

/// One thing that can be asked of the provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Operation {
    /// Joined to the base address unless it is a whole address; may hold `{model}` and a query.
    pub path: String,
    #[serde(default = "post")]
    pub method: String,
    /// The dialect, where this operation speaks another one than the rest: `openai`, `anthropic`, `gemini`, `cohere_v2`.
    #[serde(default)]
    pub adapter: Option<String>,
    #[serde(default)]
    pub request_encoding: Option<String>,
    #[serde(default)]
    pub response_encoding: Option<String>,
    /// What the provider writes otherwise than others of its dialect.
    #[serde(default, skip_serializing_if = "Wording::is_usual")]
    pub wording: Wording,
    /// Ours, of a batch: which part of the usual prices is asked for, such as 0.5. Absent where nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_factor: Option<f64>,
    /// Ours, of embeddings: so many texts go into one request; more go into several. Absent where there is no such limit, or
    /// nobody knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_inputs: Option<NonZeroU32>,
}

/// A question about the provider itself, such as the list of its models.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    pub path: String,
    #[serde(default = "get")]
    pub method: String,
    #[serde(default)]
    pub headers: IndexMap<String, String>,
    #[serde(default)]
    pub query_params: IndexMap<String, String>,
    /// The member of the answer that holds the list.
    #[serde(default, deserialize_with = "expression::optional_plain_path")]
    pub response_binding: Option<String>,
}

impl Service {
    /// The same without what may be secret: headers that are not known to be harmless and keys in the query.
    #[must_use]
    pub fn shown(&self) -> Self {
        let mut shown = self.clone();
        for (name, value) in &mut shown.headers {
            if !is_harmless(name, value) && !is_variable(value) {
                HIDDEN.clone_into(value);
            }
        }
        for (name, value) in &mut shown.query_params {
            if is_key(name) {
                HIDDEN.clone_into(value);
            }
        }
        shown.path = shown_path(&self.path);
        shown
    }
}

/// The path of an operation as people may see it: without the values of keys in its query. One that is a whole address is
/// shown as such.
pub(crate) fn shown_path(path: &str) -> String {
    if is_whole(path) {
        return shown_address(path);
    }
    let Some((path, query)) = path.split_once('?') else { return path.to_owned() };
    let shown = |pair: &str| match pair.split_once('=') {
        Some((name, value)) if is_key(name) && !is_variable(value) => format!("{name}={HIDDEN}"),
        Some(_) | None => pair.to_owned(),
    };
    format!("{path}?{}", query.split('&').map(shown).collect::<Vec<_>>().join("&"))
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, method, headers, query_params, response_binding } = self.shown();
        f.debug_struct("Service")
            .field("path", &path)
            .field("method", &method)
            .field("headers", &headers)
            .field("query_params", &query_params)
            .field("response_binding", &response_binding)
            .finish()
    }
}

/// Whether a value of this name opens a door: what any key is called, and what addresses that are signed have.
pub(crate) fn is_key(name: &str) -> bool {
    const NAMES: [&str; 6] = ["key", "token", "sig", "signature", "code", "auth"];
    NAMES.iter().any(|known| name.eq_ignore_ascii_case(known)) || pi_redact::is_secret_key(name)
}

/// Whether the path of an operation is a whole address, and not joined to that of the provider.
pub(crate) fn is_whole(path: &str) -> bool {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter))
    };
    // Up to the first colon: there is none in a scheme.
    path.split_once(':').is_some_and(|(scheme, rest)| rest.starts_with("//") && is_scheme(scheme))
}

/// Whether a credential may be sent there: it is encrypted, or goes no further than this network.
pub(crate) fn is_protected(url: &Url) -> bool {
    match (url.scheme(), url.host()) {
        ("https" | "wss", Some(_)) => true,
        ("http" | "ws", Some(host)) => is_near(&host),
        _ => false,
    }
}

/// On this machine or in this network.
fn is_near(host: &Host<&str>) -> bool {
    match host {
        Host::Ipv4(address) => address.is_loopback() || address.is_private() || address.is_link_local(),
        Host::Ipv6(address) => {
            IpAddr::V6(*address).to_canonical().is_loopback()
                || address.is_unique_local()
                || address.is_unicast_link_local()
        }
        Host::Domain(name) => {
            !name.contains('.') || [".localhost", ".local", ".lan", ".internal"].iter().any(|end| name.ends_with(end))
        }
    }
}

fn post() -> String {
    "POST".to_owned()
}

fn get() -> String {
    "GET".to_owned()
}
