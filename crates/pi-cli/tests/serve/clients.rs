//! Random clients against the real server, beside the engine's reference model, which is too simple to be wrong.
//!
//! Three clients speak to a server over WebSockets: random commands to few sessions, with ids and keys that come again,
//! dependencies, right and wrong versions, runs that somebody must end, connections that break, and a `kill -9`. What
//! observers see of it, and every answer, must be what the model says.
//!
//! * `PI_TEST_COMMANDS=100000` says more than the usual; `cargo xtask test --full` does.
//! * `PI_TEST_SEED=…` repeats the one episode that a failure names, as far as a real server can repeat itself.

mod command;
mod judge;
#[path = "../../../pi-engine/tests/model"]
mod model {
    #[expect(dead_code, reason = "the engine's own test looks at more")]
    pub(super) mod reference;
}
mod seen;
mod stage;

use std::{
    collections::{BTreeMap, HashSet},
    time::Duration,
};

use nix::sys::signal::Signal;
use pi_engine::Config;
use pi_testkit::{
    Reply, Script,
    model::{Answer, refusal},
    server::Request,
};
use serde_json::{Value, json};

use self::{
    command::{CLIENTS, Chooser, Moment, SESSIONS, Said, is_about_existence},
    judge::{Judge, Told},
    seen::{Seen, What},
    stage::{Speaker, Stage},
};
use crate::{serving::Serving, times};

/// Commands until a server is left to end what it has, and another begins.
const EPISODE: usize = 300;
/// Commands in flight that are enough.
const ENOUGH: usize = 40;
/// How long `bash` may take here.
const EXTENDED_MS: u64 = 300_000;

/// What must have happened before a run counts.
const EXPECTED: [&str; 17] = [
    "accepted",
    "started",
    "finished",
    "finished again",
    "succeeded",
    "failed",
    "conflicting id",
    "conflicting key",
    "DependsOnItself",
    "DependencyUnknown",
    "DependencyFailed",
    "DependencyInverted",
    "VersionMismatch",
    "VersionOfNoSession",
    "Recovered",
    "restart",
    "connection lost",
];

/// What must have happened in a long run besides.
const RARE: &str = "SessionGone";
/// Commands of a long run.
const LONG: usize = 20_000;

#[test]
fn every_answer_to_random_clients_is_that_of_the_reference_model() {
    let mut coverage = BTreeMap::new();
    if let Some(seed) = std::env::var("PI_TEST_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Episode::run(seed, EPISODE, &mut coverage);
        return;
    }
    let (commands, mut said, mut seed) = (times("PI_TEST_COMMANDS", 600), 0, 0);
    while said < commands {
        seed += 1;
        eprintln!("repeat with PI_TEST_SEED={seed}");
        said += Episode::run(seed, EPISODE.min(commands - said), &mut coverage);
    }
    let expected = EXPECTED.into_iter().chain((commands >= LONG).then_some(RARE));
    let missing: Vec<&str> = expected.filter(|name| !coverage.contains_key(*name)).collect();
    assert!(missing.is_empty(), "never reached: {missing:?}; reached: {coverage:?}");
    eprintln!("{said} commands in {seed} episodes: {coverage:?}");
}

/// What the model of this test is asked last.
fn is_last(request: &Request, word: &str) -> bool {
    let body = request.json();
    body["messages"].as_array().and_then(|messages| messages.last()).is_some_and(|last| last.to_string().contains(word))
}

fn script() -> Script {
    Script::new()
        .when(|request| is_last(request, "stay"), Reply::hang())
        .when(|request| is_last(request, "hold on"), Answer::new().text("Wait").hold().text(" no more.").reply())
        .when(|request| is_last(request, "fail now"), refusal(400, "invalid_request", "no"))
        .otherwise(Answer::new().text("Yes.").reply())
}

struct Episode {
    serving: Serving,
    chooser: Chooser,
    judge: Judge,
    /// Connections that are gone, with what was said and heard on them.
    gone: Vec<Speaker>,
    requests: u64,
    /// For each session: long work that was said and has not ended, and whether somebody has begun to end it.
    long: [usize; SESSIONS.len()],
    unsettled: [bool; SESSIONS.len()],
    versions: [Option<u64>; SESSIONS.len()],
    ended: HashSet<String>,
    in_flight: usize,
    /// Of these, those that make or remove a session.
    existence: usize,
    seen: Vec<Seen>,
    /// Frames by which a client finds out that what it said before was heard.
    fences: Vec<(usize, String)>,
    /// What was first told, by the number of the answer.
    bodies: BTreeMap<u64, Value>,
}

