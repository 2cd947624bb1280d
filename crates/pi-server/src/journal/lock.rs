//! One server for one journal.

use std::{
    ffi::OsString,
    fmt,
    fs::{File, OpenOptions, TryLockError},
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
};

use super::fault::JournalError;

/// Held as long as a server writes the journal; the system lets go of it when the process ends, however it ends.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

/// A process that writes a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub process: u32,
    /// How it was started, as far as it says.
    pub started_as: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { process, started_as } = self;
        if started_as.is_empty() {
            write!(f, "process {process}")
        } else {
            write!(f, "process {process} ({started_as})")
        }
    }
}

impl Lock {
    /// Whoever finds it taken is told that this process was started so.
    pub(super) fn take(journal: &Path, started_as: &str) -> Result<Self, JournalError> {
        let path = beside(journal);
        let opened = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let file = opened.map_err(|source| JournalError::Open { path: path.clone(), source })?;
        match file.try_lock() {
            Ok(()) => {
                // For people who look for it; without it nothing is lost.
                let told = format!("{}\n{started_as}\n", std::process::id());
                let _ = file.set_len(0).and_then(|()| (&file).write_all(told.as_bytes()));
                Ok(Self { _file: file })
            }
            Err(TryLockError::WouldBlock) => Err(JournalError::InUse { path: journal.to_owned(), by: holder(journal) }),
            Err(TryLockError::Error(source)) => Err(JournalError::Open { path, source }),
        }
    }
}

/// The process that writes the journal, if one does and says so.
pub fn holder(journal: &Path) -> Option<Holder> {
    let mut file = OpenOptions::new().read(true).open(beside(journal)).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => {}
        Ok(()) | Err(TryLockError::Error(_)) => return None,
    }
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    let (process, started_as) = text.split_once('\n').unwrap_or((&text, ""));
    Some(Holder { process: process.trim().parse().ok()?, started_as: started_as.trim().to_owned() })
}

/// The file of the lock.
pub(super) fn beside(journal: &Path) -> PathBuf {
    let mut name = OsString::from(journal);
    name.push(".lock");
    name.into()
}
