//! Limits and times.

use crate::header::{Header, Limit};

/// Times are milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    pub brief_ms: u64,
    pub normal_ms: u64,
    pub extended_ms: u64,
    /// How long a command waits for a dependency that is not a run and not behind one.
    pub dependency_ms: u64,
    /// Between asking work to stop and ending it by force.
    pub kill_after_ms: u64,
    pub max_in_flight: usize,
    /// Commands of one client without an answer. Reads are counted by themselves, and what a run needs is not refused for it:
    /// see [`Config::pending_limit`].
    pub max_pending_per_client: usize,
    pub retention: Retention,
}

/// What is remembered of commands that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    /// How long an idempotency key is honoured.
    pub key_ms: u64,
    /// Outcomes of mutating commands are kept at least so long …
    pub keep_ms: u64,
    /// … and at least so many of them.
    pub keep_count: usize,
    /// When they would outgrow these bounds, new commands are refused instead.
    pub max_count: usize,
    pub max_bytes: usize,
    /// Room set aside for the outcome of each mutating command in flight. As long as no outcome is larger (with
    /// [`crate::OVERHEAD`]), `max_bytes` holds strictly; a larger one exceeds it by the difference.
    pub reserve_bytes: usize,
    /// Outcomes of reads are kept in memory, at most so long, so many, and of so many bytes.
    pub reads_ms: u64,
    pub reads_count: usize,
    pub reads_bytes: usize,
}

impl Config {
    /// How many commands of its client and of its kind (reads, or all others) may wait when this one comes, if it matters.
    /// Whoever has sent much must still be able to look, and to stop a run or to answer it, which waits for nothing.
    pub fn pending_limit(&self, header: &Header) -> Option<usize> {
        if header.is_needed_by_run() { None } else { Some(self.max_pending_per_client) }
    }

    /// The defaults of the protocol.
    pub fn standard() -> Self {
        Self {
            brief_ms: 30_000,
            normal_ms: 60_000,
            extended_ms: 300_000,
            dependency_ms: 30_000,
            kill_after_ms: 5_000,
            max_in_flight: 10_000,
            max_pending_per_client: 100,
            retention: Retention {
                key_ms: 600_000,
                keep_ms: 600_000,
                keep_count: 10_000,
                max_count: 100_000,
                max_bytes: 256 << 20,
                reserve_bytes: 16 << 10,
                reads_ms: 60_000,
                reads_count: 1_000,
                reads_bytes: 16 << 20,
            },
        }
    }

    /// How long a command of this class may run.
    pub fn allowance(&self, limit: Limit) -> Option<u64> {
        match limit {
            Limit::Brief => Some(self.brief_ms),
            Limit::Normal => Some(self.normal_ms),
            Limit::Extended => Some(self.extended_ms),
            Limit::Unlimited => None,
        }
    }
}
