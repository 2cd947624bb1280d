//! What the model was shown in every request, in a file beside the session's.
//!
//! `session.jsonl.envelopes` grows with what is new. A segment and the head of a message are stored once, by the digest of
//! their text; an envelope says how many messages it shares with the one before it and lists the rest. Pi does not look at
//! files with this name. The owner of the session is the only writer, and redacts before anything gets here.
//!
//! Everything blocks as long as the disk does. What cannot be written is tried again with the next record.

mod index;
mod line;

use std::{
    collections::HashSet,
    io,
    path::{Path, PathBuf},
};

use pi_envelope::Envelope;
use pi_policy::Moment;
use pi_transcript::{EntryId, Usage, json::Digest};

pub use self::index::{Index, Listed, RebuildError};
use self::line::{Head, Line, Piece};
use crate::file::{self, Disk, Fault, Log, Medium, OpenError, Source, beside};

/// Records between two that list all their messages, so that reading one does not mean reading all before it.
const STRIDE: usize = 64;

/// The envelopes of one session.
#[derive(Debug)]
pub struct Sidecar<M = Disk> {
    log: Log<M>,
    index: Index,
}

#[derive(Debug, thiserror::Error)]
pub enum SidecarError {
    #[error("cannot read {path}")]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{path} holds no envelopes")]
    Foreign { path: PathBuf },
    /// A link leads there that was not there when the path was checked.
    #[error("{path} leads somewhere else by now")]
    Elsewhere { path: PathBuf },
    #[error(transparent)]
    Rebuild(#[from] RebuildError),
    #[error(transparent)]
    Write(#[from] Fault),
}

/// Where the envelopes of a session lie.
pub fn path_of(session: &Path) -> PathBuf {
    beside(session, "envelopes")
}

/// The envelopes of a session that somebody else may be writing; none if there is no file.
pub fn view(session: &Path) -> Result<Option<(Index, Disk)>, SidecarError> {
    let path = path_of(session);
    match Disk::read_own(&path) {
        Ok(disk) => scanned(disk, &path).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unopened(path, error)),
    }
}

/// The same beside a path that somebody checked, absolute and without links: what it leads to by now is not read, and no link
/// in the place of the envelopes is followed.
pub fn view_exactly(session: &Path) -> Result<Option<(Index, Disk)>, SidecarError> {
    let path = path_of(session);
    match file::read_exactly(&path) {
        Ok(disk) => scanned(disk, &path).map(Some),
        Err(OpenError::NotFound { .. }) => Ok(None),
        Err(OpenError::Elsewhere { path }) => Err(SidecarError::Elsewhere { path }),
        Err(OpenError::Io { path, source }) => Err(SidecarError::Io { path, source }),
        // Nobody locks or reads it to open it.
        Err(OpenError::InUse { path, .. } | OpenError::NotASession { path } | OpenError::Unfinished { path }) => {
            Err(SidecarError::Foreign { path })
        }
    }
}

fn unopened(path: PathBuf, source: io::Error) -> SidecarError {
    if file::is_link(&source) { SidecarError::Elsewhere { path } } else { SidecarError::Io { path, source } }
}

fn scanned(disk: Disk, path: &Path) -> Result<(Index, Disk), SidecarError> {
    let index = Index::scan(disk.reader()).map_err(|error| error.at(path))?;
    Ok((index, disk))
}

impl Sidecar {
    /// Opens the envelopes of a session, or begins them. A torn end is written over. A link in their place is not followed.
    pub fn open(session: &Path) -> Result<Self, SidecarError> {
        let path = path_of(session);
        Self::open_or(session, move || Disk::create_own(&path))
    }

    /// The same beside a session whose file may not be there yet: what is recorded waits for it, so that nothing is left of a
    /// session that nobody keeps.
    pub(crate) fn open_beside(session: &Path) -> Result<Self, SidecarError> {
        let (path, session_file) = (path_of(session), session.to_owned());
        Self::open_or(session, move || match session_file.try_exists()? {
            true => Disk::create_own(&path),
            false => Err(io::ErrorKind::NotFound.into()),
        })
    }

