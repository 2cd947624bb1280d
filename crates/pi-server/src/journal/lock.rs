//! One server for one journal.

use std::{
    ffi::OsString,
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

impl Lock {
    pub(super) fn take(journal: &Path) -> Result<Self, JournalError> {
        let path = beside(journal);
        let opened = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let file = opened.map_err(|source| JournalError::Open { path: path.clone(), source })?;
        match file.try_lock() {
            Ok(()) => {
                // For people who look for it; without it nothing is lost.
                let _ = file.set_len(0).and_then(|()| (&file).write_all(std::process::id().to_string().as_bytes()));
                Ok(Self { _file: file })
            }
            Err(TryLockError::WouldBlock) => Err(JournalError::InUse { path: journal.to_owned() }),
            Err(TryLockError::Error(source)) => Err(JournalError::Open { path, source }),
        }
    }
}

/// The process that writes the journal, if one does and says so.
pub fn holder(journal: &Path) -> Option<u32> {
    let mut file = OpenOptions::new().read(true).open(beside(journal)).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => {}
        Ok(()) | Err(TryLockError::Error(_)) => return None,
    }
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn beside(journal: &Path) -> PathBuf {
    let mut name = OsString::from(journal);
    name.push(".lock");
    name.into()
}
