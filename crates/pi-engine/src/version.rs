//! Versions of sessions.

use std::collections::HashMap;

use crate::{name::SessionName, record::VersionMove};

#[derive(Debug, Default)]
pub(crate) struct Versions(HashMap<SessionName, u64>);

impl Versions {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn get(&self, session: &SessionName) -> Option<u64> {
        self.0.get(session).copied()
    }

    pub(crate) fn begin(&mut self, session: &SessionName) -> VersionMove {
        self.apply(VersionMove { session: session.clone(), version: Some(0) })
    }

    pub(crate) fn end(&mut self, session: &SessionName) -> VersionMove {
        self.apply(VersionMove { session: session.clone(), version: None })
    }

    /// One further, for a session that has a version.
    pub(crate) fn advance(&mut self, session: &SessionName) -> Option<VersionMove> {
        let version = self.0.get_mut(session)?;
        *version += 1;
        Some(VersionMove { session: session.clone(), version: Some(*version) })
    }

    /// Does what a record says.
    pub(crate) fn apply(&mut self, moved: VersionMove) -> VersionMove {
        match moved.version {
            Some(version) => self.0.insert(moved.session.clone(), version),
            None => self.0.remove(&moved.session),
        };
        moved
    }
}
