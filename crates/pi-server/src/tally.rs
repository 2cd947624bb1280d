//! What became of the questions of all sessions, for people who look after the server.

use std::{
    collections::HashSet,
    sync::atomic::{AtomicU64, Ordering},
};

use pi_session::{MOST_OPEN_QUESTIONS, is_unasked};
use pi_transcript::{
    AgentEvent, RequestId,
    question::{Outcome, UiRequest},
};
use pi_wire::response::ExtensionUiMetrics;

#[derive(Debug, Default)]
pub struct Tally {
    pending: AtomicU64,
    answered: AtomicU64,
    timed_out: AtomicU64,
    cancelled: AtomicU64,
    unasked: AtomicU64,
    refused: AtomicU64,
}

/// The questions of one session that are open, while it is heard.
#[derive(Debug, Default)]
pub struct OpenQuestions(HashSet<RequestId>);

impl Tally {
    /// Follows what a session tells of its questions.
    pub fn follow(&self, open: &mut OpenQuestions, event: &AgentEvent) {
        match event {
            AgentEvent::ExtensionUiRequest { request_id, request: UiRequest::Question(_), .. } => {
                self.begin(open, request_id.clone());
            }
            // Components that extensions draw end with the same event.
            AgentEvent::ExtensionUiResolved { request_id, outcome } if open.0.remove(request_id) => {
                self.end(*outcome);
            }
            event if is_unasked(event) => add(&self.unasked),
            _ => {}
        }
    }

    /// Events were missed; these questions are open now. How those ended that are not, nobody knows: they are gone.
    pub fn find(&self, open: &mut OpenQuestions, found: impl IntoIterator<Item = RequestId>) {
        let found: HashSet<RequestId> = found.into_iter().collect();
        let gone: Vec<RequestId> = open.0.difference(&found).cloned().collect();
        for id in gone {
            open.0.remove(&id);
            self.end(Outcome::Cancelled);
        }
        for id in found {
            self.begin(open, id);
        }
    }

    /// An answer did not fit its question, or there was none.
    pub fn refuse(&self) {
        add(&self.refused);
    }

    pub fn metrics(&self) -> ExtensionUiMetrics {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ExtensionUiMetrics {
            pending_count: read(&self.pending),
            max_pending_requests: u64::try_from(MOST_OPEN_QUESTIONS).unwrap_or(u64::MAX),
            rejected_count: read(&self.unasked),
            answered_count: Some(read(&self.answered)),
            timed_out_count: Some(read(&self.timed_out)),
            cancelled_count: Some(read(&self.cancelled)),
            refused_answer_count: Some(read(&self.refused)),
        }
    }

    fn begin(&self, open: &mut OpenQuestions, id: RequestId) {
        if open.0.insert(id) {
            add(&self.pending);
        }
    }

    fn end(&self, outcome: Outcome) {
        self.pending.fetch_sub(1, Ordering::Relaxed);
        add(match outcome {
            Outcome::Answered => &self.answered,
            Outcome::TimedOut => &self.timed_out,
            // Only components are closed.
            Outcome::Cancelled | Outcome::Closed => &self.cancelled,
        });
    }
}

fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
