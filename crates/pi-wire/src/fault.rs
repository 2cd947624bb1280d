//! What can be wrong with one field of a command.

use std::fmt;

/// A field of a command that is not as it must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldFault {
    /// The path of the field: `message`, `response.value`, `dependsOn[2]`; empty for [`Fault::More`].
    pub field: String,
    pub fault: Fault,
}

impl fmt::Display for FieldFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The document wants the texts about a session's path bare: they name their field themselves.
        if !matches!(self.fault, Fault::SessionPath(_) | Fault::More) {
            write!(f, "{}: ", self.field)?;
        }
        self.fault.fmt(f)
    }
}

/// What is wrong; the text follows the field's name in an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("Command must have a string 'type' field")]
    NoType,
    #[error("Session commands must have a non-empty string 'sessionId'")]
    NoSession,
    #[error("Required {0}")]
    Required(Wanted),
    /// It is there and says nothing. The document has one text for both.
    #[error("Required {0}")]
    Empty(Wanted),
    #[error("Must be {article} {0} if provided", article = .0.article())]
    Mistyped(Wanted),
    #[error("Too long (max {max} chars)")]
    TooLong { max: usize },
    #[error("Too many dependencies (max {max})")]
    TooManyDependencies { max: usize },
    #[error("Too many items (max {max})")]
    TooManyItems { max: usize },
    #[error("Cannot use reserved prefix '{prefix}'")]
    ReservedPrefix { prefix: &'static str },
    #[error("Required when dependsOn is provided")]
    IdRequired,
    #[error("Must be a non-negative integer")]
    NotWhole,
    #[error("Must be an integer from {least} to {most}")]
    OutOfRange { least: u64, most: u64 },
    #[error("Must not be before {earlier}")]
    BeforeStart { earlier: &'static str },
    #[error("Only supported for session-targeted commands")]
    VersionNotSupported,
    #[error("Must be one of {}", .allowed.join(", "))]
    NotOneOf { allowed: Vec<&'static str> },
    #[error("Must not contain control characters")]
    ControlCharacters,
    #[error("Must not contain NUL")]
    Nul,
    #[error("Session ID must contain only alphanumeric characters, underscores, dashes, and dots")]
    SessionIdCharacters,
    #[error("Must contain only alphanumeric characters and : _ - .")]
    RequestIdCharacters,
    #[error("CWD {0}")]
    Cwd(PathFault),
    #[error("sessionPath {0}")]
    SessionPath(PathFault),
    #[error("Path {0}")]
    Path(PathFault),
    #[error("Must be base64 data")]
    NotBase64,
    #[error("Must be an image type such as image/png")]
    NotAnImageType,
    #[error("Required with '{with}'")]
    RequiredWith { with: &'static str },
    #[error("Required without '{without}'")]
    RequiredWithout { without: &'static str },
    #[error("Cannot be combined with '{with}'")]
    NotWith { with: &'static str },
    #[error("Must be the name of the file in '{path}'")]
    NotTheFileName { path: &'static str },
    /// The last of a long report: what else is wrong is not named.
    #[error("and more")]
    More,
}

/// The JSON type that a field wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    String,
    NonEmptyString,
    Boolean,
    Integer,
    Array,
    Object,
}

impl Wanted {
    /// The word after "Required": that a required string is not empty goes without saying.
    pub(crate) fn plain(self) -> Self {
        match self {
            Self::NonEmptyString => Self::String,
            other => other,
        }
    }

    fn article(self) -> &'static str {
        match self {
            Self::Integer | Self::Array | Self::Object => "an",
            Self::String | Self::NonEmptyString | Self::Boolean => "a",
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::String => "string",
            Self::NonEmptyString => "non-empty string",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Array => "array",
            Self::Object => "object",
        })
    }
}

/// What is wrong with the text of a path; whether it leads anywhere is for the server to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathFault {
    #[error("must be an absolute path")]
    NotAbsolute,
    #[error("must be free of '..' components")]
    Parent,
    #[error("must be free of NUL")]
    Nul,
    #[error("must be written out, without a leading '~'")]
    Tilde,
    #[error("must be at most {max} characters long", max = crate::limits::PATH)]
    TooLong,
    #[error("must be a .jsonl or .json session file")]
    Extension,
}

impl Fault {
    /// What to do about it, where the text does not say so.
    pub(crate) const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoSession => Some("create_session makes a session, list_sessions shows those there are"),
            Self::VersionNotSupported => Some("leave ifSessionVersion out of server commands"),
            Self::SessionPath(_) => Some("list_stored_sessions shows the files that can be loaded"),
            Self::NotBase64 => Some("send the bare data, without a data: prefix, padded with ="),
            Self::Empty(_) => Some("it is there, but it is empty: write something"),
            Self::Cwd(PathFault::NotAbsolute) | Self::Path(PathFault::NotAbsolute) => {
                Some("write the whole path on the server's machine, from the root of its file system on")
            }
            Self::Cwd(PathFault::Tilde) | Self::Path(PathFault::Tilde) => {
                Some("nobody replaces ~ here: write the path of the home folder on the server's machine")
            }
            Self::Cwd(PathFault::Parent) | Self::Path(PathFault::Parent) => Some("write the path without going up"),
            Self::SessionIdCharacters => Some(
                "use A-Z a-z 0-9 _ - . such as review-1, or leave it out in create_session: the server chooses one",
            ),
            Self::NotOneOf { .. } => Some("write one of these words as it stands here"),
            Self::RequiredWith { .. } => Some("send both as an earlier event or answer has them, or leave both out"),
            Self::OutOfRange { .. } => {
                Some("choose a number from this range, or leave the field out for the usual one")
            }
            Self::NoType => {
                Some("say which command it is: {\"type\": \"health_check\"} asks whether the server is well")
            }
            Self::Mistyped(_) => Some("send a value of this JSON type, or leave the field out"),
            Self::NotWhole => Some("send a number such as 0 or 7, without quotes, sign or fraction"),
            Self::ReservedPrefix { .. } => Some("the server makes such ids itself: begin yours in another way"),
            Self::IdRequired => Some("give the command an id of its own, which no other command of this client has"),
            Self::Required(_)
            | Self::TooLong { .. }
            | Self::TooManyDependencies { .. }
            | Self::TooManyItems { .. }
            | Self::BeforeStart { .. }
            | Self::ControlCharacters
            | Self::Nul
            | Self::RequestIdCharacters
            | Self::Cwd(_)
            | Self::Path(_)
            | Self::NotAnImageType
            | Self::RequiredWithout { .. }
            | Self::NotWith { .. }
            | Self::NotTheFileName { .. }
            | Self::More => None,
        }
    }
}
