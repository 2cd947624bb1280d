//! Places that somebody checked, and that must be the same when they are used: no folder or file on the way may have become
//! a link to somewhere else since then.
//!
//! What is compared is where an open handle really is, so nothing can change between the comparison and the use.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{OpenError, cannot};

/// Whether a file may be reached through links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    /// The person named the file.
    Followed,
    /// The path was checked, and is absolute and without links: it must still be so.
    Refused,
}

/// A folder that is held while something is done in it. Nobody can put another one in its place meanwhile.
#[derive(Debug)]
pub(crate) struct Held {
    folder: File,
    #[cfg(not(target_os = "linux"))]
    at: PathBuf,
}

impl Held {
    /// Holds a folder; the path is absolute and without links.
    #[expect(clippy::disallowed_methods, reason = "a folder is opened to be held, beside the files of sessions")]
    pub(crate) fn at(folder: &Path) -> Result<Self, OpenError> {
        let failed = |source| cannot(folder, source);
        let file = File::open(folder).map_err(failed)?;
        if !is_exactly(&file, folder).map_err(failed)? {
            return Err(OpenError::Elsewhere { path: folder.to_owned() });
        }
        Ok(Self {
            folder: file,
            #[cfg(not(target_os = "linux"))]
            at: folder.to_owned(),
        })
    }

    /// Another handle of the same folder.
    pub(crate) fn handle(&self) -> io::Result<File> {
        self.folder.try_clone()
    }

    /// The folder by its handle, where the system has names for handles. Good as long as the value lives.
    #[cfg(target_os = "linux")]
    pub(crate) fn path(&self) -> PathBuf {
        use std::os::fd::AsRawFd as _;
        PathBuf::from(format!("/proc/self/fd/{}", self.folder.as_raw_fd()))
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn path(&self) -> PathBuf {
        let Self { folder: _, at } = self;
        at.clone()
    }
}

/// A session's file, for whoever opens files beside it: by its path, or through its folder where that was held when the session
/// was opened.
#[derive(Debug, Clone)]
pub(crate) struct Neighbour {
    path: Arc<Path>,
    held: Option<Arc<Held>>,
}

impl Neighbour {
    pub(crate) fn new(path: Arc<Path>, held: Option<Arc<Held>>) -> Self {
        Self { path, held }
    }

    /// Where the session's file is found. Good as long as the value lives.
    pub(crate) fn place(&self) -> PathBuf {
        match (&self.held, self.path.file_name()) {
            (Some(held), Some(name)) => held.path().join(name),
            (Some(_) | None, _) => self.path.to_path_buf(),
        }
    }

    /// What it is called.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Whether the open file is the one at this path, and no link leads there.
#[cfg(target_os = "linux")]
pub(super) fn is_exactly(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::fd::AsRawFd as _;
    Ok(fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))? == path)
}

/// Whether the open file is the one at this path, and no link leads there.
#[cfg(not(target_os = "linux"))]
pub(super) fn is_exactly(file: &File, path: &Path) -> io::Result<bool> {
    Ok(fs::canonicalize(path)? == path && super::disk::is_at(file, path)?)
}
