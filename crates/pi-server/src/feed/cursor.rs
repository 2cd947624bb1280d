//! Where a connection is in a session's events.

use std::sync::Arc;

use pi_transcript::{AgentEvent, SessionId};
use pi_wire::{
    event::{Numbered, SessionEvent, UpdateForm},
    id::Epoch,
};

use super::{Feed, Position, Stretch, TooFarBehind, coalesce::Run, growing::Growing};

/// What a connection has sent of a session, and how it sends the rest.
#[derive(Debug)]
pub struct Cursor {
    feed: Arc<Feed>,
    seq: u64,
    /// The message so far, where the client wants it with every update.
    growing: Option<Growing>,
}

impl Cursor {
    pub(super) fn new(feed: Arc<Feed>, seq: u64, growing: Option<Growing>) -> Self {
        Self { feed, seq, growing }
    }

    pub fn session(&self) -> &SessionId {
        self.feed.session()
    }

    pub fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }

    /// From where the client can go on.
    pub fn position(&self) -> Position {
        Position { epoch: self.feed.position().epoch, seq: self.seq }
    }

    /// Whether updates carry the message so far.
    pub fn form(&self) -> UpdateForm {
        if self.growing.is_some() { UpdateForm::Cumulative } else { UpdateForm::Deltas }
    }

    /// The events that follow, up to and including `upto`: deltas that belong together as one.
    pub fn advance(&mut self, upto: u64) -> Result<Vec<Numbered>, TooFarBehind> {
        let Stretch { epoch, events } = self.feed.between(self.seq, upto)?;
        let mut told = Vec::new();
        let mut run: Option<(u64, Run)> = None;
        for (seq, event) in events {
            self.seq = seq;
            if let Some((last, run)) = &mut run
                && run.absorb(&event)
            {
                *last = seq;
            } else {
                told.extend(run.take().map(|run| self.tell(run, &epoch)));
                run = Some((seq, Run::new(AgentEvent::clone(&event))));
            }
            if let Some(growing) = &mut self.growing {
                growing.follow(&event);
            }
        }
        told.extend(run.take().map(|run| self.tell(run, &epoch)));
        Ok(told)
    }

    fn tell(&self, (seq, run): (u64, Run), epoch: &Epoch) -> Numbered {
        let so_far = self.growing.as_ref().and_then(Growing::so_far);
        let event = match so_far {
            Some(message) => UpdateForm::Cumulative.apply(run.into_event(), || message.clone()),
            None => UpdateForm::Deltas.apply(run.into_event(), || unreachable!("deltas carry no message")),
        };
        Numbered {
            session_id: self.feed.session().clone(),
            seq: Some(seq),
            epoch: Some(epoch.clone()),
            event: SessionEvent::Agent(Box::new(event)),
        }
    }
}
