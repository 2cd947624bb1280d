//! Whether keys are for what came by itself before somebody who may be writing something else.
//!
//! Extensions choose the moment at which something appears, so keys that are pressed then were meant for what stood there before.
//! Whoever writes in that moment goes on writing there, until they turn to it.

use std::time::Duration;

/// So long something that came by itself lies before somebody before it takes keys.
pub(crate) const PAUSE: Duration = Duration::from_millis(700);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hearing {
    /// Nobody has seen it yet.
    Unseen,
    /// Since then; somebody may be about to type something else.
    Shown(Duration),
    /// Somebody types something else.
    Aside,
    Keen,
}

impl Hearing {
    /// It is shown at `now`.
    pub(crate) fn show(&mut self, now: Duration) {
        *self = match *self {
            Self::Unseen => Self::Shown(now),
            Self::Shown(_) | Self::Aside | Self::Keen => self.at(now),
        };
    }

    /// The same at `now`. Who has not seen it does not come to see it by pressing a key.
    pub(crate) fn at(self, now: Duration) -> Self {
        match self {
            Self::Shown(since) if now.saturating_sub(since) >= PAUSE => Self::Keen,
            Self::Unseen | Self::Shown(_) | Self::Aside | Self::Keen => self,
        }
    }

    /// Whether it will take keys by itself, soon.
    pub(crate) fn is_waiting(self) -> bool {
        matches!(self, Self::Unseen | Self::Shown(_))
    }

    /// Somebody writes something else. What was written before it was drawn says nothing about what comes after.
    pub(crate) fn step_aside(&mut self) {
        if let Self::Shown(_) = self {
            *self = Self::Aside;
        }
    }

    /// Somebody who wrote something else turns to it; whether they did.
    pub(crate) fn turn(&mut self) -> bool {
        let is_turn = *self == Self::Aside;
        if is_turn {
            *self = Self::Keen;
        }
        is_turn
    }
}
