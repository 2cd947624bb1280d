//! Waiting and starting.

use std::{collections::HashSet, sync::Arc};

use super::{Ended, Engine, Running, announce, ending::End};
use crate::{
    deadline::Alarm,
    effect::{Effect, Phase},
    header::{Header, Lane, Limit},
    lane::Queue,
    name::{CommandId, SessionName, Ticket, Time},
    outcome::{Ending, Failure},
};

impl<C, B> Engine<C, B> {
    /// Starts in `lane` whatever may start now.
    pub(super) fn advance(&mut self, lane: &Lane, now: Time, effects: &mut Vec<Effect<C, B>>) {
        loop {
            let Some(queue) = self.lanes.get(lane) else { return };
            let control = queue.next_control(|work| self.waits_for_run_elsewhere(work));
            let ready = |ticket: &Ticket| self.commands.get(ticket).is_some_and(|command| command.accepted);
            if let Some(ticket) = control.filter(ready) {
                self.begin(ticket, now, effects);
                continue;
            }
            let Some(ticket) = queue.next_work().filter(ready) else { return };
            let Some(command) = self.commands.get(&ticket) else { return };
            if command.open.is_empty() {
                self.begin(ticket, now, effects);
                continue;
            }
            if command.alarm.is_none() {
                self.set_alarm(ticket, now.after(self.config.dependency_ms), Alarm::Dependency);
            }
            return;
        }
    }

    /// Its turn has come: checks the version and starts.
    fn begin(&mut self, ticket: Ticket, now: Time, effects: &mut Vec<Effect<C, B>>) {
        let Some(command) = self.commands.get_mut(&ticket) else { return };
        let header = Arc::clone(&command.header);
        if let Some(failure) = header.if_version.and_then(|expected| self.version_failure(&header, expected)) {
            return self.break_off(ticket, failure, now, effects);
        }
        self.clear_alarm(ticket);
        let Some(command) = self.commands.get_mut(&ticket) else { return };
        command.waiting = false;
        let payload = command.payload.take().expect("a command starts once");
        effects.push(announce(&command.name, &header, Phase::Started));
        effects.push(Effect::Start { ticket, header: Arc::clone(&header), command: payload });
        self.lanes.change(&header.lane, |lane| lane.start(ticket, header.order));
        if let Some(allowance) = self.config.allowance(header.limit) {
            self.set_alarm(ticket, now.after(allowance), Alarm::Limit);
        }
        let generation = header.subject().and_then(|session| self.versions.generation(session));
        self.running.insert(ticket, Running { header, generation, lingers: false, stopping: false, kill: None });
    }

    fn version_failure(&self, header: &Header, expected: u64) -> Option<Failure> {
        let session = header.subject()?;
        match self.versions.get(session) {
            None => Some(Failure::VersionOfNoSession { session: session.clone(), expected }),
            Some(found) if found != expected => Some(Failure::VersionMismatch { expected, found }),
            Some(_) => None,
        }
    }

    /// Whether waiting work waits for a dependency that takes as long as a run.
    fn waits_for_run_elsewhere(&self, work: Ticket) -> bool {
        self.commands.get(&work).is_some_and(|command| command.accepted && self.is_held_by_run(&command.open))
    }

    /// Whether one of these is long work, is behind some, or waits for such a dependency itself.
    pub(super) fn is_held_by_run(&self, open: &[(CommandId, Ticket)]) -> bool {
        self.is_held(open, Queue::is_behind_run)
    }

    /// The same for work that has no limit of time: a run, and not a job.
    fn is_held_without_limit(&self, open: &[(CommandId, Ticket)]) -> bool {
        self.is_held(open, |queue, ticket| {
            queue.is_behind_turn(ticket) || queue.long_upto(ticket).any(|long| self.is_unlimited(long))
        })
    }

    fn is_unlimited(&self, ticket: Ticket) -> bool {
        let command = self.commands.get(&ticket).map(|command| &command.header);
        let header = command.or_else(|| self.running.get(&ticket).map(|running| &running.header));
        header.is_some_and(|header| header.limit == Limit::Unlimited)
    }

    fn is_held(&self, open: &[(CommandId, Ticket)], holds: impl Fn(&Queue, Ticket) -> bool) -> bool {
        let mut next: Vec<Ticket> = open.iter().map(|(_, dependency)| *dependency).collect();
        let mut seen = HashSet::new();
        while let Some(ticket) = next.pop() {
            let undecided = self.commands.get(&ticket).filter(|command| command.decided.is_none());
            let Some(command) = undecided.filter(|_| seen.insert(ticket)) else { continue };
            let queue = self.lanes.get(&command.header.lane).filter(|_| command.header.order.is_work());
            if queue.is_some_and(|queue| holds(queue, ticket)) {
                return true;
            }
            if command.waiting {
                next.extend(command.open.iter().map(|(_, dependency)| *dependency));
            }
        }
        false
    }

    /// A dependency ended: its dependents go on, or end with it.
    pub(super) fn tell_dependents(&mut self, ended: &Ended, now: Time, effects: &mut Vec<Effect<C, B>>) {
        for ticket in &ended.dependents {
            let Some(command) = self.commands.get_mut(ticket).filter(|command| command.waiting) else { continue };
            let Some((id, _)) = command.open.iter().find(|(_, open)| *open == ended.ticket).cloned() else { continue };
            if let Some(error) = &ended.error {
                let failure = Failure::DependencyFailed { id, error: error.clone() };
                self.break_off(*ticket, failure, now, effects);
                continue;
            }
            command.open.retain(|(_, open)| *open != ended.ticket);
            let header = Arc::clone(&command.header);
            if command.open.is_empty() {
                self.clear_alarm(*ticket);
                self.lanes.change(&header.lane, |lane| lane.stand_in_line(*ticket));
            }
        }
    }

