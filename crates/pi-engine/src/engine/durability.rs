//! What follows when the journal has written, cannot write, or can write again.

use std::sync::Arc;

use super::{Ended, Engine, Follower, admission::replay, announce};
use crate::{
    effect::{Effect, Phase},
    header::Header,
    identity::{Names, Place},
    journal::{Pending, Unrecorded},
    name::{Sequence, Ticket, Time},
    outcome::{Ending, Failure, Outcome, Refusal},
    record::Record,
};

impl<C, B> Engine<C, B> {
    pub(super) fn persisted(&mut self, upto: Sequence, now: Time, effects: &mut Vec<Effect<C, B>>) {
        while let Some(pending) = self.journal.pop(upto) {
            match pending {
                Pending::Accepted(ticket) => self.accepted(ticket, effects),
                Pending::Alias(ticket) => {
                    if let Some(alias) = self.aliases.get_mut(&ticket) {
                        alias.accepted = true;
                        effects.push(announce(&alias.name, &alias.header, Phase::Accepted));
                    }
                    self.answer_alias(ticket, now, effects);
                }
                Pending::Finished(ticket) => {
                    let nameless = self.commands.get(&ticket).is_some_and(|c| Names::of(&c.header).is_empty());
                    self.conclude(ticket, now, effects);
                    effects.extend(nameless.then_some(Effect::Forget(ticket)));
                }
                Pending::Late(debt) => {
                    let paid = self.journal.paid(debt).filter(|paid| !paid.kept);
                    effects.extend(paid.map(|paid| Effect::Forget(paid.ticket)));
                }
                Pending::Version(session) => {
                    if self.journal.moved(&session) {
                        self.send_version(&session, effects);
                    }
                }
            }
        }
    }

    fn accepted(&mut self, ticket: Ticket, effects: &mut Vec<Effect<C, B>>) {
        let Some(command) = self.commands.get_mut(&ticket) else { return };
        command.accepted = true;
        effects.push(announce(&command.name, &command.header, Phase::Accepted));
        if command.waiting {
            let lane = command.header.lane.clone();
            self.lanes.stir(&lane);
        }
    }

    /// Nothing can be recorded: what is not accepted never was, what waits ends, what ended is answered as unrecorded. Only
    /// what a run needs goes on.
    pub(super) fn journal_failed(&mut self, reason: &Arc<str>, now: Time, effects: &mut Vec<Effect<C, B>>) {
        if self.journal.has_failed() {
            return;
        }
        for pending in self.journal.fail(Arc::clone(reason)) {
            match pending {
                Pending::Accepted(ticket) if self.is_awaited_by_run(ticket) => self.accept_unrecorded(ticket, effects),
                Pending::Accepted(ticket) => self.retract(ticket, reason, effects),
                Pending::Alias(ticket) => self.retract_alias(ticket, effects),
                Pending::Finished(ticket) => self.lose_outcome(ticket, reason, now, effects),
                Pending::Version(session) => self.journal.owe_version(session),
                Pending::Late(_) => {}
            }
        }
        let ends = |header: &Header| header.access.is_recorded() && !header.is_needed_by_run();
        let mut waiting: Vec<_> = self.commands.iter().filter(|(_, c)| c.waiting && ends(&c.header)).collect();
        waiting.sort_unstable_by_key(|(ticket, _)| **ticket);
        let waiting: Vec<_> = waiting.into_iter().map(|(ticket, c)| (*ticket, c.header.kind.clone())).collect();
        for (ticket, kind) in waiting {
            self.break_off(ticket, Failure::Unrecorded { kind, reason: Arc::clone(reason) }, now, effects);
        }
    }

    /// Whether it waits for its turn, and a run perhaps for it.
    fn is_awaited_by_run(&self, ticket: Ticket) -> bool {
        self.commands.get(&ticket).is_some_and(|command| command.waiting && command.header.is_needed_by_run())
    }

