//! Holds what was observed against the engine's reference model.
//!
//! The model is told what nobody but the server decides: when a record was durable, how a handler ended. It then says what
//! must be seen, and all of that must be seen, and nothing else. What was admitted when is known as far as it matters: a
//! client's frames in their order, and no two clients at once.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use pi_engine::{
    Access, Admission, Change, Completion, Config, Effect, Ending, Header, Lane, Outcome, Phase, Record, Refusal,
    Replay, Request, SessionName, Ticket, Time,
};

use super::{
    command::{SESSIONS, Said},
    model::reference::{Effects, Event, Reference},
    seen::{Finish, Seen, What, client_of, error_of, has_timed_out, is_timeout, without_epoch},
};

/// How far back the ends are seen of what happened at the same time.
const NEARBY: usize = 60;

/// How a frame must be answered.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Told {
    pub(super) error: Option<String>,
    pub(super) version: Option<u64>,
    pub(super) replayed: bool,
    pub(super) timed_out: bool,
    /// Answers with the same number have the same body.
    pub(super) body: Option<u64>,
}

/// How a command ended in the model, where it has.
type Known = Option<Arc<Outcome<u64>>>;

/// Work that the model has begun.
struct Running {
    client: usize,
    name: String,
    ticket: Ticket,
    header: Header,
    limit: Option<u64>,
    /// Its session was there when it began.
    began_in_one: bool,
    /// It was answered, and its work has not stopped yet.
    is_late: bool,
}

pub(super) struct Judge {
    config: Config,
    model: Reference,
    now: u64,
    /// What the journal is sure to hold, and what it was handed.
    durable: Vec<Record<u64>>,
    pending: Vec<Record<u64>>,
    /// Whose records they are.
    headers: BTreeMap<Ticket, Arc<Header>>,
    /// What must be seen and was not yet.
    owed: Vec<(Seen, Known)>,
    running: Vec<Running>,
    /// Said, and not known to be admitted.
    sent: VecDeque<(u64, Said)>,
    told: BTreeMap<u64, (Told, Known)>,
    /// Outcomes that tell another version than the model thought.
    corrected: Vec<(Arc<Outcome<u64>>, u64)>,
    bodies: u64,
    trace: Vec<Seen>,
    at: usize,
    pub(super) coverage: BTreeMap<String, usize>,
}

impl Judge {
    pub(super) fn new(config: Config) -> Self {
        let now = 1_000_000;
        Self {
            model: Reference::new(config.clone(), Time(now)),
            config,
            now,
            durable: Vec::new(),
            pending: Vec::new(),
            headers: BTreeMap::new(),
            owed: Vec::new(),
            running: Vec::new(),
            sent: VecDeque::new(),
            told: BTreeMap::new(),
            corrected: Vec::new(),
            bodies: 0,
            trace: Vec::new(),
            at: 0,
            coverage: BTreeMap::new(),
        }
    }

    /// A frame goes out, behind all that went out before.
    pub(super) fn send(&mut self, request: u64, said: Said) {
        self.sent.push_back((request, said));
    }

    /// Judges all that was seen since the last time.
    pub(super) fn judge(&mut self, seen: Vec<Seen>) {
        self.trace.extend(seen);
        while self.at < self.trace.len() {
            let seen = self.trace[self.at].clone();
            self.at += 1;
            self.see(&seen);
        }
    }

    /// Nothing more comes: everything was seen that must be, and everything said was admitted or refused.
    pub(super) fn rest(&mut self) {
        while !self.sent.is_empty() {
            self.admit_one();
        }
        assert!(self.owed.is_empty(), "something was never seen\n{}", self.report());
    }

    /// The server was killed and started again: what was durable is all that is left.
    pub(super) fn restart(&mut self) {
        self.rest();
        while !self.pending.is_empty() {
            self.make_durable(0);
        }
        self.running.clear();
        self.count("restart");
        let (model, effects) = Reference::restore(self.config.clone(), Time(self.now), &self.durable);
        self.model = model;
        self.take(effects);
        for session in SESSIONS.map(SessionName::from) {
            if self.model.version(&session).is_some() {
                self.feed(Event::Opened(session));
            }
        }
    }

