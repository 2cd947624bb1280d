//! Holds what was observed against the engine's reference model.
//!
//! The model is told what the engine was told, in the same order: the server's log says when a frame was admitted, when a
//! record was durable and how a handler ended. What a frame is to the engine stands in a table of this test, and what the
//! model then announces must be seen by everybody, in this order, and nothing else; what it answers must be heard.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use pi_engine::{
    Admission, Change, CommandId, Completion, Config, Effect, Ending, Failure, Header, Key, Kind, Phase, Record,
    Refusal, Replay, Request, SessionName, Ticket, Time,
};
use serde_json::Value;

use super::{
    command::{CLIENTS, Said},
    model::reference::{Effects, Event, Reference},
    seen::{Seen, error_of, has_timed_out},
};

/// What the lines of the log are called that the model is told.
const INPUTS: &str = "pi_engine::inputs";
/// How a prompt is answered that was stopped before it was said.
const UNSAID: &str = "Aborted before it was said";

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

/// Work that the model has begun.
struct Running {
    header: Header,
    /// Whether, at some time since it began, its session may have been there, or may not.
    with: bool,
    without: bool,
}

pub(super) struct Judge {
    config: Config,
    model: Reference,
    now: Time,
    /// Records by their place in the journal, counted from its beginning, and how many of them are durable for sure.
    records: Vec<Record<u64>>,
    durable: usize,
    running: BTreeMap<Ticket, Running>,
    /// Everything that was said, and by each client what was not admitted yet.
    said: BTreeMap<u64, Said>,
    sent: [VecDeque<u64>; CLIENTS.len()],
    /// What must be seen next. Which of one step is seen first is nobody's concern.
    owed: VecDeque<Vec<Seen>>,
    told: BTreeMap<u64, Told>,
    /// What was in flight when a server was killed: nobody is ever told how that ended.
    lost: BTreeSet<u64>,
    bodies: u64,
    /// How many lines of the log were read.
    lines: usize,
    /// What happened last, for a person.
    history: VecDeque<String>,
    pub(super) coverage: BTreeMap<String, usize>,
}

impl Judge {
    pub(super) fn new(config: Config) -> Self {
        let now = Time(0);
        Self {
            model: Reference::new(config.clone(), now),
            config,
            now,
            records: Vec::new(),
            durable: 0,
            running: BTreeMap::new(),
            said: BTreeMap::new(),
            sent: CLIENTS.map(|_| VecDeque::new()),
            owed: VecDeque::new(),
            told: BTreeMap::new(),
            lost: BTreeSet::new(),
            bodies: 0,
            lines: 0,
            history: VecDeque::new(),
            coverage: BTreeMap::new(),
        }
    }

    /// A frame goes out, behind all that the client sent before.
    pub(super) fn send(&mut self, request: u64, said: Said) {
        self.sent[said.client].push_back(request);
        self.said.insert(request, said);
    }

    /// Judges all that was seen since the last time by what the server has told of its inside until now. After that nothing
    /// is owed: everything said was admitted, and everything that must be seen was seen.
    pub(super) fn judge(&mut self, log: &str, seen: Vec<Seen>) {
        self.read(log);
        for seen in seen {
            self.see(&seen);
        }
        assert!(self.owed.is_empty(), "never seen: {:#?}\n{}", self.owed, self.report());
        let unheard: Vec<_> = self.sent.iter().flatten().map(|request| &self.said[request].frame).collect();
        assert!(unheard.is_empty(), "never admitted: {unheard:#?}\n{}", self.report());
    }

    /// The server was killed, and nobody saw what it did last: what was durable is all that is left. Another begins, with
    /// another log.
    pub(super) fn restart(&mut self, log: &str) {
        self.read(log);
        self.owed.clear();
        // Nothing was under way when it was killed, so whatever was written had reached the disk.
        self.durable = self.records.len();
        self.running.clear();
        self.lost.extend(self.said.keys().filter(|request| !self.told.contains_key(request)));
        self.lines = 0;
        self.count("restart");
    }

