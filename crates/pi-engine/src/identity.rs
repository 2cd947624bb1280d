//! Which commands were seen before, by id and by key.

use std::collections::HashMap;

use crate::{
    header::{Header, Lane},
    name::{ClientName, CommandId, Fingerprint, Key, Kind, SessionName, Ticket},
    outcome::Outcome,
    table::Table,
};

/// Where a command that was seen before is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    InFlight(Ticket),
    /// On the shelf of durable outcomes, at this position.
    Durable(u64),
    /// On the shelf of reads, at this position.
    Read(u64),
}

/// What is remembered of a command under its id or its key.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) place: Place,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) kind: Kind,
}

/// The names under which one command can be found again.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    pub(crate) id: Option<(ClientName, CommandId)>,
    pub(crate) key: Option<(Lane, Key)>,
}

impl Names {
    /// All names that a command brings.
    pub(crate) fn of(header: &Header) -> Self {
        Self {
            id: header.id.clone().map(|id| (header.client.clone(), id)),
            key: header.key.clone().map(|key| (header.lane.clone(), key)),
        }
    }

    /// The header with these names and no others.
    pub(crate) fn only(&self, header: &Header) -> Header {
        Header {
            id: self.id.as_ref().map(|(_, id)| id.clone()),
            key: self.key.as_ref().map(|(_, key)| key.clone()),
            ..header.clone()
        }
    }

    /// Those that count once the command has ended. A key belongs to a session: where there was none, the next one of that
    /// name is not told what happened before it.
    pub(crate) fn lasting<B>(&self, outcome: &Outcome<B>) -> Self {
        let is_homeless = |(lane, _): &&(Lane, Key)| lane.session().is_some() && outcome.version.is_none();
        Self { id: self.id.clone(), key: self.key.as_ref().filter(|key| !is_homeless(key)).cloned() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.id.is_none() && self.key.is_none()
    }
}

#[derive(Debug, Default)]
pub(crate) struct Identities {
    ids: Table<(ClientName, CommandId), Seen>,
    /// By lane, so that those of a session go with it.
    keys: Table<Lane, HashMap<Key, Seen>>,
}

impl Identities {
    pub(crate) fn by_id(&self, client: &ClientName, id: &CommandId) -> Option<&Seen> {
        self.ids.get(&(client.clone(), id.clone()))
    }

    pub(crate) fn by_key(&self, lane: &Lane, key: &Key) -> Option<&Seen> {
        self.keys.get(lane)?.get(key)
    }

    /// Remembers a command under `names`; a key that meant something else before means this from now on.
    pub(crate) fn remember(&mut self, names: &Names, header: &Header, place: Place) {
        let seen = Seen { place, fingerprint: header.fingerprint, kind: header.kind.clone() };
        if let Some(id) = &names.id {
            self.ids.insert(id.clone(), seen.clone());
        }
        if let Some((lane, key)) = &names.key {
            self.keys.or_default(lane.clone()).insert(key.clone(), seen);
        }
    }

    /// The command has moved.
    pub(crate) fn relocate(&mut self, names: &Names, from: Place, to: Place) {
        let id = names.id.as_ref().and_then(|id| self.ids.get_mut(id));
        let key = names.key.as_ref().and_then(|(lane, key)| self.keys.get_mut(lane)?.get_mut(key));
        for seen in id.into_iter().chain(key).filter(|seen| seen.place == from) {
            seen.place = to;
        }
    }

    /// The command is forgotten, unless its names mean another one by now.
    pub(crate) fn forget(&mut self, names: &Names, place: Place) {
        if let Some(id) = &names.id
            && self.ids.get(id).is_some_and(|seen| seen.place == place)
        {
            self.ids.remove(id);
        }
        if let Some((lane, key)) = &names.key
            && let Some(keys) = self.keys.get_mut(lane)
            && keys.get(key).is_some_and(|seen| seen.place == place)
        {
            keys.remove(key);
            if keys.is_empty() {
                self.keys.remove(lane);
            }
        }
    }

    /// The session is gone, and what its keys meant with it: another one of the same name has keys of its own. Ids stay, for
    /// they belong to clients.
    pub(crate) fn drop_keys(&mut self, session: &SessionName) {
        self.keys.remove(&Lane::Session(session.clone()));
    }

    pub(crate) fn touches(&self) -> u64 {
        self.ids.touches() + self.keys.touches()
    }

    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.ids.len(), self.keys.iter().map(|(_, keys)| keys.len()).sum())
    }
}
