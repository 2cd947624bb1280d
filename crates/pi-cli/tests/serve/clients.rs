//! Random clients against the real server, beside the engine's reference model, which is too simple to be wrong.
//!
//! Three clients speak to a server over WebSockets, often at once: random commands to few sessions, with ids and keys that
//! come again, dependencies, right and wrong versions, runs that somebody must end, connections that break, and a
//! `kill -9`. What observers see of it, and every answer, must be what the model says.
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

use std::{collections::BTreeMap, time::Duration};

use nix::sys::signal::Signal;
use pi_engine::Config;
use pi_testkit::{
    Reply, Script,
    model::{Answer, refusal},
    server::Request,
};
use serde_json::{Value, json};

use self::{
    command::{CLIENTS, Chooser, SESSIONS, Said},
    judge::{Judge, Told},
    seen::{Seen, What},
    stage::{Speaker, Stage},
};
use crate::{serving::Serving, times};

/// Commands until a server is left to end what it has, and another begins.
const EPISODE: usize = 300;
/// Commands in flight that are enough.
const ENOUGH: usize = 40;
/// How often everything is ended until it has.
const ROUNDS: usize = 60;
/// How long `bash` may take here.
const EXTENDED_MS: u64 = 300_000;

/// Commands of a run in which everything happens.
const LONG: usize = 5_000;
/// What must have happened in a long run.
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
    if commands < LONG {
        return;
    }
    let missing: Vec<&str> = EXPECTED.into_iter().filter(|name| !coverage.contains_key(*name)).collect();
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
    /// The version that each session was last seen to have.
    versions: [Option<u64>; SESSIONS.len()],
    in_flight: usize,
    seen: Vec<Seen>,
    /// Frames by which a client finds out that what it said before was heard.
    fences: Vec<(usize, String)>,
    /// What was first told, by the number of the answer.
    bodies: BTreeMap<u64, Value>,
}

