//! Where a request goes: address and headers, without the credential.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    fmt,
    sync::{Mutex, PoisonError},
};

use url::Url;

use super::{
    Mode, Target,
    base::{foreign_path, in_form_of},
    change::Changes,
    rules::Rules,
};
use crate::{
    dialect::{Chat, Dialect},
    error::CallError,
    local::Named,
    manifest::{
        Capability, KeySource, Manifest, Operation,
        endpoint::{SecretHeader, is_key, is_protected, is_whole},
    },
    secret::{HIDDEN, Secret, hide},
};

/// An address, and what of it is shown nowhere.
#[derive(Clone, PartialEq)]
pub struct Address {
    pub url: Url,
    /// Values of variables that hold secrets, as they were and as they stand in the address.
    pub hidden: Vec<Secret>,
    /// What the base has before its host and as values of its query, as it stands there and as it means: people put keys
    /// there under any name.
    pub written: Vec<Secret>,
    /// So many pairs at the beginning of the query are the operation's own; the values of the others are `written`.
    own_pairs: usize,
    /// The variable that names the server, where it is not the manifest's own address.
    pub named_by: Option<String>,
}

/// The address that was parsed last. Most requests go where the one before went, and to parse an address takes longer than
/// to make it.
#[derive(Default)]
pub(crate) struct LastAddress {
    /// Looked at for a moment, so a task with a mailbox would only add a wait.
    known: Mutex<Option<(String, Url)>>,
}

impl LastAddress {
    fn parse(&self, text: String) -> Result<Url, url::ParseError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, url)) = known.as_ref().filter(|(known, _)| *known == text) {
            return Ok(url.clone());
        }
        let url = Url::parse(&text)?;
        *known = Some((text, url.clone()));
        Ok(url)
    }
}

/// Headers without the credential.
pub(super) struct Headers {
    /// Names in lower case.
    pub(super) shown: Vec<(String, String)>,
    /// Those whose values may be secret.
    pub(super) hidden: Vec<SecretHeader>,
}

/// Method and address of a chat.
pub(super) fn chat(
    target: &Target<'_>,
    dialect: Dialect,
    mode: Mode,
    model: &str,
    last: &LastAddress,
) -> Result<(String, Address), CallError> {
    let usual = Chat::of(dialect);
    let operation = operation(target.manifest, dialect, mode);
    let method = operation.map_or("POST", |operation| operation.method.as_str()).to_uppercase();
    let path = operation.map_or(usual.path.as_str(), |operation| operation.path.as_str());
    let path = match mode {
        Mode::Stream => Cow::Owned(usual.streamed(path)),
        Mode::Whole => Cow::Borrowed(path),
    };
    Ok((method, join_after(last, target, &path, model)?))
}

/// An address of this provider: `path` joined to its base, with the environment's values and the model in it. A path that
/// is a whole address is used as it is, if a credential may be sent there.
pub fn join(target: &Target<'_>, path: &str, model: &str) -> Result<Address, CallError> {
    join_after(&LastAddress::default(), target, path, model)
}

fn join_after(last: &LastAddress, target: &Target<'_>, path: &str, model: &str) -> Result<Address, CallError> {
    let of_model = || target.entry.and_then(|entry| entry.base_url.as_ref()).map(|own| own.0.as_str());
    let given = target.base_url.or_else(of_model);
    if let Some(usual) = given.and_then(|given| foreign_path(target.manifest, target.entry, given)) {
        let (path, adapter, id) = (&usual.path, &usual.adapter, &target.manifest.id);
        let reason = format!(
            "it ends with {path}, where another API is spoken ({adapter}) than the one that is wanted of {id}; write it \
             without that, or name a provider that speaks it there"
        );
        return Err(CallError::Option { option: "base_url".to_owned(), reason });
    }
    // The text itself is not told: a password may be in it.
    let refuse = |reason: String| CallError::Option { option: "base_url".to_owned(), reason };
    let named = match given {
        Some(_) => None,
        None => Named::of(target.manifest, target.lookup).map_err(|fault| refuse(fault.to_string()))?,
    };
    let base = match given.or(named.as_ref().map(|named| named.address.as_str())) {
        Some(other) => in_form_of(target.manifest, target.entry, other),
        None => Cow::Borrowed(target.manifest.endpoint.base_url.as_str()),
    };
    // As a part of its own such a name would lead upwards, escaped or not.
    if matches!(model, "." | "..") && [path, base.as_ref()].iter().any(|text| text.contains("/{model}")) {
        let reason = format!("{model} would lead to another path");
        return Err(CallError::Option { option: "model".to_owned(), reason });
    }
    let model = escaped(model);
    let path = with_model(path, &model);
    let mut hidden = Vec::new();
    let mut whole = String::new();
    let mut query = None;
    if !is_whole(&path) {
        interpolate(target, &with_model(&base, &model), &mut whole, &mut hidden)?;
        // A variable may hold a whole address, with a query of its own.
        query = whole.find('?').map(|at| whole.split_off(at));
        whole.truncate(whole.trim_end_matches('/').len());
        if !path.is_empty() && !path.starts_with(['/', '?']) {
            whole.push('/');
        }
    }
    interpolate(target, &path, &mut whole, &mut hidden)?;
    let own_pairs = whole.split_once('?').map_or(0, |(_, query)| query.split('&').count());
    if let Some(query) = query.as_deref().and_then(|query| query.strip_prefix('?')) {
        whole.push(if own_pairs > 0 { '&' } else { '?' });
        whole.push_str(query);
    }
    let url = last.parse(whole).map_err(|fault| refuse(format!("it is not an address: {fault}")))?;
    if !matches!(url.scheme(), "http" | "https" | "ws" | "wss") {
        return Err(refuse("it is not the address of a server".to_owned()));
    }
    if is_whole(&path) && !is_protected(&url) {
        let reason = "a server elsewhere must be reached over https".to_owned();
        return Err(CallError::Option { option: "path".to_owned(), reason });
    }
    let written = written(&url, own_pairs);
    let named_by = named.filter(|_| !is_whole(&path)).map(|named| named.variable);
    Ok(Address { url, hidden, written, own_pairs, named_by })
}

