//! One place that settings come from, as it was written.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    notice::{Notice, Problem},
    place::{self, Place},
};

/// A settings file that is larger is somebody's mistake.
const LARGEST: u64 = 1 << 20;

/// Who chose a value. Later ones override earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    BuiltIn,
    User,
    Project,
    Environment,
    Flag,
}

/// The members of one file, or what the environment or the arguments say.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    pub origin: Origin,
    /// Absent for what was not read from a file.
    pub file: Option<PathBuf>,
    pub members: Map<String, Value>,
    /// What was read, to find places in; empty for what was not read from a file.
    text: String,
}

impl Layer {
    /// What the environment or the arguments say, with the names of the file: `[("theme", "dark".into())]`.
    pub fn given<'a>(origin: Origin, members: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        let members = members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Self { origin, file: None, members, text: String::new() }
    }

    /// Reads a file. One that does not exist says nothing.
    pub fn read(origin: Origin, path: &Path) -> Result<Option<Self>, Notice> {
        match read(path) {
            Ok(bytes) => Self::parse(origin, path, &bytes).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Notice::about(path, Problem::Unreadable { why: error.to_string() })),
        }
    }

    /// The members of a file's text. An empty file says nothing.
    pub fn parse(origin: Origin, path: &Path, bytes: &[u8]) -> Result<Self, Notice> {
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let value = if text.trim_ascii().is_empty() {
            Value::Object(Map::new())
        } else {
            serde_json::from_slice(text).map_err(|error| Notice::about(path, Problem::of_json(&error)))?
        };
        match value {
            Value::Object(members) => {
                // What was read as JSON is UTF-8; a file that is empty has no places.
                let text = String::from_utf8_lossy(text).into_owned();
                Ok(Self { origin, file: Some(path.to_owned()), members, text })
            }
            _ => Err(Notice::about(path, Problem::NotAnObject)),
        }
    }

    /// Where `key`, which may have one dot, stands in the file.
    pub fn place(&self, key: &str) -> Option<Place> {
        if self.text.trim().is_empty() {
            return None;
        }
        let steps: Vec<&str> = key.splitn(2, '.').collect();
        place::find(&self.text, &steps)
    }

    /// The keys of `group` that stand in the file more than once, and `group` itself if it does.
    pub fn repeated(&self, group: &str) -> Vec<String> {
        if self.text.trim().is_empty() { Vec::new() } else { place::repeated(&self.text, group) }
    }

    /// The folder that paths in it are relative to.
    pub(super) fn folder(&self) -> PathBuf {
        self.file.as_deref().and_then(Path::parent).unwrap_or(Path::new("")).to_owned()
    }

    /// The value at `key`, which may have one dot; `null` says nothing.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        let value = match key.split_once('.') {
            Some((group, member)) => self.members.get(group)?.get(member),
            None => self.members.get(key),
        };
        value.filter(|value| !value.is_null())
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the place where settings are read")]
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 1 MiB"));
    }
    Ok(bytes)
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BuiltIn => "built in",
            Self::User => "user",
            Self::Project => "project",
            Self::Environment => "environment",
            Self::Flag => "flag",
        })
    }
}