    /// Lets a command go on that was to be recorded, as one that is not.
    fn accept_unrecorded(&mut self, ticket: Ticket, effects: &mut Vec<Effect<C, B>>) {
        let Some(command) = self.commands.get_mut(&ticket) else { return };
        let header = Arc::new(command.header.unrecorded());
        let before = std::mem::replace(&mut command.header, Arc::clone(&header));
        if !Names::of(&header).is_empty() {
            self.reserved -= 1;
        }
        self.end_request(&before);
        self.begin_request(&header);
        self.accepted(ticket, effects);
    }

    /// Undoes an admission that was never durable.
    fn retract(&mut self, ticket: Ticket, reason: &Arc<str>, effects: &mut Vec<Effect<C, B>>) {
        self.clear_alarm(ticket);
        let Some(command) = self.commands.remove(&ticket) else { return };
        let names = Names::of(&command.header);
        let header = command.header;
        if command.waiting {
            self.lanes.change(&header.lane, |lane| lane.leave(ticket));
        }
        self.identities.forget(&names, Place::InFlight(ticket));
        if !names.is_empty() {
            self.reserved -= 1;
        }
        self.end_request(&header);
        let kind = header.kind.clone();
        let version = header.subject().and_then(|session| self.versions.get(session));
        let refusal = Refusal::JournalUnavailable;
        let error = Some(refusal.to_string());
        effects.push(Effect::Refuse { request: command.request, header, refusal });
        // Who repeated it was told that it was accepted, and is owed an end.
        let ending = Ending::Broken(Failure::Unrecorded { kind, reason: Arc::clone(reason) });
        let outcome = Arc::new(Outcome { ending, version });
        for follower in command.followers {
            if let Follower::Plain { header, name, request } = follower {
                replay(&name, request, &header, Arc::clone(&outcome), effects);
                self.end_request(&header);
            }
        }
        self.ended.push_back(Ended { ticket, dependents: command.dependents, error });
    }

    fn retract_alias(&mut self, ticket: Ticket, effects: &mut Vec<Effect<C, B>>) {
        let Some(alias) = self.aliases.remove(&ticket) else { return };
        self.identities.forget(&alias.brings, Place::InFlight(ticket));
        self.reserved -= 1;
        self.end_request(&alias.header);
        let (request, header) = (alias.request, alias.header);
        effects.push(Effect::Refuse { request, header, refusal: Refusal::JournalUnavailable });
    }

    /// An end that did not reach the journal is told as what it is.
    fn lose_outcome(&mut self, ticket: Ticket, reason: &Arc<str>, now: Time, effects: &mut Vec<Effect<C, B>>) {
        let Some(command) = self.commands.get_mut(&ticket) else { return };
        let kind = command.header.kind.clone();
        if let Some(decided) = &mut command.decided
            && !matches!(decided.outcome.ending, Ending::Broken(_))
        {
            let version = decided.outcome.version;
            let ending = Ending::Broken(Failure::Unrecorded { kind, reason: Arc::clone(reason) });
            decided.outcome = Arc::new(Outcome { ending, version });
            decided.size = 0;
        }
        self.conclude_unrecorded(ticket, now, effects);
    }

    /// Records what is owed.
    pub(super) fn journal_restored(&mut self, effects: &mut Vec<Effect<C, B>>) {
        if !self.journal.has_failed() {
            return;
        }
        let (debts, sessions) = self.journal.restore();
        for debt in debts {
            self.pay(debt, effects);
        }
        for session in sessions {
            self.send_version(&session, effects);
        }
    }

    /// Sends the record of an end that was told without one.
    pub(super) fn pay(&mut self, debt: u64, effects: &mut Vec<Effect<C, B>>) {
        let Some(Unrecorded { ticket, at, outcome, size, version, .. }) = self.journal.debt(debt) else { return };
        let (ticket, at, outcome, size) = (*ticket, *at, Arc::clone(outcome), *size);
        let record = Record::Finished { ticket, at, outcome, size, version: version.clone() };
        let sequence = self.journal.send(Pending::Late(debt));
        effects.push(Effect::Persist { sequence, record });
    }
}