    /// Whether the engine was given every frame that was sent. Some wait for a session that is being made.
    pub(super) fn has_heard_everything(&self, log: &str) -> bool {
        let is_admission = |line: &&str| line.contains("\"message\":\"admit\"") && line.contains(INPUTS);
        let heard = log.lines().skip(self.lines).filter(is_admission).count();
        heard == self.sent.iter().map(VecDeque::len).sum::<usize>()
    }

    /// Tells the model what is new in the log.
    fn read(&mut self, log: &str) {
        for line in log.lines().skip(self.lines) {
            self.lines += 1;
            let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            if line["target"] == INPUTS {
                self.replay(&line);
            }
        }
    }

    fn replay(&mut self, line: &Value) {
        let number = |name: &str| line[name].as_u64().unwrap_or_else(|| panic!("no {name} in {line}"));
        let session = || SessionName::from(line["session"].as_str().unwrap_or_else(|| panic!("no session in {line}")));
        self.now = Time(number("now"));
        self.note(|| line.to_string());
        let event = match line["message"].as_str().unwrap_or_default() {
            "begin" => return self.begin(),
            "admit" => self.admission(line),
            "complete" => self.completion(Ticket(number("ticket")), line),
            "persisted" => {
                // Who only forgets reports no new record.
                let until = usize::try_from(number("sequence")).expect("a small number").max(self.durable);
                let records = self.records.get(self.durable..until);
                let records =
                    records.unwrap_or_else(|| panic!("too many are durable: {line}\n{}", self.report())).to_vec();
                self.durable = until;
                Event::Durable(records)
            }
            "turn taken" => Event::TurnTaken(session()),
            "turn released" => Event::TurnReleased(session()),
            "changed" => Event::Changed(session()),
            "opened" => self.opened(session()),
            "closed" => Event::Closed(session()),
            "tick" => Event::Tick,
            other => panic!("the engine was told {other:?}: {line}"),
        };
        self.feed(event);
    }

    /// A server begins with what the journal holds.
    fn begin(&mut self) {
        let (model, effects) = Reference::restore(self.config.clone(), self.now, &self.records);
        self.model = model;
        self.take(effects);
    }

    /// The server finds a session when it begins.
    fn opened(&self, session: SessionName) -> Event {
        assert!(self.model.version(&session).is_some(), "nobody knows {session}\n{}", self.report());
        Event::Opened(session)
    }

    fn admission(&mut self, line: &Value) -> Event {
        let name = line["client"].as_str().and_then(|name| name.strip_prefix("token\0")).expect("a client by token");
        let client = CLIENTS.iter().position(|known| *known == name).expect("one of ours");
        let sent = &self.sent[client];
        let is_it = |request: &u64| is_told_by(&self.said[request], line);
        let place = sent.iter().position(is_it).unwrap_or_else(|| panic!("nobody said {line}\n{}", self.report()));
        let said = &self.said[&sent[place]];
        for passed in sent.iter().take(place) {
            self.check_passed(&self.said[passed], said);
        }
        let request = self.sent[client].remove(place).expect("it was just found");
        let said = &self.said[&request];
        Event::Admit(Admission { request: Request(request), header: said.header.clone(), command: request })
    }

    /// A command that was said earlier may come later only if it waits for a session that is being made. What is about the
    /// same session stays behind it, but for what makes it, and what ends or answers a run. What waits because of its
    /// dependencies keeps nobody.
    fn check_passed(&self, earlier: &Said, later: &Said) {
        let waits = earlier.header.subject().is_some() || !earlier.header.depends_on.is_empty();
        let makes = matches!(later.kind(), "create_session" | "load_session");
        let ends = later.kind().starts_with("abort") || later.kind() == "extension_ui_response";
        let is_about_the_same = later.header.subject().is_some() && earlier.header.subject() == later.header.subject();
        let may = waits && (makes || ends || !is_about_the_same || !earlier.header.depends_on.is_empty());
        assert!(may, "{} came before {}\n{}", later.frame, earlier.frame, self.report());
    }

