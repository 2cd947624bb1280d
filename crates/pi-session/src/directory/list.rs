//! What there is to tell about sessions without opening them.

use std::{
    borrow::Cow,
    io::{self, BufRead, Read},
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use pi_envelope::Span;
use pi_transcript::{Content, Entry, Header, Line, Message, SessionId, read_line};
use serde::Deserialize;
use serde_json::Value;

use super::{
    Project,
    title::{title, without_pipe},
};
use crate::{
    context::millis,
    draft,
    file::{self, Disk, Listed, OpenError, each_line},
};

/// How many files are read at once.
const READERS: usize = 8;
/// A header is a few hundred bytes; more is not looked at to find one.
const HEADER_LIMIT: u64 = 64 << 10;

/// How much of a file is read to list it.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// A file that is not longer is read whole.
    whole: u64,
    /// Of a longer one, what is read of its beginning.
    head: u64,
    /// And of its end.
    tail: u64,
}

/// Most sessions are shorter. Of the others the beginning has what was said first, and the end who spoke last and the name, if it
/// was given lately.
const BOUNDS: Bounds = Bounds { whole: 8 << 20, head: 1 << 20, tail: 3 << 20 };

/// Within so many bytes a line says whose message it holds, as Pi and we write it.
const RESULT_HEAD: usize = 256;

/// A session on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    pub path: PathBuf,
    pub id: SessionId,
    /// Empty in some old files.
    pub cwd: String,
    pub name: Option<String>,
    /// The file that it was forked from.
    pub parent_session: Option<String>,
    /// ISO 8601, as the header says it.
    pub created: String,
    /// When somebody spoke last, in milliseconds since 1970.
    pub modified: u64,
    /// As many as were read: if something was [`skipped`](Self::skipped), there are more.
    pub message_count: u64,
    /// Bytes in the middle of a very long file that were not looked at. A name that was given there is not known either.
    pub skipped: u64,
    /// What the user said first; empty if nothing was said.
    pub first_message: String,
}

impl Stored {
    /// Its name, or what was said first, in one line.
    pub fn title(&self) -> String {
        self.name.clone().unwrap_or_else(|| title(&self.first_message))
    }
}

/// The sessions of a project, the last used first. Files that are no sessions are passed over.
pub fn list(project: &Project) -> io::Result<Vec<Stored>> {
    Ok(read_all(&file::sessions_in(&project.folder())?, read))
}

/// The sessions of all projects, the last used first.
pub fn list_all(project: &Project) -> io::Result<Vec<Stored>> {
    list_in(&file::folders_in(&project.sessions)?)
}

/// The sessions in these folders, the last used first. A folder that is not there has none.
pub fn list_in(folders: &[PathBuf]) -> io::Result<Vec<Stored>> {
    let mut files = Vec::new();
    for folder in folders {
        files.extend(file::sessions_in(folder)?);
    }
    Ok(read_all(&files, read))
}

/// What there is to tell of one file. `None` if it is no session.
pub fn stored(path: &Path) -> io::Result<Option<Stored>> {
    read_within(path, 0, BOUNDS)
}

/// Everything that user and model said, for a search. Not part of the list, because it can be as large as the files.
pub fn search_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    each_line(Disk::read(path)?.reader(), |bytes| {
        let spoken = words(&read_line(&String::from_utf8_lossy(bytes))).filter(|spoken| !spoken.is_empty());
        if let Some(spoken) = spoken {
            let gap = if text.is_empty() { "" } else { " " };
            text.push_str(gap);
            text.push_str(&spoken);
        }
        Ok::<(), io::Error>(())
    })?;
    Ok(text)
}

/// The header of a file, if it is a session.
pub fn header(path: &Path) -> Option<Header> {
    header_of(&Disk::read(path).ok()?)
}

/// The same for a path that was checked, absolute and without links: what it leads to by now is not read.
pub fn header_exactly(path: &Path) -> Result<Option<Header>, OpenError> {
    Ok(header_of(&file::read_exactly(path)?))
}

fn header_of(disk: &Disk) -> Option<Header> {
    let mut first = Vec::new();
    io::BufReader::new(disk.reader().take(HEADER_LIMIT)).read_until(b'\n', &mut first).ok()?;
    match read_line(String::from_utf8_lossy(&first).trim_start_matches('\u{feff}').trim_end()) {
        Line::Header(header) => Some(header.into_value()),
        Line::Entry(_) | Line::Foreign(_) | Line::Unreadable(_) => None,
    }
}

/// The id of a session: from the name of its file if it has the usual form, and otherwise from the header.
pub(super) fn id(path: &Path) -> Option<SessionId> {
    let named = path.file_stem()?.to_str()?.split_once("Z_").map(|(_, id)| id.into());
    named.or_else(|| header(path).map(|header| header.id))
}

