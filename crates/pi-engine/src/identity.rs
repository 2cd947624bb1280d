//! Which commands were seen before, by id and by key.

use crate::{
    header::{Header, Lane},
    name::{ClientName, CommandId, Fingerprint, Key, Kind, Ticket},
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
        Self { key: header.key.clone().map(|key| (header.lane.clone(), key)), ..Self::id_of(header) }
    }

    /// Its id alone: what another name for a known intent brings.
    pub(crate) fn id_of(header: &Header) -> Self {
        Self { id: header.id.clone().map(|id| (header.client.clone(), id)), key: None }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.id.is_none() && self.key.is_none()
    }
}

#[derive(Debug, Default)]
pub(crate) struct Identities {
    ids: Table<(ClientName, CommandId), Seen>,
    keys: Table<(Lane, Key), Seen>,
}

impl Identities {
    pub(crate) fn by_id(&self, client: &ClientName, id: &CommandId) -> Option<&Seen> {
        self.ids.get(&(client.clone(), id.clone()))
    }

    pub(crate) fn by_key(&self, lane: &Lane, key: &Key) -> Option<&Seen> {
        self.keys.get(&(lane.clone(), key.clone()))
    }

    /// Remembers a command under `names`; a key that meant something else before means this from now on.
    pub(crate) fn remember(&mut self, names: &Names, header: &Header, place: Place) {
        let seen = Seen { place, fingerprint: header.fingerprint, kind: header.kind.clone() };
        if let Some(id) = &names.id {
            self.ids.insert(id.clone(), seen.clone());
        }
        if let Some(key) = &names.key {
            self.keys.insert(key.clone(), seen);
        }
    }

    /// The command has moved.
    pub(crate) fn relocate(&mut self, names: &Names, from: Place, to: Place) {
        let id = names.id.as_ref().and_then(|id| self.ids.get_mut(id));
        let key = names.key.as_ref().and_then(|key| self.keys.get_mut(key));
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
        if let Some(key) = &names.key
            && self.keys.get(key).is_some_and(|seen| seen.place == place)
        {
            self.keys.remove(key);
        }
    }

    pub(crate) fn touches(&self) -> u64 {
        self.ids.touches() + self.keys.touches()
    }

    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.ids.len(), self.keys.len())
    }
}
