//! Who may start: the two orders of a lane, dependencies, and what waits for what.

use super::*;

impl Reference {
    /// Drops dependencies that ended well and ends one command whose dependency did not.
    pub(super) fn check_dependencies(&mut self) -> bool {
        let waiting = self.serials_where(|command| command.waits() && !command.open.is_empty());
        // Who waits for what failed first is told first.
        let failures = waiting.iter().filter_map(|serial| {
            let open = &self.at(*serial).expect("just listed").open;
            let first = open.iter().filter_map(|(id, root)| self.failure_of(id, *root)).min_by_key(|(order, _)| *order);
            first.map(|(order, failure)| (order, *serial, failure))
        });
        if let Some((_, serial, failure)) = failures.min_by_key(|(order, serial, _)| (*order, *serial)) {
            self.break_off(serial, failure);
            return true;
        }
        for serial in waiting {
            let open = self.at(serial).expect("just listed").open.clone();
            let left: Vec<_> =
                open.iter().filter(|(_, root)| !self.at(*root).is_none_or(|root| root.answered)).cloned().collect();
            if left.len() < open.len() {
                let command = self.at_mut(serial);
                command.clock = command.clock.filter(|_| !left.is_empty());
                command.open = left;
                return true;
            }
        }
        false
    }

    /// Why a dependency failed, if it did, and when.
    fn failure_of(&self, id: &CommandId, root: usize) -> Option<(usize, Failure)> {
        let failed = |error| Failure::DependencyFailed { id: id.clone(), error };
        if let Some(order) = self.retracted.get(&root) {
            return Some((*order, failed(Refusal::JournalUnavailable.to_string())));
        }
        let root = self.at(root).filter(|root| root.answered)?;
        let end = root.end.as_ref().expect("what is answered ended");
        end.outcome.error().map(|error| (end.order, failed(error)))
    }

    /// Starts the first command that may. In one lane there is never more than one.
    pub(super) fn start_one(&mut self) -> bool {
        let ready = self.commands.iter().filter(|command| {
            command.queues_as_control() && self.control_may_start(command.serial)
                || command.queues_as_work() && self.work_may_start(command.serial)
        });
        let next = ready.min_by_key(|command| command.number()).map(|command| command.serial);
        if let Some(serial) = next {
            self.start(serial);
        }
        next.is_some()
    }

    fn start(&mut self, serial: usize) {
        let command = self.at(serial).expect("just found");
        let (header, ticket, payload) = (command.header.clone(), command.ticket, command.payload);
        if let (Some(expected), Some(session)) = (header.if_version, header.subject()) {
            match self.version(session) {
                None => {
                    return self.break_off(serial, Failure::VersionOfNoSession { session: session.clone(), expected });
                }
                Some(found) if found != expected => {
                    return self.break_off(serial, Failure::VersionMismatch { expected, found });
                }
                Some(_) => {}
            }
        }
        self.announce(serial, Phase::Started);
        let ticket = ticket.expect("what starts has a ticket");
        self.effects.push(Effect::Start { ticket, header: header.clone(), command: payload });
        let namesake = self.namesake_for(&header);
        let limit = self.config.allowance(header.limit).map(|limit| self.now.after(limit));
        let command = self.at_mut(serial);
        command.stage = Stage::Running;
        command.namesake = namesake;
        command.clock = None;
        command.limit = limit;
    }

    fn in_lane<'a>(&'a self, lane: &'a Lane) -> impl Iterator<Item = &'a Command> {
        self.commands.iter().filter(move |command| command.follows.is_none() && command.header.lane == *lane)
    }

    fn turn_is_taken(&self, lane: &Lane) -> bool {
        lane.session().is_some_and(|session| self.turns.contains(session))
    }

    fn first_work<'a>(&'a self, lane: &'a Lane) -> Option<&'a Command> {
        self.in_lane(lane).filter(|command| command.queues_as_work()).min_by_key(|command| command.number())
    }

    fn first_control<'a>(&'a self, lane: &'a Lane) -> Option<&'a Command> {
        self.in_lane(lane).filter(|command| command.queues_as_control()).min_by_key(|command| command.number())
    }

    fn short_control_runs(&self, lane: &Lane) -> bool {
        self.in_lane(lane).any(|command| command.runs() && !command.is_work() && command.span() == Span::Short)
    }

