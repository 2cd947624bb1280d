//! Lines that were written, on their way back to those who make them.
//!
//! What a line has of its maker's memory, given back by the writer's thread, costs a lock of the allocator for which the maker of
//! the next line waits: a third of all time of a tool call went there (ADR 342). Whoever hands in a line takes one or two of
//! these along and finds their memory at hand for the next.

use std::sync::{Mutex, PoisonError};

use super::line::Line;

/// Lines that are kept; what is more the writer gives back itself.
const MOST: usize = 256;

#[derive(Default)]
pub(super) struct Spent {
    /// A lock and no channel: who comes at the wrong moment goes on without.
    lines: Mutex<Vec<Line>>,
}

impl Spent {
    pub(super) fn put(&self, line: Line) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let surplus = if lines.len() < MOST {
            lines.push(line);
            None
        } else {
            Some(line)
        };
        drop(lines);
        drop(surplus);
    }

    /// Gives back the memory of a few. Never waits.
    pub(super) fn take_along(&self) {
        let Ok(mut lines) = self.lines.try_lock() else { return };
        let few = [lines.pop(), lines.pop()];
        drop(lines);
        drop(few);
    }
}