impl Episode {
    /// Says about `commands` commands; how many it was in the end.
    fn run(seed: u64, commands: usize, coverage: &mut BTreeMap<String, usize>) -> usize {
        let serving = Serving::start(script());
        let config = Config { extended_ms: EXTENDED_MS, ..Config::standard(0) };
        let mut episode = Self {
            serving,
            chooser: Chooser::new(seed),
            judge: Judge::new(config),
            gone: Vec::new(),
            requests: 0,
            long: [0; SESSIONS.len()],
            unsettled: [false; SESSIONS.len()],
            versions: [None; SESSIONS.len()],
            ended: HashSet::new(),
            in_flight: 0,
            existence: 0,
            seen: Vec::new(),
            fences: Vec::new(),
            bodies: BTreeMap::new(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a thread");
        runtime.block_on(episode.play(commands));
        for (name, count) in std::mem::take(&mut episode.judge.coverage) {
            *coverage.entry(name).or_default() += count;
        }
        usize::try_from(episode.requests).expect("a small number")
    }

    async fn play(&mut self, commands: usize) {
        let mut stage = Stage::set(&self.serving).await;
        let mut restarted = false;
        while (self.requests as usize) < commands {
            match self.chooser.random.usize(..100) {
                0..=81 => self.burst(&mut stage).await,
                82..=92 => {
                    self.serving.room.server.release(1);
                    self.unsettled = [true; SESSIONS.len()];
                }
                _ => self.break_off(&mut stage).await,
            }
            self.look(&mut stage);
            if self.in_flight > ENOUGH {
                self.end_everything(&mut stage).await;
            }
            if !restarted && self.requests as usize > commands / 2 {
                restarted = true;
                stage = self.restart(stage).await;
            }
        }
        self.end_everything(&mut stage).await;
        self.close(stage).await;
    }

    /// One client says a few things without waiting, and then waits until they have been heard.
    async fn burst(&mut self, stage: &mut Stage) {
        let client = self.chooser.random.usize(..CLIENTS.len());
        let mut burst = Vec::new();
        for _ in 0..self.chooser.random.usize(1..=6) {
            let busy = self.long.map(|count| count > 0);
            let (unsettled, ended, versions) = (&self.unsettled, &self.ended, &self.versions);
            let moment = Moment { busy: &busy, unsettled, ended, versions };
            let said = self.chooser.choose(client, &moment);
            self.note(&said);
            let is_last = said.is_about_existence();
            burst.push(said);
            if is_last {
                break;
            }
        }
        let there = self.versions.iter().position(Option::is_some);
        if let Some(at) = there.filter(|_| existence(&burst) == 0 && self.chooser.percent(10)) {
            // What ends a run must not wait for it.
            let run = json!({"type": "prompt", "sessionId": SESSIONS[at], "message": "stay"});
            let run = self.chooser.particular(client, run);
            let abort = json!({"type": "abort", "sessionId": SESSIONS[at], "dependsOn": [run.id()]});
            let abort = self.chooser.particular(client, abort);
            for said in [run, abort] {
                self.note(&said);
                burst.push(said);
            }
        }
        self.say(stage, client, burst).await;
    }

    /// Keeps count of what makes the order of two things matter.
    fn note(&mut self, said: &Said) {
        let Some(at) = said.session().and_then(place) else { return };
        if said.is_long() {
            self.long[at] += 1;
        }
        let is_quick = said.is_long() && !["hold", "sleep"].iter().any(|word| said.frame.to_string().contains(word));
        if is_quick || said.is_about_existence() || said.kind().starts_with("abort") {
            self.unsettled[at] = true;
        }
    }

    async fn say(&mut self, stage: &mut Stage, client: usize, burst: Vec<Said>) {
        let fence = self.chooser.particular(client, json!({"type": "health_check"}));
        let id = fence.id().expect("it was given one").to_owned();
        self.fences.push((client, id.clone()));
        let speaker = &mut stage.speakers[client];
        for said in burst.iter().cloned().chain([fence]) {
            self.requests += 1;
            self.in_flight += 1;
            self.existence += usize::from(said.is_about_existence());
            self.judge.send(self.requests, said.clone());
            speaker.say(self.requests, said).await;
        }
        let heard = speaker.hear(&id).await;
        // What was refused never ends.
        for frame in heard.iter().filter(|frame| frame["code"] == "conflict") {
            self.in_flight -= 1;
            self.existence -= usize::from(is_about_existence(frame["command"].as_str().unwrap_or_default()));
            // Of two under one name it was the later.
            let is_it = |said: &&Said| said.id() == frame["id"].as_str() && frame["command"] == said.kind();
            let refused = burst.iter().rev().find(is_it).filter(|said| said.is_long());
            if let Some(at) = refused.and_then(Said::session).and_then(place) {
                self.long[at] = self.long[at].saturating_sub(1);
            }
        }
        // Whether there is a session decides how everything else ends, so that must be certain first.
        while self.existence > 0 {
            self.look(stage);
            if self.existence > 0 {
                stage.wait().await;
            }
        }
    }

    /// Takes in what was seen.
    fn look(&mut self, stage: &mut Stage) {
        for seen in stage.look() {
            let at = seen.session.as_deref().and_then(place);
            match &seen.what {
                What::Accepted | What::Started => {}
                What::Finished(finish) => {
                    self.in_flight -= 1;
                    self.ended.insert(seen.name.clone());
                    self.existence -= usize::from(is_about_existence(&seen.kind));
                    if let Some(at) = at {
                        let is_gone = seen.kind == "delete_session" && finish.error.is_none() && !finish.replayed;
                        self.versions[at] = finish.version.or(self.versions[at]).filter(|_| !is_gone);
                        if seen.kind == "prompt" || seen.kind == "bash" {
                            self.long[at] = self.long[at].saturating_sub(1);
                        }
                        if self.long[at] == 0 {
                            self.unsettled[at] = false;
                        }
                    }
                }
            }
            self.seen.push(seen);
        }
    }

    /// A connection is lost, with what it would have been told; the client comes back by another.
    async fn break_off(&mut self, stage: &mut Stage) {
        let client = self.chooser.random.usize(..CLIENTS.len());
        let fresh = Speaker::start(&self.serving, CLIENTS[client]).await;
        self.gone.push(std::mem::replace(&mut stage.speakers[client], fresh));
        *self.judge.coverage.entry("connection lost".to_owned()).or_default() += 1;
    }

    /// Ends whatever goes on until somebody ends it, and waits for everything.
    async fn end_everything(&mut self, stage: &mut Stage) {
        loop {
            let mut ends = Vec::new();
            for session in SESSIONS {
                for kind in ["abort", "abort_bash"] {
                    ends.push(self.chooser.particular(0, json!({"type": kind, "sessionId": session})));
                }
            }
            self.unsettled = [true; SESSIONS.len()];
            self.say(stage, 0, ends).await;
            self.look(stage);
            for _ in 0..5 {
                if self.in_flight == 0 {
                    return;
                }
                stage.wait_a_little(Duration::from_millis(100)).await;
                self.look(stage);
            }
        }
    }

    /// Kills the server while runs are in flight and others wait for them, and starts it again.
    async fn restart(&mut self, mut stage: Stage) -> Stage {
        self.end_everything(&mut stage).await;
        let make = self.chooser.particular(1, json!({"type": "create_session", "sessionId": "s0"}));
        self.say(&mut stage, 1, vec![make]).await;
        let before = self.seen.len();
        let mut held = Vec::new();
        for message in ["stay", "hold on", "be quick"] {
            let frame = json!({"type": "prompt", "sessionId": "s0", "message": message});
            held.push(self.chooser.particular(1, frame));
        }
        let count = held.len();
        for said in &held {
            self.note(said);
        }
        self.say(&mut stage, 1, held.clone()).await;
        loop {
            self.look(&mut stage);
            let of = |what: &What| {
                self.seen[before..]
                    .iter()
                    .filter(|seen| seen.client == 1 && seen.what == *what && seen.kind != "health_check")
                    .count()
            };
            let runs = self.seen[before..].iter().any(|seen| seen.kind == "prompt" && seen.what == What::Started);
            if of(&What::Accepted) == count && runs {
                break;
            }
            stage.wait().await;
        }
        self.close(stage).await;
        self.serving.restart(Signal::SIGKILL);
        self.judge.restart();
        self.long = [0; SESSIONS.len()];
        self.in_flight = 0;
        self.existence = 0;
        self.versions = [None; SESSIONS.len()];
        let mut stage = Stage::set(&self.serving).await;
        for said in &held {
            self.note(said);
        }
        self.say(&mut stage, 1, held).await;
        stage
    }

    /// Judges what was seen and heard so far.
    async fn close(&mut self, mut stage: Stage) {
        for client in 0..CLIENTS.len() {
            // Whatever was said to the client before has come when this is answered.
            self.say(&mut stage, client, Vec::new()).await;
        }
        loop {
            self.look(&mut stage);
            let is_over = |fence: &(usize, String)| {
                let finished = |seen: &&Seen| matches!(seen.what, What::Finished(_));
                self.seen.iter().filter(finished).any(|seen| seen.is_of(fence.0, &fence.1))
            };
            if self.fences.iter().all(is_over) {
                break;
            }
            stage.wait().await;
        }
        self.fences.clear();
        self.judge.judge(std::mem::take(&mut self.seen));
        self.judge.rest();
        for speaker in std::mem::take(&mut self.gone) {
            self.compare(&speaker, Missing::May);
        }
        for speaker in stage.speakers {
            self.compare(&speaker, Missing::MustNot);
        }
    }

    /// What a connection heard beside what it should have been told.
    fn compare(&mut self, speaker: &Speaker, missing: Missing) {
        let mut expected: BTreeMap<String, Vec<Option<u64>>> = BTreeMap::new();
        for (request, said) in &speaker.said {
            // Nobody was told what was in flight when the server was killed.
            let Some(told) = self.judge.told(*request) else { continue };
            expected.entry(line_told(said, &told)).or_default().push(told.body);
        }
        for frame in &speaker.heard {
            let line = line_heard(frame);
            let bodies = expected.get_mut(&line).filter(|bodies| !bodies.is_empty());
            let Some(bodies) = bodies else { panic!("nobody should be told {frame}\nbut: {expected:#?}") };
            let is_same = bodies.iter().all(|body| *body == bodies[0]);
            if let (Some(body), true) = (bodies.pop().flatten(), is_same) {
                let known = self.bodies.entry(body).or_insert_with(|| body_of(frame));
                assert_eq!(*known, body_of(frame), "told two ways");
            }
        }
        expected.retain(|_, bodies| !bodies.is_empty());
        assert!(missing == Missing::May || expected.is_empty(), "never told: {expected:#?}");
    }
}

/// How many of these make or remove a session.
fn existence(burst: &[Said]) -> usize {
    burst.iter().filter(|said| said.is_about_existence()).count()
}

fn place(session: &str) -> Option<usize> {
    SESSIONS.iter().position(|known| *known == session)
}

/// Whether answers may be lacking.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    May,
    MustNot,
}

/// What an answer says beside its body, in one line.
fn line_told(said: &Said, told: &Told) -> String {
    let Told { error, version, replayed, timed_out, body: _ } = told;
    line(said.id(), said.kind(), error.as_deref(), *version, *replayed, *timed_out)
}

fn line_heard(frame: &Value) -> String {
    let text = |name: &str| frame[name].as_str();
    let error = text("error");
    assert_eq!(error.is_none(), frame["success"] == true, "{frame}");
    let (version, command) = (frame["sessionVersion"].as_u64(), text("command").expect("a command"));
    line(text("id"), command, error, version, frame["replayed"] == true, frame["timedOut"] == true)
}

fn line(
    id: Option<&str>,
    command: &str,
    error: Option<&str>,
    version: Option<u64>,
    replayed: bool,
    timed_out: bool,
) -> String {
    format!("{command} {id:?}: {error:?} version {version:?} replayed {replayed} timed out {timed_out}")
}

/// All of an answer that is the same when it is repeated.
fn body_of(frame: &Value) -> Value {
    let mut body = frame.clone();
    let members = body.as_object_mut().expect("a frame is an object");
    members.remove("id");
    members.remove("replayed");
    body
}