    fn control_may_start(&self, serial: usize) -> bool {
        let control = self.at(serial).expect("just listed");
        let lane = &control.header.lane;
        let runs =
            |span| self.in_lane(lane).any(|command| command.runs() && command.is_work() && command.span() == span);
        control.entry != Saving::Pending
            && !self.short_control_runs(lane)
            && !runs(Span::Short)
            && self.first_control(lane).is_some_and(|first| first.serial == serial)
            && (runs(Span::Long)
                || self.turn_is_taken(lane)
                || self.first_work(lane).is_none_or(|work| {
                    work.number() > control.number()
                        || work.entry != Saving::Pending && work.open.iter().any(|(_, root)| self.is_slow(*root))
                }))
    }

    fn work_may_start(&self, serial: usize) -> bool {
        self.only_dependencies_keep(serial) && self.at(serial).expect("just listed").open.is_empty()
    }

    fn only_dependencies_keep(&self, serial: usize) -> bool {
        let work = self.at(serial).expect("just listed");
        let lane = &work.header.lane;
        work.entry != Saving::Pending
            && self.first_work(lane).is_some_and(|first| first.serial == serial)
            && !self.in_lane(lane).any(|command| command.runs() && command.is_work())
            && !self.turn_is_taken(lane)
            && !self.short_control_runs(lane)
            && self.first_control(lane).is_none_or(|control| control.number() > work.number())
    }

    /// Waiting for it takes as long as long work: it is some, stands behind some in its lane, or waits for such a one itself.
    pub(super) fn is_slow(&self, serial: usize) -> bool {
        self.is_held(serial, Command::is_long_work)
    }

    /// The same for a run, which may take any time.
    pub(super) fn is_endless(&self, serial: usize) -> bool {
        self.is_held(serial, |command| command.is_long_work() && command.header.limit == Limit::Unlimited)
    }

    fn is_held(&self, serial: usize, holds: fn(&Command) -> bool) -> bool {
        let Some(command) = self.at(serial) else { return false };
        let lane = &command.header.lane;
        holds(command) && command.end.is_none()
            || command.waits() && command.open.iter().any(|(_, root)| self.is_held(*root, holds))
            || command.queues_as_work()
                && (self.turn_is_taken(lane)
                    || self.in_lane(lane).any(|other| {
                        holds(other) && (other.runs() || other.waits() && other.number() < command.number())
                    }))
    }

    pub(super) fn arm_clocks(&mut self) {
        let at = self.now.after(self.config.dependency_ms);
        for serial in
            self.serials_where(|command| command.waits() && !command.open.is_empty() && command.clock.is_none())
        {
            if !self.at(serial).expect("just listed").is_work() || self.only_dependencies_keep(serial) {
                self.at_mut(serial).clock = Some(at);
            }
        }
    }

    /// Whether the end of this command needs the end of long work in `lane`, or of a turn taken there. A long control command
    /// counts as well: like a run it may be waiting for a person.
    pub(super) fn end_needs_run(&self, serial: usize, lane: &Lane) -> bool {
        let Some(command) = self.at(serial) else { return false };
        if command.span() == Span::Long && command.header.lane == *lane && command.end.is_none() {
            return true;
        }
        command.waits() && self.start_needs_run(command, lane)
    }

    fn start_needs_run(&self, command: &Command, lane: &Lane) -> bool {
        if command.open.iter().any(|(_, root)| self.end_needs_run(*root, lane)) {
            return true;
        }
        let own = &command.header.lane;
        let earlier = |other: &&Command| other.number() < command.number();
        if !command.is_work() && !command.open.is_empty() {
            return false; // Set aside: only its dependencies keep it.
        }
        let control_ahead = self.in_lane(own).filter(|other| other.queues_as_control()).filter(earlier);
        if control_ahead.into_iter().any(|other| self.start_needs_run(other, lane)) {
            return true;
        }
        let work_runs_long = self.in_lane(own).any(|other| other.runs() && other.is_long_work());
        if command.is_work() {
            return (self.turn_is_taken(own) || work_runs_long) && own == lane
                || self
                    .in_lane(own)
                    .filter(|other| other.queues_as_work())
                    .filter(earlier)
                    .any(|other| self.end_needs_run(other.serial, lane));
        }
        if self.turn_is_taken(own) || work_runs_long {
            return false;
        }
        // Control follows earlier work until a run starts, or until that work waits for a run itself, and passes then.
        for other in self.in_lane(own).filter(|other| other.queues_as_work()).filter(earlier) {
            if other.open.iter().any(|(_, root)| self.is_slow(*root)) {
                return false;
            }
            if self.start_needs_run(other, lane) {
                return true;
            }
            if other.is_long_work() {
                return false;
            }
        }
        false
    }
}