    /// A run that no command started holds the work of its session.
    pub(super) fn take_turn(&mut self, session: SessionName) {
        let lane = Lane::Session(session);
        self.lanes.change(&lane, |queue| queue.set_turn(true));
        self.stir_behind(&lane, None);
    }

    /// A short command in flight is long from here on.
    pub(super) fn linger(&mut self, ticket: Ticket) {
        let Some(running) = self.running.get_mut(&ticket) else { return };
        running.lingers = true;
        let lane = running.header.lane.clone();
        self.lanes.change(&lane, |queue| queue.linger(ticket));
        self.stir_behind(&lane, Some(ticket));
    }

    /// Work that waits in this lane, and this command of it, take as long as a run by now: whoever waits for them, or for
    /// somebody who does, lets control pass.
    fn stir_behind(&mut self, lane: &Lane, in_flight: Option<Ticket>) {
        let waiting = self.lanes.get(lane).into_iter().flat_map(|queue| queue.work.iter().copied());
        let mut next: Vec<_> = waiting.chain(in_flight).collect();
        let mut seen = HashSet::new();
        while let Some(ticket) = next.pop() {
            let dependents = self.commands.get(&ticket).map(|command| command.dependents.clone()).unwrap_or_default();
            for dependent in dependents.into_iter().filter(|dependent| seen.insert(*dependent)) {
                if let Some(command) = self.commands.get(&dependent) {
                    self.lanes.stir(&command.header.lane);
                    next.push(dependent);
                }
            }
        }
    }

    /// A dependency was awaited long enough, unless it is a run or behind one.
    pub(super) fn dependency_alarm(&mut self, ticket: Ticket, now: Time, effects: &mut Vec<Effect<C, B>>) {
        let Some(command) = self.commands.get_mut(&ticket) else { return };
        command.alarm = None;
        let Some((id, _)) = command.open.first().cloned() else { return };
        let open = command.open.clone();
        let after_ms = self.config.dependency_ms;
        if self.is_held_without_limit(&open) {
            self.set_alarm(ticket, now.after(after_ms), Alarm::Dependency);
        } else {
            self.break_off(ticket, Failure::DependencyTimedOut { id, after_ms }, now, effects);
        }
    }

    /// It ran long enough: that is its outcome, whatever the work still does.
    pub(super) fn limit_alarm(&mut self, ticket: Ticket, now: Time, effects: &mut Vec<Effect<C, B>>) {
        let Some(command) = self.commands.get_mut(&ticket) else { return };
        command.alarm = None;
        let (kind, limit) = (command.header.kind.clone(), command.header.limit);
        let after_ms = self.config.allowance(limit).expect("only a limited command has this alarm");
        self.cancel(ticket, now, effects);
        self.break_off(ticket, Failure::TimedOut { kind, after_ms }, now, effects);
    }

    /// Asks running work to stop, and sees to it that it does.
    pub(super) fn cancel(&mut self, ticket: Ticket, now: Time, effects: &mut Vec<Effect<C, B>>) {
        let at = now.after(self.config.kill_after_ms);
        if let Some(running) = self.running.get_mut(&ticket).filter(|running| !running.stopping) {
            running.stopping = true;
            running.kill = Some(at);
            self.deadlines.set(at, ticket, Alarm::Kill);
            effects.push(Effect::Cancel(ticket));
        }
    }

    pub(super) fn kill_alarm(&mut self, ticket: Ticket, effects: &mut Vec<Effect<C, B>>) {
        if self.running.get(&ticket).is_some() {
            effects.push(Effect::Kill(ticket));
        }
    }

    /// Ends running work by force, without waiting for it to stop by itself.
    pub(super) fn kill(&mut self, ticket: Ticket, effects: &mut Vec<Effect<C, B>>) {
        let Some(running) = self.running.get_mut(&ticket) else { return };
        running.stopping = true;
        if let Some(at) = running.kill.take() {
            self.deadlines.clear(at, ticket, Alarm::Kill);
        }
        effects.push(Effect::Kill(ticket));
    }

    /// Ends a command by the engine's own decision.
    pub(super) fn break_off(&mut self, ticket: Ticket, failure: Failure, now: Time, effects: &mut Vec<Effect<C, B>>) {
        let session = self.commands.get(&ticket).and_then(|command| command.header.subject());
        let version = session.and_then(|session| self.versions.get(session));
        let end = End { ending: Ending::Broken(failure), version, size: 0, moved: None };
        self.decide(ticket, end, now, effects);
    }

    /// The same for one that may be in the middle of its work: what it did stays done, so its session's version moves.
    pub(super) fn cut_off(&mut self, ticket: Ticket, failure: Failure, now: Time, effects: &mut Vec<Effect<C, B>>) {
        let running = self.running.get(&ticket).map(|running| (Arc::clone(&running.header), running.generation));
        let moved = running.and_then(|(header, generation)| self.alter(&header, generation));
        match moved {
            Some(moved) => {
                let end = End { ending: Ending::Broken(failure), version: moved.version, size: 0, moved: Some(moved) };
                self.decide(ticket, end, now, effects);
            }
            None => self.break_off(ticket, failure, now, effects),
        }
    }
}
