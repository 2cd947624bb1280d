//! What can be wrong with a journal.

use std::{error::Error, io, path::PathBuf};

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
    /// What SQLite says of it. It stays so until another file is there.
    #[error("the journal is damaged: {said}")]
    Damaged { said: String },
    /// Its name leads to another file, or to none.
    #[error("the journal's file is gone: somebody deleted, moved or replaced it while the server runs")]
    Gone,
    /// A file that is no database.
    #[error("{} is no journal: it is not even a database", .path.display())]
    NoDatabase { path: PathBuf },
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
            Self::Newer { .. } => "use the newer version of pi, or another file with --journal",
            Self::Full(_) => "make room on the disk; commands that change something are refused until then",
            Self::Damaged { .. } | Self::Database(_) => DAMAGED,
            Self::Gone => GONE,
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
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => Self::Full(error.into()),
            Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase) => {
                Self::Damaged { said: error.to_string() }
            }
            Some(_) | None => Self::Database(error.into()),
        }
    }
}

/// Why a row cannot be understood. It is counted and left alone.
#[derive(Debug, thiserror::Error)]
pub(super) enum Malformed {
    #[error("{0:?} is not a word that this version knows")]
    Word(String),
    #[error("a number is out of range")]
    Number,
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}
