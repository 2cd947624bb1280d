//! What stays of files that were removed: what was decided in them, what was denied, and what the ledger said of itself.
//!
//! These lines stand as they were in a file of their own, which only grows. Of many that are alike the first ones are there, so
//! that nobody pushes them out by doing more of the same or of something else. Every removal is a line of the chain, with the
//! place behind what was removed and the digest of this file, so that a removal by others is found.

use std::{
    collections::HashMap,
    io::{self, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use pi_extproto::log::{Component, LogEntry, LogEvent};
use pi_transcript::json::Digest;

use super::{
    book::{self, HOST},
    chain::Link,
    pen::STOPPED_EVENT,
};

/// The event of the line that records a removal.
pub(super) const REMOVED: &str = "ledger.removed";

/// Lines that are alike: of one extension, one event, one capability and one verdict.
const MOST_ALIKE: u32 = 256;
/// Beyond this nothing is added.
const MOST_BYTES: u64 = 8 << 20;

/// What the line of a removal says.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Removal {
    pub(super) files: usize,
    /// The place behind the last line that was removed.
    pub(super) index: u64,
    pub(super) previous: String,
    /// What the file with the kept lines is from here on.
    pub(super) kept_bytes: u64,
    pub(super) kept: String,
    /// Lines that would have been kept, if there were not so many.
    pub(super) left_out: u64,
}

pub(super) fn path(folder: &Path, session: &str) -> PathBuf {
    folder.join(format!("{session}.kept"))
}

/// The lines that were kept; none if nothing was removed. Looks at the disk.
pub(super) fn read(folder: &Path, session: &str) -> io::Result<Vec<u8>> {
    match book::read(&path(folder, session)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read,
    }
}

/// Keeps what is to stay of files that are about to be removed. May be repeated with the same files: a line is kept once.
pub(super) fn keep(folder: &Path, session: &str, files: &[PathBuf]) -> io::Result<Removal> {
    let mut bytes = read(folder, session)?;
    let mut file = book::private(&path(folder, session))?;
    // What a crash left of a last line is written again.
    bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1));
    let (mut alike, mut known) = (HashMap::new(), None);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if let Some((entry, link)) = entry_of(line) {
            *alike.entry(kind_of(&entry)).or_insert(0) += 1;
            known = Some(link.index);
        }
    }
    let (old, mut left_out) = (bytes.len(), 0);
    let mut behind = Link::first(session);
    for path in files {
        for line in book::read(path)?.split_inclusive(|byte| *byte == b'\n') {
            let Some((entry, link)) = entry_of(line) else { continue };
            behind = Link::after(link.index, line.strip_suffix(b"\n").unwrap_or(line));
            if !stays(&entry) || known.is_some_and(|known| link.index <= known) {
                continue;
            }
            let count: &mut u32 = alike.entry(kind_of(&entry)).or_insert(0);
            if *count >= MOST_ALIKE || (bytes.len() + line.len()) as u64 > MOST_BYTES {
                left_out += 1;
                continue;
            }
            *count += 1;
            bytes.extend_from_slice(line);
        }
    }
    file.set_len(old as u64)?;
    file.seek(SeekFrom::Start(old as u64))?;
    file.write_all(&bytes[old..])?;
    file.sync_data()?;
    Ok(Removal {
        files: files.len(),
        index: behind.index,
        previous: behind.previous.to_string(),
        kept_bytes: bytes.len() as u64,
        kept: Digest::of(&bytes).to_string(),
        left_out,
    })
}

impl Removal {
    /// What an entry says of a removal, if it does.
    pub(super) fn of(entry: &LogEntry) -> Option<Self> {
        let is_ours = entry.event.as_str() == REMOVED && entry.correlation.extension_id == HOST;
        let data = entry.data.as_ref().filter(|_| is_ours)?;
        serde_json::from_value(Value::Object(data.clone())).ok()
    }

    /// The place behind what was removed.
    pub(super) fn behind(&self) -> Option<Link> {
        Some(Link { index: self.index, previous: self.previous.parse().ok()? })
    }

    /// Whether these lines are those that were kept then; there may be more behind them.
    pub(super) fn vouches_for(&self, kept: &[u8]) -> bool {
        let length = usize::try_from(self.kept_bytes).unwrap_or(usize::MAX);
        kept.get(..length).is_some_and(|kept| Digest::of(kept).to_string() == self.kept)
    }
}

fn entry_of(line: &[u8]) -> Option<(LogEntry, Link)> {
    let entry = serde_json::from_slice(line).ok()?;
    let link = Link::of(&entry)?;
    Some((entry, link))
}

/// Whether a line says more than that something was done as it may be.
fn stays(entry: &LogEntry) -> bool {
    // What an extension says itself may be anything.
    if entry.source.as_ref().is_some_and(|source| source.component == Component::Extension) {
        return false;
    }
    match &entry.event {
        LogEvent::PolicyDecision => true,
        LogEvent::HostCallEnd => error_of(entry) == Some("denied"),
        LogEvent::Other(word) => {
            let word = word.as_str();
            word == "log.flood" || word == STOPPED_EVENT || word.starts_with("ledger.")
        }
        LogEvent::ExtensionRegister
        | LogEvent::ExtensionReady
        | LogEvent::CompatWarning
        | LogEvent::HostCallStart
        | LogEvent::ToolCallStart
        | LogEvent::ToolCallEnd
        | LogEvent::EventHookStart
        | LogEvent::EventHookEnd
        | LogEvent::SlashCommandStart
        | LogEvent::SlashCommandEnd => false,
    }
}

fn member<'a>(entry: &'a LogEntry, name: &str) -> Option<&'a Value> {
    entry.data.as_ref()?.get(name)
}

fn error_of(entry: &LogEntry) -> Option<&str> {
    member(entry, "error")?.get("code")?.as_str()
}

fn kind_of(entry: &LogEntry) -> [String; 4] {
    let part = |name: &str| member(entry, name).and_then(Value::as_str).unwrap_or_default().to_owned();
    [entry.correlation.extension_id.clone(), entry.event.as_str().to_owned(), part("capability"), part("verdict")]
}