/// What there is to tell of these files, the last used first, told by `read`.
pub(super) fn read_all(files: &[Listed], read: impl Fn(&Listed) -> io::Result<Option<Stored>> + Sync) -> Vec<Stored> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        while let Some(listed) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            match read(listed) {
                Ok(stored) => found.extend(stored),
                Err(error) => tracing::warn!(path = %listed.path.display(), %error, "a session cannot be listed"),
            }
        }
        found
    };
    let readers = thread::available_parallelism().map_or(1, usize::from).min(READERS).min(files.len());
    let mut all: Vec<Stored> = if readers < 2 {
        work()
    } else {
        thread::scope(|scope| {
            let threads: Vec<_> = (0..readers).map(|_| scope.spawn(work)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
        })
    };
    all.sort_by(|one, other| other.modified.cmp(&one.modified).then_with(|| other.path.cmp(&one.path)));
    all
}

pub(super) fn read(listed: &Listed) -> io::Result<Option<Stored>> {
    read_within(&listed.path, listed.modified, BOUNDS)
}

fn read_within(path: &Path, modified: u64, bounds: Bounds) -> io::Result<Option<Stored>> {
    let disk = Disk::read(path)?;
    let read = match ends(&disk, bounds) {
        Ok(Some(facts)) => Ok(facts),
        Ok(None) => whole(&disk),
        Err(refusal) => Err(refusal),
    };
    match read {
        Ok(facts) => Ok(facts.finish(path, modified)),
        Err(Refusal::NoSession) => Ok(None),
        Err(Refusal::Io(error)) => Err(error),
    }
}

fn whole(disk: &Disk) -> Result<Facts, Refusal> {
    let mut facts = Facts::default();
    let rest = each_line(disk.reader(), |bytes| facts.line(bytes))?;
    facts.line(&rest)?;
    Ok(facts)
}

/// Both ends of a long file. `None` if it is short, or if they do not tell enough.
fn ends(disk: &Disk, bounds: Bounds) -> Result<Option<Facts>, Refusal> {
    let size = disk.size()?;
    if size <= bounds.whole {
        return Ok(None);
    }
    let mut facts = Facts::default();
    // The last line of the beginning is cut, and so is the first one of the end.
    each_line(disk.reader().take(bounds.head), |bytes| facts.line(bytes))?;
    if facts.header.is_none() || facts.first_message.is_empty() {
        return Ok(None);
    }
    let before = std::mem::take(&mut facts.spoken);
    let mut is_cut = true;
    let rest = each_line(disk.reader_from(size - bounds.tail), |bytes| {
        if std::mem::take(&mut is_cut) { Ok(()) } else { facts.line(bytes) }
    })?;
    facts.line(&rest)?;
    if facts.spoken == 0 {
        return Ok(None);
    }
    facts.spoken = facts.spoken.max(before);
    facts.skipped = size - bounds.head - bounds.tail;
    Ok(Some(facts))
}

/// What a file has told so far.
#[derive(Default)]
struct Facts {
    header: Option<Header>,
    name: Option<String>,
    spoken: u64,
    message_count: u64,
    first_message: String,
    skipped: u64,
}

