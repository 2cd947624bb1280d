//! Why a conversation is not on the disk.

use std::{io, sync::Arc};

/// The file cannot be written now. The conversation goes on in memory, and the next step tries again.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Fault {
    #[error("the disk is full")]
    Full,
    #[error("the folder of the session cannot be written to")]
    ReadOnly,
    #[error("the file of the session was deleted")]
    Deleted,
    /// Nothing is written over what is not ours.
    #[error("somebody else wrote to the file of the session: it has {found} bytes instead of {expected}")]
    Changed { expected: u64, found: u64 },
    #[error("the disk failed")]
    Io {
        #[source]
        source: Arc<io::Error>,
    },
}

impl Fault {
    /// What a person can do about it.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Full => "make room; what is missing is written then",
            Self::ReadOnly => "make the folder writable; what is missing is written then",
            Self::Deleted => "export the session if you want to keep it",
            Self::Changed { .. } => "close the other program, and fork or export the session to keep what is missing",
            Self::Io { .. } => "look at the disk, and export the session to another one",
        }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => Self::Full,
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => Self::ReadOnly,
            _ => Self::Io { source: Arc::new(error) },
        }
    }
}
