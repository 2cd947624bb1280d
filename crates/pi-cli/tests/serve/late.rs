//! What takes too long is ended, and leaves nothing behind that nobody is told of.

use std::{
    io::{ErrorKind, Read as _},
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::Command,
    thread,
    time::Duration,
};

use nix::sys::signal::Signal;
use pi_server::settings::Settings;
use pi_testkit::{Client, Script, model::Answer};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    house::House,
    room::{Room, write},
    serving::{Serving, fits},
};

#[track_caller]
fn check(answer: &Value, shape: &Value) {
    assert!(fits(answer, shape), "{answer:#}\nis not like {shape:#}");
}

/// Two answers, and then one that does not come to its end.
fn held_at_the_third() -> Script {
    let answer = |text: &str| Answer::new().text(text).reply();
    Script::new().then(answer("One.")).then(answer("Two.")).then(Answer::new().text("To sum").hold().reply())
}

/// Says two things, and goes back to the first with a summary of what is left. The summary is not finished.
async fn go_back(serving: &Serving) -> Client {
    let mut client = serving.with_session("").await;
    for id in ["p1", "p2"] {
        let prompt = json!({"type": "prompt", "id": id, "sessionId": "s", "message": id});
        check(&client.ask(&prompt).await, &json!({"success": true}));
    }
    let shown = client.ask(&json!({"type": "get_messages", "id": "g", "sessionId": "s", "limit": 20})).await;
    let target = &shown["data"]["entryIds"][1];
    let back = json!({"type": "navigate_tree", "id": "back", "sessionId": "s", "targetId": target,
        "options": {"summarize": true}});
    client.send(&back).await;
    serving.room.server.received(3).await;
    client
}

/// How many messages there are, and the version.
async fn looked(client: &mut Client, id: &str) -> (usize, Value) {
    let answer = client.ask(&json!({"type": "get_messages", "id": id, "sessionId": "s"})).await;
    (answer["data"]["messages"].as_array().map_or(0, Vec::len), answer["sessionVersion"].clone())
}

#[test]
fn summary_of_a_branch_lets_control_pass_and_is_ended_by_abort() {
    let serving = Serving::start(held_at_the_third());
    serving.block_on(async {
        let mut client = go_back(&serving).await;
        assert_eq!(looked(&mut client, "l1").await, (4, json!(2)));
        check(&client.ask(&json!({"type": "abort", "id": "a", "sessionId": "s"})).await, &json!({"success": true}));
        let went = client.answer("back").await;
        check(&went, &json!({"success": true, "data": {"cancelled": true, "aborted": true}}));
        assert_eq!(looked(&mut client, "l2").await.0, 4);
    });
}

#[test]
fn summary_of_a_branch_that_takes_too_long_changes_nothing() {
    let serving = Serving::with(held_at_the_third(), &["--set", "extendedTimeoutMs=300"]);
    serving.block_on(async {
        let mut client = go_back(&serving).await;
        check(&client.answer("back").await, &json!({"success": false, "code": "timeout"}));
        serving.room.server.abandoned(1).await;
        // Behind the work that was stopped.
        let name = json!({"type": "set_session_name", "id": "n", "sessionId": "s", "name": "x", "ifSessionVersion": 2});
        check(&client.ask(&name).await, &json!({"success": true, "sessionVersion": 3}));
        assert_eq!(looked(&mut client, "l").await, (4, json!(3)));
    });
}

#[test]
fn signal_is_heard_while_an_extension_never_loads() {
    let mut serving = Serving::prepared(Script::new(), &[], |room| {
        write(&room.at("agent/extensions/stuck.ts"), b"export default () => new Promise(() => {});");
        // So that extensions are asked whether the project is trusted, too.
        write(&room.project().join(".pi/prompts/brought.md"), b"Do it.");
    });
    let mut client = serving.block_on(async {
        let mut client = serving.connect("").await;
        client.send(&json!({"type": "create_session", "id": "c", "sessionId": "stuck"})).await;
        client.expect("the start", |frame| frame["type"] == "command_started").await;
        client
    });
    serving.signal(Signal::SIGTERM);
    serving.block_on(client.expect("the end", |frame| frame["type"] == "server_shutdown"));
    let began = Instant::now();
    serving.signal(Signal::SIGTERM);
    assert_eq!(serving.wait(), Some(0));
    // Far less than a guest has to load.
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}

/// Where a model server should be, and somebody takes connections and says nothing.
pub(crate) struct Silent(TcpListener);

impl Silent {
    pub(crate) fn open() -> Self {
        Self(TcpListener::bind(("127.0.0.1", 0)).expect("a port on loopback"))
    }

    /// Lets the command look for a model server here.
    pub(crate) fn tell(&self, command: &mut Command) {
        command.env("OLLAMA_HOST", self.0.local_addr().expect("it is bound").to_string());
    }

    /// Waits until somebody looks.
    pub(crate) fn looked_for(&self) -> TcpStream {
        self.0.set_nonblocking(true).expect("ours");
        for _ in 0..2000 {
            match self.0.accept() {
                Ok((looked, _)) => return looked,
                Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(Duration::from_millis(10)),
                Err(error) => panic!("{error}"),
            }
        }
        panic!("nobody looks for a model server");
    }
}

