//! The sessions of this server, in the order in which they were made.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicU64, Ordering},
    },
};

use pi_session::Wish;
use pi_transcript::SessionId;
use pi_wire::Error;
use serde_json::value::RawValue;
use tokio::{sync::mpsc, task::spawn_blocking};

use crate::{
    outbox::Outbox,
    places,
    room::{Room, Ties},
};

#[derive(Debug)]
pub struct Rooms {
    limit: usize,
    /// Not a task: looked at for every command, changed when a session comes or goes.
    table: RwLock<Table>,
    ties: Ties,
    /// What a list of them said last, and in which edition. Not a task: clients ask for it all the time, and mostly nothing
    /// has happened.
    list: Mutex<Option<(Edition, Box<RawValue>)>>,
}

/// How often something happened that somebody wants to know of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edition(u64);

/// Where sessions say that something happened to them. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct News(Arc<AtomicU64>);

impl News {
    pub fn tell(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[derive(Debug, Default)]
struct Table {
    /// By a number that grows.
    rooms: BTreeMap<u64, Arc<Room>>,
    numbers: std::collections::HashMap<SessionId, u64>,
    last: u64,
}

impl Rooms {
    /// With room for so many; and where extensions of their sessions want to go.
    pub fn new(limit: usize) -> (Self, mpsc::Receiver<(SessionId, Wish)>) {
        let (ties, asked) = Ties::new();
        (Self { limit, table: RwLock::default(), ties, list: Mutex::default() }, asked)
    }

    /// For sessions that will be here.
    pub fn ties(&self) -> Ties {
        self.ties.clone()
    }

    pub fn edition(&self) -> Edition {
        Edition(self.ties.news.0.load(Ordering::SeqCst))
    }

    /// How often the file of a session began to fail or was written again.
    pub(crate) fn troubles(&self) -> Edition {
        Edition(self.ties.troubles.0.load(Ordering::SeqCst))
    }

    /// What a list of all of them says, if nothing happened since somebody made one.
    pub fn list(&self) -> Option<Box<RawValue>> {
        let edition = self.edition();
        let list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.as_ref().filter(|(made, _)| *made == edition).map(|(_, list)| list.clone())
    }

    /// Whether there is such a list.
    pub fn has_list(&self) -> bool {
        let edition = self.edition();
        let list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.as_ref().is_some_and(|(made, _)| *made == edition)
    }

    /// Keeps a list that was begun in this edition.
    pub fn keep_list(&self, edition: Edition, list: Box<RawValue>) {
        *self.list.lock().unwrap_or_else(PoisonError::into_inner) = Some((edition, list));
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

    /// Whose file this is, if somebody's: by this name, or by another that the same file has: through a link
    /// above it, or by one of its own. Looks at the disk, off the threads that wait.
    pub(crate) async fn holder(&self, file: &Path) -> Result<Option<SessionId>, Error> {
        let known = |room: &Arc<Room>| Some((room.id().clone(), PathBuf::from(room.berth().file?)));
        let known: Vec<(SessionId, PathBuf)> = self.everyone().iter().filter_map(known).collect();
        if let Some((id, _)) = known.iter().find(|(_, path)| path == file) {
            return Ok(Some(id.clone()));
        }
        let file = file.to_owned();
        let found = spawn_blocking(move || {
            let wanted = Some(places::Identity::at(&file)?);
            known.into_iter().find(|(_, path)| places::Identity::at(path) == wanted).map(|(id, _)| id)
        });
        found.await.map_err(|panic| Error::Internal { incident: panic.to_string() })
    }

    pub fn insert(&self, room: Arc<Room>) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        table.last += 1;
        let number = table.last;
        table.numbers.insert(room.id().clone(), number);
        table.rooms.insert(number, room);
        drop(table);
        self.ties.news.tell();
    }

    pub fn remove(&self, id: &SessionId) -> Option<Arc<Room>> {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let number = table.numbers.remove(id)?;
        let removed = table.rooms.remove(&number);
        drop(table);
        self.ties.news.tell();
        removed
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_is_old_as_soon_as_something_happens() {
        let (rooms, _asked) = Rooms::new(1);
        let list = || RawValue::from_string("[]".to_owned()).expect("it is JSON");
        let edition = rooms.edition();
        assert!(rooms.list().is_none(), "nobody has made one");
        rooms.keep_list(edition, list());
        assert_eq!(rooms.list().map(|list| list.get().to_owned()).as_deref(), Some("[]"));
        rooms.ties().news.tell();
        assert!(rooms.list().is_none());
        rooms.keep_list(edition, list());
        assert!(rooms.list().is_none(), "something happened while it was made");
    }
}
