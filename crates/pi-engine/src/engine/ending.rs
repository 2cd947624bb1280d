//! Ending and answering.

use std::sync::Arc;

use super::{Decided, Ended, Engine, Follower, Purpose, Running, admission::replay, announce, sender};
use crate::{
    deadline::Alarm,
    effect::{Change, Completion, Effect, Phase, Replay},
    header::{Access, Header, Lane},
    identity::{Names, Place},
    journal::{Pending, Unrecorded},
    name::{SessionName, Ticket, Time},
    outcome::{Ending, Failure, Outcome},
    record::{Record, VersionMove},
    shelf::{Kept, OVERHEAD},
    version::Generation,
};

/// How a command ends, before that is on its way to the journal.
pub(super) struct End<B> {
    pub(super) ending: Ending<B>,
    pub(super) version: Option<u64>,
    pub(super) size: usize,
    pub(super) moved: Option<VersionMove>,
}

impl<C, B> Engine<C, B> {
    /// Work has stopped. The lane is free; the answer waits for the journal.
    pub(super) fn complete(
        &mut self,
        ticket: Ticket,
        completion: Completion<B>,
        now: Time,
        effects: &mut Vec<Effect<C, B>>,
    ) {
        let Some(running) = self.running.remove(&ticket) else { return };
        if let Some(at) = running.kill {
            self.deadlines.clear(at, ticket, Alarm::Kill);
        }
        let Running { header, generation, .. } = running;
        self.lanes.change(&header.lane, |lane| lane.stop(ticket));
        let Completion { ending, change, size } = completion;
        if self.commands.get(&ticket).is_none_or(|command| command.decided.is_some()) {
            return self.complete_late(&header, ending, &change, now, effects);
        }
        let moved = self.move_version(&header, generation, &change, matches!(ending, Ending::Succeeded(_)));
        let version = match &moved {
            Some(moved) => moved.version,
            None => header.subject().and_then(|session| self.versions.get(session)),
        };
        let removed = moved.as_ref().filter(|moved| moved.version.is_none()).map(|moved| moved.session.clone());
        self.decide(ticket, End { ending, version, size, moved }, now, effects);
        if let Some(session) = removed {
            self.remove_session(&session, now, effects);
        }
    }

    /// Work that was answered before moves no version, but which sessions exist must stay known.
    fn complete_late(
        &mut self,
        header: &Arc<Header>,
        ending: Ending<B>,
        change: &Change,
        now: Time,
        effects: &mut Vec<Effect<C, B>>,
    ) {
        if !header.access.is_recorded() {
            return;
        }
        let is_news = match change {
            Change::Created(session) => self.versions.get(session).is_none(),
            Change::Removed(session) => self.versions.get(session).is_some(),
            Change::Usual | Change::Altered => false,
        };
        match change {
            Change::Created(session) => self.opened(session, effects),
            Change::Removed(session) => self.closed(session, now, effects),
            Change::Usual | Change::Altered => {}
        }
        if is_news {
            effects.push(Effect::Belated { header: Arc::clone(header), ending });
        }
    }

    fn move_version(
        &mut self,
        header: &Header,
        generation: Option<Generation>,
        change: &Change,
        success: bool,
    ) -> Option<VersionMove> {
        if !header.access.is_recorded() {
            return None;
        }
        match change {
            Change::Created(session) => Some(self.versions.begin(session)),
            Change::Removed(session) => Some(self.end_session(session)),
            Change::Usual if !success || header.access == Access::Act => None,
            Change::Usual | Change::Altered => self.alter(header, generation),
        }
    }

    /// There is no such session any more, and none of its keys.
    fn end_session(&mut self, session: &SessionName) -> VersionMove {
        self.identities.drop_keys(session);
        self.versions.end(session)
    }

    /// Moves the version of the session for which a command was started, if that is still the one of this name.
    pub(super) fn alter(&mut self, header: &Header, generation: Option<Generation>) -> Option<VersionMove> {
        let session = header.subject().filter(|_| header.access.is_recorded())?;
        let same = self.versions.generation(session) == generation;
        same.then(|| self.versions.advance(session)).flatten()
    }

