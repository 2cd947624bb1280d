//! Pi's `auth.json`: credentials by provider, as its login wrote them.
//!
//! `{"anthropic": {"type": "api_key", "key": "…"}, "github": {"type": "oauth", "access": "…", "expires": 1767225600000}}`.
//! A key may also be a variable (`$NAME`, or its bare name) or a command (`!…`), as in Pi's `models.json`.

use std::{
    fmt,
    io::ErrorKind,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;

use super::{Credential, CredentialKind, Lookup};
use crate::{
    manifest::{Auth, KeySource, MissingKey},
    secret::Secret,
};

/// The credentials of a file. Does not print them.
#[derive(Default)]
pub struct AuthFile {
    path: Option<PathBuf>,
    entries: IndexMap<String, Read>,
    mode: Option<u32>,
    /// Why nothing was found in it.
    fault: Option<Unusable>,
}

/// Why an entry, or the whole file, cannot be used. Nothing of what it holds is in here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    #[error("the login of {provider} has expired, and is not renewed here")]
    Expired { provider: String },
    #[error("the key of {provider} is not there: {missing}")]
    NotThere {
        provider: String,
        #[source]
        missing: MissingKey,
    },
    #[error("the entry of {provider} is of a kind that is not known here")]
    UnknownKind { provider: String },
    #[error("the entry of {provider} in the file of credentials is left out: {fault}")]
    BrokenEntry { provider: String, fault: &'static str },
    #[error("the login of {provider} cannot be used here: {reason}")]
    ForeignLogin {
        provider: String,
        /// What the manifest says.
        reason: String,
    },
    #[error("{file} cannot be read: {reason}")]
    UnreadableFile { file: String, reason: String },
    #[error("{file} is not a table of credentials (line {line}, column {column})")]
    BrokenFile { file: String, line: usize, column: usize },
}

impl Unusable {
    /// What to do about it.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Expired { .. } => "log in again with Pi, or use a key",
            Self::NotThere { missing: MissingKey::Command(_), .. } => {
                "run the command in a shell to see what is wrong with it"
            }
            Self::NotThere { missing: MissingKey::Variable { .. }, .. } => "set the variable, or write the key itself",
            Self::UnknownKind { .. } => "write an entry of the type api_key or oauth",
            Self::BrokenEntry { .. } => "correct the entry, or take it out",
            Self::ForeignLogin { .. } => "use a key",
            Self::UnreadableFile { .. } => "check who may read the file, or move it away",
            Self::BrokenFile { .. } => "correct the file, or move it away",
        }
    }
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Entry {
    ApiKey {
        key: KeySource,
    },
    Oauth {
        access: String,
        /// Milliseconds since 1970.
        #[serde(default)]
        expires: Option<f64>,
    },
    #[serde(other)]
    Unknown,
}

/// An entry, or what is wrong with it.
type Read = Result<Entry, &'static str>;

/// What is wrong with an entry. What the parser says may quote what it read, so it is told in words of ours.
fn fault(entry: &Value) -> &'static str {
    let is_text = |name: &str| entry.get(name).is_some_and(Value::is_string);
    match entry.get("type").and_then(Value::as_str) {
        _ if !entry.is_object() => "it is not an object",
        None => "it has no type",
        Some("api_key") if is_text("key") => "its key is empty",
        Some("api_key") => "its key is not a text",
        Some("oauth") if !is_text("access") => "its access is not a text",
        Some("oauth") => "its expires is not a number",
        Some(_) => "it cannot be read",
    }
}

impl AuthFile {
    /// For callers that have no such file.
    pub fn none() -> Self {
        Self::default()
    }

    /// Reads the file; one that does not exist is empty. One that cannot be used is empty too, and its
    /// [`fault`](Self::fault) is told to whoever finds no credential elsewhere.
    pub fn read(path: &Path) -> Self {
        let (entries, fault) = match entries(path) {
            Ok(entries) => (entries, None),
            Err(fault) => (IndexMap::new(), Some(fault)),
        };
        Self { path: Some(path.to_owned()), entries, mode: mode(path), fault }
    }

