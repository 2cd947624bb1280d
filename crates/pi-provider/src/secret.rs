//! A credential that cannot be printed by accident.

use std::fmt;

use pi_redact::{Evidence, Options, Personal, Redactor};

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

/// Hides the secret, and whatever looks like one, in words that come from elsewhere. Takes about a millisecond to make.
pub(crate) fn redactor(secret: Option<&Secret>) -> Redactor {
    let secrets = secret.map(|secret| secret.expose().to_owned()).into_iter().collect();
    Redactor::new(Options { secrets, evidence: Evidence::KeysAndShapes, personal: Personal::Keep })
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
