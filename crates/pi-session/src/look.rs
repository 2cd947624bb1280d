//! A session that another process has open, as far as its files tell: what was said, and what the model was shown.
//!
//! Nothing is locked, changed or started. A [`Look`] tells how the files were when it was taken; a [`Sight`] is cheap, and says
//! whether there is more by now. What the other process has not written yet is not seen: an answer that is being given
//! stands in its file when it is whole. Everything blocks as long as the disk does.

use std::{
    path::Path,
    sync::{Arc, OnceLock},
};

use pi_envelope::{Envelope, Strip};
use pi_transcript::{Header, SessionId, SessionStats, ThinkingLevel};

use crate::{
    context, cut,
    file::{self, Disk, Holder, OpenError, ReadError, Reader, Viewed},
    listing::{
        self, Outline, Page, ReadingError, Side, Tally,
        paging::{Plan, plan},
    },
    run::aside::{piece, read_one},
    sidecar::{self, Index, Listed, RebuildError, SidecarError},
    tree::{Kept, Place, Tree},
};

/// How the files of a session are now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sight {
    /// Bytes of what was said.
    pub length: u64,
    /// Bytes of what the model was shown.
    pub envelopes: u64,
    /// Who has it open, where the system tells: that nobody is named does not mean that nobody has.
    pub holder: Option<Holder>,
}

/// A session as its files had it.
#[derive(Debug)]
pub struct Look {
    header: Header,
    tree: Tree,
    reader: Reader,
    envelopes: Option<(Index, Disk)>,
    /// Counted when somebody asks: everything has to be read for it.
    tally: OnceLock<Tally>,
}

/// Why a session cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum LookError {
    #[error(transparent)]
    Session(#[from] OpenError),
    #[error(transparent)]
    Envelopes(#[from] SidecarError),
}

impl Sight {
    /// Looks at a path that somebody checked, absolute and without links: what it leads to by now is not looked at.
    pub fn at(path: &Path) -> Result<Self, LookError> {
        let disk = file::read_exactly(path)?;
        let io = |source| OpenError::Io { path: path.to_owned(), source };
        let envelopes = match file::read_exactly(&sidecar::path_of(path)) {
            Ok(beside) => beside.size().map_err(io)?,
            Err(OpenError::NotFound { .. }) => 0,
            Err(error) => return Err(error.into()),
        };
        Ok(Self { length: disk.size().map_err(io)?, envelopes, holder: disk.holder() })
    }

    /// Whether nothing was written between the two.
    pub fn shows_the_same(&self, other: &Self) -> bool {
        (self.length, self.envelopes) == (other.length, other.envelopes)
    }
}

impl Look {
    /// Reads the files of a path that somebody checked, absolute and without links.
    pub fn at(path: &Path) -> Result<Self, LookError> {
        // First: of a request that is listed, what was said before it is mostly there too then.
        let envelopes = sidecar::view_exactly(path)?;
        let Viewed { header, tree, reader, notices: _ } = file::view_exactly(path, fastrand::Rng::with_seed(0))?;
        Ok(Self { header, tree, reader, envelopes, tally: OnceLock::new() })
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    pub fn name(&self) -> Option<&str> {
        self.tree.name()
    }

    /// How hard the model was last told to think, if that is a level that we know.
    pub fn thinking_level(&self) -> Option<ThinkingLevel> {
        context::build(&self.tree.entries()).thinking_level.known().copied()
    }

    /// How many messages the model is shown.
    pub fn message_count(&self) -> usize {
        context::build(&self.tree.entries()).messages.len()
    }

    /// What the model is shown takes so many tokens; after a compaction nobody knows until it has answered.
    pub fn context_tokens(&self) -> Option<u64> {
        let path = self.tree.entries();
        cut::is_counted(&path).then(|| cut::context_tokens(&path))
    }

    /// Some of what was said on the branch at which the file stands.
    pub fn page(&self, side: &Side, most: usize) -> Result<Page, ReadingError> {
        Ok(match plan(&self.tree, side, most)? {
            Plan::Ready(page) => page,
            Plan::Read(reading) => reading.read(Some(&self.reader))?,
        })
    }

    /// The newest entries of the tree, so many at most.
    pub fn outline(&self, most: usize) -> Result<Outline, ReadingError> {
        let left_out = self.tree.len().saturating_sub(most);
        let nodes = self.tree.places().skip(left_out).filter_map(|place| {
            let label = self.tree.label_of(&self.tree.id(place)).map(str::to_owned);
            Some(self.kept(place)?.map(|kept| listing::node(&kept.to_entry(), label)))
        });
        let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
        Ok(Outline { leaf: self.tree.leaf().map(|leaf| self.tree.id(leaf)), nodes, left_out })
    }

    /// Counts everything on every branch.
    pub fn stats(&self, session: SessionId) -> Result<SessionStats, ReadingError> {
        let tally = match self.tally.get() {
            Some(tally) => tally,
            None => {
                let mut tally = Tally::default();
                for place in self.tree.places() {
                    if let Some(kept) = self.kept(place) {
                        tally.add(&kept?.to_entry());
                    }
                }
                self.tally.get_or_init(|| tally)
            }
        };
        Ok(tally.clone().finish(session, Some(self.reader.path().to_string_lossy().into_owned())).stats)
    }

    /// Every request to a model of which the envelope is kept, the oldest first.
    pub fn requests(&self) -> &[Listed] {
        self.envelopes.as_ref().map_or(&[], |(index, _)| index.list())
    }

    /// What the model was shown in a request, if that is kept.
    pub fn envelope(&self, request: &str) -> Result<Option<Envelope>, RebuildError> {
        match &self.envelopes {
            Some((index, disk)) => index.rebuild(request, |span| disk.bytes_at(span)),
            None => Ok(None),
        }
    }

    /// What a bar of a request needs; `before` is the request whose prompt the cache may hold.
    pub fn strip(&self, request: &str, before: Option<&str>) -> Result<Option<Strip>, RebuildError> {
        let Some(envelope) = self.envelope(request)? else { return Ok(None) };
        let before = before.map_or(Ok(None), |before| self.envelope(before))?;
        Ok(Some(match before {
            Some(before) => pi_envelope::strip_after(&before, &envelope),
            None => pi_envelope::strip(&envelope),
        }))
    }

    fn kept(&self, place: Place) -> Option<Result<Arc<Kept>, ReadError>> {
        piece(&self.tree, place).map(|piece| read_one(Some(&self.reader), piece))
    }
}