    fn completion(&mut self, ticket: Ticket, line: &Value) -> Event {
        let running = self.running.remove(&ticket).unwrap_or_else(|| panic!("does not run: {line}\n{}", self.report()));
        let kind = running.header.kind.clone();
        self.bodies += 1;
        let body = self.bodies;
        let error = || line["error"].as_str().expect("what failed says why").to_owned();
        let ending = match line["ending"].as_str() {
            Some("succeeded") => Ending::Succeeded(body),
            Some("failed") => Ending::Failed { error: error(), body },
            _ => broken(kind, &error()),
        };
        let session = || SessionName::from(line["session"].as_str().expect("a session"));
        let change = match line["change"].as_str() {
            Some("usual") => Change::Usual,
            Some("altered") => Change::Altered,
            Some("created") => Change::Created(session()),
            Some("removed") => Change::Removed(session()),
            other => panic!("{other:?} in {line}"),
        };
        self.check_existence(&running, &ending);
        check_change(&running.header, &ending, &change);
        let size = usize::try_from(line["size"].as_u64().expect("a size")).expect("a small number");
        Event::Completed { ticket, completion: Completion { ending, change, size } }
    }

    /// Whether there is such a session decides how commands end that need one, or make one.
    fn check_existence(&self, running: &Running, ending: &Ending<u64>) {
        if running.header.subject().is_none() {
            return;
        }
        let error = match ending {
            Ending::Succeeded(_) => None,
            Ending::Failed { error, .. } => Some(error),
            Ending::Broken(_) => return,
        };
        let fits = match (running.header.kind.as_str(), error) {
            ("unsubscribe", error) => error.is_none(),
            ("create_session", None) => running.without,
            ("create_session", Some(_)) => running.with,
            (_, None) => running.with,
            (_, Some(error)) if error.ends_with("not found") => running.without,
            (_, Some(_)) => running.with,
        };
        assert!(fits, "{:?} ends with {ending:?}\n{}", running.header, self.report());
    }

    fn see(&mut self, seen: &Seen) {
        let report = self.report();
        let Some(step) = self.owed.front_mut() else { panic!("seen: {seen:?}\nnothing is owed\n{report}") };
        let Some(at) = step.iter().position(|owed| owed == seen) else {
            panic!("seen: {seen:?}\nowed: {step:#?}\n{report}")
        };
        step.remove(at);
        if step.is_empty() {
            self.owed.pop_front();
        }
    }

    /// How a frame must be answered, if it must be.
    pub(super) fn told(&self, request: u64) -> Option<&Told> {
        self.told.get(&request)
    }

    /// What was said and has no answer yet.
    pub(super) fn unfinished(&self) -> Vec<String> {
        let is_open = |(request, _): &(&u64, &Said)| !self.told.contains_key(request) && !self.lost.contains(request);
        self.said.iter().filter(is_open).map(|(_, said)| said.frame.to_string()).collect()
    }

    fn feed(&mut self, event: Event) {
        let effects = self.model.step(event, self.now);
        self.take(effects);
    }

    fn take(&mut self, effects: Effects) {
        let mut step = Vec::new();
        for effect in effects {
            match effect {
                Effect::Persist { record, .. } => self.records.push(record),
                Effect::Announce(announcement) => {
                    let seen = Seen::announced(&announcement);
                    self.count(phase(&announcement.phase));
                    self.note(|| format!("owed: {seen:?}"));
                    step.push(seen);
                }
                // Sessions are made and removed by other commands than those of the storm.
                Effect::Belated { .. } => self.count("belated"),
                Effect::Start { ticket, header, .. } => {
                    let running = Running { header: Header::clone(&header), with: false, without: false };
                    self.running.insert(ticket, running);
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
                    assert!(self.told.insert(request.0, told).is_none(), "the model answers twice");
                }
                // Nobody outside sees these.
                Effect::Cancel(_) | Effect::Kill(_) | Effect::Forget(_) | Effect::Drained => {}
            }
        }
        if !step.is_empty() {
            self.owed.push_back(step);
        }
        self.look_for_sessions();
    }

