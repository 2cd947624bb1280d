//! The folder in which a process starts: the one that was granted, whatever its name leads to by now.
//!
//! A path that was checked is a name, and names can be given to others: between the decision and the start a folder on the way
//! may become a link. So the folder is held by a handle, the handle is compared with what was granted, and the process starts
//! in the handle. Only Linux has names for handles that a new process can go to; elsewhere the path is used.

use std::{
    io,
    path::{Path, PathBuf},
};

/// A folder that stays the same until the process runs in it.
#[derive(Debug)]
pub(super) struct Folder {
    place: PathBuf,
    #[cfg(target_os = "linux")]
    _handle: Option<std::os::fd::OwnedFd>,
}

impl Folder {
    /// Holds a folder by its real path; an error if a link leads there by now.
    #[cfg(target_os = "linux")]
    pub(super) fn hold(path: &Path) -> io::Result<Self> {
        use std::os::fd::AsRawFd as _;

        use rustix::fs::{Mode, OFlags, open};

        let handle = open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        // Also in the new process, which has the handle until it becomes the program.
        let place = PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()));
        match place.read_link() {
            Ok(real) if real == path => Ok(Self { place, _handle: Some(handle) }),
            Ok(_) => Err(io::Error::other("the working directory is a link to somewhere else by now")),
            // Nobody has mounted the file system of processes.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self { place: path.to_owned(), _handle: None }),
            Err(error) => Err(error),
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn hold(path: &Path) -> io::Result<Self> {
        Ok(Self { place: path.to_owned() })
    }

    /// Where the process starts. Good as long as the value lives.
    pub(super) fn place(&self) -> &Path {
        &self.place
    }
}
