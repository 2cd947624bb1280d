//! The chain: every line says its number and the digest of the line before it.
//!
//! It stands inside `data`, because the schema of an entry is not ours to extend. A line that is changed, removed or put
//! elsewhere breaks it, and lines that are cut off at the end are missed by the head that is kept beside the file. It is
//! evidence against accidents and against whoever has only the log; whoever owns the machine can write another.

use serde::Serialize;
use serde_json::Value;

use pi_extproto::log::LogEntry;
use pi_transcript::json::Digest;

/// The member of `data` in which a link stands.
pub const MEMBER: &str = "chain";

/// Where a line stands, as it is written there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Link {
    /// Counts from zero, across files.
    pub index: u64,
    /// The digest of the line before it, without its line feed; of the session's name for the first.
    pub previous: Digest,
}

impl Link {
    /// The place of the first line of a session.
    pub fn first(session: &str) -> Self {
        Self { index: 0, previous: Digest::of(session.as_bytes()) }
    }

    /// The place behind a line.
    pub fn after(index: u64, line: &[u8]) -> Self {
        Self { index: index + 1, previous: Digest::of(line) }
    }

    /// The link of an entry, if it has one.
    pub fn of(entry: &LogEntry) -> Option<Self> {
        let link = entry.data.as_ref()?.get(MEMBER)?;
        let previous = link.get("previous").and_then(Value::as_str)?.parse().ok()?;
        Some(Self { index: link.get("index")?.as_u64()?, previous })
    }
}
