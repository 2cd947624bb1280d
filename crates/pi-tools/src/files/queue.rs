//! One change of a file at a time.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use tokio::sync::OwnedMutexGuard;

use pi_policy::Location;

/// Lets those who want to change a file take turns, file by file, in the order in which they came. Shared by all sessions of
/// a process, because they may work in one project.
#[derive(Debug, Default)]
pub struct FileQueue {
    /// A lock and not a task that owns the map: it is held for a look-up and never across an await.
    turns: Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>,
}

/// Belongs to whoever may change the file now; the next one follows when it is dropped.
pub(crate) type Turn = OwnedMutexGuard<()>;

impl FileQueue {
    /// Waits until it is our turn with a file. Dropping the future gives the place in the queue up.
    pub(crate) async fn turn(&self, file: &Location) -> Turn {
        let key = match cfg!(any(windows, target_os = "macos")) {
            true => file.absolute().to_lowercase(),
            false => file.absolute().to_owned(),
        };
        let lock = {
            let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
            turns.retain(|_, lock| lock.strong_count() > 0);
            let known = turns.get(&key).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let lock = Arc::new(tokio::sync::Mutex::new(()));
                turns.insert(key, Arc::downgrade(&lock));
                lock
            })
        };
        lock.lock_owned().await
    }
}