    /// Why the file cannot be used, if it cannot.
    pub fn fault(&self) -> Option<&Unusable> {
        self.fault.as_ref()
    }

    pub(super) fn shown_path(&self) -> Option<String> {
        self.path.as_ref().map(|path| path.display().to_string())
    }

    /// What is wrong with the file's permissions: it should be for its owner alone.
    pub fn warning(&self) -> Option<String> {
        let mode = self.mode.filter(|mode| mode & 0o077 != 0)?;
        Some(format!("{} can be read by others (mode {mode:04o}); run chmod 600 on it", self.shown_path()?))
    }

    /// Entries that are left out because they are not as their kind is written. The others can be used.
    pub fn broken_entries(&self) -> impl Iterator<Item = Unusable> {
        let broken = |(provider, read): (&String, &Read)| {
            let fault = *read.as_ref().err()?;
            Some(Unusable::BrokenEntry { provider: provider.clone(), fault })
        };
        self.entries.iter().filter_map(broken)
    }

    /// Whether there is an entry of that name, whatever it is worth.
    pub(super) fn mentions(&self, provider: &str) -> bool {
        self.entries.contains_key(provider)
    }

    /// The credential of a provider, `None` if the file has no entry for it.
    pub(super) fn find(
        &self,
        provider: &str,
        auth: &Auth,
        environment: Lookup<'_>,
        now: SystemTime,
    ) -> Option<Result<Credential, Unusable>> {
        let provider = provider.to_owned();
        Some(match self.entries.get(&provider)? {
            Ok(Entry::ApiKey { key }) => match key.look_up(environment) {
                Ok(key) => Ok(Credential::key(Secret::new(key.expose().trim()))),
                Err(missing) => Err(Unusable::NotThere { provider, missing }),
            },
            Ok(Entry::Oauth { access, expires }) => {
                if let Some(reason) = auth.login_refused.clone() {
                    return Some(Err(Unusable::ForeignLogin { provider, reason }));
                }
                let until = expires.and_then(|expires| Duration::try_from_secs_f64(expires / 1000.0).ok());
                match until.and_then(|until| SystemTime::UNIX_EPOCH.checked_add(until)) {
                    Some(until) if until <= now => Err(Unusable::Expired { provider }),
                    Some(_) | None => {
                        Ok(Credential { secret: Secret::new(access.trim()), kind: CredentialKind::AccessToken })
                    }
                }
            }
            Ok(Entry::Unknown) => Err(Unusable::UnknownKind { provider }),
            Err(fault) => Err(Unusable::BrokenEntry { provider, fault }),
        })
    }
}

impl fmt::Debug for AuthFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthFile").field("path", &self.path).field("entries", &self.entries.len()).finish()
    }
}

fn entries(path: &Path) -> Result<IndexMap<String, Read>, Unusable> {
    let file = path.display().to_string();
    #[expect(clippy::disallowed_methods, reason = "this is the place where the file of credentials is read")]
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(IndexMap::new()),
        Err(error) => return Err(Unusable::UnreadableFile { file, reason: error.to_string() }),
    };
    // What the parser says may quote what it read, so only the place is told.
    let broken = |error: serde_json::Error| Unusable::BrokenFile { file, line: error.line(), column: error.column() };
    let entries: IndexMap<String, Value> = serde_json::from_slice(&bytes).map_err(broken)?;
    let read = |entry: &Value| Entry::deserialize(entry).map_err(|_| fault(entry));
    Ok(entries.iter().map(|(provider, entry)| (provider.clone(), read(entry))).collect())
}

#[cfg(unix)]
fn mode(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    Some(path.metadata().ok()?.permissions().mode() & 0o777)
}

#[cfg(not(unix))]
fn mode(_path: &Path) -> Option<u32> {
    None
}
