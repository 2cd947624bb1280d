//! `pi journal` beside the server and after it.

use std::process::{Command, Output};

use nix::sys::signal::Signal;
use pi_testkit::Script;
use serde_json::{Value, json};

use crate::{
    room::Room,
    serving::{Serving, fits},
};

/// Runs `pi journal` with these words.
#[expect(clippy::disallowed_methods, reason = "these tests start the real binary")]
pub(crate) fn journal(room: &Room, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pi"));
    command.arg("journal").args(words).env_clear().env("PI_CODING_AGENT_DIR", room.at("agent"));
    command.output().expect("it starts")
}

fn objects(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))).collect()
}

#[track_caller]
pub(crate) fn check(output: &Output, code: i32, shapes: &[Value]) {
    let objects = objects(output);
    assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(objects.len(), shapes.len(), "{objects:#?}");
    for (object, shape) in objects.iter().zip(shapes) {
        assert!(fits(object, shape), "{object:#}\nis not like {shape:#}");
    }
}

#[test]
fn commands_can_be_looked_at_while_the_server_runs_and_dropped_after_it() {
    let mut serving = Serving::start(Script::new());
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        client.ask(&json!({"type": "set_session_name", "id": "name", "sessionId": "s", "name": "Named"})).await;
        client.ask(&json!({"type": "delete_session", "id": "gone", "sessionId": "nobody"})).await;
    });
    let made = json!({"command": "create_session", "id": "make", "finished": {"success": true}});
    let named =
        json!({"command": "set_session_name", "id": "name", "finished": {"success": true, "sessionVersion": 1}});
    let failed =
        json!({"command": "delete_session", "finished": {"success": false, "error": "Session nobody not found"}});
    let room = &serving.room;
    check(&journal(room, &["show", "--json"]), 0, &[failed.clone(), named.clone(), made.clone()]);
    check(&journal(room, &["show", "--json", "--id", "name"]), 0, std::slice::from_ref(&named));
    check(&journal(room, &["show", "--json", "--session", "other"]), 1, &[]);
    check(&journal(room, &["export"]), 0, &[made, named, failed]);
    let sound = json!({"sound": true, "commands": 3, "unfinished": 0, "findings": []});
    check(&journal(room, &["verify", "--json"]), 0, &[sound]);
    let refused = journal(room, &["compact"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("is in use by process"));
    serving.end(Signal::SIGTERM);
    let room = &serving.room;
    // What a client may still ask for again stays, however little is to be kept.
    check(&journal(room, &["compact", "--json", "--count", "1"]), 0, &[json!({"dropped": 0})]);
    check(&journal(room, &["verify", "--json"]), 0, &[json!({"sound": true, "commands": 3})]);
}

#[test]
fn journal_that_nobody_wrote_is_not_made() {
    let room = Room::new(Script::new());
    let output = journal(&room, &["verify"]);
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("there is no journal at") && told.contains("`pi serve` makes it"), "{told}");
    assert!(!room.at("agent/server").exists());
}
