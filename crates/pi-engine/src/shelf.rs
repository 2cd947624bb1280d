//! Outcomes that are kept for a while, oldest first, with a count of their bytes.

use std::{collections::VecDeque, sync::Arc};

use crate::{
    identity::Names,
    name::{Ticket, Time},
    outcome::Outcome,
};

/// What keeping an outcome costs beyond its body: names, maps, counters. An estimate on the high side.
pub const OVERHEAD: usize = 512;

#[derive(Debug)]
pub(crate) struct Kept<B> {
    pub(crate) ticket: Ticket,
    pub(crate) names: Names,
    pub(crate) outcome: Arc<Outcome<B>>,
    pub(crate) finished: Time,
    pub(crate) bytes: usize,
}

/// Positions never repeat, so a position that is gone is recognised.
#[derive(Debug)]
pub(crate) struct Shelf<B> {
    kept: VecDeque<Kept<B>>,
    first: u64,
    bytes: usize,
    touches: u64,
}

impl<B> Default for Shelf<B> {
    fn default() -> Self {
        Self { kept: VecDeque::new(), first: 0, bytes: 0, touches: 0 }
    }
}

impl<B> Shelf<B> {
    pub(crate) fn len(&self) -> usize {
        self.kept.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// When the oldest outcome was there.
    pub(crate) fn oldest(&self) -> Option<Time> {
        self.kept.front().map(|kept| kept.finished)
    }

    pub(crate) fn touches(&self) -> u64 {
        self.touches
    }

    pub(crate) fn get(&self, position: u64) -> Option<&Kept<B>> {
        let index = position.checked_sub(self.first)?;
        self.kept.get(usize::try_from(index).ok()?)
    }

    /// Keeps an outcome and says where.
    pub(crate) fn push(&mut self, kept: Kept<B>) -> u64 {
        self.touches += 1;
        self.bytes += kept.bytes;
        self.kept.push_back(kept);
        self.first + self.kept.len() as u64 - 1
    }

    /// Takes the oldest if `old_enough` says so.
    pub(crate) fn pop_if(&mut self, old_enough: impl FnOnce(&Kept<B>) -> bool) -> Option<(u64, Kept<B>)> {
        if !self.kept.front().is_some_and(old_enough) {
            return None;
        }
        self.touches += 1;
        let kept = self.kept.pop_front()?;
        self.bytes -= kept.bytes;
        self.first += 1;
        Some((self.first - 1, kept))
    }
}
