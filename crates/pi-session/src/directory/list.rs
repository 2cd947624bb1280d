//! What there is to tell about sessions without opening them.

use std::{
    borrow::Cow,
    io::{self, BufRead, Read},
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use pi_transcript::{Content, Entry, Header, Line, Message, SessionId, read_line};
use serde::Deserialize;
use serde_json::Value;

use super::{Project, title};
use crate::{
    context::millis,
    file::{self, Disk, Listed, each_line},
};

/// How many files are read at once.
const READERS: usize = 8;
/// A header is a few hundred bytes; more is not looked at to find one.
const HEADER_LIMIT: u64 = 64 << 10;

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
    pub message_count: u64,
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
    Ok(read_all(&file::sessions_in(&project.folder())?))
}

/// The sessions of all projects, the last used first.
pub fn list_all(project: &Project) -> io::Result<Vec<Stored>> {
    let mut files = Vec::new();
    for folder in file::folders_in(&project.sessions)? {
        files.extend(file::sessions_in(&folder)?);
    }
    Ok(read_all(&files))
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
pub(super) fn header(path: &Path) -> Option<Header> {
    let disk = Disk::read(path).ok()?;
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

fn read_all(files: &[Listed]) -> Vec<Stored> {
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

fn read(listed: &Listed) -> io::Result<Option<Stored>> {
    let mut facts = Facts::default();
    let disk = Disk::read(&listed.path)?;
    let read = each_line(disk.reader(), |bytes| facts.line(bytes)).and_then(|rest| facts.line(&rest));
    match read {
        Ok(()) => Ok(facts.finish(listed)),
        Err(Refusal::NoSession) => Ok(None),
        Err(Refusal::Io(error)) => Err(error),
    }
}

/// What a file has told so far.
#[derive(Default)]
struct Facts {
    header: Option<Header>,
    name: Option<String>,
    spoken: u64,
    message_count: u64,
    first_message: String,
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

    fn finish(self, listed: &Listed) -> Option<Stored> {
        let header = self.header?;
        let modified = [self.spoken, millis(&header.timestamp), listed.modified].into_iter().find(|time| *time > 0);
        Some(Stored {
            path: listed.path.clone(),
            id: header.id,
            cwd: header.cwd.unwrap_or_default(),
            name: self.name,
            parent_session: header.parent_session,
            created: header.timestamp,
            modified: modified.unwrap_or(0),
            message_count: self.message_count,
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

/// What a message says, also on a line of version 1.
fn first_words(bytes: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    Content::deserialize(&value["message"]["content"]).ok().map(|content| joined(&content))
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
    match content {
        Content::Text(text) => text.clone(),
        Content::Blocks(blocks) => blocks.iter().filter_map(|block| block.as_text()).collect::<Vec<_>>().join(" "),
    }
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
