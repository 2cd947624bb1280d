//! How long a call may take as a whole, and how long each wait in it.

use std::time::Duration;

use pi_transcript::ProviderId;
use tokio::time::{Instant, timeout_at};

use crate::error::{CallError, Phase, SetBy};

/// When a call has to be over, with all its attempts and its whole answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline {
    /// Absent where it is so far away that no clock reaches it.
    at: Option<Instant>,
    after: Duration,
    set_by: SetBy,
}

/// How long one wait may last; once it has, how long it was allowed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Patience {
    pub(super) phase: Phase,
    pub(super) after: Duration,
    pub(super) set_by: SetBy,
}

/// Something took too long: this was the limit.
pub(super) type Overrun = Patience;

impl Deadline {
    /// Counted from now.
    pub(super) fn after(after: Duration, set_by: SetBy) -> Self {
        Self { at: Instant::now().checked_add(after), after, set_by }
    }

    /// Of two, the one that comes first.
    pub(super) fn sooner(self, other: Self) -> Self {
        match (self.at, other.at) {
            (Some(own), Some(others)) if others < own => other,
            (None, Some(_)) => other,
            (Some(_) | None, Some(_) | None) => self,
        }
    }

    /// Whether it will be over after so long a wait.
    pub(super) fn is_within(&self, wait: Duration) -> bool {
        self.at.is_some_and(|at| at.saturating_duration_since(Instant::now()) <= wait)
    }
}

impl Patience {
    pub(super) fn into_error(self, provider: &ProviderId) -> CallError {
        let Self { phase, after, set_by } = self;
        CallError::TimedOut { provider: provider.clone(), phase, after, set_by }
    }
}

/// Waits for the work, but not longer than `patience` and not beyond the deadline.
pub(super) async fn within<T>(
    patience: Option<Patience>,
    deadline: Option<Deadline>,
    work: impl Future<Output = T>,
) -> Result<T, Overrun> {
    match earliest(patience, deadline) {
        Some((at, overrun)) => timeout_at(at, work).await.map_err(|_| overrun),
        None => Ok(work.await),
    }
}

/// When a wait that begins now has lasted too long, and what is to be said then; `None` if it may last for ever.
pub(super) fn earliest(patience: Option<Patience>, deadline: Option<Deadline>) -> Option<(Instant, Overrun)> {
    let patience = patience.and_then(|patience| Some((Instant::now().checked_add(patience.after)?, patience)));
    let deadline = deadline
        .and_then(|Deadline { at, after, set_by }| Some((at?, Patience { phase: Phase::Total, after, set_by })));
    patience.into_iter().chain(deadline).min_by_key(|(at, _)| *at)
}
