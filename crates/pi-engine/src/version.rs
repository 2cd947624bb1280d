//! Versions of sessions.

use crate::{name::SessionName, record::VersionMove, table::Table};

/// Which of several sessions that had the same name, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Generation(u64);

#[derive(Debug, Default)]
pub(crate) struct Versions {
    sessions: Table<SessionName, (u64, Generation)>,
    generations: u64,
}

impl Versions {
    pub(crate) fn len(&self) -> usize {
        self.sessions.len()
    }

    pub(crate) fn touches(&self) -> u64 {
        self.sessions.touches()
    }

    pub(crate) fn get(&self, session: &SessionName) -> Option<u64> {
        self.sessions.get(session).map(|(version, _)| *version)
    }

    pub(crate) fn generation(&self, session: &SessionName) -> Option<Generation> {
        self.sessions.get(session).map(|(_, generation)| *generation)
    }

    /// There is a new session of this name.
    pub(crate) fn begin(&mut self, session: &SessionName) -> VersionMove {
        self.sessions.remove(session);
        self.apply(VersionMove { session: session.clone(), version: Some(0) })
    }

    pub(crate) fn end(&mut self, session: &SessionName) -> VersionMove {
        self.apply(VersionMove { session: session.clone(), version: None })
    }

    /// One further, for a session that has a version.
    pub(crate) fn advance(&mut self, session: &SessionName) -> Option<VersionMove> {
        let (version, _) = self.sessions.get_mut(session)?;
        *version += 1;
        Some(VersionMove { session: session.clone(), version: Some(*version) })
    }

    /// Does what a record says.
    pub(crate) fn apply(&mut self, moved: VersionMove) -> VersionMove {
        match moved.version {
            Some(version) => {
                self.generations += 1;
                let generation = self.generation(&moved.session).unwrap_or(Generation(self.generations));
                self.sessions.insert(moved.session.clone(), (version, generation));
            }
            None => {
                self.sessions.remove(&moved.session);
            }
        }
        moved
    }
}
