//! The state machine.
//!
//! [`Engine::step`] takes one input and appends what is to be done. A command goes through four phases, each with its
//! file: it is admitted ([`admission`]), waits for its turn and starts ([`turn`]), ends and is answered ([`ending`]); what
//! must survive is handed to the journal and awaited ([`durability`]).

mod admission;
mod durability;
mod ending;
mod restore;
mod turn;

use std::{
    collections::VecDeque,
    ops::{Index, IndexMut},
    sync::Arc,
};

use crate::{
    config::Config,
    deadline::{Alarm, Deadlines},
    effect::{Announcement, Effect, Input, Phase},
    header::{Header, Lane},
    identity::{Identities, Names},
    journal::Journal,
    lane::Lanes,
    name::{ClientName, CommandId, Principal, Request, Sequence, SessionName, Ticket, Time},
    outcome::{Failure, Outcome},
    record::VersionMove,
    shelf::Shelf,
    table::Table,
    version::{Generation, Versions},
};

/// Decides when commands run. `C` is a command's payload, `B` the body of an answer; both stay closed.
#[derive(Debug)]
pub struct Engine<C, B> {
    config: Config,
    next_ticket: u64,
    /// Admitted and not answered.
    commands: Table<Ticket, Command<C, B>>,
    /// Further ids and keys for commands that are known, not answered.
    aliases: Table<Ticket, Alias<B>>,
    /// Started and not stopped; an answered one may linger here.
    running: Table<Ticket, Running>,
    /// Unanswered requests of each client of a principal, reads apart from all others.
    pending: Table<Sender, usize>,
    /// All of them, by what they are for.
    unanswered: Counts,
    lanes: Lanes,
    identities: Identities,
    durable: Shelf<B>,
    reads: Shelf<B>,
    /// Outcomes to come for which room on the durable shelf is set aside.
    reserved: usize,
    versions: Versions,
    deadlines: Deadlines,
    journal: Journal<B>,
    /// Ends whose dependents have not been told yet.
    ended: VecDeque<Ended>,
    drain: Drain,
}

/// What a command is for. Those of one purpose never keep out those of another: in a full server everybody can still look, and
/// stop what runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Looks,
    Acts,
    /// It ends a run, or answers it.
    EndsRun,
}

impl Purpose {
    fn of(header: &Header) -> Self {
        if header.is_needed_by_run() {
            Self::EndsRun
        } else if header.access.is_recorded() {
            Self::Acts
        } else {
            Self::Looks
        }
    }
}

/// A number for every purpose.
#[derive(Debug, Default)]
struct Counts([usize; 3]);

impl Counts {
    fn sum(&self) -> usize {
        self.0.iter().sum()
    }
}

impl Index<Purpose> for Counts {
    type Output = usize;

    fn index(&self, purpose: Purpose) -> &usize {
        &self.0[purpose as usize]
    }
}

impl IndexMut<Purpose> for Counts {
    fn index_mut(&mut self, purpose: Purpose) -> &mut usize {
        &mut self.0[purpose as usize]
    }
}

/// Whose request it is, and whether it only looks.
type Sender = (Principal, ClientName, Looking);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Looking {
    Looks,
    Acts,
}

#[derive(Debug)]
struct Command<C, B> {
    header: Arc<Header>,
    name: CommandId,
    request: Request,
    /// Taken when it starts.
    payload: Option<C>,
    /// Its acceptance is durable, or needs no durability.
    accepted: bool,
    /// It waits for its turn.
    waiting: bool,
    /// Dependencies that have not ended, by the names that the command gave them.
    open: Vec<(CommandId, Ticket)>,
    dependents: Vec<Ticket>,
    followers: Vec<Follower>,
    alarm: Option<(Time, Alarm)>,
    /// How it ended, while that is on its way to the journal.
    decided: Option<Decided<B>>,
}

#[derive(Debug)]
struct Decided<B> {
    at: Time,
    outcome: Arc<Outcome<B>>,
    size: usize,
    version: Option<VersionMove>,
}

/// Who gets the same answer as another command.
#[derive(Debug)]
enum Follower {
    /// Brings no new name.
    Plain { header: Arc<Header>, name: CommandId, request: Request },
    /// Brings one, and is remembered by it.
    Alias(Ticket),
}

#[derive(Debug)]
struct Alias<B> {
    header: Arc<Header>,
    /// The id, the key or both by which nothing was known before.
    brings: Names,
    name: CommandId,
    request: Request,
    of: Ticket,
    accepted: bool,
    /// The answer, once the followed command has one.
    outcome: Option<Arc<Outcome<B>>>,
}

