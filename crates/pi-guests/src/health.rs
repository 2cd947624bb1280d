//! How a guest is, and what its faults mean for its next start. The same for every engine.
//!
//! Nothing here reads a clock: whoever stops a guest says when that was.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use pi_exthost::{GuestId, guest::Condition};

/// How a guest is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    Running,
    /// It was stopped and starts anew when it is needed.
    Resting {
        restarts: usize,
    },
    /// It was stopped too often.
    Quarantined,
    /// It does not run any more.
    Ended,
}

impl From<Health> for Condition {
    fn from(health: Health) -> Self {
        match health {
            Health::Running => Self::Running,
            Health::Resting { .. } => Self::Resting,
            Health::Quarantined => Self::Failed { why: "it was stopped too often".to_owned() },
            Health::Ended => Self::Failed { why: "it has ended".to_owned() },
        }
    }
}

/// How often and how soon a guest that was stopped is started anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restarts {
    /// So many within [`Restarts::memory`]; after one more it stays away.
    pub most: usize,
    /// After which time a fault is forgotten.
    pub memory: Duration,
    /// How long the second restart waits; each further one waits twice as long as the one before.
    pub back_off: Duration,
}

impl Default for Restarts {
    fn default() -> Self {
        Self { most: 5, memory: Duration::from_secs(600), back_off: Duration::from_secs(1) }
    }
}

/// When a guest was stopped.
#[derive(Debug, Default)]
pub(crate) struct History {
    faults: VecDeque<Instant>,
}

/// What follows from a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consequence {
    /// It is started anew when it is needed after this moment.
    Rest {
        restarts: usize,
        until: Instant,
    },
    StayAway,
}

impl History {
    /// One more fault, which is written to the log.
    pub(crate) fn note(&mut self, guest: &GuestId, reason: &str, now: Instant, limit: &Restarts) -> Consequence {
        self.faults.push_back(now);
        while self.faults.front().is_some_and(|fault| now.duration_since(*fault) > limit.memory) {
            self.faults.pop_front();
        }
        let restarts = self.faults.len();
        tracing::warn!(%guest, reason, restarts, "an extension was stopped");
        // A rest that no clock can count is none that ends.
        match rest(restarts, limit).and_then(|rest| now.checked_add(rest)) {
            Some(until) => Consequence::Rest { restarts, until },
            None => {
                tracing::warn!(%guest, "an extension was stopped too often and stays away");
                Consequence::StayAway
            }
        }
    }
}

/// How long it rests after so many faults.
fn rest(restarts: usize, limit: &Restarts) -> Option<Duration> {
    if restarts > limit.most {
        return None;
    }
    // The first restart is free; a fault now and then is nobody's habit.
    let doublings = u32::try_from(restarts).unwrap_or(u32::MAX).checked_sub(2);
    Some(doublings.map_or(Duration::ZERO, |count| limit.back_off.saturating_mul(2_u32.saturating_pow(count))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Faults at these seconds, and how many seconds the guest rests after each; `None` is for good.
    #[expect(clippy::disallowed_methods, reason = "moments are counted from some moment")]
    fn check(limit: &Restarts, faults: &[u64], expected: &[Option<u64>]) {
        let (mut history, start) = (History::default(), Instant::now());
        let rests = faults.iter().map(|second| {
            let now = start + Duration::from_secs(*second);
            match history.note(&"test".into(), "it fell", now, limit) {
                Consequence::Rest { until, .. } => Some(until.duration_since(now).as_secs()),
                Consequence::StayAway => None,
            }
        });
        assert_eq!(rests.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn rest_grows_until_it_stays_away() {
        check(&Restarts::default(), &[0; 6], &[Some(0), Some(1), Some(2), Some(4), Some(8), None]);
        check(&Restarts { most: 0, ..Restarts::default() }, &[0], &[None]);
    }

    #[test]
    fn old_faults_are_forgotten() {
        let limit = Restarts { most: 2, ..Restarts::default() };
        check(&limit, &[0, 600, 1201, 1202, 1203], &[Some(0), Some(1), Some(0), Some(1), None]);
        check(&limit, &[0, 601, 1202, 1803], &[Some(0); 4]);
    }

    #[test]
    fn rest_without_an_end_is_quarantine() {
        let limit = Restarts { back_off: Duration::MAX, ..Restarts::default() };
        check(&limit, &[0, 0], &[Some(0), None]);
    }
}