    fn see(&mut self, seen: &Seen) {
        match &seen.what {
            What::Accepted => {
                if !self.is_owed(seen) && self.entry_of(seen).is_none() {
                    let it = self.sent.iter().position(|(_, said)| seen.fits(&said.header));
                    for _ in 0..it.map_or(0, |it| it + 1) {
                        self.admit_one();
                    }
                }
                self.save(seen, Self::entry_of);
            }
            What::Started => self.make_room_for(seen),
            What::Finished(finish) => {
                self.finish(seen, finish);
                self.save(seen, Self::end_of);
            }
        }
        if !self.is_owed(seen) {
            self.allow_version_nearby(seen);
        }
        let Some(at) = self.owed.iter().position(|(owed, _)| owed == seen) else {
            let owed = self.owed.iter().map(|(owed, _)| owed).filter(|owed| owed.is_of(seen.client, &seen.name));
            let owed: Vec<&Seen> = owed.collect();
            panic!("seen: {seen:?}\nof it is owed: {owed:#?}\n{}", self.report());
        };
        if seen.what == What::Started {
            self.check_turn(seen);
        }
        self.owed.remove(at);
    }

    /// Nobody begins before others of the lane that should have begun earlier. The order of admission is always good: the
    /// model may have let a control command pass long work that had in fact ended.
    fn check_turn(&self, seen: &Seen) {
        let ticket = |of: &Seen| {
            self.running.iter().find(|running| of.is_of(running.client, &running.name)).map(|running| running.ticket)
        };
        let before = self.owed.iter().map(|(owed, _)| owed).take_while(|owed| *owed != seen);
        let passed = before.filter(|owed| owed.what == What::Started && same_lane(owed, seen));
        for passed in passed {
            assert!(ticket(seen) < ticket(passed), "{seen:?} passes {passed:?}\n{}", self.report());
        }
    }

    fn is_owed(&self, seen: &Seen) -> bool {
        self.owed.iter().any(|(owed, _)| owed == seen)
    }

    /// A command that never began tells the version of the moment when the engine ended it, which nobody sees. Around that
    /// moment others may have moved it, whose ends are seen a little before or later; from here on the model knows.
    fn allow_version_nearby(&mut self, seen: &Seen) {
        let What::Finished(finish) = &seen.what else { return };
        let found = self.owed.iter().find_map(|(owed, outcome)| {
            let (What::Finished(expected), Some(outcome)) = (&owed.what, outcome) else { return None };
            let is_broken = matches!(outcome.ending, Ending::Broken(_));
            let is_it = is_broken && owed.with_version(finish.version) == *seen;
            is_it.then(|| (expected.version, Arc::clone(outcome)))
        });
        let Some((Some(expected), outcome)) = found else { return };
        let Some(version) = finish.version else { return };
        let nearby = &self.trace[self.at.saturating_sub(NEARBY)..];
        let moves = |version: u64| {
            nearby.iter().any(|other| match &other.what {
                What::Finished(end) => other.session == seen.session && !end.replayed && end.version == Some(version),
                What::Accepted | What::Started => false,
            })
        };
        let (low, high) = (expected.min(version), expected.max(version));
        if (low + 1..=high).all(moves) {
            for (owed, other) in &mut self.owed {
                if other.as_ref().is_some_and(|other| Arc::ptr_eq(other, &outcome)) {
                    *owed = owed.with_version(Some(version));
                }
            }
            self.count("version nearby");
            self.corrected.push((outcome, version));
        }
    }

    /// The version that an answer tells.
    fn version_of(&self, outcome: &Arc<Outcome<u64>>) -> Option<u64> {
        let corrected = self.corrected.iter().find(|(known, _)| Arc::ptr_eq(known, outcome));
        corrected.map_or(outcome.version, |(_, version)| Some(*version))
    }