/// A text with the name of the model in it, if it has a place for that.
fn with_model<'t>(text: &'t str, model: &str) -> Cow<'t, str> {
    // Looking for a letter takes far less than looking for a word.
    if text.contains('{') { Cow::Owned(text.replace("{model}", model)) } else { Cow::Borrowed(text) }
}

/// Who is named before the host, and the values of the query behind the operation's own.
fn written(url: &Url, own_pairs: usize) -> Vec<Secret> {
    let user = [url.username(), url.password().unwrap_or_default()].map(str::to_owned);
    let raw = url.query().into_iter().flat_map(|query| query.split('&')).skip(own_pairs);
    let raw = raw.map(|pair| pair.split_once('=').map_or(pair, |(_, value)| value).to_owned());
    let meant = url.query_pairs().skip(own_pairs).map(|(_, value)| value.into_owned());
    let mut all: Vec<String> = user.into_iter().chain(raw).chain(meant).filter(|value| !value.is_empty()).collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter().map(Secret::new).collect()
}

impl Address {
    /// As people may see it. An address in which a secret cannot be found as it was put in is not shown at all.
    pub fn shown(&self) -> String {
        let mut url = self.url.clone();
        // What somebody wrote into the address is no credential of ours, and still none to be shown.
        if !url.username().is_empty() {
            url.set_username(HIDDEN).expect("an address that has a user can have another");
        }
        if url.password().is_some() {
            url.set_password(Some(HIDDEN)).expect("an address that has a password can have another");
        }
        let text = String::from(url);
        let is_found = |pair: &[Secret]| pair.iter().any(|secret| text.contains(secret.expose()));
        if !self.hidden.chunks(2).all(is_found) {
            return HIDDEN.to_owned();
        }
        let Some((start, query)) = text.split_once('?') else { return hide(&text, &self.hidden) };
        let shown = |(index, pair): (usize, &str)| match pair.split_once('=') {
            Some((name, _)) if index >= self.own_pairs || is_key(name) => format!("{name}={HIDDEN}"),
            None if index >= self.own_pairs && !pair.is_empty() => HIDDEN.to_owned(),
            Some(_) | None => pair.to_owned(),
        };
        let query: Vec<String> = query.split('&').enumerate().map(shown).collect();
        hide(&format!("{start}?{}", query.join("&")), &self.hidden)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

/// The operation that speaks this dialect. One that is named for streams comes first where a stream is asked for.
fn operation(manifest: &Manifest, dialect: Dialect, mode: Mode) -> Option<&Operation> {
    let endpoints = &manifest.endpoints;
    // `chat_anthropic` and `responses` say by their names what they speak.
    let by_name = |name: &str| Dialect::from_word(name.strip_prefix("chat_").unwrap_or(name));
    let speaks = |name: &str| {
        let operation = manifest.written_operation(name)?;
        let adapter = operation.adapter.as_deref().and_then(Dialect::from_word).or_else(|| by_name(name));
        (adapter.unwrap_or_else(|| Dialect::of(manifest, None)) == dialect).then_some(operation)
    };
    let streaming = (mode == Mode::Stream).then(|| speaks("stream_chat")).flatten();
    let others = || endpoints.keys().filter(|name| by_name(name).is_some()).find_map(|name| speaks(name));
    streaming.or_else(|| speaks("chat")).or_else(others)
}

/// Whether the manifest says where a dialect is spoken.
pub(super) fn has_operation(manifest: &Manifest, dialect: Dialect) -> bool {
    operation(manifest, dialect, Mode::Whole).is_some()
}

/// Appends a text with the environment's values for `${NAME}`. At the beginning it is an address, or the beginning of one; elsewhere it
/// stays within the host, the part of the path or the value where it stands.
fn interpolate(target: &Target<'_>, text: &str, whole: &mut String, hidden: &mut Vec<Secret>) -> Result<(), CallError> {
    let mut rest = text;
    while rest.contains('$')
        && let Some((before, after)) = rest.split_once("${")
    {
        let Some((variable, after)) = after.split_once('}') else { break };
        let value = (target.lookup)(variable).filter(|value| !value.is_empty());
        let value = value.ok_or_else(|| CallError::AddressVariable {
            provider: target.manifest.id.clone(),
            variable: variable.to_owned(),
        })?;
        whole.push_str(before);
        let put = match Place::after(whole) {
            Place::Beginning => value.clone(),
            Place::Server => encoded(&value, b"-._~:[]"),
            // Even an escaped dot leads upwards.
            Place::Path if matches!(value.as_str(), "." | "..") => {
                let reason = format!("{variable} would lead to another path");
                return Err(CallError::Option { option: "base_url".to_owned(), reason });
            }
            Place::Path => encoded(&value, b"-._~:@"),
        };
        whole.push_str(&put);
        let is_credential = target.manifest.endpoint.auth.token_env.as_deref() == Some(variable);
        if is_credential || pi_redact::is_secret_variable(variable) {
            hidden.extend([Secret::new(put), Secret::new(value)]);
        }
        rest = after;
    }
    whole.push_str(rest);
    Ok(())
}

/// Where in an address a value is put.
enum Place {
    Beginning,
    /// Host and port.
    Server,
    /// The path, or the query.
    Path,
}

impl Place {
    fn after(text: &str) -> Self {
        match text.split_once("://") {
            None if text.is_empty() => Self::Beginning,
            Some((_, server)) if !server.contains(['/', '?', '#']) => Self::Server,
            None | Some(_) => Self::Path,
        }
    }
}

/// The name of a model inside a path: what would end the path is escaped, slashes are part of some names. One that would
/// lead to another path is one part of it, with its slashes escaped.
fn escaped(model: &str) -> String {
    let leads_away = model.split('/').any(|part| matches!(part, "." | ".."));
    let kept: &[u8] = if leads_away { b"-._~:@" } else { b"-._~/:@" };
    encoded(model, kept)
}

fn encoded(value: &str, kept: &[u8]) -> String {
    let mut text = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || kept.contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

/// Headers without the credential; of two with the same name the manifest's own wins. One that needs a value of the
/// environment and does not get it is left out.
pub(super) fn headers(
    target: &Target<'_>,
    rules: &Rules,
    mode: Mode,
    used: &BTreeSet<Capability>,
    changes: &mut Changes,
) -> Headers {
    let accept = match mode {
        Mode::Stream => "text/event-stream",
        Mode::Whole => "application/json",
    };
    let mut shown =
        vec![("content-type".to_owned(), "application/json".to_owned()), ("accept".to_owned(), accept.to_owned())];
    for (name, value) in &rules.headers {
        set(&mut shown, name, value);
    }
    for header in &target.manifest.endpoint.auth.extra_headers {
        set(&mut shown, &header.name, &header.value);
    }
    for (name, missing) in &target.manifest.endpoint.auth.missing_headers {
        changes.dropped(format!("header {}", name.to_lowercase()), missing.to_string());
    }
    let mut hidden: Vec<SecretHeader> = Vec::new();
    for header in &target.manifest.contract.request_mapping.required_headers {
        if header.condition.as_deref().is_some_and(|condition| !is_used(condition, used)) {
            continue;
        }
        let name = header.name.to_lowercase();
        if header.is_harmless() {
            set(&mut shown, &name, &header.value);
            continue;
        }
        match KeySource::of_manifest(Secret::new(header.value.as_str())).look_up(target.lookup) {
            Ok(value) => {
                shown.retain(|(known, _)| *known != name);
                hidden.retain(|known| known.name != name);
                hidden.push(SecretHeader { name, value });
            }
            Err(missing) => changes.dropped(format!("header {name}"), missing.to_string()),
        }
    }
    Headers { shown, hidden }
}

pub(super) fn set(headers: &mut Vec<(String, String)>, name: &str, value: &str) {
    match headers.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
        Some((_, known)) => value.clone_into(known),
        None => headers.push((name.to_lowercase(), value.to_owned())),
    }
}

fn is_used(condition: &str, used: &BTreeSet<Capability>) -> bool {
    let condition = if condition == "mcp" { "mcp_client" } else { condition };
    Capability::from_name(condition).is_some_and(|capability| used.contains(&capability))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_its_own_whatever_was_parsed_before() {
        let last = LastAddress::default();
        for text in ["http://a.example/v1", "http://a.example/v1", "http://b.example/", "http://a.example/v1"] {
            assert_eq!(last.parse(text.to_owned()), Url::parse(text));
        }
        assert!(last.parse("http://".to_owned()).is_err());
        assert_eq!(last.parse("http://b.example/".to_owned()), Url::parse("http://b.example/"));
    }
}