#[derive(Debug)]
struct Running {
    header: Arc<Header>,
    /// The session that it was started for; another one of the same name is not its business.
    generation: Option<Generation>,
    /// It is short as a rule, and not over soon.
    lingers: bool,
    /// It was asked to stop, or ended by force.
    stopping: bool,
    /// When it is ended by force.
    kill: Option<Time>,
}

/// A command ended; whoever depends on it wants to know.
#[derive(Debug)]
struct Ended {
    ticket: Ticket,
    dependents: Vec<Ticket>,
    error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Drain {
    Open,
    Until(Time),
    /// The deadline has passed; what is left is being ended.
    Closing,
    Done,
}

/// How much the engine holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Requests that have no answer yet.
    pub in_flight: usize,
    /// Work that has started and not stopped.
    pub running: usize,
    pub lanes: usize,
    pub outcomes: usize,
    pub outcome_bytes: usize,
    pub reserved_bytes: usize,
    pub reads: usize,
    pub read_bytes: usize,
    pub ids: usize,
    pub keys: usize,
    pub deadlines: usize,
    pub versions: usize,
}

impl<C, B> Engine<C, B> {
    pub fn new(config: Config) -> Self {
        Self {
            config,
            next_ticket: 0,
            commands: Table::default(),
            aliases: Table::default(),
            running: Table::default(),
            pending: Table::default(),
            unanswered: Counts::default(),
            lanes: Lanes::default(),
            identities: Identities::default(),
            durable: Shelf::default(),
            reads: Shelf::default(),
            reserved: 0,
            versions: Versions::default(),
            deadlines: Deadlines::default(),
            journal: Journal::after(Sequence(0)),
            ended: VecDeque::new(),
            drain: Drain::Open,
        }
    }

    /// Takes one input and appends to `effects` what is to be done, in order. `now` never goes back.
    pub fn step(&mut self, input: Input<C, B>, now: Time, effects: &mut Vec<Effect<C, B>>) {
        match input {
            Input::Admit(admission) => self.admit(admission, now, effects),
            Input::Completed { ticket, completion } => self.complete(ticket, completion, now, effects),
            Input::Persisted(upto) => self.persisted(upto, now, effects),
            Input::JournalFailed { reason } => self.journal_failed(&reason, now, effects),
            Input::JournalRestored => self.journal_restored(effects),
            Input::TurnTaken(session) => self.take_turn(session),
            Input::TurnReleased(session) => self.lanes.change(&Lane::Session(session), |lane| lane.set_turn(false)),
            Input::Lingers(ticket) => self.linger(ticket),
            Input::Changed(session) => self.changed(&session, effects),
            Input::Opened(session) => self.opened(&session, effects),
            Input::Closed(session) => self.closed(&session, now, effects),
            Input::Shutdown { deadline } => self.shut_down(deadline, now, effects),
            Input::Tick => {}
        }
        self.settle(now, effects);
        self.expire(now, effects);
        self.evict(now, effects);
        self.finish_drain(effects);
    }

    /// When something happens by itself: the driver sends [`Input::Tick`] then.
    pub fn next_deadline(&self) -> Option<Time> {
        let drain = match self.drain {
            Drain::Until(deadline) => Some(deadline),
            Drain::Open | Drain::Closing | Drain::Done => None,
        };
        self.deadlines.next().into_iter().chain(drain).min()
    }

    pub fn version(&self, session: &SessionName) -> Option<u64> {
        self.versions.get(session)
    }

    /// How often a container was touched so far: work done, independent of the machine. The containers count.
    pub fn operations(&self) -> u64 {
        self.commands.touches()
            + self.aliases.touches()
            + self.running.touches()
            + self.pending.touches()
            + self.lanes.touches()
            + self.identities.touches()
            + self.durable.touches()
            + self.reads.touches()
            + self.versions.touches()
            + self.deadlines.touches()
            + self.journal.touches()
    }

    pub fn load(&self) -> Load {
        let (ids, keys) = self.identities.counts();
        Load {
            in_flight: self.unanswered.sum(),
            running: self.running.len(),
            lanes: self.lanes.len(),
            outcomes: self.durable.len(),
            outcome_bytes: self.durable.bytes(),
            reserved_bytes: self.reserved * self.config.retention.reserve_bytes,
            reads: self.reads.len(),
            read_bytes: self.reads.bytes(),
            ids,
            keys,
            deadlines: self.deadlines.len(),
            versions: self.versions.len(),
        }
    }

