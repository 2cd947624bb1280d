//! One server for one journal.

use std::{
    ffi::OsString,
    fs::{File, OpenOptions, TryLockError},
    path::{Path, PathBuf},
};

use super::fault::JournalError;

/// Held as long as a server writes the journal; the system lets go of it when the process ends, however it ends.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    pub(super) fn take(journal: &Path) -> Result<Self, JournalError> {
        let path = beside(journal);
        let opened = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let file = opened.map_err(|source| JournalError::Open { path: path.clone(), source })?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(JournalError::InUse { path: journal.to_owned() }),
            Err(TryLockError::Error(source)) => Err(JournalError::Open { path, source }),
        }
    }
}

fn beside(journal: &Path) -> PathBuf {
    let mut name = OsString::from(journal);
    name.push(".lock");
    name.into()
}
