//! The language of the scenarios, and the one function that runs them.
//!
//! | left column | meaning |
//! |---|---|
//! | `limits max_in_flight=2` | the configuration, before anything else |
//! | `given s1` | a session with version 0; how it came to be is not shown |
//! | `a.1 prompt s1` | client `a` sends a command with id `1`; without a session it goes to the server; `a.-` has no id |
//! | … `key=k after=2,3 if=4 say=x` | its idempotency key, dependencies, expected version, payload |
//! | … `about=s1 by=p` | the session that it is about, if not its lane's; its principal, if not the client's own |
//! | `durable`, `durable 1` | all records on their way are durable, or only the first |
//! | `done a.1` | its work has stopped, well; `failed`, `altered`, `created s2`, `removed s2`, `size=9` say otherwise |
//! | `lingers a.1` | it waits for a person, although its kind is short |
//! | `wait 30s`, `wait 1ms` | time passes, with a tick at every deadline |
//! | `journal lost`, `journal back` | it cannot be written, it can again |
//! | `turn s1`, `turn s1 over` | a run that no command started |
//! | `changed s1`, `opened s1`, `closed s1` | what happened to a session without a command |
//! | `shutdown 10s` | drain, at most so long |
//! | `crash`, `crash 1` | the process dies; of the records on their way none, or the first, was written |
//! | `load`, `version s1`, `deadline` | what is held, shown in the right column |
//!
//! In the right column `record` is handed to the journal, `start` is both announced and begun, `answer` and `replay` are both
//! announced and sent.

use std::collections::{HashMap, VecDeque};

use pi_engine::{
    Access, Admission, Announcement, Change, Completion, Config, Effect, Ending, Engine, Failure, Fingerprint, Header,
    Input, Lane, Limit, Order, Outcome, Phase, Record, Replay, Request, Role, Sequence, SessionName, Span, Ticket,
    Time, VersionMove,
};

const CONTROL: Order = Order::Control { span: Span::Short, role: Role::Bystander };
const NEEDED: Order = Order::Control { span: Span::Short, role: Role::NeededByRun };
const LONG_CONTROL: Order = Order::Control { span: Span::Long, role: Role::Bystander };

/// One command of each sort.
const KINDS: [(&str, Order, Access, Limit); 12] = [
    ("prompt", Order::Work(Span::Long), Access::Write, Limit::Unlimited),
    ("bash", Order::Work(Span::Long), Access::Write, Limit::Extended),
    ("fork", Order::Work(Span::Short), Access::Write, Limit::Normal),
    ("export", Order::Work(Span::Short), Access::Read, Limit::Normal),
    ("get_state", CONTROL, Access::Read, Limit::Brief),
    ("set_model", CONTROL, Access::Write, Limit::Brief),
    ("abort", NEEDED, Access::Write, Limit::Brief),
    ("answer", NEEDED, Access::Act, Limit::Brief),
    ("slash", LONG_CONTROL, Access::Write, Limit::Unlimited),
    ("create", Order::Work(Span::Short), Access::Write, Limit::Normal),
    ("delete", Order::Work(Span::Short), Access::Write, Limit::Normal),
    ("list", CONTROL, Access::Read, Limit::Brief),
];

/// Runs the left column and compares what happens with the right one. A difference prints the table as it should be.
#[track_caller]
pub(crate) fn check(script: &str) {
    let expected = parse(script);
    let mut stage = Stage::new();
    let actual: Vec<_> = expected.iter().map(|(input, _)| (input.clone(), stage.act(input))).collect();
    assert!(actual == expected, "what happened:\n\n{}\n", table(&actual));
}

type Row = (String, Vec<String>);

fn parse(script: &str) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (input, effects) = line.split_once('|').unwrap_or((line, ""));
        let effects = effects.split(';').map(str::trim).filter(|effect| !effect.is_empty()).map(str::to_owned);
        match rows.last_mut() {
            Some((_, all)) if input.trim().is_empty() => all.extend(effects),
            _ => rows.push((input.trim().to_owned(), effects.collect())),
        }
    }
    rows
}

