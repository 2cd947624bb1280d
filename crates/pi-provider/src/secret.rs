//! A credential that cannot be printed by accident.

use std::fmt;

use pi_redact::{Evidence, Options, Personal, Redactor};
use serde_json::Value;

use crate::manifest::Auth;

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
        for secret in self.credential.iter().chain(&self.others).map(Secret::expose) {
            if secret.len() >= SHORTEST_IN_WORDS && text.contains(secret) {
                *text = text.replace(secret, HIDDEN);
            }
        }
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

    pub(crate) fn redactor(&self, auth: &Auth) -> Redactor {
        redactor(auth, self.credential.as_ref(), &self.others)
    }
}

/// Shorter secrets are not looked for inside of words, in bytes.
const SHORTEST_IN_WORDS: usize = 6;

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
