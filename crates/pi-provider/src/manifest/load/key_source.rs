//! A key or another secret value as files write it, and where it comes from.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, Visitor},
};

use crate::{
    credential::{CommandFault, KeyCommand},
    secret::Secret,
};

/// How a key is written. None of the forms prints what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// `$NAME` or `${NAME}`.
    Variable(String),
    /// `!command`: its output is the key.
    Command(KeyCommand),
    /// The name of a variable if there is one of that name, else the key itself.
    VariableOrLiteral(Secret),
    /// A text of a manifest in which `${NAME}` stands for a variable.
    Template(Secret),
    /// A text of Pi in which `$NAME` and `${NAME}` stand for variables, `$$` for `$` and `$!` for `!`.
    Interpolated(Secret),
    Literal(Secret),
}

impl KeySource {
    pub(crate) fn of(text: &str) -> Self {
        let inner = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).or_else(|| text.strip_prefix('$'));
        if let Some(command) = text.strip_prefix('!') {
            return Self::Command(KeyCommand::new(command.trim()));
        }
        match inner.filter(|inner| is_name(inner)) {
            Some(variable) => Self::Variable(variable.to_owned()),
            None if is_name(text) => Self::VariableOrLiteral(Secret::new(text)),
            None if text.contains('$') => Self::Interpolated(Secret::new(text)),
            None => Self::Literal(Secret::new(text)),
        }
    }

    /// A value of a manifest: a word is never a variable, and `${NAME}` may stand inside.
    pub(crate) fn of_manifest(value: Secret) -> Self {
        match Self::of(value.expose()) {
            Self::Variable(name) => Self::Variable(name),
            _ if value.expose().contains("${") => Self::Template(value),
            Self::Command(_)
            | Self::VariableOrLiteral(_)
            | Self::Literal(_)
            | Self::Template(_)
            | Self::Interpolated(_) => Self::Literal(value),
        }
    }

    /// The key, from the environment where it is there, or from its command. What is missing is logged.
    pub fn resolve(&self, environment: &dyn Fn(&str) -> Option<String>) -> Option<Secret> {
        self.look_up(environment)
            .inspect_err(|missing| tracing::warn!(%missing, "a value of models.json or of a manifest is not there"))
            .ok()
    }

    /// The key, or why there is none. A command is run the first time, which may take seconds.
    pub fn look_up(&self, environment: &dyn Fn(&str) -> Option<String>) -> Result<Secret, MissingKey> {
        let set = |name: &str| environment(name).filter(|value| !value.trim().is_empty()).map(Secret::new);
        let missing = |name: &str| MissingKey::Variable { name: name.to_owned() };
        match self {
            Self::Variable(name) => set(name).ok_or_else(|| missing(name)),
            Self::Command(command) => command.output().map_err(MissingKey::Command),
            Self::VariableOrLiteral(text) => Ok(set(text.expose()).unwrap_or_else(|| text.clone())),
            Self::Literal(secret) => Ok(secret.clone()),
            Self::Template(text) => filled(text.expose(), &|name| set(name).ok_or_else(|| missing(name))),
            Self::Interpolated(text) => interpolated(text.expose(), &|name| set(name).ok_or_else(|| missing(name))),
        }
    }
}

/// Why a key that is written somewhere is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MissingKey {
    #[error("{name} is not set")]
    Variable { name: String },
    #[error("the command brings none: {0}")]
    Command(#[source] CommandFault),
}

/// Whether a text is the name of a variable.
fn is_name(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_') && text.chars().all(is_in_name)
}

fn is_in_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// The text as Pi reads it: a dollar sign before anything but a name is only that.
fn interpolated(text: &str, set: &dyn Fn(&str) -> Result<Secret, MissingKey>) -> Result<Secret, MissingKey> {
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        whole.push_str(before);
        let braced = after.strip_prefix('{').and_then(|inner| inner.split_once('}')).filter(|(name, _)| is_name(name));
        let bare = || after.split_at(after.find(|letter| !is_in_name(letter)).unwrap_or(after.len()));
        rest = match (after.chars().next(), braced) {
            (Some(escaped @ ('$' | '!')), _) => {
                whole.push(escaped);
                &after[1..]
            }
            (_, Some((name, after))) => {
                whole.push_str(set(name)?.expose());
                after
            }
            (_, None) if is_name(bare().0) => {
                let (name, after) = bare();
                whole.push_str(set(name)?.expose());
                after
            }
            (_, None) => {
                whole.push('$');
                after
            }
        };
    }
    whole.push_str(rest);
    Ok(Secret::new(whole))
}

/// The text with the values of its variables.
fn filled(text: &str, set: &dyn Fn(&str) -> Result<Secret, MissingKey>) -> Result<Secret, MissingKey> {
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, after)) = after.split_once('}') else { break };
        whole.push_str(before);
        whole.push_str(set(name)?.expose());
        rest = after;
    }
    whole.push_str(rest);
    Ok(Secret::new(whole))
}

impl<'de> Deserialize<'de> for KeySource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        // Every other kind of value is refused without repeating it.
        impl Visitor<'_> for Text {
            type Value = KeySource;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<KeySource, E> {
                if text.trim().is_empty() {
                    Err(E::custom("a key is expected"))
                } else {
                    Ok(KeySource::of(text.trim()))
                }
            }

            fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<KeySource, E> {
                Err(E::custom("a text is expected"))
            }

            fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<KeySource, E> {
                Err(E::custom("a text is expected"))
            }

            fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<KeySource, E> {
                Err(E::custom("a text is expected"))
            }
        }

        deserializer.deserialize_str(Text).map_err(D::Error::custom)
    }
}
