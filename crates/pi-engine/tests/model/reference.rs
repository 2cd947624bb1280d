//! What the engine should do, said as simply as possible: one list of commands, searched from end to end for everything.
//!
//! Written from the rules, not from the engine. Nothing here is fast, indexed or incremental: after every event all commands are
//! looked at again until none of them has anything to do. Sequence numbers are left to the engine; records are told apart
//! by what they say.

mod admission;
mod lanes;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use pi_engine::{
    Access, Admission, Announcement, Change, CommandId, Completion, Config, Effect, Ending, Failure, Header, Lane,
    Load, OVERHEAD, Order, Outcome, Phase, Record, Refusal, Replay, Request, Role, Scarcity, Sequence, SessionName,
    Span, Ticket, Time, VersionMove,
};

pub(crate) type Effects = Vec<Effect<u64, u64>>;

/// An input, with the records themselves where the engine is told how far they are durable.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    Admit(Admission<u64>),
    Completed {
        ticket: Ticket,
        completion: Completion<u64>,
    },
    Durable(Vec<Record<u64>>),
    /// These records are lost.
    JournalFailed(Vec<Record<u64>>),
    JournalRestored,
    TurnTaken(SessionName),
    TurnReleased(SessionName),
    Changed(SessionName),
    Shutdown {
        deadline: Time,
    },
    Tick,
}

/// How a record of a command stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Saving {
    Needless,
    Pending,
    Durable,
    /// The journal failed under it; it is written when there is one again.
    Lost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    Running,
    /// Its work has stopped, or never began.
    Over,
}

struct End {
    outcome: Arc<Outcome<u64>>,
    at: Time,
    size: usize,
    moved: Option<VersionMove>,
    saving: Saving,
    /// Which end was known for good before which.
    order: usize,
    /// Since when it is kept, once it is.
    kept: Time,
}

struct Command {
    serial: usize,
    /// A follower that brings no new id has none.
    ticket: Option<Ticket>,
    name: CommandId,
    /// Nobody waits for a command of an earlier life.
    request: Option<Request>,
    header: Arc<Header>,
    payload: u64,
    follows: Option<usize>,
    owns_id: bool,
    owns_key: bool,
    entry: Saving,
    /// When its acceptance became durable, counted like [`End::order`].
    entered: usize,
    announced: bool,
    stage: Stage,
    open: Vec<(CommandId, usize)>,
    clock: Option<Time>,
    limit: Option<Time>,
    kill: Option<Time>,
    cancelled: bool,
    end: Option<End>,
    answered: bool,
}

impl Command {
    fn is_write(&self) -> bool {
        self.header.access == Access::Write
    }

    fn is_work(&self) -> bool {
        self.header.order.is_work()
    }

    fn is_long_work(&self) -> bool {
        self.header.order == Order::Work(Span::Long)
    }

    /// Whether its outcome is kept for whoever asks again.
    fn is_kept(&self) -> bool {
        match self.follows {
            None => self.header.id.is_some() || self.header.key.is_some(),
            Some(_) => self.owns_id,
        }
    }

    fn waits(&self) -> bool {
        self.stage == Stage::Waiting && self.end.is_none() && self.follows.is_none()
    }

    fn runs(&self) -> bool {
        self.stage == Stage::Running
    }

    /// Waiting control that others may have to wait for.
    fn queues_as_control(&self) -> bool {
        self.waits() && !self.is_work() && self.open.is_empty()
    }

    fn queues_as_work(&self) -> bool {
        self.waits() && self.is_work()
    }

    fn number(&self) -> u64 {
        self.ticket.map_or(0, |ticket| ticket.0)
    }

