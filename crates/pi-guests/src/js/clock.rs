//! Time as a guest sees it.

use std::{
    cell::Cell,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// Where a guest's time comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// The system's.
    Real,
    /// Begins at zero and stands still, except that it jumps to the next timer when nothing else is to be done. For
    /// tests: hours of timers pass at once, and in the same order every time.
    Virtual,
}

/// The clock of one runtime.
pub(crate) struct Clock {
    time: Time,
    began: Instant,
    /// How far a virtual clock has come.
    passed: Cell<Duration>,
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "this is where a guest's time comes from")]
    pub(crate) fn new(time: Time) -> Self {
        Self { time, began: Instant::now(), passed: Cell::new(Duration::ZERO) }
    }

    pub(crate) fn is_virtual(&self) -> bool {
        self.time == Time::Virtual
    }

    /// Since the runtime began.
    pub(crate) fn monotonic(&self) -> Duration {
        match self.time {
            Time::Real => self.began.elapsed(),
            Time::Virtual => self.passed.get(),
        }
    }

    /// Since 1970.
    #[expect(clippy::disallowed_methods, reason = "this is where a guest's time comes from")]
    pub(crate) fn now(&self) -> Duration {
        match self.time {
            // A clock before 1970 is wrong, and not by our doing.
            Time::Real => SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            Time::Virtual => self.passed.get(),
        }
    }

    /// Lets a virtual clock jump.
    pub(crate) fn jump(&self, to: Duration) {
        self.passed.set(self.passed.get().max(to));
    }
}
