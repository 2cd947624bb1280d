//! One line of a session file.

use serde::Deserialize;
use serde_json::Value;

use crate::entry::{Entry, Header};

/// A line as it was understood. Writing it again loses nothing, however little was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    Header(Header),
    Entry(Entry),
    /// JSON, but neither a header nor an entry with a place in the tree: a line of a version 1 file, or a foreign one.
    Foreign(Value),
    /// Not JSON; the text is kept.
    Unreadable(String),
}

/// Reads one line, without its line end.
pub fn read_line(text: &str) -> Line {
    match serde_json::from_str::<Value>(text) {
        Ok(value) => Line::from(value),
        Err(_) => Line::Unreadable(text.to_owned()),
    }
}

/// Writes one line, without a line end.
pub fn write_line(line: &Line) -> String {
    let written = match line {
        Line::Header(header) => serde_json::to_string(header),
        Line::Entry(entry) => serde_json::to_string(entry),
        Line::Foreign(value) => serde_json::to_string(value),
        Line::Unreadable(text) => return text.clone(),
    };
    written.expect("our types have string keys and no writer that fails")
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