/// Whether somebody still waits for an answer at the other end.
pub(crate) fn is_waited_for(looked: &mut TcpStream) -> bool {
    looked.set_nonblocking(true).expect("ours");
    let mut piece = [0; 4096];
    loop {
        match looked.read(&mut piece) {
            Ok(0) => return false,
            Ok(_) => {}
            Err(error) => return error.kind() == ErrorKind::WouldBlock,
        }
    }
}

/// The file of a session in which a model of a server on this machine answered.
pub(crate) fn session_of_a_local_model(room: &Room) -> PathBuf {
    let stamp = "2026-11-16T00:00:00.000Z";
    let lines = [
        json!({"type": "session", "version": 3, "id": "local", "timestamp": stamp, "cwd": room.project()}),
        json!({"type": "model_change", "id": "0000000a", "parentId": null, "timestamp": stamp,
            "provider": "ollama", "modelId": "somebody"}),
        json!({"type": "message", "id": "0000000b", "parentId": "0000000a", "timestamp": stamp,
            "message": {"role": "user", "content": "Hello", "timestamp": 1}}),
    ];
    let file = room.project().join(".pi/sessions/local.jsonl");
    write(&file, lines.map(|line| format!("{line}\n")).concat().as_bytes());
    file
}

#[test]
fn signal_is_heard_while_a_model_server_is_looked_for() {
    let mut serving = Serving::start(Script::new());
    serving.end(Signal::SIGTERM);
    let (silent, file) = (Silent::open(), session_of_a_local_model(&serving.room));
    let mut command = serving.room.pi_to(&["serve"]);
    silent.tell(&mut command);
    assert!(serving.start_as(command), "it does not start");
    let load = json!({"type": "load_session", "id": "l", "sessionPath": file});
    let mut client = serving.block_on(async {
        let mut client = serving.connect("").await;
        client.send(&load).await;
        client
    });
    let mut looked = silent.looked_for();
    serving.signal(Signal::SIGTERM);
    serving.block_on(client.expect("the end", |frame| frame["type"] == "server_shutdown"));
    assert!(is_waited_for(&mut looked), "the signal was heard only when the search was over");
    serving.signal(Signal::SIGTERM);
    assert_eq!(serving.wait(), Some(0));
}

/// Server and session commands have a moment, and are killed soon after it.
fn hasty(settings: &mut Settings) {
    settings.engine.normal_ms = 200;
    settings.engine.kill_after_ms = 50;
}

#[tokio::test(flavor = "multi_thread")]
async fn session_that_takes_too_long_to_be_made_is_not_there() {
    let house = House::open_as(Script::new(), &[], hasty).await;
    let mut client = house.client("a").await;
    house.pause();
    let create = |id: &str| json!({"type": "create_session", "id": id, "sessionId": "new"});
    check(&client.ask(&create("c1")).await, &json!({"success": false, "code": "timeout"}));
    let listed = client.ask(&json!({"type": "list_sessions", "id": "l"})).await;
    check(&listed, &json!({"data": {"sessions": [{"sessionId": "s"}]}}));
    assert_eq!(listed["data"]["sessions"].as_array().map(Vec::len), Some(1), "{listed}");
    house.go_on(8);
    check(&client.ask(&create("c2")).await, &json!({"success": true}));
}

#[tokio::test(flavor = "multi_thread")]
async fn session_that_takes_too_long_to_end_is_announced_as_gone() {
    let house = House::open_as(Script::new(), &["guest stubborn\non session_shutdown\nhang"], hasty).await;
    let (mut client, mut other) = (house.client("a").await, house.client("b").await);
    let delete = json!({"type": "delete_session", "id": "d", "sessionId": "s"});
    check(&client.ask(&delete).await, &json!({"success": false, "code": "timeout"}));
    other.expect("session_deleted", |frame| frame["type"] == "session_deleted").await;
    let listed = client.ask(&json!({"type": "list_sessions", "id": "l"})).await;
    assert_eq!(listed["data"]["sessions"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn session_whose_old_conversation_takes_too_long_to_end_goes_on_with_the_new_one() {
    let script = Script::new().otherwise(Answer::new().text("Hi.").reply());
    let house = House::open_as(script, &["guest stubborn\non session_shutdown\nhang"], hasty).await;
    let mut client = house.client("a").await;
    let say = |id: &str| json!({"type": "prompt", "id": id, "sessionId": "s", "message": "Hello"});
    check(&client.ask(&say("p1")).await, &json!({"success": true, "sessionVersion": 1}));
    let begin = json!({"type": "new_session", "id": "n", "sessionId": "s"});
    check(&client.ask(&begin).await, &json!({"success": false, "code": "timeout"}));
    // It is another conversation, and whoever expects the old one is told.
    let mut stale = say("p2");
    stale["ifSessionVersion"] = json!(1);
    check(&client.ask(&stale).await, &json!({"success": false, "code": "version_mismatch"}));
    check(&client.ask(&say("p3")).await, &json!({"success": true}));
    assert_eq!(looked(&mut client, "l").await.0, 2);
}
