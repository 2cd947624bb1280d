//! One life after another of an engine and its reference, driven by chance, until both are quiet.

use std::{collections::VecDeque, panic};

use pi_engine::{
    Admission, Change, Config, Effect, Engine, Header, Input, Load, Request, Sequence, SessionName, Ticket, Time,
};

use crate::{
    coverage::Coverage,
    display,
    journal::Journal,
    random::Random,
    reference::{Effects, Event, LOST, Reference},
    witness::Witness,
    world,
};

pub(crate) struct Episode<'a> {
    random: Random,
    config: Config,
    now: Time,
    engine: Engine<u64, u64>,
    model: Reference,
    journal: Journal,
    witness: Witness,
    coverage: &'a mut Coverage,
    earlier: Vec<Header>,
    requests: u64,
    bodies: u64,
    /// What ran once and has stopped, for reports that come twice.
    stopped: Vec<Ticket>,
    turns: Vec<SessionName>,
    draining: bool,
    drained: bool,
    history: VecDeque<(Time, Line)>,
}

/// What is told when something goes wrong.
enum Line {
    Event(Event),
    Crash(usize),
    Effects(Effects),
}

impl<'a> Episode<'a> {
    /// Takes about `steps` steps. A failure names `seed` and what happened last.
    pub(crate) fn run(seed: u64, steps: usize, coverage: &'a mut Coverage) {
        let mut random = Random::new(seed);
        let config = world::config(&mut random);
        let now = Time(1_000_000);
        let mut episode = Self {
            engine: Engine::new(config.clone()),
            model: Reference::new(config.clone(), now),
            random,
            config,
            now,
            journal: Journal::default(),
            witness: Witness::default(),
            coverage,
            earlier: Vec::new(),
            requests: 0,
            bodies: 0,
            stopped: Vec::new(),
            turns: Vec::new(),
            draining: false,
            drained: false,
            history: VecDeque::new(),
        };
        let result = panic::catch_unwind(panic::AssertUnwindSafe(|| {
            for _ in 0..steps {
                episode.advance();
            }
            episode.calm_down();
        }));
        if let Err(cause) = result {
            let cause = cause.downcast_ref::<String>().cloned();
            let cause = cause.unwrap_or_else(|| "the engine or the reference panicked, see above".to_owned());
            let report = episode.report_history();
            panic!("{report}\n{cause}\n\nrepeat with PI_TEST_SEED={seed}");
        }
    }

    fn report_history(&self) -> String {
        let mut report = format!("{:?}\nthe last steps:\n", self.config);
        for (now, line) in &self.history {
            match line {
                Line::Event(event) => report += &format!("{:>9} {}\n", now.0, display::event(event)),
                Line::Crash(records) => report += &format!("{:>9} crash, {records} records survive\n", now.0),
                Line::Effects(effects) => report += &display::effects(effects),
            }
        }
        report
    }

    fn advance(&mut self) {
        let later = world::later(&mut self.random, self.now);
        if later != self.now {
            // Mostly the driver wakes up in time; sometimes it is late.
            if self.random.percent(80) {
                while let Some(deadline) = self.engine.next_deadline().filter(|deadline| *deadline < later) {
                    assert!(deadline > self.now, "a deadline does not pass: {deadline:?} at {:?}", self.now);
                    self.now = deadline;
                    self.step(Event::Tick);
                }
            }
            self.now = later;
            self.step(Event::Tick);
        }
        match self.random.below(1000) {
            0..=419 => self.admit(),
            420..=699 => self.complete(),
            700..=939 => self.report_durable(),
            940..=959 => self.take_or_release_turn(),
            960..=969 => self.change(),
            970..=979 if self.journal.failed => self.restore_journal(),
            970..=972 => self.fail_journal(),
            980..=984 => self.crash(),
            985 => self.shut_down(),
            986..=995 if !self.draining => self.linger(),
            // Who is impatient asks twice.
            986..=999 if self.draining => {
                self.coverage.see("second shutdown");
                self.shut_down();
            }
            _ => self.step(Event::Tick),
        }
        if self.drained && self.random.percent(50) {
            self.crash();
        }
    }

