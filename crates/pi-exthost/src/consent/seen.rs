//! Which extension was last seen under a name, so that a decision by name is about that one and not about whoever takes the
//! name later.
//!
//! A memory and no rule: what cannot be read is not remembered, and nothing is allowed or denied by it.

use std::{collections::BTreeMap, io, path::Path};

use serde::{Deserialize, Serialize};

use pi_extproto::capability::{Capability, DeclaredBy};

use super::grants::GrantsFile;
use crate::{launcher::Identity, private::PrivateFile};

/// Where it is remembered: beside the decisions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenFile {
    file: PrivateFile,
}

/// An extension as it was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// What a grant for it would name; nothing if it came from nowhere in particular.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    pub version: String,
    /// What it says that it needs; nothing if it says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<Vec<Capability>>,
}

impl From<&Identity> for Seen {
    fn from(identity: &Identity) -> Self {
        let needs = identity.declared.requirements().iter().map(|need| need.capability.clone());
        Self {
            origin: identity.origins.first().cloned(),
            version: identity.version.clone(),
            declared: (identity.declared.by() != DeclaredBy::Nothing).then(|| needs.collect()),
        }
    }
}

impl SeenFile {
    pub fn in_folder(agent: &Path) -> Self {
        Self::beside(&GrantsFile::in_folder(agent))
    }

    pub(super) fn beside(decisions: &GrantsFile) -> Self {
        Self { file: PrivateFile::new(decisions.path().with_file_name("extensions-seen.json")) }
    }

    /// Everybody, by name.
    pub fn read(&self) -> BTreeMap<String, Seen> {
        let read = self.file.read().and_then(|text| match text {
            Some(text) => Ok(serde_json::from_str(&text)?),
            // Nobody was seen yet.
            None => Ok(BTreeMap::new()),
        });
        read.unwrap_or_else(|error| {
            tracing::warn!(%error, file = %self.file.path().display(), "which extensions were seen cannot be read");
            BTreeMap::new()
        })
    }

    /// Remembers one, unless it is known as it is.
    pub(super) fn record(&self, name: &str, seen: &Seen) -> io::Result<()> {
        if self.read().get(name) == Some(seen) {
            return Ok(());
        }
        // Until the new file has its name.
        let _hold = self.file.hold()?;
        let mut all = self.read();
        all.insert(name.to_owned(), seen.clone());
        self.file.replace(&serde_json::to_string_pretty(&all)?)
    }
}
