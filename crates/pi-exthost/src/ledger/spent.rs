//! Entries that were written, on their way back to those who make them.
//!
//! An entry is some twenty pieces of memory. Given back by the writer's thread, each costs a lock of the allocator for which the
//! maker of the next entry waits: a third of all time of a tool call went there (ADR 342). Whoever hands in a line takes one or
//! two of these along and finds their memory at hand for the next.

use std::sync::{Mutex, PoisonError};

use pi_extproto::log::LogEntry;

/// Entries that are kept; what is more the writer gives back itself.
const MOST: usize = 256;

#[derive(Default)]
pub(super) struct Spent {
    /// A lock and no channel: who comes at the wrong moment goes on without.
    entries: Mutex<Vec<LogEntry>>,
}

impl Spent {
    pub(super) fn put(&self, entry: LogEntry) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let surplus = if entries.len() < MOST {
            entries.push(entry);
            None
        } else {
            Some(entry)
        };
        drop(entries);
        drop(surplus);
    }

    /// Gives back the memory of a few. Never waits.
    pub(super) fn take_along(&self) {
        let Ok(mut entries) = self.entries.try_lock() else { return };
        let few = [entries.pop(), entries.pop()];
        drop(entries);
        drop(few);
    }
}
