//! Why a file could not be used, in words for a model.

use std::io;

/// Each message names the path and says what is the matter; all of them leave the file as it was.
#[derive(Debug, thiserror::Error)]
pub enum FileFault {
    #[error("{path} is outside of what was granted")]
    NotGranted { path: String },
    #[error("File not found: {path}")]
    Missing { path: String },
    #[error("Folder not found: {path}")]
    MissingFolder { path: String },
    #[error("{path} is not a folder")]
    NotFolder { path: String },
    #[error("{path}: a folder on the way is a file")]
    FileOnTheWay { path: String },
    #[error(
        "{path} is a link that leads nowhere, or became one while it was being opened; links are not followed here"
    )]
    Link { path: String },
    #[error("{path} is a folder, not a file")]
    IsFolder { path: String },
    #[error("{path} is not a regular file")]
    Special { path: String },
    #[error("Cannot open {path}: {source}")]
    NotOpened { path: String, source: io::Error },
    #[error("{path} was changed by somebody else in the meantime; read it again")]
    Changed { path: String },
    #[error("Cannot read {path}: {source}")]
    NotRead { path: String, source: io::Error },
    #[error("Cannot write {path}: {source}. Its content was not changed")]
    NotWritten { path: String, source: io::Error },
}

impl FileFault {
    pub(crate) fn opening(path: &str, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => Self::Missing { path },
            io::ErrorKind::NotADirectory => Self::FileOnTheWay { path },
            _ if is_link(&source) => Self::Link { path },
            _ => Self::NotOpened { path, source },
        }
    }

    pub(crate) fn entering(path: &str, source: io::Error) -> Self {
        match Self::opening(path.trim_end_matches('/'), source) {
            Self::Missing { path } => Self::MissingFolder { path },
            Self::FileOnTheWay { path } => Self::NotFolder { path },
            other => other,
        }
    }

    pub(crate) fn reading(path: &str, source: io::Error) -> Self {
        Self::NotRead { path: path.to_owned(), source }
    }

    pub(crate) fn writing(path: &str, source: io::Error) -> Self {
        Self::NotWritten { path: path.to_owned(), source }
    }
}

/// Whether a link was met where none is followed.
#[cfg(unix)]
fn is_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

/// `ERROR_STOPPED_ON_SYMLINK` and what our own opening says about a reparse point.
#[cfg(not(unix))]
fn is_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(681)
}
