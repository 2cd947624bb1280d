//! Where everything is in a sidecar, and envelopes put together from it.

use std::{
    collections::HashMap,
    io::{self, Read},
    path::Path,
};

use pi_envelope::{Envelope, Purpose, Segment, Tokens, meta, reconcile};
use pi_transcript::{EntryId, Usage, json::Digest};
use serde::Deserialize;

use super::{
    SidecarError,
    line::{self, Head, Line, Shell},
};
use crate::{file::each_line, tree::Span};

/// What a sidecar holds: some sixty bytes for a piece and a few hundred for an envelope.
#[derive(Debug, Default)]
pub struct Index {
    pieces: HashMap<Digest, Span>,
    envelopes: Vec<Listed>,
    places: Vec<Place>,
    by_request: HashMap<String, usize>,
    /// The messages of the last envelope.
    last: Vec<Digest>,
    end: u64,
    begun: bool,
}

/// An envelope that is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    pub request: String,
    /// The message that was said last before it.
    pub entry: EntryId,
    /// Milliseconds since 1970.
    pub time: u64,
    pub model: Option<String>,
    /// What it was asked for, and of whom.
    pub asked: Option<meta::Request>,
    /// Tokens of everything that was sent, as we counted them.
    pub tokens: Option<Tokens>,
    pub messages: usize,
    /// What the provider says the request consumed, once it is known.
    pub usage: Option<Usage>,
    /// Tokens that the provider counted, less ours.
    pub residual: Option<i64>,
}

impl Listed {
    /// Whether it was a turn of the conversation, and not a summary of it or a question of an extension.
    pub fn is_turn(&self) -> bool {
        self.purpose() == Purpose::Turn
    }

    pub fn purpose(&self) -> Purpose {
        self.asked.as_ref().map(|asked| asked.purpose).unwrap_or_default()
    }

    /// The last turn of the conversation; where there is none, whatever was asked last.
    pub fn last(all: &[Self]) -> Option<&Self> {
        all.iter().rfind(|listed| listed.is_turn()).or_else(|| all.last())
    }
}

#[derive(Debug, Clone, Copy)]
struct Place {
    span: Span,
    share: usize,
}

/// Why an envelope cannot be put together.
#[derive(Debug, thiserror::Error)]
pub enum RebuildError {
    #[error("cannot read the envelopes")]
    Io(#[from] io::Error),
    #[error("piece {digest} of an envelope is missing")]
    Missing { digest: Digest },
    #[error("the file is not what it was")]
    Changed(#[from] serde_json::Error),
    #[error("an envelope refers to one that was lost")]
    Broken,
}

/// Why a file cannot be read as a sidecar.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("the first line is not that of a file of envelopes")]
    Foreign,
}

impl IndexError {
    pub(super) fn at(self, path: &Path) -> SidecarError {
        let path = path.to_owned();
        match self {
            Self::Io(source) => SidecarError::Io { path, source },
            Self::Foreign => SidecarError::Foreign { path },
        }
    }
}

impl Index {
    /// Reads a file once. What stands behind the last whole line is passed over.
    pub fn scan(file: impl Read) -> Result<Self, IndexError> {
        let mut index = Self::default();
        let mut offset = 0;
        each_line(file, |bytes| {
            match serde_json::from_slice::<Line>(bytes) {
                Ok(line) if index.begun || matches!(line, Line::Envelopes { .. }) => {
                    index.add(&line, offset, bytes.len())
                }
                _ if !index.begun => return Err(IndexError::Foreign),
                // A type that we do not know, or a line that was lost.
                Ok(_) | Err(_) => {}
            }
            offset += bytes.len() as u64 + 1;
            index.end = offset;
            Ok(())
        })?;
        Ok(index)
    }

    /// Where whole lines end.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// The envelopes, the oldest first.
    pub fn list(&self) -> &[Listed] {
        &self.envelopes
    }

