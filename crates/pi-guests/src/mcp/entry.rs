//! What people write about a server, and what it means.
//!
//! The format is the one that others have: an object of servers by name, each with a `command` or a `url`. Members that
//! nobody knows are told, not refused: the file may be shared with other programs.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    time::Duration,
};

use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};

use pi_extproto::Object;
use pi_transcript::json::{Digest, canonical};

use super::{
    expansion::{self, ExpansionFault},
    written::{self, DECISIVE},
};

/// A server that can be connected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    pub name: String,
    pub route: Route,
    /// The route for people: as it was written, so that no variable shows its value, and without what looks like a secret.
    pub shown: String,
    /// What it is given, for people in the same way.
    pub(super) given: Vec<String>,
    /// By them one is told what changed in it.
    pub(super) digests: BTreeMap<String, String>,
    /// The variables that it reads, by name; none while it is switched off.
    pub reads: BTreeSet<String>,
    /// Where it was written.
    pub origin: Origin,
    /// The file in which it stands.
    pub file: PathBuf,
    pub is_disabled: bool,
    /// The only tools that are offered, if any are named.
    pub only: Option<Vec<String>>,
    /// Tools that are not offered.
    pub without: Vec<String>,
    /// How long a call may take without a sign of progress.
    pub call_time: Option<Duration>,
    /// A digest of what was written, before variables had their values: by it a server is known again.
    pub digest: String,
}

/// How a server is reached, with all variables in place.
#[derive(Clone, PartialEq, Eq)]
pub enum Route {
    Process(ProcessRoute),
    Http(HttpRoute),
}

#[derive(Clone, PartialEq, Eq)]
pub struct ProcessRoute {
    pub command: String,
    pub arguments: Vec<String>,
    pub variables: BTreeMap<String, String>,
    /// The project, unless given.
    pub folder: Option<String>,
}

#[derive(Clone, PartialEq, Eq)]
pub struct HttpRoute {
    pub url: String,
    pub headers: BTreeMap<String, String>,
}

/// Who wrote an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    Person,
    Project,
}

/// What is wrong with an entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryFault {
    #[error("expected an object")]
    NotObject,
    #[error("a name has letters, digits, '-', '_' and '.', and at most 64 of them")]
    Name,
    #[error("it has neither a command nor a url")]
    NoRoute,
    #[error("it has both a command and a url")]
    TwoRoutes,
    #[error("{0}: expected {1}")]
    Unexpected(&'static str, &'static str),
    #[error("the transport {0:?} is not spoken; it takes stdio and http")]
    Transport(String),
    #[error("the url is neither http nor https")]
    Scheme,
    #[error("the header {0:?} cannot be sent: names have letters, digits and '-', and values no line ends")]
    Header(String),
    #[error(
        "the variable {0} holds a credential, which a project is not given; to give it to this server, write the server into \
         your own mcp.json (`pi mcp add`), or to every program, name {0} in passEnvironment of your settings"
    )]
    Credential(String),
    #[error(transparent)]
    Expansion(#[from] ExpansionFault),
}

/// Members that mean something to us.
const KNOWN: [&str; 17] = [
    "command",
    "args",
    "env",
    "cwd",
    "type",
    "transport",
    "url",
    "headers",
    "disabled",
    "enabled",
    "timeout",
    "includeTools",
    "excludeTools",
    "enabledTools",
    "disabledTools",
    "description",
    "httpUrl",
];

