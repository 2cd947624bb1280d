//! A session as a document: a page, Markdown, or the envelopes of its requests.
//!
//! [`read`] takes the branch that a file stands at, without locking it, into a [`Story`]; [`html()`] and [`markdown()`] write
//! it down. Nothing in a session is trusted: whatever a message, a tool or a file name says is shown and never obeyed.

mod form;
mod html;
mod markdown;
mod prose;
mod results;

use std::{collections::HashMap, io, ops::ControlFlow, path::Path};

use pi_envelope::{Album, Envelope};
use pi_transcript::{
    Entry, EntryId, Header, Line, Message, Spent, Usage, message::ToolResultMessage, read_line, write_line,
};

pub use self::{
    form::{Form, UnknownEnding},
    html::{PAGE_HEAD, html, is_page},
    markdown::markdown,
};
use crate::{
    directory::{self, without_pipe},
    draft,
    file::{self, Disk, Notice, OpenError, ReadError, each_line},
    listing::Whole,
    sidecar::{self, Index, Listed, SidecarError},
};

/// One branch of a session, from its beginning to its leaf.
#[derive(Debug)]
pub struct Story {
    pub header: Header,
    pub name: Option<String>,
    pub entries: Vec<Entry>,
    /// What all answers on the branch consumed.
    pub usage: Usage,
    /// What a person should know about the file.
    pub notices: Vec<Notice>,
}

