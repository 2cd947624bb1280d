//! `kill -9`: at every step of the journal, and at random under load. What was answered stays answered, nothing runs
//! twice, and every repetition gets the answer that there was.

use std::{
    collections::BTreeMap,
    os::unix::process::CommandExt as _,
    process::{Command, Stdio},
    time::Duration,
};

use nix::sys::signal::Signal;
use pi_testkit::{Client, Script};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::{
    room::{self, Room},
    serving::{Serving, fits},
    times,
};

/// System calls by which the journal gets to the disk, and the files of which it is made.
const STEPS: [&str; 2] = ["pwrite64", "fdatasync"];
const FILES: [&str; 2] = ["agent/server/journal.sqlite", "agent/server/journal.sqlite-wal"];
/// Of a witness who is killed in the middle. Each leaves two records, and both are synced.
const COMMANDS: usize = 6;
/// Long enough for an answer on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// One client and what it was told.
struct Witness {
    name: String,
    commands: Vec<Value>,
    told: BTreeMap<String, Value>,
}

impl Witness {
    /// With commands that each leave a line in a file of their own.
    fn new(name: String, count: usize) -> Self {
        let command = |number: usize| {
            let id = format!("{name}-{number}");
            json!({
                "type": "bash",
                "id": id,
                "idempotencyKey": format!("key-{id}"),
                "sessionId": "s",
                "command": format!("mkdir -p marks && echo done >> marks/{id}"),
            })
        };
        let commands = (0..count).map(command).collect();
        Self { name, commands, told: BTreeMap::new() }
    }

    fn query(&self) -> String {
        format!("?clientId={}&lifecycle=none", self.name)
    }

    /// Sends everything and notes what is answered, until everything is or the server is gone.
    async fn work(&mut self, client: &mut Client) {
        for command in &self.commands {
            if client.try_send(command).await.is_err() {
                return;
            }
        }
        while self.told.len() < self.commands.len() {
            let Ok(Some(frame)) = timeout(PATIENCE, client.next()).await else { return };
            if frame["type"] == "response" {
                self.note(&frame);
            }
        }
    }

    /// Sends one after the other, so that the journal makes the same steps each time; whether the server lived to the end.
    async fn work_in_turn(&mut self, serving: &Serving) -> bool {
        let Ok(mut client) = Client::connect(&serving.url(&self.query()), Some(&serving.token())).await else {
            return false;
        };
        for command in &self.commands.clone() {
            if client.try_send(command).await.is_err() {
                return false;
            }
            loop {
                let Ok(Some(frame)) = timeout(PATIENCE, client.next()).await else { return false };
                if frame["type"] == "response" {
                    self.note(&frame);
                    break;
                }
            }
        }
        true
    }

    fn note(&mut self, frame: &Value) {
        let id = frame["id"].as_str().expect("it was sent with one").to_owned();
        let mut frame = frame.clone();
        frame.as_object_mut().expect("an object").remove("replayed");
        if let Some(before) = self.told.insert(id.clone(), frame.clone()) {
            assert_eq!(before, frame, "{id} was told two ways");
        }
    }

    /// Sends everything once more: what was told is told again, and what was not is told now.
    async fn come_back(&mut self, serving: &Serving) {
        let mut client = serving.connect(&self.query()).await;
        for command in &self.commands.clone() {
            let known = self.told.contains_key(command["id"].as_str().expect("an id"));
            let answer = client.ask(command).await;
            assert!(!known || answer["replayed"] == true, "{answer} was told before");
            let good = fits(&answer, &json!({"success": true, "data": {"exitCode": 0}}));
            assert!(good || answer["code"] == "interrupted", "{answer}");
            self.note(&answer);
        }
    }

    /// How often each command ran, by what it left behind.
    fn examine(&self, room: &Room) {
        for (id, answer) in &self.told {
            let marks = room::read(&room.project().join("marks").join(id)).unwrap_or_default();
            let times = marks.lines().count();
            let expected = if answer["success"] == true { 1..=1 } else { 0..=1 };
            assert!(expected.contains(&times), "{id} ran {times} times: {answer}");
        }
    }
}

