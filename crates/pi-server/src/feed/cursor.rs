//! Where a connection is in a session's events.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use pi_transcript::{AgentEvent, SessionId, event::Joined};
use pi_wire::event::{Numbered, SnapshotReason, UpdateForm};

use super::{Feed, Position, TooFarBehind, growing::Growing, output::Outputs};
use crate::signature::Reader;

/// What a connection has sent of a session, and how it sends the rest.
#[derive(Debug)]
pub struct Cursor {
    feed: Arc<Feed>,
    at: Position,
    /// The same for the feed, which keeps what has not been taken.
    taken: Arc<AtomicU64>,
    /// The message so far, where the client wants it with every update.
    growing: Option<Growing>,
    /// What was told of the output of calls, where the client wants to hear of each piece once.
    outputs: Outputs,
    /// For whom events are read; otherwise they are told as they are.
    reader: Option<Reader>,
}

impl Cursor {
    pub(super) fn new(feed: Arc<Feed>, at: Position, taken: Arc<AtomicU64>, growing: Option<Growing>) -> Self {
        Self { feed, at, taken, growing, outputs: Outputs::default(), reader: None }
    }

    /// Tells events as this client reads them.
    #[must_use]
    pub fn for_client(self, reader: Reader) -> Self {
        Self { reader: Some(reader), ..self }
    }

    pub fn session(&self) -> &SessionId {
        self.feed.session()
    }

    /// Whether it is a place in this feed.
    pub fn is_in(&self, feed: &Arc<Feed>) -> bool {
        Arc::ptr_eq(&self.feed, feed)
    }

    /// From where the client can go on.
    pub fn position(&self) -> &Position {
        &self.at
    }

    /// Whether updates carry the message so far.
    pub fn form(&self) -> UpdateForm {
        if self.growing.is_some() { UpdateForm::Cumulative } else { UpdateForm::Deltas }
    }

    /// Whether nothing but pieces of a growing message follow, up to and including `upto`.
    pub fn is_only_growing(&self, upto: u64) -> bool {
        // Whoever is too far behind is told so when he wants the events.
        let events = self.feed.between(&self.at.epoch, self.at.seq, upto);
        events.is_ok_and(|events| events.iter().all(|(_, event)| event.is_piece()))
    }

    /// What every component looks like that an extension draws, which questions are open, and what nobody was there to hear,
    /// as far as that was told before the events that follow.
    pub fn take_standing(&self) -> Vec<Arc<AgentEvent>> {
        self.feed.take_standing(&self.at.epoch, self.at.seq)
    }

    /// Goes over to the end of the numbering that counts now; nothing if this one still counts.
    pub fn renumber(&mut self) -> Option<SnapshotReason> {
        let (at, growing) = self.feed.renumbered(&self.at.epoch, &self.taken)?;
        self.at = at;
        self.growing = self.growing.is_some().then_some(growing);
        self.outputs = Outputs::default();
        Some(SnapshotReason::EpochChanged)
    }

    /// Leaves out what a snapshot has told.
    pub fn skip_to(&mut self, seq: u64) {
        if let Some(growing) = &mut self.growing {
            // What is no longer kept ended before the snapshot was taken.
            let skipped = self.feed.between(&self.at.epoch, self.at.seq, seq).unwrap_or_default();
            skipped.iter().for_each(|(_, event)| growing.follow(event));
        }
        // A snapshot tells nothing of what calls have written so far: the next update does.
        self.outputs = Outputs::default();
        self.at.seq = self.at.seq.max(seq);
        self.taken.fetch_max(seq, Ordering::Relaxed);
    }

    /// The events that follow, up to and including `upto`: deltas that belong together as one.
    pub fn advance(&mut self, upto: u64) -> Result<Vec<Numbered>, TooFarBehind> {
        let events = self.feed.take(&self.at.epoch, self.at.seq, upto, &self.taken)?;
        let mut told = Vec::new();
        let mut run: Option<(u64, Joined)> = None;
        for (seq, event) in events {
            self.at.seq = seq;
            if let Some((last, run)) = &mut run
                && run.absorb(&event)
            {
                *last = seq;
            } else {
                told.extend(run.take().map(|run| self.tell(run)));
                run = Some((seq, Joined::new(AgentEvent::clone(&event))));
            }
            if let Some(growing) = &mut self.growing {
                growing.follow(&event);
            }
        }
        told.extend(run.take().map(|run| self.tell(run)));
        Ok(told)
    }

    fn tell(&mut self, (seq, run): (u64, Joined)) -> Numbered {
        let so_far = self.growing.as_ref().and_then(Growing::so_far);
        let mut event = match so_far {
            Some(message) => UpdateForm::Cumulative.apply(run.into_event(), || message.clone()),
            None => UpdateForm::Deltas.apply(run.into_event(), || unreachable!("deltas carry no message")),
        };
        if self.form() == UpdateForm::Deltas {
            self.outputs.shorten(&mut event);
        }
        if let Some(reader) = &self.reader {
            reader.read(&mut event);
        }
        Numbered {
            session_id: self.feed.session().clone(),
            seq: Some(seq),
            epoch: Some(self.at.epoch.clone()),
            event: Box::new(event),
        }
    }
}