    fn admit(&mut self) {
        self.requests += 1;
        let header = world::header(&mut self.random, &self.earlier);
        self.earlier.push(header.clone());
        if self.earlier.len() > 30 {
            self.earlier.remove(0);
        }
        self.step(Event::Admit(Admission { request: Request(self.requests), header, command: self.requests }));
    }

    fn complete(&mut self) {
        self.bodies += 1;
        let completion = world::completion(&mut self.random, self.bodies);
        let running = self.witness.running();
        let ticket = match self.random.below(50) {
            0 => Ticket(1_000_000),
            1 if !self.stopped.is_empty() => *self.random.pick(&self.stopped),
            _ if running.is_empty() => return,
            _ => *self.random.pick(&running),
        };
        self.step(Event::Completed { ticket, completion });
    }

    fn report_durable(&mut self) {
        let pending = self.journal.pending();
        if pending > 0 {
            let count = if self.random.percent(60) { pending } else { 1 + self.random.below(pending) };
            self.report(count);
        }
    }

    fn report(&mut self, count: usize) {
        let (upto, records) = self.journal.report(count);
        self.witness.durable(&records);
        self.both(Event::Durable(records), Input::Persisted(upto));
    }

    fn take_or_release_turn(&mut self) {
        let session = world::session(&mut self.random);
        if self.turns.contains(&session) {
            self.release(&session);
        } else {
            self.turns.push(session.clone());
            self.witness.turn(&session, true);
            self.step(Event::TurnTaken(session));
        }
    }

    fn linger(&mut self) {
        let running = self.witness.running();
        if !running.is_empty() {
            let ticket = *self.random.pick(&running);
            self.coverage.see("lingers");
            self.step(Event::Lingers(ticket));
        }
    }

    fn change(&mut self) {
        let session = world::session(&mut self.random);
        let event = match self.random.below(4) {
            0 => Event::Opened(session),
            1 => Event::Closed(session),
            _ => Event::Changed(session),
        };
        self.step(event);
    }

    fn release(&mut self, session: &SessionName) {
        self.turns.retain(|other| other != session);
        self.witness.turn(session, false);
        self.step(Event::TurnReleased(session.clone()));
    }

    fn fail_journal(&mut self) {
        let lost = self.journal.fail();
        self.step(Event::JournalFailed(lost));
    }

    fn restore_journal(&mut self) {
        self.journal.failed = false;
        self.step(Event::JournalRestored);
    }

    fn shut_down(&mut self) {
        self.draining = true;
        let deadline = self.now.after(20 * self.random.below(40) as u64);
        self.step(Event::Shutdown { deadline });
    }

    /// The process dies here and another takes its place.
    fn crash(&mut self) {
        self.coverage.see("crash");
        let records = self.journal.crash(&mut self.random);
        self.note(Line::Crash(records.len()));
        let plain: Vec<_> = records.iter().map(|(_, record)| record.clone()).collect();
        self.witness.crashed(&plain);
        self.stopped.clear();
        self.turns.clear();
        self.draining = false;
        self.drained = false;
        self.now = self.now.after(20 * self.random.below(3) as u64);
        let (model, expected) = Reference::restore(self.config.clone(), self.now, &plain);
        self.model = model;
        let mut effects = Vec::new();
        self.engine = Engine::restore(self.config.clone(), self.now, records, &mut effects);
        self.judge(&effects, expected);
    }

    fn step(&mut self, event: Event) {
        let input = match event.clone() {
            Event::Admit(admission) => {
                self.witness.admitting(admission.request);
                Input::Admit(admission)
            }
            Event::Completed { ticket, completion } => {
                self.witness.stopped(ticket);
                self.stopped.push(ticket);
                if let Change::Created(session) | Change::Removed(session) = &completion.change {
                    self.witness.renewed(session);
                }
                Input::Completed { ticket, completion }
            }
            Event::Durable(_) => unreachable!("reported with its sequence number"),
            Event::JournalFailed(_) => Input::JournalFailed { reason: LOST.into() },
            Event::JournalRestored => Input::JournalRestored,
            Event::TurnTaken(session) => Input::TurnTaken(session),
            Event::Lingers(ticket) => {
                self.witness.lingers(ticket);
                Input::Lingers(ticket)
            }
            Event::TurnReleased(session) => Input::TurnReleased(session),
            Event::Changed(session) => Input::Changed(session),
            Event::Opened(session) => Input::Opened(session),
            Event::Closed(session) => {
                self.witness.renewed(&session);
                Input::Closed(session)
            }
            Event::Shutdown { deadline } => Input::Shutdown { deadline },
            Event::Tick => Input::Tick,
        };
        self.witness.journal(self.journal.failed);
        self.both(event, input);
    }

