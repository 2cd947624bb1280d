//! What is to happen by itself, and when.

use std::collections::BTreeSet;

use crate::name::{Ticket, Time};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Alarm {
    /// A dependency was awaited long enough.
    Dependency,
    /// The command ran long enough.
    Limit,
    /// It was asked to stop long enough ago.
    Kill,
}

/// An alarm is removed when its reason goes, so there are never more than two for a command.
#[derive(Debug, Default)]
pub(crate) struct Deadlines {
    alarms: BTreeSet<(Time, Ticket, Alarm)>,
    touches: u64,
}

impl Deadlines {
    pub(crate) fn len(&self) -> usize {
        self.alarms.len()
    }

    pub(crate) fn touches(&self) -> u64 {
        self.touches
    }

    pub(crate) fn set(&mut self, at: Time, ticket: Ticket, alarm: Alarm) {
        self.touches += 1;
        self.alarms.insert((at, ticket, alarm));
    }

    pub(crate) fn clear(&mut self, at: Time, ticket: Ticket, alarm: Alarm) {
        self.touches += 1;
        self.alarms.remove(&(at, ticket, alarm));
    }

    pub(crate) fn next(&self) -> Option<Time> {
        self.alarms.first().map(|(at, _, _)| *at)
    }

    /// Takes the earliest alarm that is due.
    pub(crate) fn pop(&mut self, now: Time) -> Option<(Ticket, Alarm)> {
        if self.alarms.first()?.0 > now {
            return None;
        }
        self.touches += 1;
        self.alarms.pop_first().map(|(_, ticket, alarm)| (ticket, alarm))
    }
}
