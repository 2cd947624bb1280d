//! How much a guest may use.

use std::time::Duration;

/// The limits of one guest. They are always on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Of the heap of its runtime.
    pub memory: usize,
    /// Of the stack of its engine.
    pub stack: usize,
    /// How long JavaScript may run before it comes back to its event loop, whoever waits for it.
    pub stretch: Duration,
    /// How long its factory may work.
    pub loading: Duration,
    /// Timers that may wait at the same time.
    pub timers: usize,
    /// Host calls that may be open at the same time.
    pub calls: usize,
    /// How often it is started anew within [`Limits::memory_of_faults`] before it stays away.
    pub restarts: usize,
    /// After which time a restart is forgotten.
    pub memory_of_faults: Duration,
    /// How long the second restart waits; each further one waits twice as long as the one before.
    pub back_off: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: 256 * 1024 * 1024,
            stack: 1024 * 1024,
            stretch: Duration::from_secs(30),
            loading: Duration::from_secs(30),
            timers: 10_000,
            calls: 1_024,
            restarts: 5,
            memory_of_faults: Duration::from_secs(600),
            back_off: Duration::from_secs(1),
        }
    }
}
