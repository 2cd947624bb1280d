//! Reads a session file once, from beginning to end, and remembers only where everything is.

use std::{
    borrow::Cow,
    io::{self, Read},
};

use pi_transcript::{EntryId, Header, Line, read_line};
use serde::{Deserialize, Deserializer};

use super::lines::each_line;
use crate::tree::{Destination, Kind, Outline, Span, Tree};

const MARK: &[u8] = b"\xEF\xBB\xBF";

/// What a file holds.
#[derive(Debug)]
pub struct Scan {
    pub header: Header,
    /// Every entry, none of them held.
    pub tree: Tree,
    /// Where whole lines end.
    pub end: u64,
    pub tail: Tail,
    /// Lines that are no JSON; they stay where they are.
    pub unreadable: u64,
}

/// How a file ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    Whole,
    /// The last line is one, but its line end is missing.
    Unterminated,
    /// The last bytes are a part of a line.
    Torn {
        bytes: u64,
    },
}

#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// The first line that is JSON is no header of a session.
    #[error("it is no session")]
    NotASession,
    /// There is no whole line.
    #[error("it was begun and never written")]
    Unfinished,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Reads a session file. `random` makes the ids of entries that are appended later.
pub fn scan(file: impl Read, random: fastrand::Rng) -> Result<Scan, ScanError> {
    let mut lines = Lines::new(random);
    let rest = each_line(file, |line| {
        lines.line(line)?;
        lines.offset += 1;
        Ok::<(), ScanError>(())
    })?;
    lines.finish(&rest)
}

impl Scan {
    /// The version, if it is one that must be brought up to date.
    pub(super) fn old_version(&self) -> Option<u64> {
        Some(self.header.version.unwrap_or(1)).filter(|version| *version < pi_transcript::entry::VERSION)
    }

    /// The length of the file without what is torn.
    pub(super) fn length(&self) -> u64 {
        self.end - u64::from(self.tail == Tail::Unterminated)
    }
}

/// The lines so far.
struct Lines {
    header: Option<Header>,
    tree: Tree,
    offset: u64,
    unreadable: u64,
}

impl Lines {
    fn new(random: fastrand::Rng) -> Self {
        Self { header: None, tree: Tree::new(Destination::File { end: 0 }, random), offset: 0, unreadable: 0 }
    }

    /// Takes a line and goes behind it.
    fn line(&mut self, bytes: &[u8]) -> Result<(), ScanError> {
        let start = self.offset;
        self.offset += bytes.len() as u64;
        let (bytes, start) = match bytes.strip_prefix(MARK) {
            Some(rest) if start == 0 => (rest, start + MARK.len() as u64),
            _ => (bytes, start),
        };
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        match &self.header {
            None => self.first(bytes),
            Some(_) => {
                self.entry(bytes, start);
                Ok(())
            }
        }
    }

    fn first(&mut self, bytes: &[u8]) -> Result<(), ScanError> {
        match read_line(&String::from_utf8_lossy(bytes)) {
            Line::Header(header) => self.header = Some(header.into_value()),
            Line::Unreadable(_) => self.unreadable += 1,
            Line::Entry(_) | Line::Foreign(_) => return Err(ScanError::NotASession),
        }
        Ok(())
    }

    fn entry(&mut self, bytes: &[u8], offset: u64) {
        let Ok(length) = u32::try_from(bytes.len()) else {
            self.unreadable += 1;
            return;
        };
        let span = Span { offset, length };
        match serde_json::from_slice::<Glance<'_>>(bytes) {
            Ok(glance) => self.glance(&glance, span),
            // Perhaps only a glance was not enough.
            Err(_) => match read_line(&String::from_utf8_lossy(bytes)) {
                Line::Entry(entry) => {
                    let id = entry.id().as_str();
                    let parent = entry.parent_id().map(EntryId::as_str);
                    let place = self.tree.add(&Outline { id, parent, kind: Kind::of(&entry) }, span);
                    self.tree.note(place, &entry);
                }
                Line::Unreadable(_) => self.unreadable += 1,
                Line::Header(_) | Line::Foreign(_) => {}
            },
        }
    }

    fn glance(&mut self, glance: &Glance<'_>, span: Span) {
        // What has no place in the tree is passed over.
        let (Some(id), Some(parent), Some(_)) = (&glance.id, &glance.parent_id, &glance.timestamp) else { return };
        if glance.kind == "session" {
            return;
        }
        let role = glance.message.as_ref().and_then(|message| message.role.as_deref());
        let kind = Kind::named(&glance.kind, role, glance.custom_type.as_deref());
        let place = self.tree.add(&Outline { id, parent: parent.as_deref(), kind }, span);
        match (kind, &glance.target_id) {
            (Kind::ContextEdit, Some(target)) => self.tree.edit((&**target).into(), place),
            (Kind::Label, Some(target)) => {
                self.tree.label((&**target).into(), glance.label.as_deref().map(str::to_owned));
            }
            (Kind::SessionInfo, _) => self.tree.rename(glance.name.as_deref()),
            _ => {}
        }
    }

    /// Takes what stands behind the last line end.
    fn finish(mut self, rest: &[u8]) -> Result<Scan, ScanError> {
        let unreadable = self.unreadable;
        let tail = if rest.iter().all(u8::is_ascii_whitespace) {
            // Blank space is no part of a line; what is written next begins behind it.
            self.offset += rest.len() as u64;
            if rest.is_empty() { Tail::Whole } else { Tail::Unterminated }
        } else {
            match (&self.header, serde_json::from_slice::<serde::de::IgnoredAny>(rest).is_ok()) {
                (_, true) => {
                    self.line(rest)?;
                    Tail::Unterminated
                }
                (None, false) if !may_be_header(rest) => return Err(ScanError::NotASession),
                (_, false) => Tail::Torn { bytes: rest.len() as u64 },
            }
        };
        if tail == Tail::Unterminated {
            self.offset += 1;
        }
        let Some(header) = self.header else {
            // Lines that are no JSON are somebody's; only what we may have begun is called unfinished.
            return Err(if unreadable > 0 { ScanError::NotASession } else { ScanError::Unfinished });
        };
        self.tree.goes_on_at(self.offset);
        Ok(Scan { header, tree: self.tree, end: self.offset, tail, unreadable: self.unreadable })
    }
}

/// Whether this can be the beginning of a header that we wrote, or what a loss of power left of one.
fn may_be_header(bytes: &[u8]) -> bool {
    const BEGINNING: &[u8] = br#"{"type":"session""#;
    let shared = bytes.len().min(BEGINNING.len());
    bytes[..shared] == BEGINNING[..shared] || bytes.iter().all(|byte| *byte == 0)
}

/// As much of a line as the tree needs. Everything else is checked to be JSON and not looked at.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Glance<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    /// `null` is a parent that is not there; no member at all is no entry.
    #[serde(borrow, default, deserialize_with = "given")]
    parent_id: Option<Option<Cow<'a, str>>>,
    #[serde(borrow)]
    timestamp: Option<Cow<'a, str>>,
    #[serde(borrow)]
    message: Option<Speaker<'a>>,
    #[serde(borrow)]
    custom_type: Option<Cow<'a, str>>,
    #[serde(borrow)]
    target_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    label: Option<Cow<'a, str>>,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Speaker<'a> {
    #[serde(borrow)]
    role: Option<Cow<'a, str>>,
}

fn given<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<Cow<'a, str>>>, D::Error> {
    Option::<Cow<'a, str>>::deserialize(deserializer).map(Some)
}
