//! What follows when records are durable, lost, or can be written again.

use super::*;

impl Reference {
    pub(super) fn persist(&mut self, record: Record<u64>) {
        self.effects.push(Effect::Persist { sequence: Sequence(0), record });
    }

    pub(super) fn persist_end(&mut self, serial: usize) {
        let command = self.at_mut(serial);
        let ticket = command.ticket.expect("what is recorded has a ticket");
        let end = command.end.as_mut().expect("it ended");
        end.saving = Saving::Pending;
        let (outcome, version) = (end.outcome.clone(), end.moved.clone());
        let record = Record::Finished { ticket, at: end.at, outcome, size: end.size, version };
        self.persist(record);
    }

    /// Nothing can change this end any more.
    pub(super) fn settle_end(&mut self, serial: usize) {
        self.orders += 1;
        let order = self.orders;
        self.at_mut(serial).end.as_mut().expect("it ended").order = order;
    }

    pub(super) fn with_ticket(&self, ticket: Ticket) -> Option<usize> {
        self.commands.iter().find(|command| command.ticket == Some(ticket)).map(|command| command.serial)
    }

    pub(super) fn mark_durable(&mut self, record: &Record<u64>) {
        match record {
            Record::Accepted { ticket, .. } | Record::Alias { ticket, .. } => {
                let serial = self.with_ticket(*ticket).expect("nothing is dropped before it is accepted");
                self.orders += 1;
                let entered = self.orders;
                let command = self.at_mut(serial);
                command.entry = Saving::Durable;
                command.entered = entered;
            }
            Record::Finished { ticket, .. } => {
                let Some(serial) = self.with_ticket(*ticket) else { return };
                self.at_mut(serial).end.as_mut().expect("a record of the end follows the end").saving = Saving::Durable;
                let command = self.at(serial).expect("just found");
                let (kept, answered) = (command.is_kept(), command.answered);
                if !answered {
                    self.settle_end(serial);
                }
                if !kept {
                    self.effects.push(Effect::Forget(*ticket));
                }
            }
            Record::Version(moved) => {
                self.moves.remove(&moved.session);
                if self.owed.remove(&moved.session) {
                    self.record_version(&moved.session);
                }
            }
            Record::Reached(_) => {}
        }
    }

    pub(super) fn lose_journal(&mut self, lost: &[Record<u64>]) {
        self.journal_failed = true;
        for record in lost {
            match record {
                Record::Accepted { ticket, .. } | Record::Alias { ticket, .. } => {
                    let serial = self.with_ticket(*ticket).expect("nothing is dropped before it is accepted");
                    if self.at(serial).is_some_and(|command| command.waits() && is_needed(&command.header)) {
                        self.let_in_unwritten(serial);
                    } else {
                        self.refuse_late(serial);
                    }
                }
                Record::Finished { ticket, .. } => {
                    if let Some(serial) = self.with_ticket(*ticket) {
                        self.lose_end(serial);
                    }
                }
                Record::Version(moved) => {
                    self.moves.remove(&moved.session);
                    self.owed.insert(moved.session.clone());
                }
                Record::Reached(_) => {}
            }
        }
        let ends = |command: &Command| command.waits() && command.is_write() && !is_needed(&command.header);
        for serial in self.serials_where(ends) {
            let kind = self.at(serial).expect("just listed").header.kind.clone();
            self.break_off(serial, Failure::Unrecorded { kind, reason: LOST.into() });
        }
    }

    pub(super) fn lose_end(&mut self, serial: usize) {
        let command = self.at_mut(serial);
        let end = command.end.as_mut().expect("a record of the end follows the end");
        end.saving = Saving::Lost;
        if command.answered {
            return;
        }
        if !matches!(end.outcome.ending, Ending::Broken(_)) {
            let ending = Ending::Broken(Failure::Unrecorded { kind: command.header.kind.clone(), reason: LOST.into() });
            end.outcome = Arc::new(Outcome { ending, version: end.outcome.version });
            end.size = 0;
        }
        self.settle_end(serial);
    }

    /// A run may wait for it: it goes on, and nothing of it is written.
    fn let_in_unwritten(&mut self, serial: usize) {
        let command = self.at_mut(serial);
        command.entry = Saving::Needless;
        command.header = Arc::new(Header { access: Access::Read, ..(*command.header).clone() });
    }

    /// What was not yet known to be accepted never was. Who repeated it was told otherwise, and is owed an end.
    pub(super) fn refuse_late(&mut self, serial: usize) {
        let Some(command) = self.at(serial) else { return };
        let header = command.header.clone();
        let version = self.version_for(&header);
        let request = command.request.expect("what is on its way in has a request");
        self.effects.push(Effect::Refuse { request, header: header.clone(), refusal: Refusal::JournalUnavailable });
        self.commands.retain(|command| command.serial != serial);
        self.orders += 1;
        self.retracted.insert(serial, self.orders);
        let ending = Ending::Broken(Failure::Unrecorded { kind: header.kind.clone(), reason: LOST.into() });
        let outcome = Arc::new(Outcome { ending, version });
        for follower in self.serials_where(|command| command.follows == Some(serial) && command.ticket.is_none()) {
            self.answer(follower, outcome.clone(), Replay::Replayed);
        }
    }

    pub(super) fn regain_journal(&mut self) {
        self.journal_failed = false;
        for serial in self.serials_where(|command| command.end.as_ref().is_some_and(|end| end.saving == Saving::Lost)) {
            self.persist_end(serial);
        }
        for session in std::mem::take(&mut self.owed) {
            self.record_version(&session);
        }
    }
}
