//! Ring 1: the address and the credential.

use std::{collections::BTreeSet, sync::LazyLock};

use regex::Regex;
use serde::Deserialize;
use url::{ParseError, Url};

use super::{Report, ring1::missing};
use crate::{
    manifest::{
        Capability,
        diagnostic::{Rule, Severity},
        endpoint::{Auth, Endpoint, Header, Placement, SecretHeader, is_protected, is_variable_name, is_whole},
        promote::{Generation, operations::PATHS},
        tree::{Member, Node, Position},
    },
    secret::Secret,
};

/// What of `endpoint` is left when its paths have moved to the operations.
#[derive(Deserialize)]
struct WrittenEndpoint {
    base_url: String,
    #[serde(default)]
    protocol: Option<Protocol>,
    #[serde(default)]
    timeout_ms: Option<u64>,
    #[serde(default, rename = "auth")]
    _auth: serde_json::Value,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Protocol {
    Https,
    Http,
    Ws,
    Wss,
}

/// Credentials as they are written.
#[derive(Deserialize)]
struct WrittenAuth {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    header: Option<String>,
    #[serde(default)]
    prefix: Option<String>,
    #[serde(default)]
    param_name: Option<String>,
    #[serde(default)]
    token_env: Option<String>,
    #[serde(default)]
    extra_headers: Vec<Header>,
    #[serde(default)]
    login_refused: Option<String>,
}

static VARIABLE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}").expect("a constant pattern"));

const LEAST_TIMEOUT_MS: u64 = 100;

pub(super) fn read(root: &Node, generation: Generation, report: &mut Report<'_>) -> Option<Endpoint> {
    let Some(section @ Member { node, .. }) = root.member("endpoint") else {
        missing(report, Rule::EndpointSection, root.at, "endpoint", root);
        return None;
    };
    if node.as_map().is_none() {
        report.error(Rule::EndpointSection, node.at, "endpoint", format!("an object is expected, not {}", node.kind()));
        return None;
    }
    let written: Option<WrittenEndpoint> = if node.get("base_url").is_some() {
        report.read(Severity::Error, Rule::EndpointSection, node, "endpoint")
    } else {
        missing(report, Rule::BaseUrl, section.at, "endpoint.base_url", node);
        None
    };
    report.suggest("endpoint", &PATHS);
    let auth = auth(section, generation, report);
    chat(root, section.at, report);
    check_operations(root, report);
    let written = written?;
    let at = node.get("base_url").map_or(node.at, |url| url.at);
    check_address(at, &written.base_url, "endpoint.base_url", Severity::Error, report);
    if written.protocol.is_some_and(|protocol| matches!(protocol, Protocol::Ws | Protocol::Wss)) {
        let at = node.get("protocol").map_or(node.at, |protocol| protocol.at);
        report.warning(Rule::NetworkProtocol, at, "endpoint.protocol", "calls go over HTTP whatever this says");
    }
    let mut timeout_ms = written.timeout_ms;
    if let Some(value) = timeout_ms.filter(|value| *value < LEAST_TIMEOUT_MS) {
        let at = node.get("timeout_ms").map_or(node.at, |timeout| timeout.at);
        report.warning(Rule::Timeout, at, "endpoint.timeout_ms", format!("{value} is under {LEAST_TIMEOUT_MS} ms"));
        timeout_ms = None;
    }
    Some(Endpoint { base_url: written.base_url, timeout_ms, auth: auth? })
}

fn chat(root: &Node, at: Position, report: &mut Report<'_>) {
    match root.find("endpoints.chat.path") {
        Some(path) if path.as_str().is_some_and(|path| !path.is_empty()) => {}
        Some(path) => report.error(Rule::ChatPath, path.at, "endpoint.chat", "the path of a chat is expected"),
        None if is_chat_provider(root) => {
            missing(report, Rule::ChatPath, at, "endpoint.chat", root.get("endpoint").unwrap_or(root));
        }
        None => {}
    }
}

/// One that declares capabilities without `text` only ranks, embeds or speaks, and has no chat to be reached. Names that are
/// not known declare nothing.
fn is_chat_provider(root: &Node) -> bool {
    let lists = ["capabilities.required", "capabilities.optional"].map(|path| root.find(path));
    let names = lists.iter().flatten().filter_map(|list| list.as_list()).flatten().filter_map(Node::as_str);
    let declared: BTreeSet<Capability> = names.filter_map(Capability::from_name).collect();
    declared.is_empty() || declared.contains(&Capability::Text)
}

/// Whether an address may be used; if not, the report says why. `far` is how bad a server elsewhere is that is reached
/// without encryption.
pub(super) fn check_address(at: Position, text: &str, path: &str, far: Severity, report: &mut Report<'_>) -> bool {
    if VARIABLE.find(text).is_some_and(|variable| variable.start() == 0) {
        return true;
    }
    let url = match Url::parse(&VARIABLE.replace_all(text, "variable")) {
        Ok(url) => url,
        Err(error) => {
            report.error(Rule::BaseUrl, at, path, in_words(error));
            return false;
        }
    };
    if !url.username().is_empty() || url.password().is_some() {
        report.error(Rule::BaseUrl, at, path, "the address holds a credential");
        report.hint("name the variable that holds it in endpoint.auth.token_env");
        return false;
    }
    match url.scheme() {
        "https" if url.host().is_some() => true,
        "http" if is_protected(&url) => true,
        "http" => {
            report.push(far, Rule::BaseUrl, at, path, "a server elsewhere must be reached over https".to_owned());
            report.hint("http is for servers on this machine or network");
            far != Severity::Error
        }
        scheme => {
            report.error(Rule::BaseUrl, at, path, format!("https is expected, not {scheme}"));
            false
        }
    }
}