/// Why a file is read no further.
enum Refusal {
    /// The first line is no header.
    NoSession,
    Io(io::Error),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Facts {
    fn line(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        if self.header.is_none() {
            return match read_line(String::from_utf8_lossy(bytes).trim_start_matches('\u{feff}')) {
                Line::Header(header) => {
                    self.header = Some(header.into_value());
                    Ok(())
                }
                Line::Unreadable(_) => Ok(()),
                Line::Entry(_) | Line::Foreign(_) => Err(Refusal::NoSession),
            };
        }
        if is_result(bytes) {
            self.message_count += 1;
            return Ok(());
        }
        // A line that is cut or no JSON says nothing.
        if let Ok(glance) = serde_json::from_slice::<Glance<'_>>(bytes) {
            match (&*glance.kind, &glance.message) {
                ("message", Some(message)) => self.message(bytes, message, &glance.timestamp),
                ("session_info", _) => {
                    let name = glance.name.as_str().map(str::trim).filter(|name| !name.is_empty());
                    self.name = name.map(str::to_owned);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn message(&mut self, bytes: &[u8], message: &Spoken<'_>, timestamp: &Value) {
        self.message_count += 1;
        let role = message.role.as_deref().unwrap_or_default();
        if !matches!(role, "user" | "assistant") {
            return;
        }
        let time = message.timestamp.as_u64().or_else(|| timestamp.as_str().map(millis));
        self.spoken = self.spoken.max(time.unwrap_or(0));
        if self.first_message.is_empty() && role == "user" {
            self.first_message = first_words(bytes).unwrap_or_default();
        }
    }

    fn finish(self, path: &Path, listed: u64) -> Option<Stored> {
        let header = self.header?;
        let modified = [self.spoken, millis(&header.timestamp), listed].into_iter().find(|time| *time > 0);
        Some(Stored {
            path: path.to_owned(),
            id: header.id,
            cwd: header.cwd.unwrap_or_default(),
            name: self.name,
            parent_session: header.parent_session,
            created: header.timestamp,
            modified: modified.unwrap_or(0),
            message_count: self.message_count,
            skipped: self.skipped,
            first_message: self.first_message,
        })
    }
}

/// Whether a whole line is the result of a tool, by how it begins. They are most of a large file and only counted, so they need
/// not be parsed. Quotes inside a text are escaped, so that no text is taken for it.
fn is_result(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(RESULT_HEAD)];
    head.starts_with(br#"{"type":"message","#)
        && memchr::memmem::find(head, br#""message":{"role":"toolResult""#).is_some()
        && bytes.trim_ascii_end().ends_with(b"}}")
}

/// What a message says, also on a line of version 1. What was piped in stands there only if nothing else does.
fn first_words(bytes: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    let content = Content::deserialize(&value["message"]["content"]).ok()?;
    let spans: Vec<Span> = Vec::deserialize(&value[draft::SPANS]).unwrap_or_default();
    Some(without_pipe(joined(&content), &spans))
}

/// What user or model said on a line.
fn words(line: &Line) -> Option<String> {
    let Entry::Message(entry) = line.entry()? else { return None };
    match &entry.message {
        Message::User(user) => Some(joined(&user.content)),
        Message::Assistant(said) => Some(joined(&Content::Blocks(said.content.clone()))),
        Message::ToolResult(_)
        | Message::BashExecution(_)
        | Message::Custom(_)
        | Message::BranchSummary(_)
        | Message::CompactionSummary(_)
        | Message::System(_)
        | Message::Other(_) => None,
    }
}

fn joined(content: &Content) -> String {
    content.blocks().iter().filter_map(|block| block.as_text()).collect::<Vec<_>>().join(" ")
}

#[derive(Deserialize)]
struct Glance<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    timestamp: Value,
    #[serde(borrow, default)]
    message: Option<Spoken<'a>>,
    #[serde(default)]
    name: Value,
}

#[derive(Deserialize)]
struct Spoken<'a> {
    #[serde(borrow, default)]
    role: Option<Cow<'a, str>>,
    #[serde(default)]
    timestamp: Value,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A session of `turns`, each with `padding` bytes, and the names that it was given after so many turns.
    fn session(turns: usize, padding: usize, names: &[(usize, &str)]) -> String {
        let mut text = format!(
            "{}\n",
            r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#
        );
        for turn in 1..=turns {
            let words = format!("{turn} {}", "x".repeat(padding));
            let message = serde_json::json!({ "role": "user", "content": words, "timestamp": turn });
            let entry = serde_json::json!({ "type": "message", "id": turn.to_string(), "message": message });
            text.push_str(&format!("{entry}\n"));
            for (_, name) in names.iter().filter(|(after, _)| *after == turn) {
                text.push_str(&format!("{}\n", serde_json::json!({ "type": "session_info", "name": name })));
            }
        }
        text
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test makes the file that is listed")]
    fn of_a_long_session_both_ends_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s.jsonl");
        let bounds = Bounds { whole: 2000, head: 500, tail: 1000 };
        let check = |text: &str, expected: (u64, bool, Option<&str>, u64)| {
            std::fs::write(&path, text).expect("a file");
            let stored = read_within(&path, 0, bounds).expect("a file").expect("a session");
            let is_skipped = stored.skipped > 0;
            let told = (stored.modified, is_skipped, stored.name.as_deref(), stored.message_count);
            assert_eq!(told, expected);
            assert!(stored.first_message.starts_with("1 x"), "{}", stored.first_message);
        };
        check(&session(5, 100, &[(3, "n")]), (5, false, Some("n"), 5));
        check(&session(100, 100, &[(1, "old"), (99, "new")]), (100, true, Some("new"), 7));
        check(&session(100, 100, &[(1, "old")]), (100, true, Some("old"), 7));
        // Lines that are longer than what is read of either end are worth the whole file.
        check(&session(3, 3000, &[(1, "n")]), (3, false, Some("n"), 3));
    }

    #[test]
    fn result_of_a_tool_is_known_by_its_beginning() {
        let line = |message: &str| format!(r#"{{"type":"message","id":"1","parentId":null,"message":{message}}}"#);
        for (text, expected) in [
            (line(r#"{"role":"toolResult","toolCallId":"c","content":[]}"#), true),
            (line(r#"{"role":"user","content":"\"message\":{\"role\":\"toolResult\""}"#), false),
            (line(r#"{"role":"toolResult","toolCallId":"c","content":[]"#), false),
            (r#"{"type":"custom","data":{"message":{"role":"toolResult"}}}"#.to_owned(), false),
        ] {
            assert_eq!(is_result(text.as_bytes()), expected, "{text}");
        }
    }
}