    /// Tells dependents and starts what may start, until nothing more follows.
    fn settle(&mut self, now: Time, effects: &mut Vec<Effect<C, B>>) {
        loop {
            while let Some(ended) = self.ended.pop_front() {
                self.tell_dependents(&ended, now, effects);
            }
            let stirred = self.lanes.take_stirred();
            if stirred.is_empty() && self.ended.is_empty() {
                return;
            }
            for lane in stirred {
                self.advance(&lane, now, effects);
            }
        }
    }

    /// Does what is due.
    fn expire(&mut self, now: Time, effects: &mut Vec<Effect<C, B>>) {
        if let Drain::Until(deadline) = self.drain
            && deadline <= now
        {
            self.close(now, effects);
            self.settle(now, effects);
        }
        while let Some((ticket, alarm)) = self.deadlines.pop(now) {
            match alarm {
                Alarm::Dependency => self.dependency_alarm(ticket, now, effects),
                Alarm::Limit => self.limit_alarm(ticket, now, effects),
                Alarm::Kill => self.kill_alarm(ticket, effects),
            }
            self.settle(now, effects);
        }
    }

    fn set_alarm(&mut self, ticket: Ticket, at: Time, alarm: Alarm) {
        self.clear_alarm(ticket);
        if let Some(command) = self.commands.get_mut(&ticket) {
            command.alarm = Some((at, alarm));
            self.deadlines.set(at, ticket, alarm);
        }
    }

    fn clear_alarm(&mut self, ticket: Ticket) {
        if let Some((at, alarm)) = self.commands.get_mut(&ticket).and_then(|command| command.alarm.take()) {
            self.deadlines.clear(at, ticket, alarm);
        }
    }

    fn ticket(&mut self) -> Ticket {
        self.next_ticket += 1;
        Ticket(self.next_ticket)
    }

    /// The name in lifecycle events of one that has no ticket and gets the answer of another.
    fn name_of_follower(&mut self, header: &Header) -> CommandId {
        header.id.clone().unwrap_or_else(|| anonymous(self.ticket()))
    }

    /// Ends whatever waits or runs, because the server goes away.
    fn close(&mut self, now: Time, effects: &mut Vec<Effect<C, B>>) {
        self.drain = Drain::Closing;
        let mut left: Vec<_> = self.commands.iter().map(|(ticket, _)| *ticket).collect();
        left.sort_unstable();
        for ticket in left {
            if self.commands.get(&ticket).is_some_and(|command| command.decided.is_none()) {
                self.cut_off(ticket, Failure::ShutDown, now, effects);
            }
        }
        let mut running: Vec<_> = self.running.iter().map(|(ticket, _)| *ticket).collect();
        running.sort_unstable();
        for ticket in running {
            effects.push(Effect::Cancel(ticket));
            self.kill(ticket, effects);
        }
    }

    fn shut_down(&mut self, deadline: Time, now: Time, effects: &mut Vec<Effect<C, B>>) {
        match self.drain {
            Drain::Open => self.drain = Drain::Until(deadline),
            Drain::Until(_) => self.close(now, effects),
            Drain::Closing | Drain::Done => {}
        }
    }

    fn finish_drain(&mut self, effects: &mut Vec<Effect<C, B>>) {
        let draining = matches!(self.drain, Drain::Until(_) | Drain::Closing);
        if draining && self.unanswered.sum() == 0 && self.running.is_empty() && self.journal.is_settled() {
            self.drain = Drain::Done;
            effects.push(Effect::Drained);
        }
    }
}

/// The name in lifecycle events: the command's own id, or one made up.
fn name(header: &Header, ticket: Ticket) -> CommandId {
    header.id.clone().unwrap_or_else(|| anonymous(ticket))
}

/// By which a command without an id is known, also to whoever reads the journal.
fn anonymous(ticket: Ticket) -> CommandId {
    format!("anon:{}", ticket.0).into()
}

fn sender(header: &Header) -> Sender {
    let looking = if header.access.is_recorded() { Looking::Acts } else { Looking::Looks };
    (header.principal.clone(), header.client.clone(), looking)
}

fn announce<C, B>(name: &CommandId, header: &Arc<Header>, phase: Phase<B>) -> Effect<C, B> {
    Effect::Announce(Announcement { id: name.clone(), header: Arc::clone(header), phase })
}
