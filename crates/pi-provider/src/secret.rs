//! A credential that cannot be printed by accident.

use std::fmt;

use pi_redact::{Evidence, Options, Personal, Redactor};
use serde_json::Value;

use crate::{event::StreamEvent, manifest::Auth};

/// What stands where a secret was.
pub(crate) const HIDDEN: &str = "***";

/// A key, a token, a password. It has no `Display` and is not serialisable; `Debug` shows that it exists.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// What a request carried that nobody may read in words about it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Carried {
    pub(crate) credential: Option<Secret>,
    /// In its address and its headers.
    pub(crate) others: Vec<Secret>,
}

impl Carried {
    pub(crate) fn is_nothing(&self) -> bool {
        self.credential.is_none() && self.others.is_empty()
    }

    /// Hides what was carried in a word that a server made up, such as its number of the request. What is as short as many
    /// other words are stays.
    pub(crate) fn hide_in_word(&self, text: &mut String) {
        if let Some(hidden) = self.hidden_in_word(text) {
            *text = hidden;
        }
    }

    /// The word without what was carried; `None` where nothing of that is in it.
    pub(crate) fn hidden_in_word(&self, text: &str) -> Option<String> {
        let mut hidden: Option<String> = None;
        for secret in self.all().filter(|secret| is_long(secret)).map(Secret::expose) {
            let known = hidden.as_deref().unwrap_or(text);
            if known.contains(secret) {
                hidden = Some(known.replace(secret, HIDDEN));
            }
        }
        hidden
    }

    /// The same in every text of a value.
    pub(crate) fn hide_in_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.hide_in_word(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide_in_value(item)),
            Value::Object(members) => members.values_mut().for_each(|member| self.hide_in_value(member)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The same in the words of an event that a server makes up: names, ids and reasons. What the model says, and what is only
    /// sent back, stays as it is; failures are seen to where they become errors.
    pub(crate) fn hide_in_event(&self, event: &mut StreamEvent) {
        match event {
            StreamEvent::Metadata { response_id, model, .. } => {
                response_id.iter_mut().chain(model).for_each(|word| self.hide_in_word(word));
            }
            StreamEvent::Other { fields, .. } => {
                fields.values_mut().for_each(|value| self.hide_in_value(value));
            }
            StreamEvent::ToolCallStarted { tool_call_id, tool_name, .. } => {
                self.hide_in_word(tool_call_id);
                self.hide_in_word(tool_name);
            }
            StreamEvent::PartialToolCall { tool_call_id, .. } | StreamEvent::ToolCallEnded { tool_call_id, .. } => {
                self.hide_in_word(tool_call_id);
            }
            StreamEvent::FinalCandidate { finish, .. } | StreamEvent::StreamEnd { finish } => {
                finish.iter_mut().for_each(|finish| self.hide_in_word(&mut finish.raw));
            }
            StreamEvent::PartialContentDelta { .. }
            | StreamEvent::ThinkingDelta { .. }
            | StreamEvent::StreamError { .. } => {}
        }
    }

    /// Hides what was carried in scheme, host and port that a server named.
    pub(crate) fn hide_in_origin(&self, origin: &str) -> String {
        hide_in_address(origin, &self.all().filter(|secret| is_long(secret)).cloned().collect::<Vec<_>>())
    }

    /// Hides what was carried in a path that a server named: the parts in which it stands, escaped or not. A short secret is
    /// looked for as a whole part.
    pub(crate) fn hide_in_path(&self, path: &str) -> String {
        let has = |text: &str| {
            let is_here = |secret: &Secret| is_long(secret) && text.contains(secret.expose());
            self.all().any(|secret| is_here(secret) || text == secret.expose())
        };
        let is_told = |part: &str| readings(part).iter().any(|reading| has(reading));
        let parts: Vec<&str> = path.split('/').map(|part| if is_told(part) { HIDDEN } else { part }).collect();
        let shown = parts.join("/");
        // One with a slash in it stands in several parts.
        if is_told(&shown) { format!("/{HIDDEN}") } else { shown }
    }

    fn all(&self) -> impl Iterator<Item = &Secret> {
        self.credential.iter().chain(&self.others).filter(|secret| !secret.expose().is_empty())
    }

    pub(crate) fn redactor(&self, auth: &Auth) -> Redactor {
        redactor(auth, self.credential.as_ref(), &self.others)
    }
}

/// Shorter secrets are not looked for inside of words, in bytes.
const SHORTEST_IN_WORDS: usize = 6;

fn is_long(secret: &Secret) -> bool {
    secret.expose().len() >= SHORTEST_IN_WORDS
}

/// So often something may have been escaped and is still looked through.
const DEEPEST_ESCAPE: usize = 3;

/// A part of an address as it is written, and as what it may mean.
fn readings(text: &str) -> Vec<String> {
    let mut readings = vec![text.to_owned()];
    for _ in 0..DEEPEST_ESCAPE {
        let last = readings.last().expect("there is the text itself");
        let next = unescaped(last);
        if next == *last {
            break;
        }
        readings.push(next);
    }
    readings
}

/// With `%41` as `A`. What is no text then is shown by a sign of its own.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        let digits = after.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(b'%');
                rest = after;
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Hides exactly these in a text.
pub(crate) fn hide(text: &str, secrets: &[Secret]) -> String {
    secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.expose(), HIDDEN))
}

/// The same in an address without its path, or in words about one: the name of a host has lost its upper case, and letters
/// that are not ASCII have become others, so that nothing of such a name is shown.
pub(crate) fn hide_in_address(text: &str, secrets: &[Secret]) -> String {
    let lower: Vec<Secret> = secrets.iter().map(|secret| Secret::new(secret.expose().to_lowercase())).collect();
    if lower.iter().any(|secret| !secret.expose().is_ascii()) && text.contains("xn--") {
        return HIDDEN.to_owned();
    }
    hide(&hide(text, secrets), &lower)
}

/// Hides everything secret that a request carries, `others` beside the credential, and whatever looks like a secret. A short
/// one is hidden where it stands alone: a server that repeats a key of a few letters repeats it as a word.
pub(crate) fn redactor(auth: &Auth, credential: Option<&Secret>, others: &[Secret]) -> Redactor {
    let sent = || credential.into_iter().chain(others);
    let all = hiding(sent().chain(auth.secret_headers.iter().map(|header| &header.value)));
    all.hiding_words(sent().map(|secret| secret.expose().to_owned()))
}

/// Hides these secrets, and whatever looks like one, in words that come from elsewhere. Takes about a millisecond to make.
pub(crate) fn hiding<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Redactor {
    let secrets = secrets.into_iter().map(|secret| secret.expose().to_owned()).collect();
    Redactor::new(Options { secrets, evidence: Evidence::KeysAndShapes, personal: Personal::Keep })
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
