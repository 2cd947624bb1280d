//! What can be wrong with a journal.

use std::{error::Error, io, path::PathBuf};

use rusqlite::ErrorCode;

use super::lock::Holder;

/// Why a journal cannot be opened or used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("{} cannot be opened", .path.display())]
    Open {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Another server writes it.
    #[error("{} is in use by {}", .path.display(), .by.as_ref().map_or_else(|| "another server".to_owned(), ToString::to_string))]
    InUse { path: PathBuf, by: Option<Holder> },
    #[error("{} is not a journal of ours", .path.display())]
    Foreign { path: PathBuf },
    /// A later release wrote it.
    #[error("{} has schema version {found}; this version of pi knows {known}", .path.display())]
    Newer { path: PathBuf, found: u32, known: u32 },
    #[error("the journal's disk is full; make room on it")]
    Full(#[source] Box<dyn Error + Send + Sync>),
    /// A limit of the settings, and not of its disk.
    #[error("the journal may not grow: it is as large as server.journalMaxBytes lets it be ({ceiling} bytes)")]
    AtCeiling {
        ceiling: u64,
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// What SQLite says of it. It stays so until another file is there.
    #[error("the journal is damaged: {said}")]
    Damaged { said: String },
    /// So many commands are known by id and key alone, if by these.
    #[error("{rows} of the journal's records cannot be read")]
    Malformed { rows: u64 },
    /// A limit of the process, and not of its disk.
    #[error("the journal's file may not grow: it is at the limit for files of this process ({limit} bytes)")]
    TooLarge {
        limit: u64,
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// Its name leads to another file, or to none.
    #[error("the journal's file is gone: somebody deleted, moved or replaced it while the server runs")]
    Gone,
    /// A file without a byte.
    #[error("{} is empty: no server has written it", .path.display())]
    Empty { path: PathBuf },
    /// A file that is no database.
    #[error("{} is no journal: it is not even a database", .path.display())]
    NoDatabase { path: PathBuf },
    /// A file or a folder that is not ours to write, or a disk that is mounted to be read only.
    #[error("the journal may not be opened or written")]
    Forbidden(#[source] Box<dyn Error + Send + Sync>),
    /// Another program held it for longer than we waited.
    #[error("another program holds the journal")]
    Busy(#[source] Box<dyn Error + Send + Sync>),
    #[error("the journal's disk fails")]
    Disk(#[source] Box<dyn Error + Send + Sync>),
    #[error("the journal cannot be read or written")]
    Database(#[source] Box<dyn Error + Send + Sync>),
    #[error("the journal's thread has ended")]
    Ended,
}

/// What to do about a file that is damaged.
pub const DAMAGED: &str = "stop the server, move the file and those with -wal and -shm behind its name away, and start it again: sessions have files of \
     their own, `load_session` or `pi -c` go on with them; `sqlite3 FILE .recover` shows what is left of the commands";

/// What to do about a file that is gone.
pub const GONE: &str = "put it back where it was, with those that have -wal and -shm behind its name, or start the server anew: it begins another \
     journal, and sessions have files of their own";

impl JournalError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Open { .. } => "check that the folder exists and may be written, or choose another with --journal",
            Self::InUse { .. } => "stop the other server, or choose another file with --journal",
            Self::Foreign { .. } | Self::NoDatabase { .. } => {
                "choose another file with --journal; this one is left as it is"
            }
            Self::Empty { .. } => {
                "a server that starts with it makes a journal of it; look for another file if it was one"
            }
            Self::Newer { .. } => "use the newer version of pi, or another file with --journal",
            Self::Full(_) => "make room on the disk; commands that change something are refused until then",
            Self::AtCeiling { .. } => {
                "raise server.journalMaxBytes, or let less be kept with server.historyBytes or server.historyMs, and start the \
                 server again; commands that change something are refused until then"
            }
            Self::Damaged { .. } => DAMAGED,
            Self::Malformed { .. } => {
                "what repeats such a command is refused, or answered that its outcome cannot be read, and does not run again; \
                 `pi journal verify` tells as much"
            }
            Self::TooLarge { .. } => {
                "raise the limit, as with `prlimit --fsize=unlimited --pid PID` or LimitFSIZE= of its unit; commands that change \
                 something are refused until then"
            }
            Self::Gone => GONE,
            Self::Forbidden(_) => {
                "see that its folder is there, that both are yours to write and that the disk is not mounted read-only, or choose \
                 another file with --journal; leave this one where it is, it is whole"
            }
            Self::Busy(_) => {
                "end what else has the file open, like sqlite3 or a backup, and try again; leave the file where it is, it is whole"
            }
            Self::Disk(_) => "see what the system's log says of the disk; leave the file where it is",
            Self::Database(_) => "`pi journal verify` says whether the file is whole; if it is, please report this",
            Self::Ended => "start the server again; the log says why the thread ended",
        }
    }
}

impl From<rusqlite::Error> for JournalError {
    fn from(error: rusqlite::Error) -> Self {
        // The index of the log has no room: no other reason is known why that cannot grow.
        if error.sqlite_error().is_some_and(|error| error.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE) {
            return Self::Full(error.into());
        }
        if error.sqlite_error().is_some_and(|error| error.extended_code == rusqlite::ffi::SQLITE_IOERR_WRITE)
            && let Some(limit) = largest_file()
        {
            return Self::TooLarge { limit, source: error.into() };
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full(error.into()),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged { said: error.to_string() },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
                Self::Forbidden(error.into())
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy(error.into()),
            Some(ErrorCode::SystemIoFailure) => Self::Disk(error.into()),
            Some(_) | None => Self::Database(error.into()),
        }
    }
}

/// How many bytes a file of this process may have, where that is limited: SQLite says of one that is at its limit no more than
/// that it could not be written.
#[cfg(unix)]
fn largest_file() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Fsize).current
}

#[cfg(not(unix))]
fn largest_file() -> Option<u64> {
    None
}

/// Why a row cannot be understood. It is counted and left alone.
#[derive(Debug, thiserror::Error)]
pub(super) enum Malformed {
    #[error("{0:?} is not a word that this version knows")]
    Word(String),
    #[error("a column does not hold what it should: {0}")]
    Column(String),
    #[error("the fingerprint of a command is damaged")]
    Fingerprint,
    #[error("a command ended, and nobody can read how")]
    Outcome,
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn only_a_file_that_is_damaged_is_to_be_moved_away() {
        for (code, expected) in [
            (ffi::SQLITE_CORRUPT, "the journal is damaged"),
            (ffi::SQLITE_NOTADB, "the journal is damaged"),
            (ffi::SQLITE_READONLY, "the journal may not be opened or written"),
            (ffi::SQLITE_READONLY_DIRECTORY, "the journal may not be opened or written"),
            (ffi::SQLITE_PERM, "the journal may not be opened or written"),
            (ffi::SQLITE_CANTOPEN, "the journal may not be opened or written"),
            (ffi::SQLITE_BUSY, "another program holds the journal"),
            (ffi::SQLITE_LOCKED, "another program holds the journal"),
            (ffi::SQLITE_IOERR_FSYNC, "the journal's disk fails"),
            (ffi::SQLITE_IOERR_SHMSIZE, "the journal's disk is full"),
            (ffi::SQLITE_FULL, "the journal's disk is full"),
            (ffi::SQLITE_ERROR, "the journal cannot be read or written"),
        ] {
            let error = JournalError::from(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
            assert!(error.to_string().starts_with(expected), "{code}: {error}");
            let is_damaged = matches!(error, JournalError::Damaged { .. });
            assert_eq!(error.hint() == DAMAGED, is_damaged, "{code}: {}", error.hint());
            assert_eq!(error.hint().contains("away"), is_damaged, "{code}: {}", error.hint());
        }
    }
}
