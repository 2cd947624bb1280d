//! One change of a file at a time, and nobody reads it meanwhile.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

use pi_policy::Location;

/// Lets those who want to change or read a file take turns, file by file, in the order in which they came; those who only read
/// may be many at once. Shared by all sessions of a process, because they may work in one project.
#[derive(Debug, Default)]
pub struct FileQueue {
    /// A lock and not a task that owns the map: it is held for a look-up and never across an await.
    turns: Mutex<HashMap<String, Weak<RwLock<()>>>>,
}

/// Belongs to whoever may change the file now; the next one follows when it is dropped.
pub(crate) type Turn = OwnedRwLockWriteGuard<()>;
/// Belongs to whoever reads the file; who wants to change it follows when all are dropped.
pub(crate) type Glance = OwnedRwLockReadGuard<()>;

impl FileQueue {
    /// Waits until we may change a file. Dropping the future gives the place in the queue up.
    pub(crate) async fn turn(&self, file: &Location) -> Turn {
        in_order(self.lock(file).write_owned()).await
    }

    /// Waits until those have changed a file who came before us. Dropping the future gives the place in the queue up.
    pub(crate) async fn glance(&self, file: &Location) -> Glance {
        in_order(self.lock(file).read_owned()).await
    }

    /// One that hands itself out in the order in which it is asked for.
    fn lock(&self, file: &Location) -> Arc<RwLock<()>> {
        let key = match cfg!(any(windows, target_os = "macos")) {
            true => file.absolute().to_lowercase(),
            false => file.absolute().to_owned(),
        };
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, lock| lock.strong_count() > 0);
        let known = turns.get(&key).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let lock = Arc::new(RwLock::new(()));
            turns.insert(key, Arc::downgrade(&lock));
            lock
        })
    }
}

/// Takes its place when it is first looked at. A task that has done much is told to wait before it is in the queue, and calls that
/// came later would be served first.
fn in_order<T>(waiting: impl Future<Output = T>) -> impl Future<Output = T> {
    tokio::task::unconstrained(waiting)
}