impl Server {
    /// Reads an entry; beside it what was odd about it.
    pub fn read(
        name: &str,
        written: &Value,
        (origin, file): (Origin, PathBuf),
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(Self, Vec<String>), EntryFault> {
        if name.is_empty() {
            return Err(EntryFault::Name);
        }
        // Some programs write what they do not have.
        let members = written.as_object().ok_or(EntryFault::NotObject)?;
        let members = &Object::from_iter(members.clone().into_iter().filter(|(_, value)| !value.is_null()));
        let odd = members.keys().filter(|member| !KNOWN.contains(&member.as_str()));
        let odd = odd.map(|member| format!("{name}: {member} means nothing to pi")).collect();
        let is_disabled = flag(members, "disabled")?.unwrap_or(false) || flag(members, "enabled")? == Some(false);
        let reads = RefCell::new(BTreeSet::new());
        let noted = |name: &str| {
            reads.borrow_mut().insert(name.to_owned());
            lookup(name)
        };
        let expand = |text: &str| expansion::expand(text, &noted);
        // One that is switched off may lack whatever it needs.
        let route = match is_disabled {
            true => route(members, &|text| Ok(text.to_owned()))?,
            false => route(members, &expand)?,
        };
        let call_time = match members.get("timeout") {
            None => None,
            Some(value) => {
                let milliseconds = value.as_u64().filter(|it| *it > 0);
                Some(Duration::from_millis(
                    milliseconds.ok_or(EntryFault::Unexpected("timeout", "milliseconds, 1 or more"))?,
                ))
            }
        };
        let as_written = self::route(members, &|text| Ok(text.to_owned()))?;
        let server = Self {
            name: safe_name(name),
            shown: written::route(&as_written),
            given: written::given(&as_written),
            digests: written::digests(members),
            route,
            reads: reads.into_inner(),
            origin,
            file,
            is_disabled,
            only: texts(members, "includeTools")?.or(texts(members, "enabledTools")?),
            without: [texts(members, "excludeTools")?, texts(members, "disabledTools")?]
                .into_iter()
                .flatten()
                .flatten()
                .collect(),
            call_time,
            digest: digest(members),
        };
        Ok((server, odd))
    }

    /// What decides which program speaks to us, for people: the route, where it runs, what it is given, and the variables that
    /// it reads.
    pub fn shown_whole(&self) -> String {
        let names: Vec<&str> = self.reads.iter().map(String::as_str).collect();
        let reads = (!names.is_empty()).then(|| format!("reads: {}", names.join(", ")));
        let parts: Vec<String> = self.given.iter().cloned().chain(reads).collect();
        match parts.is_empty() {
            true => self.shown.clone(),
            false => format!("{} ({})", self.shown, parts.join("; ")),
        }
    }

    /// Tools that its owner names, to have them or to have them not.
    pub fn named(&self) -> impl Iterator<Item = &str> {
        self.only.iter().flatten().chain(&self.without).map(String::as_str)
    }

    /// Whether its owner wants a tool of this name.
    pub fn wants(&self, tool: &str) -> bool {
        let named = |list: &[String]| list.iter().any(|name| name == tool);
        self.only.as_deref().is_none_or(named) && !named(&self.without)
    }
}

impl Route {
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Process(_) => "stdio",
            Self::Http(_) => "http",
        }
    }
}

/// The longest name of a server.
const LONGEST_NAME: usize = 64;

/// Whether a text can be the name of a server as it is.
pub fn check_name(name: &str) -> Result<(), EntryFault> {
    match !name.is_empty() && safe_name(name) == name {
        true => Ok(()),
        false => Err(EntryFault::Name),
    }
}

/// What a server is called here that others call so: every other letter becomes a `-`. Names of registries have slashes, and
/// those that people choose have blanks.
pub fn safe_name(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    if !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(is_plain) {
        return name.to_owned();
    }
    let plain: String = name.chars().map(|letter| if is_plain(letter) { letter } else { '-' }).collect();
    match plain.trim_matches('-') {
        "" => {
            let digest = Digest::of(name.as_bytes());
            let mark: String = digest.as_bytes()[..3].iter().map(|byte| format!("{byte:02x}")).collect();
            format!("server-{mark}")
        }
        plain => plain.chars().take(LONGEST_NAME).collect(),
    }
}

type Expand<'a> = &'a dyn Fn(&str) -> Result<String, ExpansionFault>;

fn route(members: &Object, expand: Expand<'_>) -> Result<Route, EntryFault> {
    let url = text(members, "url")?.or(text(members, "httpUrl")?);
    let named = text(members, "type")?.or(text(members, "transport")?).map(transport).transpose()?;
    match (text(members, "command")?, url, named) {
        // Also where the transport chooses: people are shown one route, and would agree to both.
        (Some(_), Some(_), _) => Err(EntryFault::TwoRoutes),
        (Some(command), None, None | Some(Transport::Stdio)) => Ok(Route::Process(ProcessRoute {
            command: expand(command)?,
            arguments: texts(members, "args")?
                .unwrap_or_default()
                .iter()
                .map(|argument| expand(argument))
                .collect::<Result<_, _>>()?,
            variables: table(members, "env", expand)?,
            folder: text(members, "cwd")?.map(expand).transpose()?,
        })),
        (None, Some(url), _) => {
            let url = expand(url)?;
            let scheme = url.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
            match scheme.as_deref() {
                Some("http" | "https") => {
                    let headers = table(members, "headers", expand)?;
                    match headers.iter().find(|(name, value)| !is_header(name, value)) {
                        Some((name, _)) => Err(EntryFault::Header(name.clone())),
                        None => Ok(Route::Http(HttpRoute { url, headers })),
                    }
                }
                _ => Err(EntryFault::Scheme),
            }
        }
        (Some(_), None, Some(Transport::Http)) | (None, None, None | Some(Transport::Stdio | Transport::Http)) => {
            Err(EntryFault::NoRoute)
        }
    }
}