fn table(rows: &[Row]) -> String {
    let width = rows.iter().map(|(input, _)| input.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (input, effects) in rows {
        let mut line = format!("        {input:width$} |");
        for (index, effect) in effects.iter().enumerate() {
            if line.len() + effect.len() > 128 {
                text += &line;
                text.push('\n');
                line = format!("        {:width$} |", "");
            }
            let end = if index + 1 < effects.len() { ";" } else { "" };
            line += &format!(" {effect}{end}");
        }
        text += line.trim_end().trim_end_matches('|').trim_end();
        text.push('\n');
    }
    text
}

type TestEffect = Effect<(), String>;

struct Stage {
    engine: Engine<(), String>,
    config: Config,
    now: Time,
    requests: u64,
    durable: Vec<(Sequence, Record<String>)>,
    pending: VecDeque<(Sequence, Record<String>)>,
    names: HashMap<Ticket, String>,
}

impl Stage {
    fn new() -> Self {
        let config = Config::standard();
        Self {
            engine: Engine::new(config.clone()),
            config,
            now: Time(1_000_000),
            requests: 0,
            durable: Vec::new(),
            pending: VecDeque::new(),
            names: HashMap::new(),
        }
    }

    fn act(&mut self, input: &str) -> Vec<String> {
        let words: Vec<_> = input.split_whitespace().collect();
        let effects = match words[..] {
            ["limits", ref limits @ ..] => {
                limits.iter().for_each(|limit| set(&mut self.config, limit));
                self.engine = Engine::new(self.config.clone());
                return Vec::new();
            }
            ["given", session] => {
                self.give(session);
                return Vec::new();
            }
            ["load"] => return self.load(),
            ["version", session] => {
                let version = self.engine.version(&SessionName::from(session));
                return vec![version.map_or("none".to_owned(), |version| version.to_string())];
            }
            ["deadline"] => {
                let deadline = self.engine.next_deadline();
                return vec![deadline.map_or("none".to_owned(), |at| format!("in {}ms", at.since(self.now)))];
            }
            ["durable"] => self.report(self.pending.len()),
            ["durable", count] => self.report(number(count)),
            ["done", name, ref how @ ..] => {
                let ticket = self.ticket(name);
                self.step(Input::Completed { ticket, completion: completion(how) })
            }
            ["wait", time] => self.wait(milliseconds(time)),
            ["journal", "lost"] => {
                self.pending.clear();
                self.step(Input::JournalFailed { reason: "full".into() })
            }
            ["journal", "back"] => self.step(Input::JournalRestored),
            ["turn", session, "over"] => self.step(Input::TurnReleased(session.into())),
            ["turn", session] => self.step(Input::TurnTaken(session.into())),
            ["lingers", name] => {
                let ticket = self.ticket(name);
                self.step(Input::Lingers(ticket))
            }
            ["opened", session] => self.step(Input::Opened(session.into())),
            ["closed", session] => self.step(Input::Closed(session.into())),
            ["changed", session] => self.step(Input::Changed(session.into())),
            ["shutdown", time] => self.step(Input::Shutdown { deadline: self.now.after(milliseconds(time)) }),
            ["crash"] => self.crash(0),
            ["crash", count] => self.crash(number(count)),
            [name, kind, ref rest @ ..] => self.admit(name, kind, rest),
            _ => panic!("no such input: {input}"),
        };
        self.describe(&effects)
    }

    /// The last command of this name; otherwise one that there is not.
    fn ticket(&self, name: &str) -> Ticket {
        let found = self.names.iter().filter(|(_, other)| *other == name).map(|(ticket, _)| *ticket).max();
        found.unwrap_or(Ticket(999_999))
    }

    fn step(&mut self, input: Input<(), String>) -> Vec<TestEffect> {
        let mut effects = Vec::new();
        self.engine.step(input, self.now, &mut effects);
        self.take_records(&effects);
        effects
    }

    fn take_records(&mut self, effects: &[TestEffect]) {
        for effect in effects {
            match effect {
                Effect::Persist { sequence, record } => {
                    if let Record::Accepted { ticket, header, .. } | Record::Alias { ticket, header, .. } = record {
                        self.names.insert(*ticket, name(header));
                    }
                    self.pending.push_back((*sequence, record.clone()));
                }
                Effect::Start { ticket, header, .. } => {
                    self.names.insert(*ticket, name(header));
                }
                _ => {}
            }
        }
    }

    fn admit(&mut self, name: &str, kind: &str, rest: &[&str]) -> Vec<TestEffect> {
        self.requests += 1;
        self.step(Input::Admit(Admission {
            request: Request(self.requests),
            header: header(name, kind, rest),
            command: (),
        }))
    }

    fn report(&mut self, count: usize) -> Vec<TestEffect> {
        assert!(count > 0 && count <= self.pending.len(), "{} records are on their way", self.pending.len());
        let reported: Vec<_> = self.pending.drain(..count).collect();
        let upto = reported[count - 1].0;
        self.durable.extend(reported);
        self.step(Input::Persisted(upto))
    }

    fn wait(&mut self, milliseconds: u64) -> Vec<TestEffect> {
        let until = self.now.after(milliseconds);
        let mut effects = Vec::new();
        while let Some(deadline) = self.engine.next_deadline().filter(|deadline| *deadline < until) {
            self.now = deadline;
            effects.extend(self.step(Input::Tick));
        }
        self.now = until;
        effects.extend(self.step(Input::Tick));
        effects
    }

    fn give(&mut self, session: &str) {
        self.admit("setup.-", "create", &[]);
        self.report(self.pending.len());
        self.act(&format!("done setup.- created {session}"));
        self.report(self.pending.len());
        // Nobody can ask for it again, so the journal has dropped it but for the version.
        let (sequence, _) = self.durable.pop().expect("it has ended");
        self.durable.pop();
        let moved = VersionMove { session: session.into(), version: Some(0) };
        self.durable.push((sequence, Record::Version(moved)));
    }

    fn crash(&mut self, written: usize) -> Vec<TestEffect> {
        self.durable.extend(self.pending.drain(..).take(written));
        assert!(self.durable.is_sorted_by_key(|(sequence, _)| *sequence), "a place in the journal is taken once");
        let mut effects = Vec::new();
        self.engine = Engine::restore(self.config.clone(), self.now, self.durable.clone(), &mut effects);
        self.take_records(&effects);
        effects
    }

    fn load(&self) -> Vec<String> {
        let load = self.engine.load();
        let parts = [
            ("in flight", load.in_flight),
            ("running", load.running),
            ("lanes", load.lanes),
            ("outcomes", load.outcomes),
            ("outcome bytes", load.outcome_bytes),
            ("reserved bytes", load.reserved_bytes),
            ("reads", load.reads),
            ("read bytes", load.read_bytes),
            ("ids", load.ids),
            ("keys", load.keys),
            ("deadlines", load.deadlines),
            ("versions", load.versions),
        ];
        parts.into_iter().filter(|(_, count)| *count > 0).map(|(what, count)| format!("{what} {count}")).collect()
    }

    fn describe(&self, effects: &[TestEffect]) -> Vec<String> {
        let mut lines = Vec::new();
        let mut rest = effects.iter().peekable();
        while let Some(effect) = rest.next() {
            lines.push(match (effect, rest.peek()) {
                (
                    Effect::Announce(Announcement { header, phase: Phase::Started, .. }),
                    Some(Effect::Start { header: same, .. }),
                ) if header == same => {
                    rest.next();
                    format!("start {}", name(header))
                }
                (
                    Effect::Announce(Announcement { header, phase: Phase::Finished { outcome, replay }, .. }),
                    Some(Effect::Respond { header: same, outcome: told, replay: how, .. }),
                ) if header == same && outcome == told && replay == how => {
                    rest.next();
                    let verb = match replay {
                        Replay::First => "answer",
                        Replay::Replayed => "replay",
                    };
                    format!("{verb} {} {}", name(header), describe_outcome(outcome))
                }
                (effect, _) => self.describe_one(effect),
            });
        }
        lines
    }

    fn describe_one(&self, effect: &TestEffect) -> String {
        let known = |ticket: &Ticket| self.names.get(ticket).map_or("?", String::as_str);
        match effect {
            Effect::Persist { record, .. } => match record {
                Record::Accepted { header, .. } => format!("record {}", name(header)),
                Record::Finished { ticket, version, .. } => {
                    let moved = version.as_ref().map_or(String::new(), |moved| format!(" {}", describe_move(moved)));
                    format!("record {} ended{moved}", known(ticket))
                }
                Record::Alias { header, of, .. } => format!("record {} as {}", name(header), known(of)),
                Record::Version(moved) => format!("record {}", describe_move(moved)),
                Record::Reached(ticket) => format!("record reached {}", known(ticket)),
            },
            Effect::Cancel(ticket) => format!("cancel {}", known(ticket)),
            Effect::Kill(ticket) => format!("kill {}", known(ticket)),
            Effect::Forget(ticket) => format!("forget {}", known(ticket)),
            Effect::Refuse { header, refusal, .. } => format!("refuse {}: {refusal}", name(header)),
            Effect::Announce(Announcement { header, phase: Phase::Accepted, .. }) => {
                format!("accepted {}", name(header))
            }
            Effect::Belated { header, .. } => format!("belated {}", name(header)),
            Effect::Drained => "drained".to_owned(),
            Effect::Announce(_) | Effect::Start { .. } | Effect::Respond { .. } => format!("alone: {effect:?}"),
        }
    }
}

fn name(header: &Header) -> String {
    format!("{}.{}", header.client, header.id.as_ref().map_or("-", |id| id.as_str()))
}

fn describe_move(moved: &VersionMove) -> String {
    moved.version.map_or(format!("{} gone", moved.session), |version| format!("{}={version}", moved.session))
}

fn describe_outcome(outcome: &Outcome<String>) -> String {
    let text = match &outcome.ending {
        Ending::Succeeded(body) => body.clone(),
        Ending::Failed { error, .. } => format!("failed: {error}"),
        Ending::Broken(failure) => format!("broken: {failure}"),
    };
    outcome.version.map_or(text.clone(), |version| format!("{text} v{version}"))
}

fn header(name: &str, kind: &str, rest: &[&str]) -> Header {
    let (client, id) = name.split_once('.').expect("a command is called client.id");
    let (_, order, access, limit) = *KINDS.iter().find(|(name, ..)| *name == kind).expect("a known kind");
    let (session, options): (Vec<&str>, Vec<&str>) = rest.iter().partition(|word| !word.contains('='));
    let option = |name: &str| options.iter().find_map(|option| option.strip_prefix(name));
    let mut fingerprint = [0; 32];
    let about = option("about=").unwrap_or_default();
    let intent = format!("{kind} {}{about} {}", session.join(""), option("say=").unwrap_or_default());
    fingerprint[..intent.len()].copy_from_slice(intent.as_bytes());
    Header {
        principal: option("by=").unwrap_or(client).into(),
        client: client.into(),
        id: (id != "-").then(|| id.into()),
        key: option("key=").map(Into::into),
        kind: kind.into(),
        fingerprint: Fingerprint(fingerprint),
        lane: session.first().map_or(Lane::Server, |session| Lane::Session((*session).into())),
        about: option("about=").map(Into::into),
        order,
        access,
        limit,
        depends_on: option("after=").map_or(Vec::new(), |ids| ids.split(',').map(Into::into).collect()),
        if_version: option("if=").map(|version| number(version) as u64),
    }
}

fn completion(how: &[&str]) -> Completion<String> {
    let mut completion = Completion { ending: Ending::Succeeded("ok".to_owned()), change: Change::Usual, size: 2 };
    let mut words = how.iter();
    while let Some(word) = words.next() {
        match *word {
            "failed" => completion.ending = Ending::Failed { error: "no luck".to_owned(), body: "no luck".to_owned() },
            "panicked" => completion.ending = Ending::Broken(Failure::Panicked { kind: "it".into() }),
            "altered" => completion.change = Change::Altered,
            "created" => completion.change = Change::Created((*words.next().expect("a session")).into()),
            "removed" => completion.change = Change::Removed((*words.next().expect("a session")).into()),
            other => completion.size = number(other.strip_prefix("size=").expect("a known ending")),
        }
    }
    completion
}

fn set(config: &mut Config, limit: &str) {
    let (name, value) = limit.split_once('=').expect("a limit is name=value");
    let (time, count) = (|| milliseconds(value), || number(value));
    match name {
        "dependency" => config.dependency_ms = time(),
        "max_in_flight" => config.max_in_flight = count(),
        "max_pending" => config.max_pending_per_client = count(),
        "key" => config.retention.key_ms = time(),
        "keep" => config.retention.keep_ms = time(),
        "keep_count" => config.retention.keep_count = count(),
        "max_count" => config.retention.max_count = count(),
        "max_bytes" => config.retention.max_bytes = count(),
        "reserve" => config.retention.reserve_bytes = count(),
        "reads" => config.retention.reads_ms = time(),
        "reads_count" => config.retention.reads_count = count(),
        "reads_bytes" => config.retention.reads_bytes = count(),
        _ => panic!("no such limit: {name}"),
    }
}

fn number(text: &str) -> usize {
    text.parse().unwrap_or_else(|_| panic!("a number is expected, not {text}"))
}

fn milliseconds(text: &str) -> u64 {
    match text.strip_suffix("ms") {
        Some(count) => number(count) as u64,
        None => number(text.strip_suffix('s').expect("a time in s or ms")) as u64 * 1000,
    }
}