#[test]
fn killed_at_every_step_of_the_journal_nothing_is_lost_and_nothing_runs_twice() {
    if !is_there("strace") {
        return eprintln!("SKIPPED: strace is not installed, and nobody kills the server in a system call");
    }
    let strikes = (times("PI_TEST_CRASHES", 4) / STEPS.len()).max(1);
    for step in STEPS {
        let steps = count(step);
        assert!(
            steps >= 2 * COMMANDS,
            "{COMMANDS} commands made {steps} calls of {step}: the journal is not kept by it"
        );
        // Spread over the life of a journal, its beginning included; with many strikes each step is struck.
        let numbers = (0..strikes).map(|strike| 1 + (2 * strike + 1) * (steps - 1) / (2 * strikes));
        let landed = numbers.filter(|number| strike(step, *number)).count();
        // A step or two at the end may not come again.
        assert!(10 * landed >= 9 * strikes, "{landed} of {strikes} strikes at {steps} calls of {step} killed it");
    }
}

/// How many calls of this kind the journal makes for the commands of a witness: by one thread, as strace counts them.
fn count(step: &str) -> usize {
    let mut serving = Serving::start(Script::new());
    serving.block_on(async { drop(serving.with_session("?clientId=maker").await) });
    serving.end(Signal::SIGTERM);
    let list = serving.room.at("calls");
    let path = list.display().to_string();
    let mut witness = Witness::new(format!("{step}-counted"), COMMANDS);
    assert!(serving.start_as(traced(&serving.room, step, &["-o", &path])), "it does not start under strace");
    assert!(serving.block_on(witness.work_in_turn(&serving)), "it died of being counted");
    serving.end_group();
    let mut threads = BTreeMap::<String, usize>::new();
    for line in room::read(&list).expect("strace made it").lines().filter(|line| line.contains(&format!(" {step}("))) {
        *threads.entry(line.split(' ').next().unwrap_or_default().to_owned()).or_default() += 1;
    }
    threads.into_values().max().unwrap_or(0)
}

/// Kills a server when it begins its `number`th call of this kind for its journal; whether that came to pass.
fn strike(step: &str, number: usize) -> bool {
    let mut serving = Serving::start(Script::new());
    serving.block_on(async { drop(serving.with_session("?clientId=maker").await) });
    serving.end(Signal::SIGTERM);
    let inject = format!("inject={step}:signal=SIGKILL:when={number}");
    let mut witness = Witness::new(format!("{step}-{number}"), COMMANDS);
    // It may die before anybody is let in.
    let listens = serving.start_as(traced(&serving.room, step, &["-o", "/dev/null", "-e", &inject]));
    let survived = listens && serving.block_on(witness.work_in_turn(&serving));
    serving.end_group();
    serving.start_again();
    serving.block_on(witness.come_back(&serving));
    witness.examine(&serving.room);
    !survived
}

/// The server under strace, which looks at calls of one kind for the files of the journal.
#[expect(clippy::disallowed_methods, reason = "strace is a program of the machine")]
fn traced(room: &Room, step: &str, options: &[&str]) -> Command {
    let command = room.pi_to(&["serve"]);
    let mut traced = Command::new("strace");
    traced.args(["-f", "-qq", "-e", &format!("trace={step}")]).args(options);
    for file in FILES {
        traced.arg("-P").arg(room.at(file));
    }
    traced.arg(command.get_program()).args(command.get_args());
    // strace and what it traces end together.
    traced.process_group(0);
    traced.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    traced
}

