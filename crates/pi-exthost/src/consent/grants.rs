//! The file in which decisions about extensions are remembered.
//!
//! It has the grants and denies of the settings, in the same words, and lies beside them because programs write it and
//! people write settings.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};

use pi_extproto::capability::Capability;
use pi_policy::{
    Moment,
    config::{self, DenyEntry, ExtensionPolicy, GrantEntry, Problem},
};

use crate::private::{PrivateFile, TURN};

/// The version of the file that this program writes.
const VERSION: u64 = 1;

/// Where decisions are remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantsFile {
    file: PrivateFile,
}

/// What is to be remembered about an extension.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Grants, in the place of denies of the same capability that they contradict, and of grants of it that are over by now.
    Allow { grants: Vec<GrantEntry>, now: Moment },
    /// A deny, in the place of grants of the same capability that it contradicts.
    Deny(DenyEntry),
    /// Nothing any more about a capability, or about any with `*`.
    Forget(Capability),
}

/// What a change did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changed {
    /// Entries that were not there before.
    pub added: usize,
    /// Entries that said the opposite, or that are forgotten.
    pub removed: usize,
}

/// Why decisions cannot be read or remembered.
#[derive(Debug, thiserror::Error)]
pub enum GrantsFault {
    #[error("cannot use {path}: {source}")]
    Unusable { path: PathBuf, source: io::Error },
    /// It may get better.
    #[error("another program has held {path} for {waited:?}")]
    InUse { path: PathBuf, waited: Duration },
    #[error("{path} is not a file of decisions: {message}")]
    Malformed { path: PathBuf, message: String },
    #[error("{path} was written by a newer version")]
    Newer { path: PathBuf },
    #[error("{}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Invalid { problems: Vec<Problem> },
}

/// By which a changed file is recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
}

impl GrantsFile {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { file: PrivateFile::new(path) }
    }

    /// The usual place in an agent directory.
    pub fn in_folder(agent: &Path) -> Self {
        Self::new(agent.join("extension-grants.json"))
    }

    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Everything that is remembered. Nothing if there is no file.
    pub fn read(&self) -> Result<ExtensionPolicy, GrantsFault> {
        let (settings, _) = self.load()?;
        Ok(settings.extensions.and_then(|section| section.policy).unwrap_or_default())
    }

    /// Remembers something about an extension; `*` is all of them and can only be denied something. Waits for other
    /// programs that do the same, on the thread that it is called on.
    pub fn change(&self, extension: &str, change: Change) -> Result<Changed, GrantsFault> {
        let unusable = |source| self.unusable(source);
        // Until the new file has its name.
        let _hold = self.file.hold().map_err(|source| match source.kind() {
            io::ErrorKind::TimedOut => GrantsFault::InUse { path: self.path().to_owned(), waited: TURN },
            _ => self.unusable(source),
        })?;
        let mut policy = self.read()?;
        let changed = apply(&mut policy, extension, change);
        let text = json!({ "version": VERSION, "grants": policy.grants, "denies": policy.denies });
        // What is written must be readable, or nothing of it counts.
        self.parse(&text)?.resolve().map_err(|invalid| GrantsFault::Invalid { problems: invalid.problems })?;
        self.file.replace(&format!("{text:#}\n")).map_err(unusable)?;
        Ok(changed)
    }

    pub(super) fn load(&self) -> Result<(config::Settings, Option<Stamp>), GrantsFault> {
        let stamp = self.stamp();
        let Some(text) = self.file.read().map_err(|source| self.unusable(source))? else {
            return Ok((config::Settings::default(), stamp));
        };
        let document: Value = serde_json::from_str(&text).map_err(|error| self.malformed(&error.to_string()))?;
        Ok((self.parse(&document)?, stamp))
    }

    pub(super) fn stamp(&self) -> Option<Stamp> {
        let metadata = fs::metadata(self.path()).ok()?;
        Some(Stamp { modified: metadata.modified().ok(), length: metadata.len() })
    }

    fn parse(&self, document: &Value) -> Result<config::Settings, GrantsFault> {
        match document.get("version").and_then(Value::as_u64) {
            Some(VERSION) => {}
            Some(_) => return Err(GrantsFault::Newer { path: self.path().to_owned() }),
            None => return Err(self.malformed("it has no version")),
        }
        let part = |name: &str| document.get(name).cloned().unwrap_or_else(|| json!({}));
        let settings = json!({ "extensions": { "policy": { "grants": part("grants"), "denies": part("denies") } } });
        let read = config::parse(settings.to_string().as_bytes());
        read.map(|noted| noted.value).map_err(|invalid| GrantsFault::Invalid { problems: invalid.problems })
    }

    fn unusable(&self, source: io::Error) -> GrantsFault {
        GrantsFault::Unusable { path: self.path().to_owned(), source }
    }

    fn malformed(&self, message: &str) -> GrantsFault {
        GrantsFault::Malformed { path: self.path().to_owned(), message: message.to_owned() }
    }
}

