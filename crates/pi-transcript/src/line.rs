//! One line of a session file.

mod surrogate;

use serde::Deserialize;
use serde_json::Value;

use crate::entry::{Entry, Header};

/// A line as it was understood. Writing it again loses nothing, however little was understood.
///
/// Two limits, see `docs/adr/0010-numbers-and-losslessness.md`: an integer beyond 64 bits becomes the nearest double, and
/// of a member that is written twice the last one counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    Header(Header),
    Entry(Entry),
    /// An entry whose text holds halves of characters, as JavaScript may write them; `entry` has U+FFFD in their place.
    Repaired {
        entry: Entry,
        text: String,
    },
    /// JSON, but neither a header nor an entry with a place in the tree: a line of a version 1 file, or a foreign one.
    Foreign(Value),
    /// Not JSON; the text is kept.
    Unreadable(String),
}

/// Reads one line, without its line end.
pub fn read_line(text: &str) -> Line {
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        return Line::from(value);
    }
    match read_repaired(text).map(Line::from) {
        Some(Line::Entry(entry)) => Line::Repaired { entry, text: text.to_owned() },
        _ => Line::Unreadable(text.to_owned()),
    }
}

/// Writes one line, without a line end.
pub fn write_line(line: &Line) -> String {
    let written = match line {
        Line::Header(header) => serde_json::to_string(header),
        Line::Entry(entry) => serde_json::to_string(entry),
        Line::Foreign(value) => serde_json::to_string(value),
        Line::Repaired { text, .. } | Line::Unreadable(text) => return text.clone(),
    };
    written.expect("every key is a string, and writing to memory does not fail")
}

/// The JSON of a text that is JSON but for halves of characters.
pub(crate) fn read_repaired(text: &str) -> Option<Value> {
    serde_json::from_str(&surrogate::repair(text)?).ok()
}

impl Line {
    /// The entry on this line, if it is one.
    pub fn entry(&self) -> Option<&Entry> {
        match self {
            Self::Entry(entry) | Self::Repaired { entry, .. } => Some(entry),
            Self::Header(_) | Self::Foreign(_) | Self::Unreadable(_) => None,
        }
    }
}

impl From<Value> for Line {
    fn from(value: Value) -> Self {
        let understood = match value.get("type").and_then(Value::as_str) {
            Some("session") => Header::deserialize(&value).map(Self::Header),
            _ => Entry::deserialize(&value).map(Self::Entry),
        };
        understood.unwrap_or(Self::Foreign(value))
    }
}
