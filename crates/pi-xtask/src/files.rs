//! The tasks' way to files: errors name the path, and lists come sorted so that output is the same on every machine.
#![expect(clippy::disallowed_methods, reason = "this module is the seam to files of this program")]

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

pub(crate) fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// The content, or nothing when there is no such file.
pub(crate) fn read_if_there(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// The content, or nothing when the file is missing or is not text.
pub(crate) fn read_if_text(path: &Path) -> Result<Option<String>> {
    match fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8(bytes).ok()),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::IsADirectory) => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Writes the file and the folders above it.
pub(crate) fn write(path: &Path, content: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}

pub(crate) fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).with_context(|| format!("cannot make the folder {}", path.display()))
}

/// Removes a folder with all that is in it; one that is not there is fine.
pub(crate) fn remove_folder(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove the folder {}", path.display()))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// What is directly in a folder; a folder that is not there is empty.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let listing = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        listing => listing.with_context(|| format!("cannot list {}", folder.display()))?,
    };
    let mut paths = Vec::new();
    for entry in listing {
        paths.push(entry.with_context(|| format!("cannot list {}", folder.display()))?.path());
    }
    paths.sort();
    Ok(paths)
}

/// Every file below a folder.
pub(crate) fn below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in entries(folder)? {
        if path.is_dir() {
            files.extend(below(&path)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}
