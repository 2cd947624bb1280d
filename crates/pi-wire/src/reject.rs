//! Why a frame is refused before it becomes a command, and what is answered.

use std::borrow::Cow;

use serde_json::Value;

use crate::{
    error::ErrorCode,
    fault::{Fault, FieldFault},
    frame::opening,
    registry::Kind,
    response::{Failure, Response},
};

/// A frame that is refused, with what is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Reject {
    /// The `id` as it was sent, valid or not, where it is short enough to be sent back.
    pub id: Option<Value>,
    /// Its `type`, or [`UNKNOWN`].
    pub command: String,
    pub cause: Cause,
}

/// What an answer calls a command whose type cannot be told.
pub const UNKNOWN: &str = "unknown";

/// Why. Every way in which bytes can fail to be a command is a variant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    #[error("Message size {size} exceeds limit {limit}")]
    Oversize { size: usize, limit: usize },
    #[error("Invalid JSON: empty message")]
    Empty,
    #[error("Invalid JSON: byte order mark before the message")]
    ByteOrderMark,
    #[error("Invalid JSON: byte {offset} is not UTF-8")]
    NotUtf8 { offset: usize },
    #[error("Invalid JSON: {problem} at line {line} column {column}")]
    Malformed { line: usize, column: usize, problem: String },
    #[error("Message must be a JSON object, not {found}")]
    NotAnObject { found: &'static str },
    #[error("Duplicate member '{path}'")]
    DuplicateMember { path: String },
    #[error("Message is nested deeper than {limit} levels")]
    TooDeep { limit: usize },
    #[error("Message holds more than {limit} values")]
    TooManyValues { limit: usize },
    #[error("Validation failed: type: Unknown command type '{}'", shortened(.name))]
    UnknownCommand { name: String, nearest: Option<Kind> },
    #[error("{}", invalid_text(.0))]
    Invalid(Vec<FieldFault>),
}

impl Reject {
    pub(crate) fn new(id: Option<Value>, command: Option<&str>, cause: Cause) -> Self {
        let command = command.filter(|name| name.len() <= ECHOED).unwrap_or(UNKNOWN).to_owned();
        Self { id: id.filter(can_be_echoed), command, cause }
    }

    /// Of a frame that is no command, of which this is the beginning at least.
    pub fn unreadable(beginning: &[u8], cause: Cause) -> Self {
        Self::new(opening::id(beginning), None, cause)
    }

    /// The answer. A refused frame was not admitted: there are no lifecycle events.
    pub fn response(self) -> Response {
        let failure = Failure {
            error: self.cause.to_string(),
            code: self.cause.code().into(),
            field: self.cause.field().map(ToOwned::to_owned),
            hint: self.cause.hint(),
            retry_after_ms: None,
        };
        Response { id: self.id, ..Response::failure(self.command, failure) }
    }
}

impl Cause {
    pub(crate) fn invalid(field: &str, fault: Fault) -> Self {
        Self::Invalid(vec![FieldFault { field: field.to_owned(), fault }])
    }

    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Oversize { .. } => ErrorCode::MessageTooLarge,
            Self::Empty | Self::ByteOrderMark | Self::NotUtf8 { .. } | Self::Malformed { .. } => ErrorCode::InvalidJson,
            Self::NotAnObject { .. } => ErrorCode::NotAnObject,
            Self::DuplicateMember { .. } => ErrorCode::DuplicateMember,
            Self::TooDeep { .. } => ErrorCode::TooDeep,
            Self::TooManyValues { .. } => ErrorCode::TooManyValues,
            Self::UnknownCommand { .. } => ErrorCode::UnknownCommand,
            Self::Invalid(faults) if faults.iter().any(is_path_fault) => ErrorCode::InvalidSessionPath,
            Self::Invalid(_) => ErrorCode::ValidationFailed,
        }
    }

    /// The first field that is to blame.
    pub fn field(&self) -> Option<&str> {
        match self {
            Self::DuplicateMember { path } => Some(path),
            Self::UnknownCommand { .. } => Some("type"),
            Self::Invalid(faults) => ordered(faults).next().map(|fault| fault.field.as_str()),
            Self::Oversize { .. }
            | Self::Empty
            | Self::ByteOrderMark
            | Self::NotUtf8 { .. }
            | Self::Malformed { .. }
            | Self::NotAnObject { .. }
            | Self::TooDeep { .. }
            | Self::TooManyValues { .. } => None,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownCommand { nearest: Some(kind), .. } => Some(format!("did you mean '{}'?", kind.name())),
            Self::UnknownCommand { nearest: None, .. } => {
                Some("`server_ready` lists the features of this server".to_owned())
            }
            Self::Oversize { .. } => Some("send large content as a file and name its path".to_owned()),
            Self::ByteOrderMark => Some("send UTF-8 without a byte order mark".to_owned()),
            Self::NotUtf8 { .. } => Some("send UTF-8".to_owned()),
            Self::Empty | Self::NotAnObject { .. } => Some("send one JSON object per frame".to_owned()),
            Self::DuplicateMember { .. } => Some("name every member once".to_owned()),
            Self::Invalid(faults) => faults.iter().find_map(|fault| fault.fault.hint()).map(ToOwned::to_owned),
            Self::Malformed { .. } => Some("send one JSON object per frame, written by a JSON library".to_owned()),
            Self::TooDeep { .. } | Self::TooManyValues { .. } => {
                Some("send nested content as text, or as a file whose path the command names".to_owned())
            }
        }
    }
}

/// Longest text of a client that an answer repeats, in bytes.
const ECHOED: usize = 1024;

fn can_be_echoed(id: &Value) -> bool {
    match id {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => text.len() <= ECHOED,
        Value::Array(_) | Value::Object(_) => false,
    }
}

/// The beginning of a client's text, for a message.
pub(crate) fn shortened(text: &str) -> Cow<'_, str> {
    const SHOWN: usize = 80;
    match text.char_indices().nth(SHOWN) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
    }
}

fn is_path_fault(fault: &FieldFault) -> bool {
    matches!(fault.fault, Fault::SessionPath(_))
}

/// Path faults first: §22.1 wants an answer about a session's path to *begin* with `sessionPath must be`.
fn ordered(faults: &[FieldFault]) -> impl Iterator<Item = &FieldFault> {
    let (paths, others): (Vec<_>, Vec<_>) = faults.iter().partition(|fault| is_path_fault(fault));
    paths.into_iter().chain(others)
}

fn invalid_text(faults: &[FieldFault]) -> String {
    let texts: Vec<_> = ordered(faults).map(ToString::to_string).collect();
    let prefix = if faults.iter().any(is_path_fault) { "" } else { "Validation failed: " };
    format!("{prefix}{}", texts.join("; "))
}