fn apply(policy: &mut ExtensionPolicy, extension: &str, change: Change) -> Changed {
    let name = extension.to_owned();
    let mut changed = Changed::default();
    match change {
        Change::Allow { grants, now } => {
            let own = policy.grants.entry(name).or_default();
            own.retain(|old| !is_over(old, now) || grants.iter().all(|grant| grant.capability != old.capability));
            let before = own.len();
            for grant in &grants {
                // The same thing for another time takes the place of the old one.
                own.retain(|old| {
                    GrantEntry { expires: None, ..old.clone() } != GrantEntry { expires: None, ..grant.clone() }
                });
            }
            let replaced = before - own.len();
            own.extend(grants.iter().cloned());
            changed.added = grants.len() - replaced;
            if let Some(denies) = policy.denies.get_mut(extension) {
                let before = denies.len();
                denies.retain(|deny| !grants.iter().any(|grant| is_lifted(deny, grant)));
                changed.removed = before - denies.len();
            }
        }
        Change::Deny(deny) => {
            if let Some(grants) = policy.grants.get_mut(extension) {
                let before = grants.len();
                grants.retain(|grant| !is_taken(grant, &deny));
                changed.removed = before - grants.len();
            }
            let own = policy.denies.entry(name).or_default();
            if !own.contains(&deny) {
                own.push(deny);
                changed.added = 1;
            }
        }
        Change::Forget(capability) => {
            let is_meant = |own: &Capability| capability.as_str() == "*" || *own == capability;
            let mut forgotten = 0;
            if let Some(grants) = policy.grants.get_mut(extension) {
                forgotten += grants.extract_if(.., |grant| is_meant(&grant.capability)).count();
            }
            if let Some(denies) = policy.denies.get_mut(extension) {
                forgotten += denies.extract_if(.., |deny| is_meant(&deny.capability)).count();
            }
            changed.removed = forgotten;
        }
    }
    policy.grants.retain(|_, entries| !entries.is_empty());
    policy.denies.retain(|_, entries| !entries.is_empty());
    changed
}

/// Whether a grant held until some time that has passed.
fn is_over(grant: &GrantEntry, now: Moment) -> bool {
    let end = grant.expires.as_deref().and_then(|end| end.parse::<Moment>().ok());
    end.is_some_and(|end| end <= now)
}

/// Whether a grant says the opposite of a deny. One with a scope lifts only a deny with the same one: what a deny holds back
/// beyond that was not spoken of.
fn is_lifted(deny: &DenyEntry, grant: &GrantEntry) -> bool {
    deny.capability == grant.capability && (grant.scope.is_none() || grant.scope == deny.scope)
}

fn is_taken(grant: &GrantEntry, deny: &DenyEntry) -> bool {
    grant.capability == deny.capability && (deny.scope.is_none() || deny.scope == grant.scope)
}
