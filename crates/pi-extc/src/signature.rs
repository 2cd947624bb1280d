//! Who vouches for an artifact: ed25519 over the digest of its container.
//!
//! The signature stands in `artifact.json`, beside the container, under `signature`. Whether its key is trusted is for the
//! file of trusted keys to say; a signature by a stranger is worth little, one that does not fit is worth less than none.

use std::{fmt, path::Path};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use pi_extproto::artifact::{self as descriptor, Digest};
use ring::{
    rand::SystemRandom,
    signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey},
};
use serde::{Deserialize, Serialize};

use crate::{container, file};

/// The member of `artifact.json` that says who vouches for the container.
pub const SIGNATURE: &str = "signature";

const PURPOSE: &[u8] = b"pi.ext.signature.v1\n";

/// A key that others know a signer by.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PublicKey([u8; 32]);

/// The key that signs; never shown.
pub struct SecretKey {
    pair: Ed25519KeyPair,
    document: Vec<u8>,
}

/// What stands in `artifact.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    pub algorithm: Algorithm,
    pub key: PublicKey,
    /// Of the container.
    pub digest: Digest,
    /// Base64.
    pub value: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Algorithm {
    #[serde(rename = "ed25519")]
    Ed25519,
}

/// What a signature is worth here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignatureState {
    Unsigned,
    /// By a key that somebody on this machine trusts, under the name that it has here.
    Trusted {
        name: String,
        key: PublicKey,
    },
    /// It fits, and nobody here knows the key.
    Untrusted {
        key: PublicKey,
    },
    /// It does not fit what was signed.
    Broken,
}

/// Keys by the names that people on this machine gave them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedKeys {
    keys: Vec<TrustedKey>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct TrustedKey {
    name: String,
    key: PublicKey,
}

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyFault {
    #[error("it is not a key: 32 bytes in base64 are expected")]
    NotAKey,
    #[error("the file holds no key that signs")]
    NotASecretKey,
    #[error("the file of trusted keys cannot be read: {0}")]
    BadFile(String),
    #[error("no random numbers here")]
    NoRandom,
    #[error("cannot use the file of the key")]
    Io(#[from] std::io::Error),
}

impl TryFrom<String> for PublicKey {
    type Error = KeyFault;

    fn try_from(text: String) -> Result<Self, KeyFault> {
        let bytes = STANDARD.decode(text.trim()).map_err(|_| KeyFault::NotAKey)?;
        Ok(Self(bytes.try_into().map_err(|_| KeyFault::NotAKey)?))
    }
}

impl From<PublicKey> for String {
    fn from(key: PublicKey) -> Self {
        key.to_string()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(self.0))
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey({})", self.public())
    }
}

impl SecretKey {
    pub fn generate() -> Result<Self, KeyFault> {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(|_| KeyFault::NoRandom)?;
        Self::of(document.as_ref().to_vec())
    }

    fn of(document: Vec<u8>) -> Result<Self, KeyFault> {
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&document).map_err(|_| KeyFault::NotASecretKey)?;
        Ok(Self { pair, document })
    }

    /// Reads a key, in PEM as `openssl genpkey -algorithm ed25519` writes it or as [`SecretKey::write`] does.
    pub fn read(path: &Path) -> Result<Self, KeyFault> {
        let text = String::from_utf8(file::read(path)?).map_err(|_| KeyFault::NotASecretKey)?;
        let body: String = text.lines().filter(|line| !line.starts_with("-----")).collect();
        Self::of(STANDARD.decode(body.trim()).map_err(|_| KeyFault::NotASecretKey)?)
    }

    /// Writes a new file that only its owner reads; an existing one stays as it is.
    pub fn write(&self, path: &Path) -> Result<(), KeyFault> {
        if let Some(folder) = path.parent() {
            file::make_folder(folder)?;
        }
        let body = STANDARD.encode(&self.document);
        let text = format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n");
        Ok(file::write_once(path, text.as_bytes(), 0o600)?)
    }

    pub fn public(&self) -> PublicKey {
        PublicKey(self.pair.public_key().as_ref().try_into().expect("a public key of ed25519 has 32 bytes"))
    }
}

impl TrustedKeys {
    /// The keys in a file; none if there is no file.
    pub fn read(path: &Path) -> Result<Self, KeyFault> {
        match file::read(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            other => serde_json::from_slice(&other?).map_err(|error| KeyFault::BadFile(error.to_string())),
        }
    }

    /// Adds a key, or gives one that is there another name, and writes the file.
    pub fn trust(&mut self, name: &str, key: PublicKey, path: &Path) -> Result<(), KeyFault> {
        self.keys.retain(|it| it.key != key);
        self.keys.push(TrustedKey { name: name.to_owned(), key });
        if let Some(folder) = path.parent() {
            file::make_folder(folder)?;
        }
        let text = serde_json::to_string_pretty(self).expect("names and keys are plain JSON");
        Ok(file::replace(path, format!("{text}\n").as_bytes(), 0o600)?)
    }

    fn name(&self, key: &PublicKey) -> Option<&str> {
        self.keys.iter().find(|it| it.key == *key).map(|it| it.name.as_str())
    }
}

/// Signs a container.
pub fn sign(container: &[u8], key: &SecretKey) -> Signature {
    let digest = Digest::of(container);
    let value = STANDARD.encode(key.pair.sign(&message(&digest)));
    Signature { algorithm: Algorithm::Ed25519, key: key.public(), digest, value }
}

/// What the signature on a container is worth.
pub fn verify(container: &[u8], signature: Option<&Signature>, trusted: &TrustedKeys) -> SignatureState {
    let Some(signature) = signature else { return SignatureState::Unsigned };
    let digest = Digest::of(container);
    let fits = STANDARD
        .decode(&signature.value)
        .is_ok_and(|value| UnparsedPublicKey::new(&ED25519, signature.key.0).verify(&message(&digest), &value).is_ok());
    match (fits && digest == signature.digest, trusted.name(&signature.key)) {
        (false, _) => SignatureState::Broken,
        (true, Some(name)) => SignatureState::Trusted { name: name.to_owned(), key: signature.key.clone() },
        (true, None) => SignatureState::Untrusted { key: signature.key.clone() },
    }
}

/// What an artifact is worth with what is written about it beside it: the description is part of what is judged, and must
/// be what lies in the container.
pub fn judge(container: &[u8], described: &descriptor::Artifact, trusted: &TrustedKeys) -> SignatureState {
    let mut bare = described.clone();
    let signature = match bare.extra.shift_remove(SIGNATURE).map(serde_json::from_value::<Signature>) {
        None => None,
        Some(Ok(signature)) => Some(signature),
        Some(Err(_)) => return SignatureState::Broken,
    };
    match container::read(container) {
        Ok(artifact) if artifact.descriptor == bare => verify(container, signature.as_ref(), trusted),
        Ok(_) | Err(_) => SignatureState::Broken,
    }
}

/// A signature for one purpose is none for another.
fn message(digest: &Digest) -> Vec<u8> {
    [PURPOSE, digest.as_bytes()].concat()
}
