//! The sessions of this server, in the order in which they were made.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard},
};

use pi_transcript::SessionId;
use pi_wire::Error;

use crate::{outbox::Outbox, room::Room};

#[derive(Debug)]
pub struct Rooms {
    limit: usize,
    /// Not a task: looked at for every command, changed when a session comes or goes.
    table: RwLock<Table>,
}

#[derive(Debug, Default)]
struct Table {
    /// By a number that grows.
    rooms: BTreeMap<u64, Arc<Room>>,
    numbers: std::collections::HashMap<SessionId, u64>,
    last: u64,
}

impl Rooms {
    /// With room for so many.
    pub fn new(limit: usize) -> Self {
        Self { limit, table: RwLock::default() }
    }

    pub fn get(&self, id: &SessionId) -> Option<Arc<Room>> {
        let table = self.table();
        table.numbers.get(id).and_then(|number| table.rooms.get(number)).cloned()
    }

    /// The room of a session that a command named.
    pub fn find(&self, id: &SessionId) -> Result<Arc<Room>, Error> {
        self.get(id).ok_or_else(|| Error::SessionNotFound(id.clone()))
    }

    /// Whether there may be one more, and under this name.
    pub fn admit(&self, id: &SessionId) -> Result<(), Error> {
        let table = self.table();
        if table.numbers.contains_key(id) {
            return Err(Error::SessionExists(id.clone()));
        }
        if table.rooms.len() >= self.limit {
            return Err(Error::SessionLimit { limit: u64::try_from(self.limit).unwrap_or(u64::MAX) });
        }
        Ok(())
    }

    /// Whose file this is, if somebody's.
    pub fn holder(&self, file: &str) -> Option<SessionId> {
        self.everyone()
            .into_iter()
            .find(|room| room.berth().file.as_deref() == Some(file))
            .map(|room| room.id().clone())
    }

    pub fn insert(&self, room: Arc<Room>) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        table.last += 1;
        let number = table.last;
        table.numbers.insert(room.id().clone(), number);
        table.rooms.insert(number, room);
    }

    pub fn remove(&self, id: &SessionId) -> Option<Arc<Room>> {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let number = table.numbers.remove(id)?;
        table.rooms.remove(&number)
    }

    /// All of them, the oldest first.
    pub fn everyone(&self) -> Vec<Arc<Room>> {
        self.table().rooms.values().cloned().collect()
    }

    pub fn count(&self) -> usize {
        self.table().rooms.len()
    }

    /// A connection is gone.
    pub fn leave(&self, listener: &Arc<Outbox>) {
        for room in self.everyone() {
            room.feed().leave(listener);
        }
    }

    fn table(&self) -> RwLockReadGuard<'_, Table> {
        // Nothing in here can panic half-way.
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }
}