    /// What runs may have met its session as it is now, or as it will be when what makes or removes one has ended.
    fn look_for_sessions(&mut self) {
        let changing: Vec<(String, SessionName)> = self
            .running
            .values()
            .filter_map(|other| Some((other.header.kind.to_string(), other.header.subject()?.clone())))
            .collect();
        let is_under_way = |kind: &str, session: &SessionName| changing.iter().any(|(k, s)| k == kind && s == session);
        for running in self.running.values_mut() {
            let Some(session) = running.header.subject() else { continue };
            let exists = self.model.version(session).is_some();
            let is_other = |kind: &str| running.header.kind.as_str() != kind && is_under_way(kind, session);
            running.with |= exists || is_other("create_session");
            running.without |= !exists || is_other("delete_session");
        }
    }

    fn count(&mut self, what: &str) {
        *self.coverage.entry(what.to_owned()).or_default() += 1;
    }

    fn note(&mut self, line: impl FnOnce() -> String) {
        self.history.push_back(line());
        if self.history.len() > 60 {
            self.history.pop_front();
        }
    }

    fn report(&self) -> String {
        let lines: Vec<&str> = self.history.iter().map(String::as_str).collect();
        format!("the last that happened:\n  {}", lines.join("\n  "))
    }
}

/// Whether a line of the log tells of this frame. Frames that are alike here come in the order in which they were sent.
/// Clients say the same once more with other conditions, and what was said first may wait longer: all conditions count.
fn is_told_by(said: &Said, line: &Value) -> bool {
    let Header { depends_on, if_version, key, .. } = &said.header;
    let about = said.header.subject().map(SessionName::as_str);
    let after: Vec<&str> = depends_on.iter().map(CommandId::as_str).collect();
    line["id"] == said.frame["id"]
        && line["kind"] == *said.kind()
        && line["about"].as_str() == about
        && line["key"].as_str() == key.as_ref().map(Key::as_str)
        && line["after"].as_str().unwrap_or_default() == after.join(" ")
        && line["version"].as_u64() == *if_version
}

/// How work ends that did not end by itself.
fn broken(kind: Kind, error: &str) -> Ending<u64> {
    let killed = Failure::Killed { kind: kind.clone() };
    let failure = if killed.to_string() == error { killed } else { Failure::Panicked { kind } };
    assert_eq!(failure.to_string(), error);
    Ending::Broken(failure)
}

/// What a handler did to sessions follows from how it ended.
fn check_change(header: &Header, ending: &Ending<u64>, change: &Change) {
    let session = || header.subject().expect("it is about a session").clone();
    let error = match ending {
        Ending::Succeeded(_) => None,
        Ending::Failed { error, .. } => Some(error.as_str()),
        Ending::Broken(_) => return assert_eq!(*change, Change::Altered, "{header:?}"),
    };
    let expected = match (header.kind.as_str(), error) {
        ("create_session", None) => Change::Created(session()),
        ("delete_session", None) => Change::Removed(session()),
        // What was said is in the conversation, however the run ended. Nothing was said to a session that is not there,
        // nor by a prompt that was stopped while it was put together.
        ("prompt", Some(error)) if !error.ends_with("not found") && error != UNSAID => Change::Altered,
        // One that the engine told to stop had begun.
        ("bash", Some("Run aborted")) => Change::Altered,
        _ => Change::Usual,
    };
    assert_eq!(*change, expected, "{header:?} {ending:?}");
}

fn phase(phase: &Phase<u64>) -> &'static str {
    match phase {
        Phase::Accepted => "accepted",
        Phase::Started => "started",
        Phase::Finished { replay: Replay::Replayed, .. } => "finished again",
        Phase::Finished { replay: Replay::First, .. } => "finished",
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
