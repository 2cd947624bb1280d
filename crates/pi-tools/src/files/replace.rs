//! Replaces the content of a file as a whole, or not at all.
//!
//! The new content goes into a file beside the old one, reaches the disk, and takes the name. A crash, a full disk or a
//! cancelled call leaves the old content. The file keeps its permissions, and its owner where we may give files away; its
//! other hard links keep the old content.

use std::{
    ffi::OsStr,
    io::{self, Write as _},
};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, File, Metadata, OpenOptions};
use tokio_util::sync::CancellationToken;

use super::{FileFault, Spot};
use crate::tool::Failure;

/// A file beside the one that it will replace; removed unless it took its place.
struct Draft<'a> {
    dir: &'a Dir,
    name: String,
}

/// Whether the new content took the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Put {
    Done,
    GivenUp,
}

impl Spot {
    /// Replaces the content, or makes the file. Gives up when `cancel` is set before the new content takes the name.
    pub(crate) fn replace(&self, content: &[u8], cancel: &CancellationToken) -> Result<(), Failure> {
        match self.put(content, cancel)? {
            Put::Done => Ok(()),
            Put::GivenUp => Err(Failure::aborted()),
        }
    }

    /// The same, for whoever wants to know how it failed.
    pub(super) fn put(&self, content: &[u8], cancel: &CancellationToken) -> Result<Put, FileFault> {
        self.put_with(content, None, cancel)
    }

    /// The same with the permission bits that a file is made with; one that is there keeps its own.
    pub(super) fn put_with(
        &self,
        content: &[u8],
        mode: Option<u32>,
        cancel: &CancellationToken,
    ) -> Result<Put, FileFault> {
        let old = self.replaceable()?;
        let failed = |error| FileFault::writing(&self.shown, error);
        let dir = &self.folder.dir;
        let (mut file, draft) = Draft::create(dir, old.as_ref(), mode).map_err(failed)?;
        file.write_all(content).map_err(failed)?;
        if let Some(old) = &old {
            adopt(&file, old).map_err(failed)?;
        }
        file.sync_all().map_err(failed)?;
        if cancel.is_cancelled() {
            return Ok(Put::GivenUp);
        }
        draft.take_place_of(&self.name).map_err(failed)?;
        // The name is on the disk when the folder is. Where folders cannot be synced the system does it in its own time.
        if let Err(error) = sync_folder(dir) {
            tracing::debug!(%error, path = self.shown, "folder was not synced");
        }
        Ok(Put::Done)
    }

    /// What is there now, if it is something whose content can be replaced.
    fn replaceable(&self) -> Result<Option<Metadata>, FileFault> {
        let path = self.shown.clone();
        match self.folder.dir.symlink_metadata(&self.name) {
            Ok(old) if old.is_symlink() => Err(FileFault::Link { path }),
            Ok(old) if old.is_dir() => Err(FileFault::IsFolder { path }),
            Ok(old) if !old.is_file() => Err(FileFault::Special { path }),
            Ok(old) => Ok(Some(old)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FileFault::opening(&self.shown, error)),
        }
    }
}

impl<'a> Draft<'a> {
    fn create(dir: &'a Dir, old: Option<&Metadata>, mode: Option<u32>) -> io::Result<(File, Self)> {
        let name = format!(".pi-{:016x}.tmp", fastrand::u64(..));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).follow(FollowSymlinks::No);
        match (old, mode) {
            // Nobody may read it before it has the permissions of the old one.
            (Some(_), _) => begin_with(&mut options, 0o600),
            (None, Some(mode)) => begin_with(&mut options, mode),
            (None, None) => {}
        }
        let file = dir.open_with(&name, &options)?;
        Ok((file, Self { dir, name }))
    }

    fn take_place_of(&self, name: &OsStr) -> io::Result<()> {
        self.dir.rename(&self.name, self.dir, name)
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        // After it took its place there is nothing left under this name.
        if let Err(error) = self.dir.remove_file(&self.name)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, name = self.name, "draft of a file was left behind");
        }
    }
}

/// The permission bits of the file from its first moment on.
#[cfg(unix)]
pub(super) fn begin_with(options: &mut OpenOptions, mode: u32) {
    use cap_std::fs::OpenOptionsExt;
    options.mode(mode);
}

#[cfg(not(unix))]
pub(super) fn begin_with(_: &mut OpenOptions, _: u32) {}

/// Gives the new file the owner and the permissions of the old one.
#[cfg(unix)]
fn adopt(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    use cap_std::fs::{MetadataExt, Permissions};
    use rustix::fs::{Gid, Uid, fchown};

    let new = file.metadata()?;
    let owner = (new.uid() != old.uid()).then(|| Uid::from_raw(old.uid()));
    let group = (new.gid() != old.gid()).then(|| Gid::from_raw(old.gid()));
    if owner.is_some() || group.is_some() {
        // Only a superuser may give files away; the file is ours then.
        if let Err(error) = fchown(file, owner, group) {
            tracing::debug!(%error, "owner of the file was not kept");
        }
    }
    // As when anybody else writes into a file, it does not keep the right to run as its owner.
    file.set_permissions(Permissions::from_std(std::fs::Permissions::from_mode(old.mode() & 0o777)))
}

#[cfg(not(unix))]
fn adopt(file: &File, old: &Metadata) -> io::Result<()> {
    file.set_permissions(old.permissions())
}

#[cfg(unix)]
fn sync_folder(dir: &Dir) -> io::Result<()> {
    rustix::fs::fsync(dir).map_err(io::Error::from)
}

#[cfg(not(unix))]
fn sync_folder(_: &Dir) -> io::Result<()> {
    Ok(())
}
