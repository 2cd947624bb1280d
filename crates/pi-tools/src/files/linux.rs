//! The whole way in one call, which nobody can change half way.

use std::{fs::File, io, path::Path};

use cap_std::fs::Dir;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};

#[derive(Clone, Copy)]
pub(super) enum Kind {
    File,
    Folder,
}

/// Nothing if the kernel does not know the call.
pub(super) fn open(dir: &Dir, below: &Path, kind: Kind) -> Option<io::Result<File>> {
    let flags = match kind {
        Kind::File => OFlags::RDONLY | OFlags::NONBLOCK,
        Kind::Folder => OFlags::RDONLY | OFlags::DIRECTORY,
    };
    let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(dir, below, flags | OFlags::CLOEXEC, Mode::empty(), resolve) {
        Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM | rustix::io::Errno::AGAIN) => None,
        opened => Some(opened.map(File::from).map_err(io::Error::from)),
    }
}
