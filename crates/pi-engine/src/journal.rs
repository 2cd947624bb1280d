//! Which records are on their way to the journal, and what waits for each.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use crate::{
    name::{Sequence, SessionName, Ticket, Time},
    outcome::Outcome,
    record::VersionMove,
};

/// What goes on when a record is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pending {
    Accepted(Ticket),
    Finished(Ticket),
    Alias(Ticket),
    Version(SessionName),
    /// Nobody waits for this end: it was told before it could be recorded. The number is the debt's.
    Late(u64),
}

/// An end that was told, or found at the start, without a record.
#[derive(Debug)]
pub(crate) struct Unrecorded<B> {
    pub(crate) ticket: Ticket,
    pub(crate) at: Time,
    pub(crate) outcome: Arc<Outcome<B>>,
    pub(crate) size: usize,
    pub(crate) version: Option<VersionMove>,
    /// Whether the outcome is kept. Otherwise its records are of no use once they are complete.
    pub(crate) kept: bool,
}

#[derive(Debug)]
pub(crate) struct Journal<B> {
    last: Sequence,
    pending: VecDeque<(Sequence, Pending)>,
    failed: bool,
    /// By number, in the order in which they were incurred. A debt is kept until its record is durable.
    debts: BTreeMap<u64, Unrecorded<B>>,
    next_debt: u64,
    /// Sessions whose version moved without a record.
    unsettled: BTreeSet<SessionName>,
}

impl<B> Default for Journal<B> {
    fn default() -> Self {
        Self {
            last: Sequence(0),
            pending: VecDeque::new(),
            failed: false,
            debts: BTreeMap::new(),
            next_debt: 0,
            unsettled: BTreeSet::new(),
        }
    }
}

impl<B> Journal<B> {
    pub(crate) fn has_failed(&self) -> bool {
        self.failed
    }

    /// Whether nothing is on its way.
    pub(crate) fn is_settled(&self) -> bool {
        self.failed || self.pending.is_empty()
    }

    /// Numbers a record that is being sent.
    pub(crate) fn send(&mut self, pending: Pending) -> Sequence {
        self.last.0 += 1;
        self.pending.push_back((self.last, pending));
        self.last
    }

    /// The oldest record that is durable by now.
    pub(crate) fn pop(&mut self, upto: Sequence) -> Option<Pending> {
        if self.pending.front()?.0 > upto {
            return None;
        }
        self.pending.pop_front().map(|(_, pending)| pending)
    }

    /// Nothing that is on its way arrives; returns what it was.
    pub(crate) fn fail(&mut self) -> Vec<Pending> {
        self.failed = true;
        self.pending.drain(..).map(|(_, pending)| pending).collect()
    }

    /// Remembers an end that has no record yet; returns the debt's number.
    pub(crate) fn owe(&mut self, unrecorded: Unrecorded<B>) -> u64 {
        self.next_debt += 1;
        self.debts.insert(self.next_debt, unrecorded);
        self.next_debt
    }

    /// The record of a debt is durable.
    pub(crate) fn paid(&mut self, debt: u64) -> Option<Unrecorded<B>> {
        self.debts.remove(&debt)
    }

    pub(crate) fn owe_version(&mut self, session: SessionName) {
        self.unsettled.insert(session);
    }

    /// The journal works again; returns what is owed to it.
    pub(crate) fn restore(&mut self) -> (Vec<u64>, BTreeSet<SessionName>) {
        self.failed = false;
        (self.debts.keys().copied().collect(), std::mem::take(&mut self.unsettled))
    }

    pub(crate) fn debt(&self, debt: u64) -> Option<&Unrecorded<B>> {
        self.debts.get(&debt)
    }
}
