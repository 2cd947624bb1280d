//! How much a guest may use.

use std::time::Duration;

use crate::health::Restarts;

/// What an instance of a component may be made of: an interpreter is made of 14 modules with one memory and two tables. All
/// instances of a process share an engine, so that none may take most of it.
pub(super) const CORE_INSTANCES: u32 = 40;
pub(super) const MEMORIES: u32 = 16;
pub(super) const TABLES: u32 = 20;

/// The limits of one guest. They are always on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Of all memories of an instance together.
    pub memory: usize,
    /// Of the elements of all its tables together.
    pub table: usize,
    /// How long it may compute without asking its host for anything, whoever waits for it. It begins anew with every answer of
    /// its host.
    pub stretch: Duration,
    /// How long it may take to say what it offers.
    pub loading: Duration,
    /// Instances at the same time: one, and those that answer while it waits for its host.
    pub instances: usize,
    /// How long a call stands in line while all of them wait for the host: they may wait for that call.
    pub standstill: Duration,
    /// Streams that it may hold open at the same time.
    pub streams: usize,
    /// How often it is started anew before it stays away.
    pub restarts: Restarts,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: 256 * 1024 * 1024,
            table: 100_000,
            stretch: Duration::from_secs(30),
            loading: Duration::from_secs(30),
            instances: 8,
            standstill: Duration::from_secs(30),
            streams: 64,
            restarts: Restarts::default(),
        }
    }
}