    /// How a frame must be answered, if it must be.
    pub(super) fn told(&self, request: u64) -> Option<Told> {
        let (told, outcome) = self.told.get(&request)?;
        let version = outcome.as_ref().and_then(|outcome| self.version_of(outcome));
        Some(Told { version, ..told.clone() })
    }

    /// It was seen, so its record is on the disk. In which order records got there is nobody's concern but the server's.
    fn save(&mut self, seen: &Seen, record: impl Fn(&Self, &Seen) -> Option<usize>) {
        while !self.is_owed(seen) {
            let Some(at) = record(self, seen) else { return };
            self.make_durable(at);
        }
    }

    /// The record of its acceptance, if it is on its way to the disk.
    fn entry_of(&self, seen: &Seen) -> Option<usize> {
        self.pending.iter().position(|record| match record {
            Record::Accepted { header, .. } | Record::Alias { header, .. } => seen.fits(header),
            Record::Finished { .. } | Record::Version(_) | Record::Reached(_) => false,
        })
    }

    /// The record of its end, if it is on its way to the disk.
    fn end_of(&self, seen: &Seen) -> Option<usize> {
        self.pending.iter().position(|record| match record {
            Record::Finished { ticket, .. } => self.headers.get(ticket).is_some_and(|header| seen.fits(header)),
            Record::Accepted { .. } | Record::Alias { .. } | Record::Version(_) | Record::Reached(_) => false,
        })
    }

    /// Its turn has come, so whatever stood before it has stopped; how that ended is seen later, when it is durable.
    fn make_room_for(&mut self, seen: &Seen) {
        while !self.is_owed(seen) && self.end_of(seen).is_none() {
            let is_before = |running: &Running| lane_of(&running.header) == lane_of_seen(seen);
            if let Some(at) = self.running.iter().position(|running| running.is_late && is_before(running)) {
                let late = self.running.remove(at);
                self.complete(&late, Ending::Failed { error: "late".to_owned(), body: 0 }, Change::Usual);
            } else if !self.complete_next(is_before) {
                return;
            }
        }
    }

    /// Ends the first to end, as is seen later, of those running commands, and before it whatever was recorded before it:
    /// ends are told in the order of their records.
    fn complete_next(&mut self, which: impl Fn(&Running) -> bool) -> bool {
        let ends = self.trace[self.at..].iter().filter_map(|seen| {
            let What::Finished(finish) = &seen.what else { return None };
            let running = self
                .running
                .iter()
                .find(|running| !running.is_late && !finish.replayed && seen.is_of(running.client, &running.name))?;
            (!is_timeout(finish)).then(|| (running.ticket, finish.clone(), which(running), running.header.access))
        });
        let ends: Vec<_> = ends.collect();
        let Some(last) = ends.iter().position(|(_, _, is_it, _)| *is_it) else { return false };
        for (at, (ticket, finish, _, access)) in ends.into_iter().take(last + 1).enumerate() {
            if at == last || access != Access::Read {
                let running = self.running.iter().position(|running| running.ticket == ticket);
                self.end(running.expect("it ran a moment ago"), &finish);
            }
        }
        true
    }

    fn finish(&mut self, seen: &Seen, finish: &Finish) {
        let of_it = |running: &Running| !running.is_late && seen.is_of(running.client, &running.name);
        let Some(at) = self.running.iter().position(of_it) else { return self.make_room_for(seen) };
        if finish.replayed {
            return;
        }
        if is_timeout(finish) {
            let running = &mut self.running[at];
            running.is_late = true;
            self.now = running.limit.expect("what times out has a limit");
            self.count("timed out");
            return self.feed(Event::Tick);
        }
        if self.running[at].header.access == Access::Read {
            self.catch_up(at, finish);
        }
        let of_it = |running: &Running| !running.is_late && seen.is_of(running.client, &running.name);
        if let Some(at) = self.running.iter().position(of_it) {
            self.end(at, finish);
        }
    }

