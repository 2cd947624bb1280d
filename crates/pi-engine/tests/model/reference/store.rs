//! What is remembered of commands that ended, and how long.

use super::*;

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Store {
    pub(crate) outcomes: usize,
    pub(crate) outcome_bytes: usize,
    pub(crate) reservations: usize,
    pub(crate) reserved_bytes: usize,
    pub(crate) reads: usize,
    pub(crate) read_bytes: usize,
}

impl Reference {
    pub(super) fn load(&self) -> Store {
        let cost = |serials: &[usize]| serials.iter().filter_map(|serial| self.at(*serial)).map(Command::cost).sum();
        let reserved =
            self.commands.iter().filter(|command| command.is_write() && command.is_kept() && !command.answered);
        Store {
            outcomes: self.shelf.len(),
            outcome_bytes: cost(&self.shelf),
            reservations: reserved.clone().count(),
            reserved_bytes: reserved.count() * self.config.retention.reserve_bytes,
            reads: self.reads.len(),
            read_bytes: cost(&self.reads),
        }
    }

    pub(super) fn shelve(&mut self, serial: usize) {
        let command = self.at(serial).expect("only known commands are kept");
        let (kept, write) = (command.is_kept(), command.is_write());
        if kept && write && !self.shelf.contains(&serial) {
            self.shelf.push(serial);
        } else if kept && !write {
            self.reads.push(serial);
        }
    }

    /// Why no further outcome can be kept.
    pub(super) fn lack(&self) -> Option<Scarcity> {
        let (load, retention) = (self.load(), &self.config.retention);
        let kept = self.shelf.first().map(|serial| self.at(*serial).and_then(|oldest| oldest.end.as_ref()));
        let room_in_ms = kept.flatten().map_or(0, |end| end.kept.after(retention.keep_ms).since(self.now));
        if load.outcomes + load.reservations + 1 > retention.max_count {
            return Some(Scarcity::OutcomeCount { limit: retention.max_count, room_in_ms });
        }
        let bytes = load.outcome_bytes + load.reserved_bytes + retention.reserve_bytes;
        (bytes > retention.max_bytes).then_some(Scarcity::OutcomeBytes { limit: retention.max_bytes, room_in_ms })
    }

    /// Drops what need not be remembered.
    pub(super) fn forget_old(&mut self) {
        let retention = self.config.retention.clone();
        while !self.shelf.is_empty() && (self.shelf.len() > retention.keep_count || self.lack().is_some()) {
            let oldest = self.at(self.shelf[0]).expect("what is kept is in the list");
            let end = oldest.end.as_ref().expect("what is kept ended");
            if self.now.since(end.kept) < retention.keep_ms {
                break;
            }
            let ticket = oldest.ticket.expect("what is kept has a ticket");
            self.effects.push(Effect::Forget(ticket));
            let serial = self.shelf.remove(0);
            self.let_go(serial);
        }
        while let Some(&serial) = self.reads.first() {
            let oldest = self.at(serial).expect("what is kept is in the list");
            let age = self.now.since(oldest.end.as_ref().expect("what is kept ended").kept);
            let load = self.load();
            if age < retention.reads_ms
                && load.reads <= retention.reads_count
                && load.read_bytes <= retention.reads_bytes
            {
                break;
            }
            self.reads.remove(0);
            self.let_go(serial);
        }
        let (shelf, reads) = (&self.shelf, &self.reads);
        let followed: Vec<_> =
            self.commands.iter().filter(|command| !command.answered).filter_map(|command| command.follows).collect();
        self.commands.retain(|command| {
            let kept = shelf.contains(&command.serial) || reads.contains(&command.serial);
            let saving = command.end.as_ref().is_some_and(|end| matches!(end.saving, Saving::Pending | Saving::Lost));
            kept || !command.answered || command.runs() || saving || followed.contains(&command.serial)
        });
    }

    /// Its names are free for others.
    pub(super) fn let_go(&mut self, serial: usize) {
        let command = self.at_mut(serial);
        command.owns_id = false;
        command.owns_key = false;
    }
}