    fn both(&mut self, event: Event, input: Input<u64, u64>) {
        self.note(Line::Event(event.clone()));
        let mut effects = Vec::new();
        self.engine.step(input, self.now, &mut effects);
        let expected = self.model.step(event, self.now);
        self.judge(&effects, expected);
    }

    fn judge(&mut self, effects: &Effects, expected: Effects) {
        self.note(Line::Effects(effects.clone()));
        self.coverage.effects(effects);
        for effect in effects {
            match effect {
                Effect::Persist { sequence, record } => self.journal.append(*sequence, record.clone()),
                Effect::Forget(ticket) => self.journal.forget(*ticket),
                Effect::Drained => self.drained = true,
                _ => {}
            }
        }
        compare(effects, expected);
        self.witness.watch(effects);
        for session in world::SESSIONS.map(SessionName::from) {
            assert_eq!(self.engine.version(&session), self.model.version(&session), "the version of {session}");
        }
        self.check_bounds();
    }

    fn check_bounds(&self) {
        let (load, retention) = (self.engine.load(), &self.config.retention);
        assert!(self.engine.next_deadline().is_none_or(|deadline| deadline > self.now), "a deadline in the past");
        assert!(load.in_flight <= 3 * self.config.max_in_flight, "{load:?}");
        assert!(load.outcomes <= retention.max_count, "{load:?}");
        assert!(load.outcome_bytes + load.reserved_bytes <= retention.max_bytes, "{load:?}");
        assert!(load.reads <= retention.reads_count && load.read_bytes <= retention.reads_bytes, "{load:?}");
        assert_eq!(self.model.load_of(&load), load, "the load");
    }

    fn note(&mut self, line: Line) {
        self.history.push_back((self.now, line));
        if self.history.len() > 80 {
            self.history.pop_front();
        }
    }

    /// Lets everything end; then only what is stored may be left.
    fn calm_down(&mut self) {
        if self.journal.failed {
            self.restore_journal();
        }
        for session in self.turns.clone() {
            self.release(&session);
        }
        for _ in 0..10_000 {
            if self.journal.pending() > 0 {
                self.report(self.journal.pending());
            }
            if let Some(ticket) = self.witness.running().first() {
                let completion = world::completion(&mut self.random, 0);
                self.step(Event::Completed { ticket: *ticket, completion });
            } else if self.journal.pending() == 0 && self.model.is_quiet() {
                break;
            } else if self.journal.pending() == 0 {
                self.now = self.now.after(50);
                self.step(Event::Tick);
            }
        }
        self.witness.quiet();
        let load = self.engine.load();
        let baseline = Load { in_flight: 0, running: 0, lanes: 0, reserved_bytes: 0, deadlines: 0, ..load };
        assert_eq!(load, baseline, "something is left over");
    }
}

/// Both did the same. In which order is judged by the witness, where it matters.
fn compare(effects: &Effects, expected: Effects) {
    let mut missing = expected;
    let mut unexpected = Vec::new();
    for effect in effects {
        let mut effect = effect.clone();
        if let Effect::Persist { sequence, .. } = &mut effect {
            *sequence = Sequence(0);
        }
        match missing.iter().position(|other| *other == effect) {
            Some(index) => drop(missing.remove(index)),
            None => unexpected.push(effect),
        }
    }
    assert!(
        missing.is_empty() && unexpected.is_empty(),
        "the engine should have:\n{}but did:\n{}",
        display::effects(&missing),
        display::effects(&unexpected)
    );
}
