//! The one place where resources touch the disk.
//!
//! Reads are bounded and of regular files only: a pipe by the name of `AGENTS.md` would keep us waiting for ever.

use std::{
    fs::File,
    io::{self, Read},
    path::{Component, Path, PathBuf},
};

use ignore::WalkBuilder;

use super::notice::{Notice, Problem};

/// A larger file is not read.
pub const LARGEST: u64 = 1 << 20;
/// How deep skills are looked for below a folder.
const DEEPEST: usize = 12;
/// How many files and folders are looked at below one folder.
const MOST: usize = 20_000;

/// The text of a file, and whether it had to be repaired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) text: String,
    pub(super) is_repaired: bool,
}

impl Text {
    /// Reads a file as text; `None` if there is none. What is not UTF-8 is replaced, a byte order mark is dropped.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, Problem> {
        Ok(read(path, LARGEST)?.map(|bytes| Self::of(&bytes)))
    }

    pub(crate) fn of(bytes: &[u8]) -> Self {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let text = String::from_utf8_lossy(bytes);
        Self { is_repaired: matches!(text, std::borrow::Cow::Owned(_)), text: text.into_owned() }
    }
}

/// The bytes of a regular file; `None` if there is none.
#[expect(clippy::disallowed_methods, reason = "this is the place where resources are read")]
pub(crate) fn read(path: &Path, largest: u64) -> Result<Option<Vec<u8>>, Problem> {
    let known = match path.metadata() {
        Ok(known) => known,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(Problem::unreadable(&error)),
    };
    if !known.is_file() {
        return Err(Problem::NotAFile);
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| Problem::unreadable(&error))?;
    file.take(largest + 1).read_to_end(&mut bytes).map_err(|error| Problem::unreadable(&error))?;
    if bytes.len() as u64 > largest {
        return Err(Problem::TooLarge { bytes: known.len(), limit: largest });
    }
    Ok(Some(bytes))
}

/// Reads a resource; what is wrong with it becomes a notice.
pub(super) fn text(path: &Path, notices: &mut Vec<Notice>) -> Option<String> {
    match Text::read(path) {
        Ok(text) => {
            let text = text?;
            if text.is_repaired {
                notices.push(Notice::new(path, Problem::NotUtf8));
            }
            Some(text.text)
        }
        Err(problem) => {
            notices.push(Notice::new(path, problem));
            None
        }
    }
}

/// Where a path leads: without links and `..`. What is not there is judged by its words.
pub(super) fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| {
        path.components().fold(PathBuf::new(), |mut whole, part| {
            match part {
                Component::ParentDir => {
                    whole.pop();
                }
                Component::CurDir => {}
                Component::Prefix(_) | Component::RootDir | Component::Normal(_) => whole.push(part),
            }
            whole
        })
    })
}

pub(super) fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Whether there is nothing of that name; what cannot be looked at may be there.
pub(super) fn is_missing(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| is_absent(&error))
}

pub(super) fn is_folder(path: &Path) -> bool {
    path.is_dir()
}

/// The files in a folder with this ending, in order of their names; none if there is no such folder.
#[expect(clippy::disallowed_methods, reason = "this is the place where folders of resources are listed")]
pub(super) fn list(folder: &Path, ending: &str, notices: &mut Vec<Notice>) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            if !is_absent(&error) {
                notices.push(Notice::new(folder, Problem::unreadable(&error)));
            }
            return files;
        }
    };
    for entry in entries.take(MOST) {
        match entry {
            Ok(entry) => files.push(entry.path()),
            Err(error) => notices.push(Notice::new(folder, Problem::unreadable(&error))),
        }
    }
    let fits = |path: &PathBuf| path.extension().is_some_and(|it| it == ending) && !is_hidden(path) && path.is_file();
    files.retain(fits);
    files.sort();
    files
}

/// Everything below a folder that git would not ignore, in order of names. Links are followed, and those that lead back
/// are told. Ignore files above the folder do not count: a project may well ignore its own `.pi`.
pub(super) fn walk(folder: &Path, notices: &mut Vec<Notice>) -> Vec<PathBuf> {
    if !is_folder(folder) {
        return Vec::new();
    }
    let mut builder = WalkBuilder::new(folder);
    builder.follow_links(true).parents(false).git_global(false).git_exclude(false).require_git(false);
    builder.max_depth(Some(DEEPEST)).sort_by_file_name(std::ffi::OsStr::cmp);
    builder.filter_entry(|entry| entry.file_name() != "node_modules");
    let mut found = Vec::new();
    for (count, entry) in builder.build().enumerate() {
        if count == MOST {
            notices.push(Notice::new(folder, Problem::TooMany { limit: MOST }));
            break;
        }
        match entry {
            Ok(entry) => found.push(entry.into_path()),
            Err(error) => notices.push(Notice::new(folder, Problem::Unreadable { why: error.to_string() })),
        }
    }
    found
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