fn in_words(error: ParseError) -> String {
    match error {
        ParseError::RelativeUrlWithoutBase | ParseError::RelativeUrlWithCannotBeABaseBase => {
            "the address does not begin with https://".to_owned()
        }
        ParseError::EmptyHost => "the address names no server".to_owned(),
        ParseError::InvalidPort => "the port of the address is not a number up to 65535".to_owned(),
        other => format!("the address cannot be read: {other}"),
    }
}

/// An operation may have an address of its own. Credentials go there too, so it must be as safe as that of the provider.
fn check_operations(root: &Node, report: &mut Report<'_>) {
    const RULE: Rule = Rule::OperationAddress;
    for section in ["endpoints", "services"] {
        for member in root.get(section).and_then(Node::as_map).unwrap_or_default() {
            let Some(node) = member.node.get("path") else { continue };
            let Some(text) = node.as_str().filter(|text| is_whole(text)) else { continue };
            let path = format!("{section}.{}.path", member.key);
            match Url::parse(&VARIABLE.replace_all(text, "variable")) {
                Ok(url) if !url.username().is_empty() || url.password().is_some() => {
                    report.error(RULE, node.at, &path, "the address holds a credential");
                    report.hint("name the variable that holds it in endpoint.auth.token_env");
                }
                Ok(url) if is_protected(&url) => {}
                Ok(_) => {
                    report.error(RULE, node.at, &path, "a server elsewhere must be reached over https");
                }
                Err(error) => report.error(RULE, node.at, &path, in_words(error)),
            }
        }
    }
}

fn auth(endpoint: &Member, generation: Generation, report: &mut Report<'_>) -> Option<Auth> {
    const PATH: &str = "endpoint.auth";
    let Some(node) = endpoint.node.get("auth") else {
        if !generation.is_promoted() {
            missing(report, Rule::AuthSection, endpoint.at, PATH, &endpoint.node);
            return None;
        }
        report.note(Rule::PromoteAuth, endpoint.at, PATH, "no credential is described: a bearer token is assumed");
        let placement = Placement::Bearer { header: "Authorization".to_owned(), prefix: "Bearer".to_owned() };
        return Some(Auth::by(placement));
    };
    let written: WrittenAuth = report.read(Severity::Error, Rule::AuthSection, node, PATH)?;
    let placement = placement(node, &written, generation, report);
    if let Some(name) = written.token_env.as_ref().filter(|name| !is_variable_name(name)) {
        let at = node.get("token_env").map_or(node.at, |name| name.at);
        // A pasted key is not repeated.
        let message = format!("the name of a variable is expected ({} characters are written)", name.chars().count());
        report.error(Rule::TokenVariable, at, "endpoint.auth.token_env", message);
    }
    for (index, header) in written.extra_headers.iter().enumerate() {
        check_header(node, &format!("endpoint.auth.extra_headers[{index}].name"), &header.name, report);
    }
    let WrittenAuth { token_env, extra_headers, login_refused, .. } = written;
    let (extra_headers, hidden): (Vec<_>, Vec<_>) = extra_headers.into_iter().partition(Header::is_harmless);
    let hide = |Header { name, value }| SecretHeader { name, value: Secret::new(value) };
    let secret_headers = hidden.into_iter().map(hide).collect();
    Some(Auth { token_env, extra_headers, login_refused, secret_headers, ..Auth::by(placement?) })
}

fn placement(node: &Node, written: &WrittenAuth, generation: Generation, report: &mut Report<'_>) -> Option<Placement> {
    let header = written.header.clone();
    if let Some(name) = &header {
        check_header(node.get("header").unwrap_or(node), "endpoint.auth.header", name, report);
    }
    match written.kind.as_str() {
        "bearer" => {
            if header.is_none() && !generation.is_promoted() {
                report.note(Rule::AuthHeader, node.at, "endpoint.auth.header", "Authorization is assumed");
            }
            Some(Placement::Bearer {
                header: header.unwrap_or_else(|| "Authorization".to_owned()),
                prefix: written.prefix.clone().unwrap_or_else(|| "Bearer".to_owned()),
            })
        }
        "custom_header" => match (header, written.prefix.clone().filter(|prefix| !prefix.is_empty())) {
            (Some(header), None) => Some(Placement::CustomHeader { header }),
            (Some(header), Some(prefix)) => Some(Placement::Bearer { header, prefix }),
            (None, _) => {
                missing(report, Rule::AuthHeader, node.at, "endpoint.auth.header", node);
                None
            }
        },
        "query_param" => match written.param_name.clone().filter(|name| !name.is_empty()) {
            Some(param_name) => Some(Placement::QueryParam { param_name }),
            None => {
                missing(report, Rule::AuthParameter, node.at, "endpoint.auth.param_name", node);
                None
            }
        },
        "none" => Some(Placement::None),
        other => {
            let at = node.get("type").map_or(node.at, |kind| kind.at);
            let message = format!("{} is not a way to authenticate", quoted(other));
            report.error(Rule::AuthType, at, "endpoint.auth.type", message);
            None
        }
    }
}

fn check_header(node: &Node, path: &str, name: &str, report: &mut Report<'_>) {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(is_token) {
        report.error(Rule::AuthHeader, node.at, path, format!("{} is not the name of a header", quoted(name)));
    }
}

/// A text that is not what is expected here. One that may be a pasted key is not repeated.
fn quoted(text: &str) -> String {
    const LONGEST: usize = 24;
    let is_of_words = text.chars().all(|letter| letter.is_ascii_alphabetic() || " _-".contains(letter));
    if is_of_words && text.len() <= LONGEST {
        return format!("{text:?}");
    }
    format!("what is written ({} characters)", text.chars().count())
}