    /// A read is answered at once and may have seen what others did whose answers wait for the disk.
    fn catch_up(&mut self, at: usize, finish: &Finish) {
        let Some(subject) = self.running[at].header.subject().cloned() else { return };
        let own = self.running[at].ticket;
        while self.model.version(&subject) != finish.version {
            let of_same = |running: &Running| running.ticket != own && running.header.subject() == Some(&subject);
            if !self.complete_next(of_same) {
                return;
            }
        }
    }

    fn end(&mut self, at: usize, finish: &Finish) {
        let running = self.running.remove(at);
        self.check_existence(&running, finish);
        self.bodies += 1;
        let body = self.bodies;
        let ending = match &finish.error {
            None => Ending::Succeeded(body),
            Some(error) => Ending::Failed { error: error.clone(), body },
        };
        let change = change(&running.header, finish);
        self.complete(&running, ending, change);
    }

    fn complete(&mut self, running: &Running, ending: Ending<u64>, change: Change) {
        let completion = Completion { ending, change, size: 0 };
        self.feed(Event::Completed { ticket: running.ticket, completion });
    }

    /// Whether there is such a session decides how commands end that need one, or make one.
    fn check_existence(&self, running: &Running, finish: &Finish) {
        let Some(subject) = running.header.subject() else { return };
        let exists = self.model.version(subject).is_some();
        let goes = self
            .running
            .iter()
            .any(|other| other.header.kind.as_str() == "delete_session" && other.header.subject() == Some(subject));
        let not_found = finish.error.as_ref().is_some_and(|error| error.ends_with("not found"));
        let fits = match (running.header.kind.as_str(), finish.error.is_none()) {
            ("unsubscribe", succeeded) => succeeded,
            ("create_session", succeeded) => succeeded != exists,
            (_, true) => exists || running.began_in_one,
            (_, false) => !not_found || !exists || goes,
        };
        assert!(fits, "{} {finish:?}, session exists: {exists}\n{}", running.name, self.report());
    }

    fn admit_one(&mut self) {
        let Some((request, said)) = self.sent.pop_front() else { return };
        self.feed(Event::Admit(Admission { request: Request(request), header: said.header, command: request }));
    }

    fn make_durable(&mut self, at: usize) {
        let record = self.pending.remove(at);
        self.durable.push(record.clone());
        self.feed(Event::Durable(vec![record]));
    }

    fn feed(&mut self, event: Event) {
        self.now += 1;
        let effects = self.model.step(event, Time(self.now));
        self.take(effects);
    }

    fn take(&mut self, effects: Effects) {
        let mut name = String::new();
        for effect in effects {
            match effect {
                Effect::Persist { record, .. } => {
                    if let Record::Accepted { ticket, header, .. } = &record {
                        self.headers.insert(*ticket, Arc::clone(header));
                    }
                    self.pending.push(record);
                }
                Effect::Announce(announcement) => {
                    name = without_epoch(announcement.id.as_str());
                    let mut seen = Seen::announced(&announcement);
                    self.count(phase(&seen));
                    let outcome = match announcement.phase {
                        Phase::Finished { outcome, .. } => Some(outcome),
                        Phase::Accepted | Phase::Started => None,
                    };
                    if let Some(outcome) = &outcome {
                        seen = seen.with_version(self.version_of(outcome));
                    }
                    self.owed.push((seen, outcome));
                }
                Effect::Start { ticket, header, .. } => {
                    let limit = self.config.allowance(header.limit).map(|limit| self.now + limit);
                    let (client, name) = (client_of(&header), name.clone());
                    let header = Header::clone(&header);
                    let began_in_one = header.subject().is_some_and(|session| self.model.version(session).is_some());
                    let running = Running { client, name, ticket, header, limit, began_in_one, is_late: false };
                    self.running.push(running);
                }
                Effect::Respond { request, outcome, replay, .. } => {
                    self.count(&ending_name(&outcome.ending));
                    let body = match outcome.ending {
                        Ending::Succeeded(body) | Ending::Failed { body, .. } => Some(body),
                        Ending::Broken(_) => None,
                    };
                    let told = Told {
                        error: error_of(&outcome.ending),
                        version: outcome.version,
                        replayed: replay == Replay::Replayed,
                        timed_out: has_timed_out(&outcome.ending),
                        body,
                    };
                    let told = (told, Some(outcome));
                    assert!(self.told.insert(request.0, told).is_none(), "the model answers twice");
                }
                Effect::Refuse { request, refusal, .. } => {
                    self.count(match refusal {
                        Refusal::ConflictingId { .. } => "conflicting id",
                        Refusal::ConflictingKey { .. } => "conflicting key",
                        _ => "refused",
                    });
                    let error = Some(refusal.to_string());
                    let told = Told { error, version: None, replayed: false, timed_out: false, body: None };
                    self.told.insert(request.0, (told, None));
                }
                // Nobody outside sees these.
                Effect::Cancel(_) | Effect::Kill(_) | Effect::Forget(_) | Effect::Drained => {}
            }
        }
    }

