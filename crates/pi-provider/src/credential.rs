//! Finds the credential of a provider and says where it goes.
//!
//! The chain: what the caller spelled out, a key of Pi's `models.json`, the variable that the manifest names,
//! `<ID>_API_KEY`, Pi's `auth.json`. The environment is a lookup and the time an argument; only [`AuthFile::read`] touches a
//! file, and only [`KeyCommand`] starts a process. A manifest that comes from a project which nobody trusts gets nothing. Start with [`resolve`]; [`attach()`] turns a credential into a header or a
//! query parameter, and only the transport puts that on the wire.

mod attach;
mod auth_file;
mod command;

use std::time::SystemTime;

use pi_transcript::ProviderId;
use serde::Serialize;
use url::Url;

use crate::{
    catalog::Held,
    error::CallError,
    manifest::{
        KeySource, Manifest,
        endpoint::{Placement, is_protected},
    },
    secret::Secret,
};

pub use self::{
    attach::{AttachError, Attachment, attach, attachments},
    auth_file::{AuthFile, Unusable},
    command::{CommandFault, KeyCommand},
};

/// Reads a variable of the environment.
pub type Lookup<'a> = &'a (dyn Fn(&str) -> Option<String> + Sync);

/// What to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    pub secret: Secret,
    pub kind: CredentialKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialKind {
    /// Goes where the manifest says.
    Key,
    /// An access token of OAuth: always a bearer token (RFC 6750), wherever keys go.
    AccessToken,
}

/// Where a credential may come from.
pub struct Sources<'a> {
    pub explicit: Option<&'a Secret>,
    /// The key of Pi's `models.json`.
    pub written: Option<&'a KeySource>,
    pub environment: Lookup<'a>,
    pub auth_file: &'a AuthFile,
    pub trust: Trust,
    /// For the expiry of tokens.
    pub now: SystemTime,
}

/// Whether whoever wrote the manifest may see credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    Trusted,
    /// From a project that nobody has trusted yet.
    UntrustedProject,
}

/// What was found. Safe to show: the secret does not print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    pub credential: Option<Credential>,
    pub source_kind: SourceKind,
    /// The variable or the file; `explicit` or `host_supplied` where somebody handed it over.
    pub source_name: Option<String>,
    /// Names of variables and files, in the order in which they were tried.
    pub looked_in: Vec<String>,
    /// Whether a call without it makes sense: a server on this machine may want none.
    pub need: Need,
    /// Entries of the file that would do, if they could be used.
    pub unusable: Vec<Unusable>,
    /// What somebody should know: an expired token, a file that others can read.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    Explicit,
    ManifestEnv,
    ConventionalEnv,
    AuthFile,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Available,
    Missing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    Needed,
    NotNeeded,
}

impl Credential {
    pub fn key(secret: Secret) -> Self {
        Self { secret, kind: CredentialKind::Key }
    }
}

impl Resolved {
    fn nothing(manifest: &Manifest) -> Self {
        Self {
            credential: None,
            source_kind: SourceKind::None,
            source_name: None,
            looked_in: Vec::new(),
            need: if manifest.endpoint.auth.is_optional || manifest.endpoint.auth.placement == Placement::None {
                Need::NotNeeded
            } else {
                Need::Needed
            },
            unusable: Vec::new(),
            notes: Vec::new(),
        }
    }

    pub fn status(&self) -> Status {
        match (&self.credential, self.need) {
            (Some(_), _) | (None, Need::NotNeeded) => Status::Available,
            (None, Need::Needed) => Status::Missing,
        }
    }

    /// The credential, `None` where none is needed, or the error that says where one was looked for and what is wrong with
    /// those that were found.
    pub fn into_credential(self, provider: &ProviderId) -> Result<Option<Credential>, CallError> {
        match (self.credential, self.need) {
            (None, Need::Needed) => Err(CallError::NoCredential {
                provider: provider.clone(),
                looked_in: self.looked_in,
                unusable: self.unusable,
            }),
            (credential, _) => Ok(credential),
        }
    }
}

/// The variables that may hold the credential: the manifest's, then the conventional one.
pub fn variables(manifest: &Manifest) -> Vec<String> {
    variables_of(manifest.id.as_str(), manifest.endpoint.auth.token_env.as_deref())
}

/// The same of a provider of which only the id and its own variable are known.
pub(crate) fn variables_of(id: &str, own: Option<&str>) -> Vec<String> {
    let conventional = conventional_variable(id);
    let own = own.filter(|name| !name.is_empty() && *name != conventional).map(str::to_owned);
    own.into_iter().chain([conventional]).collect()
}

/// Whether there is anything that could be the credential of a provider. Whether it is one, [`resolve`] knows.
pub fn may_be_there(held: &Held, environment: Lookup<'_>, auth_file: &AuthFile) -> bool {
    let is_set = |name: &String| environment(name).is_some_and(|value| !value.trim().is_empty());
    let is_written = || held.aliases().into_iter().chain([held.id()]).any(|name| auth_file.mentions(name));
    held.variables().iter().any(is_set) || is_written()
}

