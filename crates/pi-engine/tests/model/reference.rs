//! What the engine should do, said as simply as possible: one list of commands, searched from end to end for everything.
//!
//! Written from the rules, not from the engine. Nothing here is fast, indexed or incremental: after every event all commands are
//! looked at again until none of them has anything to do. Sequence numbers are left to the engine; records are told apart
//! by what they say.

mod admission;
mod durability;
mod ending;
mod lanes;
mod store;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use pi_engine::{
    Access, Admission, Announcement, Change, CommandId, Completion, Config, Effect, Ending, Failure, Header, Lane,
    Limit, Load, OVERHEAD, Order, Outcome, Phase, Record, Refusal, Replay, Request, Role, Scarcity, Sequence,
    SessionName, Span, Ticket, Time, VersionMove,
};

/// Why the journal fails here.
pub(crate) const LOST: &str = "lost";

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
    Lingers(Ticket),
    TurnReleased(SessionName),
    Changed(SessionName),
    Opened(SessionName),
    Closed(SessionName),
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
    /// A follower that brings no new name has none.
    ticket: Option<Ticket>,
    name: CommandId,
    /// Nobody waits for a command of an earlier life.
    request: Option<Request>,
    header: Arc<Header>,
    payload: u64,
    follows: Option<usize>,
    /// What its record says that it follows: the one that was found, which may follow another.
    recorded: Option<Ticket>,
    owns_id: bool,
    owns_key: bool,
    entry: Saving,
    /// When its acceptance became durable, counted like [`End::order`].
    entered: usize,
    announced: bool,
    stage: Stage,
    /// It lets control pass, although its kind does not.
    lingers: bool,
    /// The how manieth session of its name it was started for.
    namesake: Option<u64>,
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
        self.header.access != Access::Read
    }

    fn is_work(&self) -> bool {
        self.header.order.is_work()
    }

    fn is_long_work(&self) -> bool {
        self.is_work() && self.span() == Span::Long
    }

    fn span(&self) -> Span {
        if self.lingers { Span::Long } else { self.header.order.span() }
    }

    /// Whether its outcome is kept for whoever asks again.
    fn is_kept(&self) -> bool {
        match self.follows {
            None => self.header.id.is_some() || self.header.key.is_some(),
            Some(_) => self.ticket.is_some(),
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
    commands: Vec<Command>,
    /// Kept outcomes, oldest first: of mutating commands, and of reads.
    shelf: Vec<usize>,
    reads: Vec<usize>,
    versions: BTreeMap<SessionName, u64>,
    /// How many sessions of each name there were.
    namesakes: BTreeMap<SessionName, u64>,
    turns: BTreeSet<SessionName>,
    journal_failed: bool,
    /// Sessions whose version is on its way to the journal, and those whose version it does not know.
    moves: BTreeSet<SessionName>,
    owed: BTreeSet<SessionName>,
    /// Commands that were refused after others had begun to wait for them, and when.
    retracted: BTreeMap<usize, usize>,
    orders: usize,
    life: Life,
    effects: Effects,
}

/// Whether it ended where there was no session: its key is not one of the next session of that name.
fn is_homeless(header: &Header, end: Option<&End>) -> bool {
    header.lane.session().is_some() && end.is_some_and(|end| end.outcome.version.is_none())
}

/// What ends a run or answers it.
fn is_needed(header: &Header) -> bool {
    matches!(header.order, Order::Control { role: Role::NeededByRun, .. })
}

impl Reference {
    pub(crate) fn new(config: Config, now: Time) -> Self {
        Self {
            config,
            now,
            serials: 0,
            tickets: 0,
            commands: Vec::new(),
            shelf: Vec::new(),
            reads: Vec::new(),
            versions: BTreeMap::new(),
            namesakes: BTreeMap::new(),
            turns: BTreeSet::new(),
            journal_failed: false,
            moves: BTreeSet::new(),
            owed: BTreeSet::new(),
            retracted: BTreeMap::new(),
            orders: 0,
            life: Life::Open,
            effects: Vec::new(),
        }
    }

    pub(crate) fn step(&mut self, event: Event, now: Time) -> Effects {
        self.now = now;
        self.forget_old();
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
            Event::Lingers(ticket) => {
                if let Some(command) =
                    self.commands.iter_mut().find(|command| command.ticket == Some(ticket) && command.runs())
                {
                    command.lingers = true;
                }
            }
            Event::Changed(session) => self.change(&session),
            Event::Opened(session) => self.open(&session),
            Event::Closed(session) => self.close(&session),
            Event::Shutdown { deadline } => self.shut_down(deadline),
            Event::Tick => {}
        }
        self.settle();
        self.run_clocks();
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

    fn version_for(&self, header: &Header) -> Option<u64> {
        header.subject().and_then(|session| self.version(session))
    }

    fn announce(&mut self, serial: usize, phase: Phase<u64>) {
        let command = self.at(serial).expect("only known commands are announced");
        let announcement = Announcement { id: command.name.clone(), header: command.header.clone(), phase };
        self.effects.push(Effect::Announce(announcement));
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
            self.cut_off(serial, Failure::ShutDown);
        }
        for serial in self.serials_where(Command::runs) {
            let command = self.at_mut(serial);
            command.cancelled = true;
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
            if open.iter().any(|(_, root)| self.is_endless(*root)) {
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
        }) || !self.moves.is_empty();
        if matches!(self.life, Life::Draining { .. }) && self.is_quiet() && (self.journal_failed || !records_wait) {
            self.life = Life::Drained;
            self.effects.push(Effect::Drained);
        }
    }
}