    fn cost(&self) -> usize {
        match (&self.end, self.follows) {
            (Some(end), None) => end.size + OVERHEAD,
            _ => OVERHEAD,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    Open,
    Draining { deadline: Time, forced: bool },
    Drained,
}

pub(crate) struct Reference {
    config: Config,
    now: Time,
    serials: usize,
    tickets: u64,
    anonymous: u64,
    commands: Vec<Command>,
    /// Kept outcomes, oldest first: of mutating commands, and of reads.
    shelf: Vec<usize>,
    reads: Vec<usize>,
    versions: BTreeMap<SessionName, u64>,
    turns: BTreeSet<SessionName>,
    journal_failed: bool,
    /// Records of versions that are with the journal, and sessions whose version it does not know.
    moves: usize,
    owed: BTreeSet<SessionName>,
    /// Commands that were refused after others had begun to wait for them, and when.
    retracted: BTreeMap<usize, usize>,
    orders: usize,
    life: Life,
    effects: Effects,
}

impl Reference {
    pub(crate) fn new(config: Config, now: Time) -> Self {
        Self {
            config,
            now,
            serials: 0,
            tickets: 0,
            anonymous: 0,
            commands: Vec::new(),
            shelf: Vec::new(),
            reads: Vec::new(),
            versions: BTreeMap::new(),
            turns: BTreeSet::new(),
            journal_failed: false,
            moves: 0,
            owed: BTreeSet::new(),
            retracted: BTreeMap::new(),
            orders: 0,
            life: Life::Open,
            effects: Vec::new(),
        }
    }

    pub(crate) fn step(&mut self, event: Event, now: Time) -> Effects {
        self.now = now;
        self.run_clocks();
        self.settle();
        match event {
            Event::Admit(admission) => self.admit(admission),
            Event::Completed { ticket, completion } => self.complete(ticket, completion),
            Event::Durable(records) => records.iter().for_each(|record| self.mark_durable(record)),
            Event::JournalFailed(records) => self.lose_journal(&records),
            Event::JournalRestored => self.regain_journal(),
            Event::TurnTaken(session) => {
                self.turns.insert(session);
            }
            Event::TurnReleased(session) => {
                self.turns.remove(&session);
            }
            Event::Changed(session) => self.change(&session),
            Event::Shutdown { deadline } => self.shut_down(deadline),
            Event::Tick => {}
        }
        self.settle();
        std::mem::take(&mut self.effects)
    }

    pub(crate) fn version(&self, session: &SessionName) -> Option<u64> {
        self.versions.get(session).copied()
    }

    /// The load of the engine, as far as it follows from the rules: how it keeps lanes, keys and clocks is its own affair.
    pub(crate) fn load_of(&self, engine: &Load) -> Load {
        let store = self.load();
        Load {
            in_flight: self.commands.iter().filter(|command| !command.answered && command.request.is_some()).count(),
            running: self.commands.iter().filter(|command| command.runs()).count(),
            outcomes: store.outcomes,
            outcome_bytes: store.outcome_bytes,
            reserved_bytes: store.reserved_bytes,
            reads: store.reads,
            read_bytes: store.read_bytes,
            ids: self.commands.iter().filter(|command| command.owns_id).count(),
            versions: self.versions.len(),
            ..*engine
        }
    }

    /// Everything answered, nothing running, nothing with the journal.
    pub(crate) fn is_quiet(&self) -> bool {
        self.commands.iter().all(|command| command.answered && !command.runs())
    }

    fn at(&self, serial: usize) -> Option<&Command> {
        self.commands.iter().find(|command| command.serial == serial)
    }

    fn at_mut(&mut self, serial: usize) -> &mut Command {
        self.commands.iter_mut().find(|command| command.serial == serial).expect("the command is in the list")
    }

    /// The command whose outcome this one shares; itself when that was dropped already, for then it holds the outcome alone.
    fn root_of(&self, command: &Command) -> usize {
        command.follows.filter(|root| self.at(*root).is_some()).unwrap_or(command.serial)
    }

    fn serials_where(&self, test: impl Fn(&Command) -> bool) -> Vec<usize> {
        self.commands.iter().filter(|command| test(command)).map(|command| command.serial).collect()
    }

    fn lane_version(&self, lane: &Lane) -> Option<u64> {
        lane.session().and_then(|session| self.version(session))
    }

    fn announce(&mut self, serial: usize, phase: Phase<u64>) {
        let command = self.at(serial).expect("only known commands are announced");
        let announcement = Announcement { id: command.name.clone(), header: command.header.clone(), phase };
        self.effects.push(Effect::Announce(announcement));
    }

    fn persist(&mut self, record: Record<u64>) {
        self.effects.push(Effect::Persist { sequence: Sequence(0), record });
    }

    fn cancel(&mut self, serial: usize, kill_at: Time) {
        let command = self.at_mut(serial);
        if command.cancelled {
            return;
        }
        command.cancelled = true;
        command.kill = Some(kill_at);
        let ticket = command.ticket.expect("what runs has a ticket");
        self.effects.push(Effect::Cancel(ticket));
    }

    /// The engine itself ends a command.
    fn break_off(&mut self, serial: usize, failure: Failure) {
        let lane = self.at(serial).expect("only known commands end").header.lane.clone();
        let version = self.lane_version(&lane);
        self.end(serial, Outcome { ending: Ending::Broken(failure), version }, 0, None);
    }

    fn end(&mut self, serial: usize, mut outcome: Outcome<u64>, mut size: usize, moved: Option<VersionMove>) {
        let (now, failed) = (self.now, self.journal_failed);
        let command = self.at_mut(serial);
        let saving = match (command.header.access, failed) {
            (Access::Read, _) => Saving::Needless,
            (Access::Write, false) => Saving::Pending,
            (Access::Write, true) => Saving::Lost,
        };
        if saving == Saving::Lost && !matches!(outcome.ending, Ending::Broken(_)) {
            outcome.ending = Ending::Broken(Failure::Unrecorded { kind: command.header.kind.clone() });
            size = 0;
        }
        if command.stage == Stage::Waiting {
            command.stage = Stage::Over;
        }
        command.open.clear();
        command.clock = None;
        command.limit = None;
        command.end = Some(End { outcome: Arc::new(outcome), at: now, size, moved, saving, order: 0, kept: now });
        if saving != Saving::Pending {
            self.settle_end(serial);
        } else {
            self.persist_end(serial);
        }
    }

    fn persist_end(&mut self, serial: usize) {
        let command = self.at_mut(serial);
        let ticket = command.ticket.expect("what is recorded has a ticket");
        let end = command.end.as_mut().expect("it ended");
        end.saving = Saving::Pending;
        let (outcome, version) = (end.outcome.clone(), end.moved.clone());
        let record = Record::Finished { ticket, at: end.at, outcome, size: end.size, version };
        self.persist(record);
    }

    /// Nothing can change this end any more.
    fn settle_end(&mut self, serial: usize) {
        self.orders += 1;
        let order = self.orders;
        self.at_mut(serial).end.as_mut().expect("it ended").order = order;
    }

    fn complete(&mut self, ticket: Ticket, completion: Completion<u64>) {
        let Some(command) = self.commands.iter_mut().find(|command| command.ticket == Some(ticket) && command.runs())
        else {
            return;
        };
        command.stage = Stage::Over;
        command.kill = None;
        let (serial, header, ended) = (command.serial, command.header.clone(), command.end.is_some());
        if ended {
            return;
        }
        let succeeded = matches!(completion.ending, Ending::Succeeded(_));
        let mut moved = None;
        let mut version = self.lane_version(&header.lane);
        if header.access == Access::Write {
            match &completion.change {
                Change::Created(session) => {
                    moved = Some(VersionMove { session: session.clone(), version: Some(0) });
                    version = Some(0);
                }
                Change::Removed(session) => {
                    moved = Some(VersionMove { session: session.clone(), version: None });
                    version = None;
                }
                Change::Usual if !succeeded => {}
                Change::Usual | Change::Altered => {
                    version = version.map(|version| version + 1);
                    moved = header
                        .lane
                        .session()
                        .filter(|_| version.is_some())
                        .map(|session| VersionMove { session: session.clone(), version });
                }
            }
        }
        if let Some(moved) = &moved {
            self.apply(moved);
        }
        let removed = moved.as_ref().filter(|moved| moved.version.is_none()).map(|moved| moved.session.clone());
        self.end(serial, Outcome { ending: completion.ending, version }, completion.size, moved);
        if let Some(session) = removed {
            self.remove(&session);
        }
    }

    fn apply(&mut self, moved: &VersionMove) {
        match moved.version {
            Some(version) => self.versions.insert(moved.session.clone(), version),
            None => self.versions.remove(&moved.session),
        };
    }

    fn remove(&mut self, session: &SessionName) {
        let lane = Lane::Session(session.clone());
        for serial in self.serials_where(|command| command.waits() && command.header.lane == lane) {
            self.break_off(serial, Failure::SessionGone { session: session.clone() });
        }
        for serial in self.serials_where(|command| command.runs() && command.header.lane == lane) {
            self.cancel(serial, self.now.after(self.config.kill_after_ms));
        }
    }

    fn change(&mut self, session: &SessionName) {
        let Some(version) = self.version(session) else { return };
        let moved = VersionMove { session: session.clone(), version: Some(version + 1) };
        self.apply(&moved);
        if self.journal_failed {
            self.owed.insert(session.clone());
        } else {
            self.moves += 1;
            self.persist(Record::Version(moved));
        }
    }

    fn with_ticket(&self, ticket: Ticket) -> Option<usize> {
        self.commands.iter().find(|command| command.ticket == Some(ticket)).map(|command| command.serial)
    }

    fn mark_durable(&mut self, record: &Record<u64>) {
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
            Record::Version(_) => self.moves -= 1,
        }
    }

    fn lose_journal(&mut self, lost: &[Record<u64>]) {
        self.journal_failed = true;
        for record in lost {
            match record {
                Record::Accepted { ticket, .. } | Record::Alias { ticket, .. } => {
                    let serial = self.with_ticket(*ticket).expect("nothing is dropped before it is accepted");
                    self.refuse_late(serial);
                }
                Record::Finished { ticket, .. } => {
                    if let Some(serial) = self.with_ticket(*ticket) {
                        self.lose_end(serial);
                    }
                }
                Record::Version(moved) => {
                    self.moves -= 1;
                    self.owed.insert(moved.session.clone());
                }
            }
        }
        for serial in self.serials_where(|command| command.waits() && command.is_write()) {
            let kind = self.at(serial).expect("just listed").header.kind.clone();
            self.break_off(serial, Failure::Unrecorded { kind });
        }
    }

    fn lose_end(&mut self, serial: usize) {
        let command = self.at_mut(serial);
        let end = command.end.as_mut().expect("a record of the end follows the end");
        end.saving = Saving::Lost;
        if command.answered {
            return;
        }
        if !matches!(end.outcome.ending, Ending::Broken(_)) {
            let ending = Ending::Broken(Failure::Unrecorded { kind: command.header.kind.clone() });
            end.outcome = Arc::new(Outcome { ending, version: end.outcome.version });
            end.size = 0;
        }
        self.settle_end(serial);
    }

    /// What was not yet known to be accepted never was. Who repeated it was told otherwise, and is owed an end.
    fn refuse_late(&mut self, serial: usize) {
        let Some(command) = self.at(serial) else { return };
        let header = command.header.clone();
        let version = self.lane_version(&header.lane);
        let request = command.request.expect("what is on its way in has a request");
        self.effects.push(Effect::Refuse { request, header: header.clone(), refusal: Refusal::JournalUnavailable });
        self.commands.retain(|command| command.serial != serial);
        self.orders += 1;
        self.retracted.insert(serial, self.orders);
        let ending = Ending::Broken(Failure::Unrecorded { kind: header.kind.clone() });
        let outcome = Arc::new(Outcome { ending, version });
        for follower in self.serials_where(|command| command.follows == Some(serial) && command.ticket.is_none()) {
            self.answer(follower, outcome.clone(), Replay::Replayed);
        }
    }

    fn regain_journal(&mut self) {
        self.journal_failed = false;
        for serial in self.serials_where(|command| command.end.as_ref().is_some_and(|end| end.saving == Saving::Lost)) {
            self.persist_end(serial);
        }
        for session in std::mem::take(&mut self.owed) {
            let version = self.version(&session);
            self.moves += 1;
            self.persist(Record::Version(VersionMove { session, version }));
        }
    }

    fn shut_down(&mut self, deadline: Time) {
        match self.life {
            Life::Open => self.life = Life::Draining { deadline, forced: false },
            Life::Draining { deadline, forced: false } => {
                self.life = Life::Draining { deadline, forced: true };
                self.stop_everything();
            }
            Life::Draining { forced: true, .. } | Life::Drained => {}
        }
    }

    fn stop_everything(&mut self) {
        for serial in self.serials_where(|command| command.follows.is_none() && command.end.is_none()) {
            self.break_off(serial, Failure::ShutDown);
        }
        for serial in self.serials_where(Command::runs) {
            let command = self.at_mut(serial);
            command.kill = None;
            let ticket = command.ticket.expect("what runs has a ticket");
            self.effects.extend([Effect::Cancel(ticket), Effect::Kill(ticket)]);
        }
    }

    /// Whatever is due by now, the earliest first.
    fn run_clocks(&mut self) {
        loop {
            let now = self.now;
            let due = |time: Option<Time>| time.filter(|time| *time <= now);
            let first = self
                .commands
                .iter()
                .filter_map(|command| {
                    let time =
                        [due(command.clock), due(command.limit), due(command.kill)].into_iter().flatten().min()?;
                    Some((time, command.number(), command.serial))
                })
                .min();
            match (first, self.life) {
                (_, Life::Draining { deadline, forced: false }) if deadline <= now => {
                    self.life = Life::Draining { deadline, forced: true };
                    self.stop_everything();
                }
                (Some((time, _, serial)), _) => self.ring(serial, time),
                (None, _) => return,
            }
            self.settle();
        }
    }

    fn ring(&mut self, serial: usize, time: Time) {
        let now = self.now;
        let command = self.at_mut(serial);
        if command.clock == Some(time) {
            command.clock = None;
            let open = command.open.clone();
            if open.iter().any(|(_, root)| self.is_slow(*root)) {
                self.at_mut(serial).clock = Some(now.after(self.config.dependency_ms));
            } else {
                let id = open[0].0.clone();
                self.break_off(serial, Failure::DependencyTimedOut { id, after_ms: self.config.dependency_ms });
            }
        } else if command.limit == Some(time) {
            let header = command.header.clone();
            let after_ms = self.config.allowance(header.limit).expect("it had a limit");
            self.break_off(serial, Failure::TimedOut { kind: header.kind.clone(), after_ms });
            self.cancel(serial, now.after(self.config.kill_after_ms));
        } else {
            command.kill = None;
            let ticket = command.ticket.expect("what runs has a ticket");
            self.effects.push(Effect::Kill(ticket));
        }
    }

    /// Does everything that can be done, until there is nothing more.
    fn settle(&mut self) {
        while self.answer_one() || self.check_dependencies() || self.start_one() {}
        self.arm_clocks();
        self.forget_old();
        let records_wait = self.commands.iter().any(|command| {
            command.entry == Saving::Pending || command.end.as_ref().is_some_and(|end| end.saving == Saving::Pending)
        }) || self.moves > 0;
        if matches!(self.life, Life::Draining { .. }) && self.is_quiet() && (self.journal_failed || !records_wait) {
            self.life = Life::Drained;
            self.effects.push(Effect::Drained);
        }
    }

    /// Announces one acceptance or gives one answer, in the order in which they became certain.
    fn answer_one(&mut self) -> bool {
        let unannounced = self.commands.iter().find(|command| !command.announced && command.entry != Saving::Pending);
        if let Some(serial) = unannounced.map(|command| command.serial) {
            self.at_mut(serial).announced = true;
            self.announce(serial, Phase::Accepted);
            return true;
        }
        let waiting = self.commands.iter().filter(|command| command.announced && !command.answered);
        let ready = waiting.filter_map(|command| {
            let root = command.follows.map_or(Some(command), |root| self.at(root).filter(|root| root.answered))?;
            let end = root.end.as_ref().filter(|end| end.saving != Saving::Pending || root.answered)?;
            Some((end.order.max(command.entered), command.follows.is_some(), command.serial, end.outcome.clone()))
        });
        let Some((_, follows, serial, outcome)) =
            ready.min_by_key(|(order, follows, serial, _)| (*order, *follows, *serial))
        else {
            return false;
        };
        self.answer(serial, outcome, if follows { Replay::Replayed } else { Replay::First });
        true
    }

    fn answer(&mut self, serial: usize, outcome: Arc<Outcome<u64>>, replay: Replay) {
        let now = self.now;
        let command = self.at_mut(serial);
        command.answered = true;
        if command.follows.is_some() {
            let saving = Saving::Needless;
            command.end =
                Some(End { outcome: outcome.clone(), at: now, size: 0, moved: None, saving, order: 0, kept: now });
        }
        command.end.as_mut().expect("what is answered ended").kept = now;
        let (request, header) = (command.request, command.header.clone());
        if let Some(request) = request {
            self.announce(serial, Phase::Finished { outcome: outcome.clone(), replay });
            self.effects.push(Effect::Respond { request, header, outcome, replay });
        }
        self.shelve(serial);
    }

    fn shelve(&mut self, serial: usize) {
        let command = self.at(serial).expect("only known commands are kept");
        let (kept, write) = (command.is_kept(), command.is_write());
        if kept && write && !self.shelf.contains(&serial) {
            self.shelf.push(serial);
        } else if kept && !write {
            self.reads.push(serial);
        }
    }

    /// Drops what need not be remembered.
    fn forget_old(&mut self) {
        let retention = self.config.retention.clone();
        while self.shelf.len() > retention.keep_count {
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
    fn let_go(&mut self, serial: usize) {
        let command = self.at_mut(serial);
        command.owns_id = false;
        command.owns_key = false;
    }
}