fn is_header(name: &str, value: &str) -> bool {
    HeaderName::try_from(name).is_ok() && HeaderValue::from_str(value).is_ok()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transport {
    Stdio,
    Http,
}

/// Programs write it in as many ways as a name of two words can be.
fn transport(named: &str) -> Result<Transport, EntryFault> {
    match named.to_ascii_lowercase().replace(['-', '_'], "").as_str() {
        "stdio" => Ok(Transport::Stdio),
        "http" | "streamablehttp" => Ok(Transport::Http),
        _ => Err(EntryFault::Transport(named.to_owned())),
    }
}

/// A value as its text; nothing if it is a list or an object. Numbers are written without quotes often enough.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn text<'a>(members: &'a Object, name: &'static str) -> Result<Option<&'a str>, EntryFault> {
    match members.get(name) {
        None => Ok(None),
        Some(value) => value.as_str().map(Some).ok_or(EntryFault::Unexpected(name, "a string")),
    }
}

fn flag(members: &Object, name: &'static str) -> Result<Option<bool>, EntryFault> {
    match members.get(name) {
        None => Ok(None),
        Some(value) => value.as_bool().map(Some).ok_or(EntryFault::Unexpected(name, "true or false")),
    }
}

fn texts(members: &Object, name: &'static str) -> Result<Option<Vec<String>>, EntryFault> {
    let fault = || EntryFault::Unexpected(name, "a list of strings");
    let Some(value) = members.get(name) else { return Ok(None) };
    let items = value.as_array().ok_or_else(fault)?;
    items.iter().map(|item| plain(item).ok_or_else(fault)).collect::<Result<_, _>>().map(Some)
}

fn table(members: &Object, name: &'static str, expand: Expand<'_>) -> Result<BTreeMap<String, String>, EntryFault> {
    let fault = || EntryFault::Unexpected(name, "an object of strings");
    let Some(value) = members.get(name) else { return Ok(BTreeMap::new()) };
    let pairs = value.as_object().ok_or_else(fault)?;
    let pair = |(name, value): (&String, &Value)| {
        let value = expand(&plain(value).ok_or_else(fault)?)?;
        Ok((name.clone(), value))
    };
    pairs.iter().filter(|(_, value)| !value.is_null()).map(pair).collect()
}

/// Of what decides which program speaks to us.
fn digest(members: &Object) -> String {
    let kept: Object = members
        .iter()
        .filter(|(name, _)| DECISIVE.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    canonical::digest(&json!(kept)).to_string()
}

/// Nothing of it but its kind: variables have their values in it, which may be secrets.
impl std::fmt::Debug for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.kind())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(written: &Value) -> Result<Server, EntryFault> {
        let read = Server::read("a", written, (Origin::Project, PathBuf::new()), &|_| None);
        read.map(|(server, _)| server)
    }

    /// Everything that decides what is started or reached, each of it changed.
    #[test]
    fn whatever_decides_about_the_route_is_another_entry() {
        let digest = |written: &Value| read(written).map(|server| server.digest);
        let process = json!({ "command": "x", "type": "stdio" });
        let http = json!({ "url": "https://h", "type": "http" });
        for (before, member, value) in [
            (&process, "command", json!("y")),
            (&process, "args", json!(["a"])),
            (&process, "env", json!({ "A": "1" })),
            (&process, "cwd", json!("/")),
            (&process, "type", Value::Null),
            (&process, "transport", json!("http")),
            (&http, "url", json!("https://other")),
            (&http, "headers", json!({ "A": "1" })),
            (&http, "httpUrl", json!("https://other")),
            (&http, "type", json!("streamable-http")),
        ] {
            let mut after = before.clone();
            after[member] = value;
            assert_ne!(digest(&after), digest(before), "{member}");
        }
        let mut after = process.clone();
        after["timeout"] = json!(5);
        assert_eq!(digest(&after), digest(&process));
    }

    #[test]
    fn entry_with_two_routes_is_refused_whatever_it_says_of_itself() {
        for transport in [json!("http"), json!("stdio"), Value::Null] {
            let both = json!({ "type": transport, "url": "https://h", "command": "x" });
            assert_eq!(read(&both), Err(EntryFault::TwoRoutes), "{transport}");
        }
        // Some programs write what they do not have.
        assert!(read(&json!({ "url": null, "command": "x" })).is_ok());
    }

    #[test]
    fn header_that_cannot_be_sent_is_refused() {
        for (name, value) in [("X-Näme", "a"), ("X Name", "a"), ("X-Name", "a\nb")] {
            let fault = read(&json!({ "url": "https://h", "headers": { name: value } }));
            assert_eq!(fault, Err(EntryFault::Header(name.to_owned())), "{name}: {value}");
        }
        assert!(read(&json!({ "url": "https://h", "headers": { "X-Name": "a b~", "X-Who": "Zoë" } })).is_ok());
    }

    #[test]
    fn time_for_a_call_is_some() {
        let fault = read(&json!({ "command": "x", "timeout": 0 }));
        assert_eq!(fault, Err(EntryFault::Unexpected("timeout", "milliseconds, 1 or more")));
    }
}
