//! A secret of ours: long, random, compared without telling how much of it was right.

use std::fmt;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Shown only to whoever asks for it by [`Secret::reveal`].
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// 256 bits from the system.
    pub fn random() -> Self {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).expect("a system without randomness keeps no secrets");
        Self(BASE64_URL_SAFE_NO_PAD.encode(bytes))
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// In a time that depends on neither: digests are of one length and compared to their end.
    pub fn matches(&self, other: &str) -> bool {
        Self::digest(&self.0).ct_eq(&Self::digest(other)).into()
    }

    pub(crate) fn digest(text: &str) -> [u8; 32] {
        Sha256::digest(text.as_bytes()).into()
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
