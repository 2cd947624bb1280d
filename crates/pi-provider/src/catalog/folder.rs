//! The one place where files of manifests are read.

use std::{
    fs::DirEntry,
    io::{self, ErrorKind},
    path::Path,
};

use super::{Origin, Source, SourceFile};
use crate::{credential::Trust, manifest::load::MAX_BYTES};

/// More files than this in one folder are a mistake, such as a home folder.
const MAX_FILES: usize = 500;
/// Folders in which sets of manifests keep their parts.
const PARTS: [&str; 3] = ["providers", "contracts", "models"];
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// Why a file, or a folder of files, was not read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error("it is UTF-16; save it as UTF-8")]
    Utf16,
    #[error("it is not text; save it as UTF-8")]
    NotUtf8,
    #[error("it has {bytes} bytes, and at most {most} are read")]
    TooLarge { bytes: u64, most: usize },
    #[error("there are {files} files in it, and at most {most} are read")]
    TooMany { files: usize, most: usize },
}

/// What it means that a folder does not exist.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Absence {
    Usual,
    Fault,
}

impl Source {
    /// The files of a folder, and of `providers`, `contracts` and `models` in it, by name. A folder that does not exist
    /// is empty, unless it was asked for on the command line.
    pub fn folder(origin: Origin, path: &Path, trust: Trust) -> Self {
        let mut files = Vec::new();
        let absence = match origin {
            Origin::CommandLine => Absence::Fault,
            Origin::BuiltIn | Origin::User | Origin::Project | Origin::PiModels => Absence::Usual,
        };
        list(path, absence, &mut files);
        for part in PARTS {
            list(&path.join(part), Absence::Usual, &mut files);
        }
        Self { origin, trust, files }
    }

    /// One file of manifests.
    pub fn file(origin: Origin, path: &Path, trust: Trust) -> Self {
        Self { origin, trust, files: vec![file(path, read(path))] }
    }

    /// Pi's `models.json`; one that does not exist is empty.
    pub fn pi_models(path: &Path) -> Self {
        let mut files = Vec::new();
        match read(path) {
            Err(Unreadable::Io(error)) if error.kind() == ErrorKind::NotFound => {}
            text => files.push(file(path, text)),
        }
        Self { origin: Origin::PiModels, trust: Trust::Trusted, files }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the place where folders of manifests are read")]
fn list(folder: &Path, absence: Absence, files: &mut Vec<SourceFile>) {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound && absence == Absence::Usual => return,
        Err(error) => return files.push(file(folder, Err(error.into()))),
    };
    let mut names: Vec<_> = entries.filter_map(Result::ok).filter(is_document).map(|entry| entry.path()).collect();
    names.sort();
    if names.len() > MAX_FILES {
        return files.push(file(folder, Err(Unreadable::TooMany { files: names.len(), most: MAX_FILES })));
    }
    files.extend(names.iter().map(|path| file(path, read(path))));
}

fn is_document(entry: &DirEntry) -> bool {
    let path = entry.path();
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let has_ending = ENDINGS.iter().any(|known| known.eq_ignore_ascii_case(ending));
    let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
    // A link that leads nowhere was to be one, which reading it tells.
    let is_link = || entry.file_type().is_ok_and(|kind| kind.is_symlink()) && !path.exists();
    has_ending && !is_hidden && (path.is_file() || is_link())
}

#[expect(clippy::disallowed_methods, reason = "this is the place where manifests are read")]
fn read(path: &Path) -> Result<String, Unreadable> {
    let bytes = path.metadata()?.len();
    if bytes > MAX_BYTES as u64 {
        return Err(Unreadable::TooLarge { bytes, most: MAX_BYTES });
    }
    let bytes = std::fs::read(path)?;
    if is_utf16(&bytes) {
        return Err(Unreadable::Utf16);
    }
    String::from_utf8(bytes).map_err(|_| Unreadable::NotUtf8)
}

/// Whether bytes are text as some editors save it: with the mark of UTF-16, or with a zero beside every letter.
pub fn is_utf16(bytes: &[u8]) -> bool {
    match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => true,
        [a, b, c, d, ..] => matches!((a, b, c, d), (1.., 0, 1.., 0) | (0, 1.., 0, 1..)),
        [..] => false,
    }
}

fn file(path: &Path, text: Result<String, Unreadable>) -> SourceFile {
    SourceFile { path: path.display().to_string(), text }
}