    fn open_or(session: &Path, make: impl FnMut() -> io::Result<Disk> + Send + 'static) -> Result<Self, SidecarError> {
        let path = path_of(session);
        let disk = match Disk::own(&path) {
            Ok(disk) => disk,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self::new(Log::new(Source::Absent(Box::new(make)))));
            }
            Err(error) => return Err(unopened(path, error)),
        };
        let (index, mut disk) = scanned(disk, &path)?;
        disk.truncate(index.end()).map_err(|source| SidecarError::Io { path, source })?;
        Ok(Self { log: Log::at(disk, index.end()), index })
    }

    /// Puts an envelope together again.
    pub fn get(&self, request: &str) -> Result<Option<Envelope>, SidecarError> {
        match self.log.source() {
            Source::Present(disk) => Ok(self.index.rebuild(request, |span| disk.bytes_at(span))?),
            Source::Absent(_) => Ok(None),
        }
    }
}

impl<M: Medium> Sidecar<M> {
    /// Envelopes that go to a file which does not exist or is empty.
    pub fn new(log: Log<M>) -> Self {
        Self { log, index: Index::default() }
    }

    /// Whether there is a file. What is recorded before that can only be listed.
    pub(crate) fn is_there(&self) -> bool {
        match self.log.source() {
            Source::Present(_) => true,
            Source::Absent(_) => false,
        }
    }

    /// What is stored, the oldest first.
    pub fn list(&self) -> &[Listed] {
        self.index.list()
    }

    /// Stores what the model is shown, before it is asked; `entry` is where the conversation stood.
    ///
    /// The envelope must say which request it is for. One that does not is stored under the empty name.
    pub fn record(&mut self, entry: &EntryId, envelope: &Envelope) -> Result<(), Fault> {
        let (messages, mut pieces) = line::take_apart(envelope);
        pieces.retain(|piece| !self.index.contains(&piece.digest()));
        let head = Head::of(entry, envelope);
        self.write(pieces, head, &messages)
    }

    /// Stores what the provider says the request consumed.
    pub fn settle(&mut self, request: &str, usage: &Usage, residual: Option<i64>) -> Result<(), Fault> {
        self.push(&Line::Usage { request: request.to_owned(), usage: Box::new(usage.clone()), residual });
        self.log.flush()
    }

    /// Returns when everything is safe.
    pub fn sync(&mut self) -> Result<(), Fault> {
        self.log.sync()
    }

    fn write(&mut self, pieces: Vec<Piece>, head: Head, messages: &[Digest]) -> Result<(), Fault> {
        if self.log.end() == 0 {
            self.push(&Line::Envelopes { version: 1 });
        }
        for piece in pieces {
            // The same text may stand twice in one envelope.
            if !self.index.contains(&piece.digest()) {
                self.push(&piece.into());
            }
        }
        let same = self.index.last().iter().zip(messages).take_while(|(one, other)| one == other).count();
        let share = if self.index.list().len().is_multiple_of(STRIDE) { 0 } else { same };
        let whole = line::whole(messages);
        self.push(&Line::Envelope { head: Box::new(head), share, messages: messages[share..].to_vec(), whole });
        self.log.flush()
    }

    fn push(&mut self, line: &Line) {
        let mut text = serde_json::to_string(line).expect("every key is a string");
        let offset = self.log.end();
        self.index.add(line, offset, text.len());
        text.push('\n');
        self.log.push(text.as_bytes());
    }
}

/// What of a conversation goes into a fork.
pub(crate) struct Kept {
    pub(crate) entries: HashSet<EntryId>,
    /// When the last of them was written.
    pub(crate) until: Moment,
}

/// Copies the envelopes of the requests that were made for what is kept to the sidecar of a fork: turns by their entry, and what was
/// asked beside the conversation, such as a summary of it, behind a turn that is kept and before the end.
pub(crate) fn fork(from: &Path, to: &Path, kept: &Kept) -> Result<(), SidecarError> {
    let Some((index, disk)) = view(from)? else { return Ok(()) };
    let mut copy = Sidecar::open(to)?;
    let fetch = |span| disk.bytes_at(span);
    let mut is_behind_kept = true;
    for listed in index.list() {
        let is_kept = if listed.is_turn() {
            is_behind_kept = kept.entries.contains(&listed.entry);
            is_behind_kept
        } else {
            is_behind_kept && listed.time <= kept.until.unix_millis()
        };
        if !is_kept {
            continue;
        }
        let Some(envelope) = index.rebuild_bare(&listed.request, fetch)? else { continue };
        copy.record(&listed.entry, &envelope)?;
        if let Some(usage) = &listed.usage {
            copy.settle(&listed.request, usage, listed.residual)?;
        }
    }
    Ok(copy.sync()?)
}

/// Deletes the envelopes of a session.
pub(crate) fn delete(session: &Path) -> io::Result<()> {
    match file::remove(&path_of(session)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