    /// Puts an envelope together, with what the provider said about it. `fetch` reads a line of the file.
    pub fn rebuild(
        &self,
        request: &str,
        fetch: impl Fn(Span) -> io::Result<Vec<u8>>,
    ) -> Result<Option<Envelope>, RebuildError> {
        let mut envelope = self.rebuild_bare(request, fetch)?;
        let usage = self.by_request.get(request).and_then(|index| self.envelopes[*index].usage.as_ref());
        if let (Some(envelope), Some(usage)) = (&mut envelope, usage) {
            reconcile(envelope, usage);
        }
        Ok(envelope)
    }

    /// The envelope as it was when the model was asked.
    pub(super) fn rebuild_bare(
        &self,
        request: &str,
        fetch: impl Fn(Span) -> io::Result<Vec<u8>>,
    ) -> Result<Option<Envelope>, RebuildError> {
        let Some(index) = self.by_request.get(request).copied() else { return Ok(None) };
        // Back to one that shares nothing, then forward again.
        let start = (0..=index).rev().find(|index| self.places[*index].share == 0).ok_or(RebuildError::Broken)?;
        let mut digests: Vec<Digest> = Vec::new();
        let mut last: Option<(Box<Head>, Digest)> = None;
        for place in &self.places[start..=index] {
            let Line::Envelope { head, share, messages, whole } = serde_json::from_slice(&fetch(place.span)?)? else {
                return Err(RebuildError::Broken);
            };
            digests.truncate(share);
            digests.extend(messages);
            last = Some((head, whole));
        }
        let (head, whole) = last.ok_or(RebuildError::Broken)?;
        if line::whole(&digests) != whole {
            return Err(RebuildError::Broken);
        }
        let mut messages = Vec::with_capacity(digests.len());
        for digest in digests {
            let Found { message: Some(shell), .. } = self.piece(&digest, &fetch)? else {
                return Err(RebuildError::Broken);
            };
            let mut segments = Vec::with_capacity(shell.segments.len());
            for digest in &shell.segments {
                segments.push(self.piece(digest, &fetch)?.segment.ok_or(RebuildError::Broken)?);
            }
            messages.push(shell.into_message(segments));
        }
        Ok(Some(head.into_envelope(messages)))
    }

    pub(super) fn contains(&self, digest: &Digest) -> bool {
        self.pieces.contains_key(digest)
    }

    pub(super) fn last(&self) -> &[Digest] {
        &self.last
    }

    /// Takes a line that lies at `offset`.
    pub(super) fn add(&mut self, line: &Line, offset: u64, length: usize) {
        let Ok(length) = u32::try_from(length) else { return };
        let span = Span { offset, length };
        self.end = offset + u64::from(length) + 1;
        match line {
            Line::Envelopes { .. } => self.begun = true,
            Line::Segment { digest, .. } | Line::Message { digest, .. } => {
                self.pieces.insert(*digest, span);
            }
            Line::Envelope { head, share, messages, whole: _ } => {
                self.last.truncate(*share);
                self.last.extend(messages);
                self.by_request.insert(head.request.clone(), self.envelopes.len());
                self.places.push(Place { span, share: *share });
                self.envelopes.push(Listed {
                    request: head.request.clone(),
                    entry: head.entry.clone(),
                    time: head.time,
                    model: head.model.clone(),
                    asked: head.ours().and_then(|meta| meta.request.clone()),
                    tokens: head.ours().and_then(|meta| meta.tokens),
                    messages: self.last.len(),
                    usage: None,
                    residual: None,
                });
            }
            Line::Usage { request, usage, residual } => {
                if let Some(index) = self.by_request.get(request) {
                    let listed = &mut self.envelopes[*index];
                    (listed.usage, listed.residual) = (Some(Usage::clone(usage)), *residual);
                }
            }
        }
    }

    fn piece(&self, digest: &Digest, fetch: impl Fn(Span) -> io::Result<Vec<u8>>) -> Result<Found, RebuildError> {
        let span = self.pieces.get(digest).ok_or(RebuildError::Missing { digest: *digest })?;
        Ok(serde_json::from_slice(&fetch(*span)?)?)
    }
}

/// A line that holds a piece.
#[derive(Deserialize)]
struct Found {
    segment: Option<Segment>,
    message: Option<Shell>,
}
