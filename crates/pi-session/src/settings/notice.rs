//! What could not be used in settings, and where it stands.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use super::{
    layer::{Layer, Origin},
    place::Place,
};

/// Something in the settings that was passed over. It is for people; nothing depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub origin: Origin,
    pub file: Option<PathBuf>,
    /// Where the key stands in it.
    pub place: Option<Place>,
    pub problem: Problem,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("it is not JSON: line {line}, column {column}: {what}")]
    NotJson { line: usize, column: usize, what: String },
    #[error("it is not a JSON object")]
    NotAnObject,
    #[error("it cannot be read: {why}")]
    Unreadable { why: String },
    #[error("nobody has trusted this project, so its settings are not used")]
    Untrusted,
    #[error("{key} is not known{}", nearest(.meant))]
    UnknownKey { key: String, meant: Option<&'static str> },
    #[error("{key} should be {expected}, not {found}")]
    WrongType { key: String, expected: &'static str, found: String },
    #[error("{key} counts only in your own settings")]
    Personal { key: &'static str },
}

impl Notice {
    /// About something in a layer.
    pub(super) fn within(layer: &Layer, problem: Problem) -> Self {
        let place = problem.key().and_then(|key| layer.place(key));
        Self { origin: layer.origin, file: layer.file.clone(), place, problem }
    }

    /// About a file as a whole; the file in `.pi` is the project's.
    pub(super) fn about(path: &Path, problem: Problem) -> Self {
        let is_project = path.parent().and_then(Path::file_name).is_some_and(|folder| folder == ".pi");
        let origin = if is_project { Origin::Project } else { Origin::User };
        Self { origin, file: Some(path.to_owned()), place: None, problem }
    }
}

impl Problem {
    /// The key that it is about.
    pub(super) fn key(&self) -> Option<&str> {
        match self {
            Self::UnknownKey { key, .. } | Self::WrongType { key, .. } => Some(key),
            Self::Personal { key } => Some(key),
            Self::NotJson { .. } | Self::NotAnObject | Self::Unreadable { .. } | Self::Untrusted => None,
        }
    }

    pub(super) fn of_json(error: &serde_json::Error) -> Self {
        let told = error.to_string();
        // The place is told apart, so it need not be told twice.
        let what = told.split(" at line ").next().unwrap_or_default().to_owned();
        Self::NotJson { line: error.line(), column: error.column(), what }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.place) {
            (Some(file), Some(place)) => write!(f, "{}:{place}: {}", file.display(), self.problem),
            (Some(file), None) => write!(f, "{}: {}", file.display(), self.problem),
            (None, _) => write!(f, "{}: {}", self.origin, self.problem),
        }
    }
}

fn nearest(meant: &Option<&'static str>) -> String {
    meant.map(|key| format!("; did you mean {key}?")).unwrap_or_default()
}
