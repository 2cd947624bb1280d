//! Files that somebody may name who is not at this machine: those below the folder of the session, and of these none that
//! belong to the agent itself.
//!
//! Everything is opened through the handle of the folder: what is compared is where an open file really is, so that nothing
//! that is put in its place meanwhile is read.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use cap_std::fs::{Dir, OpenOptions};

use crate::{
    file::Held,
    resources::{Places, Problem},
};

/// What was found under a name.
pub(super) enum Found {
    /// There is no file of this name. Whether there is one outside is never looked at.
    Nothing,
    /// The name leads out, or to what is the agent's own.
    Outside,
    File {
        /// In the folder, as it was named.
        path: PathBuf,
        bytes: Result<Vec<u8>, Problem>,
    },
}

/// Reads a file below the folder of the session, which is absolute and without links. A link may lead to another place in
/// there.
pub(super) fn read(places: &Places, path: &Path, largest: u64) -> Found {
    let Ok(below) = path.strip_prefix(&places.directory) else { return Found::Outside };
    // A folder that became a link to another one holds nothing that a client may name.
    let Ok(held) = Held::at(&places.directory) else { return Found::Nothing };
    let file = match open(&held, below) {
        Ok(Some(file)) => file,
        Ok(None) => return Found::Nothing,
        Err(error) if is_outside(&error) => return Found::Outside,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Found::Nothing;
        }
        Err(error) => return Found::File { path: path.to_owned(), bytes: Err(Problem::unreadable(&error)) },
    };
    if is_own(&file, places, path) {
        return Found::Outside;
    }
    Found::File { path: path.to_owned(), bytes: bytes(file, largest) }
}

/// A regular file, or nothing. A pipe that takes its place meanwhile is not waited for.
fn open(held: &Held, below: &Path) -> io::Result<Option<File>> {
    let folder = Dir::from_std_file(held.handle()?);
    if !folder.metadata(below)?.is_file() {
        return Ok(None);
    }
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt as _;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    let file = folder.open_with(below, &options)?.into_std();
    Ok(file.metadata()?.is_file().then_some(file))
}

/// What is said of a path that leads out of a folder. It has no number, as what the system refuses has.
fn is_outside(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

fn bytes(file: File, largest: u64) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    let known = file.metadata().map_err(|error| Problem::unreadable(&error))?.len();
    file.take(largest + 1).read_to_end(&mut bytes).map_err(|error| Problem::unreadable(&error))?;
    if bytes.len() as u64 > largest {
        return Err(Problem::TooLarge { bytes: known, limit: largest });
    }
    Ok(bytes)
}

/// Whether it lies in the agent's directory: keys, the server's token and the conversations of other projects are there, and
/// a session may work in a folder around it.
fn is_own(file: &File, places: &Places, named: &Path) -> bool {
    let Some(agent) = &places.agent else { return false };
    let Some(real) = real(file, named) else { return true };
    let is_in = |folder: &Path| real.starts_with(folder);
    is_in(agent) || agent.canonicalize().is_ok_and(|agent| is_in(&agent))
}

/// Where an open file really is.
#[cfg(target_os = "linux")]
fn real(file: &File, _: &Path) -> Option<PathBuf> {
    use std::os::fd::AsRawFd as _;
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
}

#[cfg(not(target_os = "linux"))]
fn real(_: &File, named: &Path) -> Option<PathBuf> {
    named.canonicalize().ok()
}
