//! What becomes which segment: the table, as data.
//!
//! `mapping.json` has a row for every part that a prompt can have, each with a prompt and the messages that it becomes.
//! The tests project every row, and `docs/envelope.md` prints the table from the same file.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    envelope::{Kind, Role},
    prompt::Prompt,
};

/// One row of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The part of the prompt, in words.
    pub part: String,
    /// What it becomes.
    pub kind: Kind,
    pub role: Role,
    /// What else is to be known: what goes into `meta`, and when another row applies.
    pub note: String,
    /// A prompt with such a part.
    pub prompt: Prompt,
    /// The role and the segments of each message that it becomes, without token counts, digests and trust.
    pub shown: Vec<Value>,
}

/// The table, in the order in which it is printed.
pub fn rows() -> Vec<Row> {
    serde_json::from_str(include_str!("mapping.json")).expect("the table is read by a test")
}

/// The table as Markdown.
pub fn markdown() -> String {
    let head = "| part of the prompt | kind | role | note |\n|---|---|---|---|\n".to_owned();
    rows().iter().fold(head, |table, row| {
        let Row { part, kind, role, note, .. } = row;
        table + &format!("| {part} | `{}` | `{}` | {note} |\n", kind.as_str(), role.as_str())
    })
}