impl Episode {
    /// Says about `commands` commands; how many it was in the end.
    fn run(seed: u64, commands: usize, coverage: &mut BTreeMap<String, usize>) -> usize {
        let config = Config { extended_ms: EXTENDED_MS, ..Config::standard() };
        let mut episode = Self {
            // Nobody answers pings while the judge thinks, which takes long where much was lost.
            serving: Serving::logged_and_patient(script()),
            chooser: Chooser::new(seed),
            judge: Judge::new(config),
            gone: Vec::new(),
            requests: 0,
            versions: [None; SESSIONS.len()],
            in_flight: 0,
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
                82..=92 => self.serving.room.server.release(1),
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

    /// One client or several at once say a few things without waiting, and then wait until they have been heard.
    async fn burst(&mut self, stage: &mut Stage) {
        let speakers = if self.chooser.percent(50) { 1 } else { CLIENTS.len() };
        let first = self.chooser.random.usize(..CLIENTS.len());
        let mut burst = Vec::new();
        for client in (first..first + speakers).map(|client| client % CLIENTS.len()) {
            for _ in 0..self.chooser.random.usize(1..=6) {
                burst.push(self.chooser.choose(client, &self.versions));
            }
            let there = self.versions.iter().position(Option::is_some);
            if let Some(at) = there.filter(|_| self.chooser.percent(10)) {
                // What ends a run must not wait for it.
                let run = json!({"type": "prompt", "sessionId": SESSIONS[at], "message": "stay"});
                let run = self.chooser.particular(client, run);
                let abort = json!({"type": "abort", "sessionId": SESSIONS[at], "dependsOn": [run.id()]});
                burst.extend([run, self.chooser.particular(client, abort)]);
            }
        }
        self.say(stage, burst).await;
    }

    async fn say(&mut self, stage: &mut Stage, burst: Vec<Said>) {
        let makes_a_session = burst.iter().any(|said| said.kind() == "create_session");
        let mut clients: Vec<usize> = burst.iter().map(|said| said.client).collect();
        clients.dedup();
        self.say_and_wait(stage, burst, &clients).await;
        if makes_a_session {
            // What waited for the session comes behind what was said after it, and may be refused. A session that is made
            // after a run comes when somebody ends that.
            for _ in 0..100 {
                if self.judge.has_heard_everything(&self.serving.log()) {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(3)).await;
            }
            self.say_and_wait(stage, Vec::new(), &clients).await;
        }
    }

    /// Says all of this, and waits until each of the clients was heard.
    async fn say_and_wait(&mut self, stage: &mut Stage, mut burst: Vec<Said>, clients: &[usize]) {
        let mut fences = Vec::new();
        for client in clients.iter().copied() {
            let fence = self.chooser.particular(client, json!({"type": "health_check"}));
            fences.push((client, fence.id().expect("it was given one").to_owned()));
            burst.push(fence);
        }
        for said in burst {
            self.requests += 1;
            self.in_flight += 1;
            self.judge.send(self.requests, said.clone());
            stage.speakers[said.client].say(self.requests, said).await;
        }
        for (client, fence) in &fences {
            let heard = stage.speakers[*client].hear(fence).await;
            // What was refused never ends.
            self.in_flight -= heard.iter().filter(|frame| frame["code"] == "conflict").count();
        }
        self.fences.extend(fences);
    }

    /// Takes in what was seen.
    fn look(&mut self, stage: &mut Stage) {
        for seen in stage.look() {
            if let What::Finished(finish) = &seen.what {
                self.in_flight -= 1;
                if let Some(at) = seen.session.as_deref().and_then(place) {
                    let is_gone = seen.kind == "delete_session" && finish.error.is_none() && !finish.replayed;
                    self.versions[at] = finish.version.or(self.versions[at]).filter(|_| !is_gone);
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
        for _ in 0..ROUNDS {
            let mut ends = Vec::new();
            for session in SESSIONS {
                for kind in ["abort", "abort_bash"] {
                    ends.push(self.chooser.particular(0, json!({"type": kind, "sessionId": session})));
                }
            }
            self.say(stage, ends).await;
            // Everybody: something that waited for a session may have been refused meanwhile.
            self.say_and_wait(stage, Vec::new(), &[0, 1, 2]).await;
            self.look(stage);
            for _ in 0..5 {
                if self.in_flight == 0 {
                    return;
                }
                stage.wait_a_little(Duration::from_millis(100)).await;
                self.look(stage);
            }
        }
        self.pass_fences();
        self.judge.judge(&self.serving.log(), std::mem::take(&mut self.seen));
        let unfinished = self.judge.unfinished();
        assert!(unfinished.is_empty(), "{} commands do not end: {unfinished:#?}", self.in_flight);
        // Somebody was refused on a connection that was lost before they heard it; that never ends, and was not counted.
        self.in_flight = 0;
    }

    /// Kills the server while runs are in flight and others wait for them, and starts it again.
    async fn restart(&mut self, mut stage: Stage) -> Stage {
        self.end_everything(&mut stage).await;
        let make = self.chooser.particular(1, json!({"type": "create_session", "sessionId": "s0"}));
        self.say(&mut stage, vec![make]).await;
        while self.in_flight > 0 {
            stage.wait().await;
            self.look(&mut stage);
        }
        let before = self.seen.len();
        let mut held = Vec::new();
        for message in ["stay", "hold on", "be quick"] {
            let frame = json!({"type": "prompt", "sessionId": "s0", "message": message});
            held.push(self.chooser.particular(1, frame));
        }
        self.say(&mut stage, held.clone()).await;
        loop {
            self.look(&mut stage);
            let prompts = self.seen[before..].iter().filter(|seen| seen.kind == "prompt");
            let (accepted, others): (Vec<_>, Vec<_>) = prompts.partition(|seen| seen.what == What::Accepted);
            if accepted.len() == held.len() && others.iter().any(|seen| seen.what == What::Started) {
                break;
            }
            stage.wait().await;
        }
        self.close(stage).await;
        self.serving.end(Signal::SIGKILL);
        self.judge.restart(&self.serving.log());
        self.serving.start_again();
        self.in_flight = 0;
        self.versions = [None; SESSIONS.len()];
        let mut stage = Stage::set(&self.serving).await;
        self.say(&mut stage, held).await;
        stage
    }

    /// Judges what was seen and heard so far.
    async fn close(&mut self, mut stage: Stage) {
        for client in 0..CLIENTS.len() {
            // Whatever was said to the client before has come when this is answered.
            let last = self.chooser.particular(client, json!({"type": "health_check"}));
            self.say(&mut stage, vec![last]).await;
        }
        loop {
            self.look(&mut stage);
            self.pass_fences();
            if self.fences.is_empty() {
                break;
            }
            stage.wait().await;
        }
        self.judge.judge(&self.serving.log(), std::mem::take(&mut self.seen));
        for speaker in std::mem::take(&mut self.gone) {
            self.compare(&speaker, Missing::May);
        }
        for speaker in stage.speakers {
            self.compare(&speaker, Missing::MustNot);
        }
    }

    /// A fence that was seen to end is not waited for any more.
    fn pass_fences(&mut self) {
        let finished = |seen: &&Seen| matches!(seen.what, What::Finished(_));
        let is_over =
            |(client, id): &(usize, String)| self.seen.iter().filter(finished).any(|seen| seen.is_of(*client, id));
        self.fences.retain(|fence| !is_over(fence));
    }

    /// What a connection heard beside what it should have been told.
    fn compare(&mut self, speaker: &Speaker, missing: Missing) {
        let mut expected: BTreeMap<String, Vec<Option<u64>>> = BTreeMap::new();
        for (request, said) in &speaker.said {
            // Nobody was told what was in flight when the server was killed.
            let Some(told) = self.judge.told(*request) else { continue };
            expected.entry(line_told(said, told)).or_default().push(told.body);
        }
        // Which of several alike it is that was heard, nobody knows.
        let alone = |bodies: &Vec<Option<u64>>| bodies[0].filter(|_| bodies.iter().all(|body| *body == bodies[0]));
        let known: BTreeMap<String, u64> =
            expected.iter().filter_map(|(line, bodies)| Some((line.clone(), alone(bodies)?))).collect();
        for frame in &speaker.heard {
            let line = line_heard(frame);
            if expected.get_mut(&line).and_then(Vec::pop).is_none() {
                panic!("nobody should be told {frame}\nbut: {expected:#?}");
            }
            if let Some(body) = known.get(&line) {
                let first = self.bodies.entry(*body).or_insert_with(|| body_of(frame));
                assert_eq!(*first, body_of(frame), "told two ways");
            }
        }
        expected.retain(|_, bodies| !bodies.is_empty());
        assert!(missing == Missing::May || expected.is_empty(), "never told: {expected:#?}");
    }
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