#[test]
fn killed_at_random_under_load_nothing_is_lost_and_nothing_runs_twice() {
    const CLIENTS: usize = 50;
    let mut random = fastrand::Rng::with_seed(7);
    let mut serving = Serving::start(Script::new());
    serving.block_on(async { drop(serving.with_session("?clientId=maker").await) });
    let mut interrupted = 0;
    for round in 0..times("PI_TEST_CRASHES", 3) {
        let mut witnesses: Vec<Witness> =
            (0..CLIENTS).map(|number| Witness::new(format!("r{round}-c{number}"), 2)).collect();
        let life = Duration::from_millis(random.u64(5..400));
        let pid = serving.id();
        serving.block_on(async {
            let works = witnesses.iter_mut().map(|witness| async {
                // It may be dead before everybody is in.
                if let Ok(mut client) = Client::connect(&serving.url(&witness.query()), Some(&serving.token())).await {
                    witness.work(&mut client).await;
                }
            });
            let death = async {
                sleep(life).await;
                let _ = nix::sys::signal::kill(pid, Signal::SIGKILL);
            };
            futures_util::future::join(futures_util::future::join_all(works), death).await;
        });
        serving.restart(Signal::SIGKILL);
        for witness in &mut witnesses {
            serving.block_on(witness.come_back(&serving));
            witness.examine(&serving.room);
            interrupted += witness.told.values().filter(|answer| answer["code"] == "interrupted").count();
        }
    }
    // Deaths that strike nobody would prove nothing.
    assert!(interrupted > 0, "no command was in flight at any death");
}

#[expect(clippy::disallowed_methods, reason = "whether a program of the machine is there")]
fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).status().is_ok()
}

/// Does this to the journal of a server that was killed.
fn edit(serving: &Serving, statements: &str) {
    let journal = rusqlite::Connection::open(serving.room.at("agent/server/journal.sqlite")).expect("a journal");
    journal.execute_batch(statements).expect("its tables are these");
}

#[test]
fn session_whose_removal_was_cut_short_has_no_version() {
    let mut serving = Serving::start(Script::new());
    serving.block_on(async { drop(serving.with_session("?lifecycle=none").await) });
    serving.end(Signal::SIGKILL);
    edit(&serving, "delete from berth where session = 's'");
    for _ in 0..2 {
        serving.start_again();
        serving.block_on(async {
            let mut client = serving.connect("?lifecycle=none").await;
            let state = client.ask(&json!({"type": "get_state", "id": "look", "sessionId": "s"})).await;
            let gone = json!({"success": false, "code": "session_not_found"});
            assert!(fits(&state, &gone) && state["sessionVersion"].is_null(), "{state}");
        });
        serving.end(Signal::SIGKILL);
    }
}

#[test]
fn session_whose_making_was_cut_short_is_not_there() {
    let mut serving = Serving::start(Script::new());
    let create = json!({"type": "create_session", "id": "make", "sessionId": "s"});
    serving.block_on(async {
        let mut client = serving.with_session("?clientId=a&lifecycle=none").await;
        client.ask(&json!({"type": "create_session", "id": "other", "sessionId": "t"})).await;
    });
    serving.end(Signal::SIGKILL);
    edit(
        &serving,
        "update command set finished_sequence = null, finished_at = null, success = null, timed_out = null,
             recovered = null, error = null, version = null, answer = null, size = null where id = 'make';
         delete from version where session = 's'",
    );
    serving.start_again();
    serving.block_on(async {
        let mut client = serving.connect("?clientId=a&lifecycle=none").await;
        let told = client.ask(&create).await;
        assert!(fits(&told, &json!({"success": false, "code": "interrupted", "replayed": true})), "{told}");
        let list = client.ask(&json!({"type": "list_sessions", "id": "list"})).await;
        assert!(fits(&list, &json!({"data": {"sessions": [{"sessionId": "t"}]}})), "{list}");
        let again = client.ask(&json!({"type": "create_session", "id": "again", "sessionId": "s"})).await;
        assert!(fits(&again, &json!({"success": true, "sessionVersion": 0})), "{again}");
    });
}
