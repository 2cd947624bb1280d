//! How much a guest may use.

use std::time::Duration;

use crate::health::Restarts;

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
    /// How often it is started anew before it stays away.
    pub restarts: Restarts,
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
            restarts: Restarts::default(),
        }
    }
}