/// Finds the credential of a provider. Where it would travel to a server elsewhere in the clear, a note says so.
pub fn resolve(manifest: &Manifest, sources: &Sources<'_>) -> Resolved {
    let mut resolved = find(manifest, sources);
    if resolved.credential.is_some() {
        resolved.notes.extend(in_the_clear(manifest, None));
    }
    resolved
}

/// What to say of a provider whose credential travels in the clear: at this address, or else at the manifest's.
pub fn in_the_clear(manifest: &Manifest, base_url: Option<&str>) -> Option<String> {
    let address = Url::parse(base_url.unwrap_or(&manifest.endpoint.base_url)).ok()?;
    (!is_protected(&address)).then(|| format!("the credential {IN_THE_CLEAR}"))
}

/// What is said of a credential that goes to an address which is neither encrypted nor near.
pub(crate) const IN_THE_CLEAR: &str =
    "goes over http to a server elsewhere, and everybody on the way can read it; use an https address";

/// What the file of Pi is called in which keys of providers may stand.
pub(crate) const MODELS_FILE: &str = "models.json";

fn find(manifest: &Manifest, sources: &Sources<'_>) -> Resolved {
    let mut resolved = Resolved::nothing(manifest);
    if sources.trust == Trust::UntrustedProject {
        // Not even a server that asks for nothing is asked.
        resolved.need = Need::Needed;
        resolved.notes.push("its manifest comes from a project that is not trusted".to_owned());
        return resolved;
    }
    if let Some(secret) = sources.explicit {
        resolved.credential = Some(Credential::key(secret.clone()));
        resolved.source_kind = SourceKind::Explicit;
        resolved.source_name = Some("explicit".to_owned());
        return resolved;
    }
    match sources.written.map(|written| written.look_up(sources.environment)) {
        Some(Ok(secret)) => {
            resolved.credential = Some(Credential::key(secret));
            resolved.source_kind = SourceKind::Explicit;
            resolved.source_name = Some(MODELS_FILE.to_owned());
            return resolved;
        }
        Some(Err(missing)) => {
            resolved.looked_in.push(MODELS_FILE.to_owned());
            let unusable = Unusable::NotThere { provider: manifest.id.to_string(), missing };
            resolved.notes.push(format!("{unusable}; {}", unusable.hint()));
            resolved.unusable.push(unusable);
        }
        None => {}
    }
    for name in variables(manifest) {
        let value = (sources.environment)(&name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        resolved.looked_in.push(name.clone());
        if let Some(value) = value {
            let is_own = manifest.endpoint.auth.token_env.as_ref() == Some(&name);
            resolved.credential = Some(Credential::key(Secret::new(value)));
            resolved.source_kind = if is_own { SourceKind::ManifestEnv } else { SourceKind::ConventionalEnv };
            resolved.source_name = Some(name);
            return resolved;
        }
    }
    look_in_file(manifest, sources, &mut resolved);
    resolved
}

/// What a host hands over that runs us as its guest: nothing else is looked at, neither environment nor files.
pub fn host_supplied(manifest: &Manifest, secret: Option<&Secret>) -> Resolved {
    let mut resolved = Resolved::nothing(manifest);
    if let Some(secret) = secret {
        resolved.credential = Some(Credential::key(secret.clone()));
        resolved.source_kind = SourceKind::Explicit;
        resolved.source_name = Some("host_supplied".to_owned());
    }
    resolved
}

fn look_in_file(manifest: &Manifest, sources: &Sources<'_>, resolved: &mut Resolved) {
    let Some(path) = sources.auth_file.shown_path() else { return };
    resolved.looked_in.push(path.clone());
    resolved.notes.extend(sources.auth_file.warning());
    if let Some(fault) = sources.auth_file.fault() {
        resolved.notes.push(format!("{fault}; {}", fault.hint()));
        resolved.unusable.push(fault.clone());
    }
    let id = manifest.id.to_string();
    let names = std::iter::once(&id).chain(&manifest.aliases);
    // Those of this provider are told below, with what else is wrong with its entries.
    let is_own = |name: &String| *name == id || manifest.aliases.contains(name);
    let foreign = sources
        .auth_file
        .broken_entries()
        .filter(|broken| !matches!(broken, Unusable::BrokenEntry { provider, .. } if is_own(provider)));
    resolved.notes.extend(foreign.map(|broken| format!("{broken}; {}", broken.hint())));
    for found in
        names.filter_map(|name| sources.auth_file.find(name, &manifest.endpoint.auth, sources.environment, sources.now))
    {
        match found {
            Ok(credential) => {
                resolved.credential = Some(credential);
                resolved.source_kind = SourceKind::AuthFile;
                resolved.source_name = Some(path);
                return;
            }
            Err(unusable) => {
                resolved.notes.push(format!("{unusable}; {}", unusable.hint()));
                resolved.unusable.push(unusable);
            }
        }
    }
}

/// The variable that holds the key of a provider if nothing else is said: `mock-openai` to `MOCK_OPENAI_API_KEY`.
pub fn conventional_variable(id: &str) -> String {
    let word = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' };
    let mut name: String = id.chars().map(word).collect();
    name.push_str("_API_KEY");
    name
}