#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("cannot read the session")]
    Read(#[from] ReadError),
    #[error(transparent)]
    Envelopes(#[from] SidecarError),
    #[error("no envelope is kept with this session")]
    NoEnvelopes,
    #[error("there is no request {request:?}")]
    NoRequest { request: String },
}

/// Reads the branch at which a session stands. Somebody else may be writing to the file.
pub fn read(path: &Path) -> Result<Story, ExportError> {
    told(file::view(path, fastrand::Rng::with_seed(0))?)
}

/// The same for a path that somebody checked, absolute and without links: what it leads to by now is not read.
pub fn read_exactly(path: &Path) -> Result<Story, ExportError> {
    told(file::view_exactly(path, fastrand::Rng::with_seed(0))?)
}

fn told(viewed: file::Viewed) -> Result<Story, ExportError> {
    let file::Viewed { header, tree, reader, notices } = viewed;
    let mut entries = Vec::new();
    for place in tree.path(tree.leaf()) {
        entries.push(match (tree.held(place), tree.span(place)) {
            (Some(kept), _) => kept.to_entry(),
            (None, Some(span)) => reader.entry(span)?,
            (None, None) => unreachable!("what is not held is in the file"),
        });
    }
    Ok(Story::of(header, tree.name().map(str::to_owned), entries, notices))
}

/// The branch at which a session stands that may be nowhere but in memory.
pub fn story(whole: &Whole) -> Story {
    let by_id: HashMap<&EntryId, &Entry> = whole.entries.iter().map(|entry| (entry.id(), entry)).collect();
    let mut branch = Vec::new();
    let mut next = whole.leaf.as_ref().and_then(|leaf| by_id.get(leaf));
    // A file that was made by hand may lead in a circle.
    while let Some(entry) = next.filter(|_| branch.len() < whole.entries.len()) {
        branch.push(Entry::clone(entry));
        next = entry.parent_id().and_then(|parent| by_id.get(parent));
    }
    branch.reverse();
    Story::of(whole.header.clone(), whole.name.clone(), branch, Vec::new())
}

/// A session as its file would have it.
pub fn session_file(whole: &Whole) -> String {
    let header = std::iter::once(Line::Header(whole.header.clone().into()));
    let lines = header.chain(whole.entries.iter().map(|entry| Line::Entry(entry.clone().into())));
    lines.map(|line| write_line(&line) + "\n").collect()
}

/// What all answers in a session consumed, on every branch, and how many calls of a model that were.
pub fn calls_of(whole: &Whole) -> (Usage, u64) {
    let (mut usage, mut calls) = (Usage::default(), 0);
    for one in whole.entries.iter().filter_map(consumed) {
        usage.add(one);
        calls += 1;
    }
    (usage, calls)
}

/// What all answers in a file consumed, on every branch. Reads the whole file.
pub fn spent(path: &Path) -> io::Result<Usage> {
    Ok(calls(path)?.0)
}

/// The same, and how many calls of a model that were.
pub fn calls(path: &Path) -> io::Result<(Usage, u64)> {
    let (mut usage, mut calls) = (Usage::default(), 0);
    each_line(Disk::read(path)?.reader(), |bytes| {
        // Most lines of most files are results of tools, and say nothing about it.
        if memchr::memmem::find(bytes, b"\"usage\"").is_some()
            && let Some(entry) = read_line(&String::from_utf8_lossy(bytes)).entry()
            && let Some(one) = consumed(entry)
        {
            usage.add(one);
            calls += 1;
        }
        Ok::<(), io::Error>(())
    })?;
    Ok((usage, calls))
}

/// The envelopes that are kept with a session, the oldest first.
pub fn envelopes(path: &Path) -> Result<Vec<Listed>, ExportError> {
    Ok(sidecar::view(path)?.map(|(index, _)| index.list().to_vec()).unwrap_or_default())
}

/// What the model was shown in a request; in the last turn of the conversation unless another is named.
pub fn envelope(path: &Path, request: Option<&str>) -> Result<Envelope, ExportError> {
    envelope_of(sidecar::view(path)?, request)
}

/// The last one of a path that somebody checked, absolute and without links: what it leads to by now is not read.
pub fn envelope_exactly(path: &Path) -> Result<Envelope, ExportError> {
    envelope_of(sidecar::view_exactly(path)?, None)
}

fn envelope_of(viewed: Option<(Index, Disk)>, request: Option<&str>) -> Result<Envelope, ExportError> {
    let (index, disk) = viewed.ok_or(ExportError::NoEnvelopes)?;
    let last = Listed::last(index.list()).map(|listed| listed.request.clone());
    let request = request.map(str::to_owned).or(last).ok_or(ExportError::NoEnvelopes)?;
    let found = index.rebuild(&request, |span| disk.bytes_at(span)).map_err(SidecarError::Rebuild)?;
    found.ok_or(ExportError::NoRequest { request })
}

/// What the model was shown in every request of a session, the oldest first, as a list with one on each line. No more are added
/// when the text has more bytes than that: a longer one is not all of them.
pub fn list(path: &Path, most: usize) -> Result<String, ExportError> {
    list_of(sidecar::view(path)?, most)
}

/// The same for a path that somebody checked, absolute and without links: what it leads to by now is not read.
pub fn list_exactly(path: &Path, most: usize) -> Result<String, ExportError> {
    list_of(sidecar::view_exactly(path)?, most)
}

fn list_of(viewed: Option<(Index, Disk)>, most: usize) -> Result<String, ExportError> {
    let mut text = String::new();
    each_of(viewed, |_, envelope| {
        text.push_str(if text.is_empty() { "[\n" } else { ",\n" });
        text.push_str(&serde_json::to_string(envelope).expect("an envelope is plain JSON"));
        if text.len() > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(text + "\n]\n")
}

/// What the model was shown in every request of a session, the oldest first. There is at least one.
pub fn album(path: &Path, title: &str) -> Result<Album, ExportError> {
    album_of(sidecar::view(path)?, title)
}

/// The same for a path that somebody checked, absolute and without links: what it leads to by now is not read.
pub fn album_exactly(path: &Path, title: &str) -> Result<Album, ExportError> {
    album_of(sidecar::view_exactly(path)?, title)
}

fn album_of(viewed: Option<(Index, Disk)>, title: &str) -> Result<Album, ExportError> {
    let mut album = Album::new(title);
    each_of(viewed, |listed, envelope| {
        album.add(envelope, Some(listed.entry.as_str()));
        ControlFlow::Continue(())
    })?;
    Ok(album)
}

/// One after the other, because all of them may not have room beside each other. There is at least one.
fn each_of(
    viewed: Option<(Index, Disk)>,
    mut then: impl FnMut(&Listed, &Envelope) -> ControlFlow<()>,
) -> Result<(), ExportError> {
    let (index, disk) = viewed.ok_or(ExportError::NoEnvelopes)?;
    if index.list().is_empty() {
        return Err(ExportError::NoEnvelopes);
    }
    for listed in index.list() {
        let found = index.rebuild(&listed.request, |span| disk.bytes_at(span)).map_err(SidecarError::Rebuild)?;
        let envelope = found.ok_or_else(|| ExportError::NoRequest { request: listed.request.clone() })?;
        if then(listed, &envelope).is_break() {
            break;
        }
    }
    Ok(())
}

/// What an answer, a summary or a call of its own consumed.
pub(crate) fn consumed(entry: &Entry) -> Option<&Usage> {
    match entry {
        Entry::Message(entry) => match &entry.message {
            Message::Assistant(said) => said.usage.known(),
            Message::ToolResult(result) => result.usage.as_ref()?.known(),
            Message::User(_)
            | Message::BashExecution(_)
            | Message::Custom(_)
            | Message::BranchSummary(_)
            | Message::CompactionSummary(_)
            | Message::System(_)
            | Message::Other(_) => None,
        },
        Entry::Compaction(entry) => entry.usage.as_ref()?.known(),
        Entry::BranchSummary(entry) => entry.usage.as_ref()?.known(),
        Entry::Usage(_)
        | Entry::ModelChange(_)
        | Entry::ThinkingLevelChange(_)
        | Entry::Custom(_)
        | Entry::CustomMessage(_)
        | Entry::Label(_)
        | Entry::SessionInfo(_)
        | Entry::ContextEdit(_)
        | Entry::Other(_) => None,
    }
}

impl Story {
    fn of(header: Header, name: Option<String>, entries: Vec<Entry>, notices: Vec<Notice>) -> Self {
        let mut usage = Usage::default();
        entries.iter().filter_map(consumed).for_each(|one| usage.add(one));
        Self { header, name, entries, usage, notices }
    }

    /// Its name, or what was said first, or its id.
    pub fn title(&self) -> String {
        let first = || {
            self.entries.iter().find_map(|entry| match entry {
                Entry::Message(entry) => match &entry.message {
                    Message::User(user) => {
                        let said = without_pipe(user.content.text(), &draft::spans(&entry.extra));
                        Some(directory::title(&said))
                    }
                    _ => None,
                },
                _ => None,
            })
        };
        let title = self.name.clone().or_else(first).filter(|title| !title.trim().is_empty());
        title.unwrap_or_else(|| self.header.id.to_string()).chars().take(80).collect()
    }
}

/// `1,234 tokens in, 56 out · $0.001234`; empty where nobody counted.
fn price(usage: &Usage) -> String {
    if usage.total() == 0 {
        return String::new();
    }
    let sent = usage.input + usage.cache_read + usage.cache_write;
    let spent = usage.cost.spent();
    let cost = if spent == Spent::Exact(0.0) { String::new() } else { format!(" · {}", spent.words(4)) };
    format!("{sent} tokens in, {} out{cost}", usage.output)
}

/// What a tool changed, line by line, if it says so.
fn diff(result: &ToolResultMessage) -> Option<&str> {
    let details = result.details.as_ref()?;
    details.get("patch").or_else(|| details.get("diff"))?.as_str()
}

/// A call in a few words: what it aims at.
fn aim(arguments: &serde_json::Map<String, serde_json::Value>) -> String {
    let aim = ["command", "path", "pattern"].iter().find_map(|name| arguments.get(*name)?.as_str());
    aim.unwrap_or_default().lines().next().unwrap_or_default().chars().take(120).collect()
}
