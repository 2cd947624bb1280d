//! One line of a session file.

mod exact;
mod number;
mod read;
mod surrogate;

use serde::Deserialize;
use serde_json::Value;

pub use self::exact::Exact;
use crate::entry::{Entry, Header};

/// A line as it was understood. Writing it again loses nothing, however little was understood.
///
/// What a value cannot hold stays in the text beside it, see [`Exact`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    Header(Exact<Header>),
    Entry(Exact<Entry>),
    /// JSON, but neither a header nor an entry with a place in the tree: a line of a version 1 file, or a foreign one.
    Foreign(Exact<Value>),
    /// Not JSON; the text is kept.
    Unreadable(String),
}

/// Reads one line, without its line end.
pub fn read_line(text: &str) -> Line {
    match read::read(text) {
        Ok((value, true)) => Line::from(value),
        Ok((value, false)) => Line::from(value).with_text(text),
        Err(_) => match read_repaired(text) {
            Some(value) => Line::from(value).with_text(text),
            None => Line::Unreadable(text.to_owned()),
        },
    }
}

/// Writes one line, without a line end.
pub fn write_line(line: &Line) -> String {
    match line {
        Line::Header(header) => header.write(),
        Line::Entry(entry) => entry.write(),
        Line::Foreign(value) => value.write(),
        Line::Unreadable(text) => text.clone(),
    }
}

/// The JSON of a text that is JSON but for halves of characters, and numbers too large for a double.
fn read_repaired(text: &str) -> Option<Value> {
    let characters = surrogate::repair(text);
    let numbers = number::repair(characters.as_deref().unwrap_or(text));
    serde_json::from_str(&numbers.or(characters)?).ok()
}

impl Line {
    /// The entry on this line, if it is one.
    pub fn entry(&self) -> Option<&Entry> {
        match self {
            Self::Entry(entry) => Some(entry),
            Self::Header(_) | Self::Foreign(_) | Self::Unreadable(_) => None,
        }
    }

    /// This line, which is to be written as `text`.
    fn with_text(self, text: &str) -> Self {
        match self {
            Self::Header(header) => Self::Header(header.with_text(text)),
            Self::Entry(entry) => Self::Entry(entry.with_text(text)),
            Self::Foreign(value) => Self::Foreign(value.with_text(text)),
            Self::Unreadable(_) => Self::Unreadable(text.to_owned()),
        }
    }
}

impl From<Value> for Line {
    fn from(value: Value) -> Self {
        let understood = match value.get("type").and_then(Value::as_str) {
            Some("session") => Header::deserialize(&value).map(|header| Self::Header(header.into())),
            _ => Entry::deserialize(&value).map(|entry| Self::Entry(entry.into())),
        };
        understood.unwrap_or_else(|_| Self::Foreign(value.into()))
    }
}
