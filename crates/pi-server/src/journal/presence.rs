//! Whether the files of a journal are still where they were opened.
//!
//! Who deletes a file that is open takes only its name away. The server would go on writing, and nothing of it would be
//! found after the next start.

use std::{
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

use super::fault::JournalError;

/// The files of a journal, as they were when it was opened.
#[derive(Debug)]
pub(super) struct Presence {
    path: PathBuf,
    database: Option<FileId>,
    /// Not a task: looked at with every write, and another one when the journal is opened anew.
    log: Mutex<Option<FileId>>,
    glance: Glance,
}

/// The last look of those who ask often.
#[derive(Debug)]
struct Glance {
    since: Instant,
    /// Milliseconds behind `since` from which on it is looked again.
    next: AtomicU64,
    found: AtomicBool,
}

/// How long a look holds.
const HOLDS: Duration = Duration::from_millis(500);

/// Which file it is, whatever it is called. Where the system does not tell, every file is the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId {
    device: u64,
    number: u64,
}

impl Presence {
    /// Looks at the files of a journal that is open and was written at least once.
    pub(super) fn of(path: &Path) -> Self {
        let glance = Glance { since: Instant::now(), next: AtomicU64::new(0), found: AtomicBool::new(true) };
        Self { path: path.to_owned(), database: id(path), log: Mutex::new(id(&log_of(path))), glance }
    }

    /// Lets whoever writes open the journal anew, which may begin another log. Whoever looks meanwhile waits for that.
    pub(super) fn while_opened_anew<T>(&self, open: impl FnOnce() -> T) -> T {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = open();
        *log = id(&log_of(&self.path));
        opened
    }

    /// Whether what is written now will be found again.
    pub(super) fn check(&self) -> Result<(), JournalError> {
        let log = *self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let is_there = id(&self.path) == self.database && (log.is_none() || id(&log_of(&self.path)) == log);
        if is_there { Ok(()) } else { Err(JournalError::Gone) }
    }

    /// The same from a look that may be a moment old: health is asked for more often than files are deleted.
    pub(super) fn was_seen(&self) -> bool {
        let Glance { since, next, found } = &self.glance;
        let now = since.elapsed();
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        if millis(now) >= next.load(Ordering::Relaxed) {
            next.store(millis(now + HOLDS), Ordering::Relaxed);
            found.store(self.check().is_ok(), Ordering::Relaxed);
        }
        found.load(Ordering::Relaxed)
    }
}

/// The log of the database, which holds what was written last.
fn log_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

#[cfg(unix)]
fn id(path: &Path) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt as _;
    let found = path.metadata().ok()?;
    Some(FileId { device: found.dev(), number: found.ino() })
}

#[cfg(not(unix))]
fn id(path: &Path) -> Option<FileId> {
    path.metadata().ok().map(|_| FileId { device: 0, number: 0 })
}
