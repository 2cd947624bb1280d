//! What is wrong or odd about a resource.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

/// Something about a file or folder that somebody may want to correct. Nothing depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub path: PathBuf,
    pub problem: Problem,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("it has {bytes} bytes and is not read; {limit} are the most")]
    TooLarge { bytes: u64, limit: u64 },
    #[error("it is not UTF-8; what could not be read is marked")]
    NotUtf8,
    #[error("it is not a file")]
    NotAFile,
    #[error("there is no such file or folder")]
    Missing,
    #[error("it cannot be read: {why}")]
    Unreadable { why: String },
    #[error("more than {limit} files and folders are below it; the rest is not looked at")]
    TooMany { limit: usize },
    #[error("nobody has trusted this project, so it is not used")]
    Untrusted,
    #[error("it is a link to {}, and nobody has trusted this project", .target.display())]
    LeadsOut { target: PathBuf },
    #[error("it is a link to {}, which is not where the extension that brings it said", .target.display())]
    Strays { target: PathBuf },
    #[error("its head is not YAML: {why}")]
    Head { why: String },
    #[error("it has no description, so it is not used")]
    NoDescription,
    #[error("its description has {characters} characters; {limit} are the most")]
    LongDescription { characters: usize, limit: usize },
    #[error("its name {name:?} should have at most 64 small letters, digits and single hyphens")]
    OddName { name: String },
    #[error("its name {name:?} cannot be used")]
    BadName { name: String },
    #[error("its name {name:?} is not that of its folder")]
    OtherName { name: String },
    #[error("{name:?} is also in {}, which counts", .kept.display())]
    Collision { name: String, kept: PathBuf },
    #[error("{pattern:?} is not a pattern")]
    BadPattern { pattern: String },
}

impl Notice {
    pub(super) fn new(path: &Path, problem: Problem) -> Self {
        Self { path: path.to_owned(), problem }
    }
}

impl Problem {
    pub(crate) fn unreadable(error: &io::Error) -> Self {
        Self::Unreadable { why: error.to_string() }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.problem)
    }
}
