//! The one place where this crate touches files.
#![expect(clippy::disallowed_methods, reason = "this is the seam")]

use std::{
    fs::{self, Metadata, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use crate::fault::BuildFault;

static DRAFTS: AtomicU64 = AtomicU64::new(0);

pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    fs::read(path)
}

/// The same for whoever builds.
pub(crate) fn read_source(path: &Path) -> Result<Vec<u8>, BuildFault> {
    fs::read(path).map_err(|source| BuildFault::Unreadable { path: path.to_path_buf(), source })
}

/// A file and how it begins: at most a page of it.
#[cfg(target_os = "linux")]
pub(crate) fn open_with_head(path: &Path) -> io::Result<(fs::File, Vec<u8>)> {
    use std::os::unix::fs::FileExt as _;

    let (file, mut head) = (fs::File::open(path)?, vec![0; 4096]);
    let read = file.read_at(&mut head, 0)?;
    head.truncate(read);
    Ok((file, head))
}

pub(crate) fn metadata(path: &Path) -> io::Result<Metadata> {
    fs::metadata(path)
}

pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Removes a folder with all that is in it.
pub(crate) fn remove_folder(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Of a file, or of everything in a folder. Links are not followed.
pub(crate) fn size(path: &Path) -> io::Result<u64> {
    let metadata = fs::symlink_metadata(path)?;
    if !metadata.is_dir() {
        return Ok(metadata.len());
    }
    list(path)?.iter().map(|path| size(path)).sum()
}

pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

/// The entries of a folder by name; none if there is no such folder.
pub(crate) fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut paths = entries.map(|entry| entry.map(|it| it.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// Makes a folder that only its owner looks into.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Writes a file that may be half there if the machine stops.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::write(path, bytes)
}

/// Writes a file that only its owner reads, whole or not at all: readers see the old one or the new one.
pub(crate) fn replace(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let draft = draft(path);
    let written = write_new(&draft, bytes, mode).and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        // The draft is nobody's; what matters is why it could not be put in place.
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Writes a file unless there is one; whoever comes second reads what the first wrote.
pub(crate) fn write_once(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let draft = draft(path);
    write_new(&draft, bytes, mode)?;
    // A link is made whole and never replaces anything.
    let linked = fs::hard_link(&draft, path);
    let _ = fs::remove_file(&draft);
    match linked {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

pub(crate) fn draft(path: &Path) -> PathBuf {
    let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}-{number}.draft", std::process::id()))
}

#[cfg_attr(not(unix), expect(unused_variables, reason = "no modes here"))]
fn write_new(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_data()
}
