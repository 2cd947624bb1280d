//! A journal that loses what a real one may lose.

use std::collections::{BTreeSet, VecDeque};

use pi_engine::{Record, Sequence, Ticket};

use crate::random::Random;

pub(crate) struct Journal {
    durable: Vec<(Sequence, Record<u64>)>,
    /// Written or not, but not yet reported.
    pending: VecDeque<(Sequence, Record<u64>)>,
    forgotten: BTreeSet<Ticket>,
    /// The highest ticket that was given out.
    highest: Ticket,
    pub(crate) failed: bool,
}

impl Default for Journal {
    fn default() -> Self {
        Self {
            durable: Vec::new(),
            pending: VecDeque::new(),
            forgotten: BTreeSet::new(),
            highest: Ticket(0),
            failed: false,
        }
    }
}

impl Journal {
    pub(crate) fn append(&mut self, sequence: Sequence, record: Record<u64>) {
        assert!(!self.failed, "a record was handed to a journal that has failed: {record:?}");
        self.pending.push_back((sequence, record));
    }

    pub(crate) fn forget(&mut self, ticket: Ticket) {
        self.forgotten.insert(ticket);
    }

    pub(crate) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Makes the next `count` records durable and says up to where that is.
    pub(crate) fn report(&mut self, count: usize) -> (Sequence, Vec<Record<u64>>) {
        let reported: Vec<_> = self.pending.drain(..count).collect();
        let last = reported.last().expect("at least one record is reported").0;
        let records: Vec<_> = reported.iter().map(|(_, record)| record.clone()).collect();
        self.durable.extend(reported);
        (last, records)
    }

    /// Loses what was not reported, and says what that is.
    pub(crate) fn fail(&mut self) -> Vec<Record<u64>> {
        self.failed = true;
        self.pending.drain(..).map(|(_, record)| record).collect()
    }

    /// What a restart finds: everything reported, some of the rest, and perhaps without what may be dropped.
    pub(crate) fn crash(&mut self, random: &mut Random) -> Vec<(Sequence, Record<u64>)> {
        let written = random.below(self.pending.len() + 1);
        self.durable.extend(self.pending.drain(..written));
        assert!(self.durable.is_sorted_by_key(|(sequence, _)| *sequence), "a place in the journal is taken once");
        self.pending.clear();
        self.failed = false;
        for (_, record) in &self.durable {
            if let Record::Accepted { ticket, .. } | Record::Alias { ticket, .. } = record {
                self.highest = self.highest.max(*ticket);
            }
        }
        let last = self.durable.last().map(|(sequence, _)| *sequence);
        if !random.percent(50) {
            return self.durable.clone();
        }
        self.compact();
        let reached = last.map(|last| (last, Record::Reached(self.highest)));
        self.durable.iter().cloned().chain(reached).collect()
    }

    /// Drops the records of forgotten outcomes. What an alias stands for stays as long as the alias, and versions stay.
    fn compact(&mut self) {
        let mut needed = BTreeSet::new();
        for (_, record) in self.durable.iter().rev() {
            if let Record::Alias { ticket, of, .. } = record
                && (needed.contains(ticket) || !self.forgotten.contains(ticket))
            {
                needed.insert(*of);
            }
        }
        let dropped: BTreeSet<_> = self.forgotten.difference(&needed).copied().collect();
        self.forgotten.retain(|ticket| needed.contains(ticket));
        self.durable.retain_mut(|(_, record)| match record {
            Record::Accepted { ticket, .. } | Record::Alias { ticket, .. } => !dropped.contains(ticket),
            Record::Finished { ticket, version, .. } if dropped.contains(ticket) => match version.take() {
                Some(moved) => {
                    *record = Record::Version(moved);
                    true
                }
                None => false,
            },
            Record::Finished { .. } | Record::Version(_) | Record::Reached(_) => true,
        });
    }
}