    /// Whatever waits for a session that is gone ends; whatever runs there is asked to stop.
    fn remove_session(&mut self, session: &SessionName, now: Time, effects: &mut Vec<Effect<C, B>>) {
        let lane = Lane::Session(session.clone());
        let Some(queue) = self.lanes.get(&lane) else { return };
        let (waiting, in_flight) = (queue.waiting(), queue.in_flight());
        for ticket in waiting {
            self.break_off(ticket, Failure::SessionGone { session: session.clone() }, now, effects);
        }
        for ticket in in_flight {
            self.cancel(ticket, now, effects);
        }
    }

    /// Something that is no command changed a session.
    pub(super) fn changed(&mut self, session: &SessionName, effects: &mut Vec<Effect<C, B>>) {
        if self.versions.advance(session).is_some() {
            self.send_version(session, effects);
        }
    }

    /// A session exists that no command made.
    pub(super) fn opened(&mut self, session: &SessionName, effects: &mut Vec<Effect<C, B>>) {
        if self.versions.get(session).is_none() {
            self.versions.begin(session);
            self.send_version(session, effects);
        }
    }

    /// A session is gone that no command removed.
    pub(super) fn closed(&mut self, session: &SessionName, now: Time, effects: &mut Vec<Effect<C, B>>) {
        if self.versions.get(session).is_some() {
            self.end_session(session);
            self.send_version(session, effects);
        }
        self.remove_session(session, now, effects);
    }

    /// Records a session's version. Moves that follow faster than the journal writes share one record.
    pub(super) fn send_version(&mut self, session: &SessionName, effects: &mut Vec<Effect<C, B>>) {
        if self.journal.moves(session) {
            let moved = VersionMove { session: session.clone(), version: self.versions.get(session) };
            let sequence = self.journal.send(Pending::Version(session.clone()));
            effects.push(Effect::Persist { sequence, record: Record::Version(moved) });
        }
    }

    /// How a command ended is settled; it is answered when that is durable.
    pub(super) fn decide(&mut self, ticket: Ticket, end: End<B>, now: Time, effects: &mut Vec<Effect<C, B>>) {
        let End { ending, version, size, moved } = end;
        self.clear_alarm(ticket);
        let Some(command) = self.commands.get_mut(&ticket) else { return };
        let header = Arc::clone(&command.header);
        let waited = std::mem::replace(&mut command.waiting, false);
        let trouble = self.journal.trouble().filter(|_| header.access.is_recorded()).map(Arc::clone);
        let lost = trouble.is_some();
        let (ending, size) = match (ending, trouble) {
            (Ending::Succeeded(_) | Ending::Failed { .. }, Some(reason)) => {
                (Ending::Broken(Failure::Unrecorded { kind: header.kind.clone(), reason }), 0)
            }
            (ending, _) => (ending, size),
        };
        let outcome = Arc::new(Outcome { ending, version });
        command.decided = Some(Decided { at: now, outcome: Arc::clone(&outcome), size, version: moved.clone() });
        if waited {
            self.lanes.change(&header.lane, |lane| lane.leave(ticket));
        }
        match header.access {
            Access::Read => self.conclude(ticket, now, effects),
            Access::Act | Access::Write if lost => self.conclude_unrecorded(ticket, now, effects),
            Access::Act | Access::Write => {
                let sequence = self.journal.send(Pending::Finished(ticket));
                let record = Record::Finished { ticket, at: now, outcome, size, version: moved };
                effects.push(Effect::Persist { sequence, record });
            }
        }
    }

    /// Answers although nothing is recorded, and remembers to record it later.
    pub(super) fn conclude_unrecorded(&mut self, ticket: Ticket, now: Time, effects: &mut Vec<Effect<C, B>>) {
        let Some(command) = self.commands.get(&ticket) else { return };
        if let Some(Decided { at, outcome, size, version }) = &command.decided {
            let kept = !Names::of(&command.header).is_empty();
            let (outcome, version) = (Arc::clone(outcome), version.clone());
            self.journal.owe(Unrecorded { ticket, at: *at, outcome, size: *size, version, kept });
        }
        self.conclude(ticket, now, effects);
    }

