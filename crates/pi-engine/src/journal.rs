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
    /// Why nothing can be written, while nothing can.
    failed: Option<Arc<str>>,
    /// By number, in the order in which they were incurred. A debt is kept until its record is durable.
    debts: BTreeMap<u64, Unrecorded<B>>,
    next_debt: u64,
    /// Sessions whose version is on its way: there is never more than one such record for a session.
    moving: BTreeSet<SessionName>,
    /// Sessions whose version moved without a record.
    unsettled: BTreeSet<SessionName>,
    touches: u64,
}

impl<B> Journal<B> {
    /// A journal whose last record is `last`.
    pub(crate) fn after(last: Sequence) -> Self {
        Self {
            last,
            pending: VecDeque::new(),
            failed: None,
            debts: BTreeMap::new(),
            next_debt: 0,
            moving: BTreeSet::new(),
            unsettled: BTreeSet::new(),
            touches: 0,
        }
    }

    pub(crate) fn touches(&self) -> u64 {
        self.touches
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Why nothing can be written, while nothing can.
    pub(crate) fn trouble(&self) -> Option<&Arc<str>> {
        self.failed.as_ref()
    }

    /// Whether nothing is on its way.
    pub(crate) fn is_settled(&self) -> bool {
        self.failed.is_some() || self.pending.is_empty()
    }

    /// Numbers a record that is being sent.
    pub(crate) fn send(&mut self, pending: Pending) -> Sequence {
        self.last.0 += 1;
        self.touches += 1;
        self.pending.push_back((self.last, pending));
        self.last
    }

    /// The oldest record that is durable by now.
    pub(crate) fn pop(&mut self, upto: Sequence) -> Option<Pending> {
        if self.pending.front()?.0 > upto {
            return None;
        }
        self.touches += 1;
        self.pending.pop_front().map(|(_, pending)| pending)
    }

    /// Nothing that is on its way arrives; returns what it was.
    pub(crate) fn fail(&mut self, reason: Arc<str>) -> Vec<Pending> {
        self.failed = Some(reason);
        self.moving.clear();
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

    /// Whether a version that moved is to be sent now. Otherwise it is owed: while one is on its way, or none can be.
    pub(crate) fn moves(&mut self, session: &SessionName) -> bool {
        self.touches += 1;
        let now = self.failed.is_none() && self.moving.insert(session.clone());
        if !now {
            self.unsettled.insert(session.clone());
        }
        now
    }

    /// The version of a session arrived; whether it moved again meanwhile.
    pub(crate) fn moved(&mut self, session: &SessionName) -> bool {
        self.touches += 1;
        self.moving.remove(session);
        self.unsettled.remove(session)
    }

    /// The journal works again; returns what is owed to it.
    pub(crate) fn restore(&mut self) -> (Vec<u64>, BTreeSet<SessionName>) {
        self.failed = None;
        (self.debts.keys().copied().collect(), std::mem::take(&mut self.unsettled))
    }

    pub(crate) fn debt(&self, debt: u64) -> Option<&Unrecorded<B>> {
        self.debts.get(&debt)
    }
}