    fn count(&mut self, what: &str) {
        *self.coverage.entry(what.to_owned()).or_default() += 1;
    }

    fn report(&self) -> String {
        let from = self.at.saturating_sub(40);
        let to = (self.at + 25).min(self.trace.len());
        let lines: Vec<String> = (from..to)
            .map(|at| format!("{} {:?}", if at + 1 == self.at { ">" } else { " " }, self.trace[at]))
            .collect();
        let owed: Vec<String> = self.owed.iter().map(|(owed, _)| format!("{owed:?}")).collect();
        let running: Vec<&str> = self.running.iter().map(|running| running.name.as_str()).collect();
        let sent: Vec<String> = self.sent.iter().map(|(_, said)| said.frame.to_string()).collect();
        format!(
            "seen:\n{}\nowed:\n  {}\nrunning: {running:?}\nnot admitted:\n  {}",
            lines.join("\n"),
            owed.join("\n  "),
            sent.join("\n  ")
        )
    }
}

/// What a handler did to sessions, by how it ended.
fn change(header: &Header, finish: &Finish) -> Change {
    let session = || header.subject().expect("it is about a session").clone();
    match (header.kind.as_str(), &finish.error) {
        ("create_session", None) => Change::Created(session()),
        ("delete_session", None) => Change::Removed(session()),
        // What was said is in the conversation, however the run ended; nothing was said to a session that is not there.
        ("prompt", Some(error)) if !error.ends_with("not found") => Change::Altered,
        // One that the engine told to stop had begun.
        ("bash", Some(error)) if error == "Run aborted" => Change::Altered,
        _ => Change::Usual,
    }
}

fn lane_of(header: &Header) -> Option<String> {
    match &header.lane {
        Lane::Server => None,
        Lane::Session(session) => Some(session.to_string()),
    }
}

fn lane_of_seen(seen: &Seen) -> Option<String> {
    let of_server =
        ["health_check", "list_sessions", "unsubscribe", "create_session", "delete_session"].contains(&&*seen.kind);
    if of_server { None } else { seen.session.clone() }
}

fn same_lane(one: &Seen, other: &Seen) -> bool {
    lane_of_seen(one) == lane_of_seen(other)
}

fn phase(seen: &Seen) -> &'static str {
    match &seen.what {
        What::Accepted => "accepted",
        What::Started => "started",
        What::Finished(Finish { replayed: true, .. }) => "finished again",
        What::Finished(_) => "finished",
    }
}

fn ending_name(ending: &Ending<u64>) -> String {
    match ending {
        Ending::Succeeded(_) => "succeeded".to_owned(),
        Ending::Failed { .. } => "failed".to_owned(),
        Ending::Broken(failure) => {
            let text = format!("{failure:?}");
            text.split([' ', '{']).next().unwrap_or_default().to_owned()
        }
    }
}