    /// Answers a command whose end is settled, keeps the outcome, and tells whoever waits for it.
    pub(super) fn conclude(&mut self, ticket: Ticket, now: Time, effects: &mut Vec<Effect<C, B>>) {
        let Some(command) = self.commands.remove(&ticket) else { return };
        let Some(Decided { outcome, size, .. }) = command.decided else { return };
        let phase = Phase::Finished { outcome: Arc::clone(&outcome), replay: Replay::First };
        effects.push(announce(&command.name, &command.header, phase));
        effects.push(Effect::Respond {
            request: command.request,
            header: Arc::clone(&command.header),
            outcome: Arc::clone(&outcome),
            replay: Replay::First,
        });
        self.end_request(&command.header);
        self.keep(ticket, &Names::of(&command.header), &command.header, &outcome, size, now);
        for follower in command.followers {
            match follower {
                Follower::Plain { header, name, request } => {
                    replay(&name, request, &header, Arc::clone(&outcome), effects);
                    self.end_request(&header);
                }
                Follower::Alias(alias) => {
                    if let Some(alias) = self.aliases.get_mut(&alias) {
                        alias.outcome = Some(Arc::clone(&outcome));
                    }
                    self.answer_alias(alias, now, effects);
                }
            }
        }
        let (dependents, error) = (command.dependents, outcome.error());
        if !dependents.is_empty() {
            self.ended.push_back(Ended { ticket, dependents, error });
        }
    }

    /// Answers an alias once it is durable itself and what it stands for has ended.
    pub(super) fn answer_alias(&mut self, ticket: Ticket, now: Time, effects: &mut Vec<Effect<C, B>>) {
        if !self.aliases.get(&ticket).is_some_and(|alias| alias.accepted && alias.outcome.is_some()) {
            return;
        }
        let Some(alias) = self.aliases.remove(&ticket) else { return };
        let Some(outcome) = alias.outcome else { return };
        self.end_request(&alias.header);
        self.keep(ticket, &alias.brings, &alias.header, &outcome, 0, now);
        replay(&alias.name, alias.request, &alias.header, outcome, effects);
    }

    /// Puts an outcome where its names find it.
    fn keep(
        &mut self,
        ticket: Ticket,
        names: &Names,
        header: &Header,
        outcome: &Arc<Outcome<B>>,
        size: usize,
        now: Time,
    ) {
        if names.is_empty() {
            return;
        }
        let lasting = names.lasting(outcome);
        let kept = Kept {
            ticket,
            names: lasting.clone(),
            outcome: Arc::clone(outcome),
            finished: now,
            bytes: size.saturating_add(OVERHEAD),
        };
        let place = match header.access {
            Access::Act | Access::Write => {
                self.reserved -= 1;
                Place::Durable(self.durable.push(kept))
            }
            Access::Read => Place::Read(self.reads.push(kept)),
        };
        self.identities.relocate(&lasting, Place::InFlight(ticket), place);
        if lasting.key.is_none() {
            // Its id has moved, and is not found there.
            self.identities.forget(names, Place::InFlight(ticket));
        }
    }

    pub(super) fn end_request(&mut self, header: &Header) {
        self.unanswered[Purpose::of(header)] -= 1;
        let sender = sender(header);
        if let Some(pending) = self.pending.get_mut(&sender) {
            *pending -= 1;
            if *pending == 0 {
                self.pending.remove(&sender);
            }
        }
    }

    /// Forgets outcomes that need not be kept any longer: those that are old enough, beyond the number that is kept in any
    /// case, or as many as keep others from being admitted. Without the latter, few large ones would block the server for good.
    pub(super) fn evict(&mut self, now: Time, effects: &mut Vec<Effect<C, B>>) {
        let keep = self.config.retention.clone();
        while (self.durable.len() > keep.keep_count || self.lack(now).is_some())
            && let Some((position, kept)) = self.durable.pop_if(|oldest| now.since(oldest.finished) >= keep.keep_ms)
        {
            self.identities.forget(&kept.names, Place::Durable(position));
            effects.push(Effect::Forget(kept.ticket));
        }
        loop {
            let crowded = self.reads.len() > keep.reads_count || self.reads.bytes() > keep.reads_bytes;
            let oldest = self.reads.pop_if(|oldest| crowded || now.since(oldest.finished) >= keep.reads_ms);
            let Some((position, kept)) = oldest else { return };
            self.identities.forget(&kept.names, Place::Read(position));
        }
    }
}
