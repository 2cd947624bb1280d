//! Models that an extension brings, asked by the real binary.

use std::process::Stdio;

use pi_testkit::{Script, model::Answer};
use serde_json::{Value, json};

use crate::room::{Room, read, write};

const EXTENSION: &str = include_str!("../extensions/brings.ts");

/// With the extension beside the project's files, which may reach the model and see its key.
fn room(script: Script) -> Room {
    let room = Room::new(script);
    write(&room.project().join("brings.ts"), EXTENSION.replace("$URL", &room.server.url()).as_bytes());
    let address = room.server.address().to_string();
    for right in [["http", "--host", &address], ["env", "--env", "BRINGS_KEY"]] {
        let mut allow = room.bare_pi();
        let output = allow.args(["ext", "allow", "brings"]).args(right).output().expect("pi starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    room
}

/// What was printed, and whether it ended well.
fn run(room: &Room, arguments: &[&str]) -> (String, String, bool) {
    let mut command = room.pi();
    command.env("BRINGS_KEY", "sk-brought").args(["-p", "-e", "brings.ts"]).args(arguments);
    let output = command.stdin(Stdio::null()).output().expect("pi starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.success())
}

#[test]
fn model_of_an_extension_is_named_at_the_start_and_carries_calls_out() {
    let script = Script::new()
        .then(Answer::new().call("c1", "read", &json!({"path": "note.txt"})).usage(10, 5).reply())
        .otherwise(Answer::new().text("It says milk.").usage(20, 4).reply());
    let room = room(script);
    write(&room.project().join("note.txt"), b"milk\n");
    let (stdout, stderr, is_good) = run(&room, &["--model", "brings/m", "What does the note say?"]);
    assert!(is_good && stdout.contains("It says milk."), "{stdout}\n{stderr}");
    let requests = room.server.requests();
    let [first, second] = requests.as_slice() else { panic!("{} requests", requests.len()) };
    assert_eq!(first.target, "/v1/chat/completions");
    assert_eq!(first.header("authorization"), Some("Bearer sk-brought"));
    assert_eq!(first.header("x-brought"), Some("by an extension"));
    assert_eq!(first.json()["model"], "m");
    let messages = second.json()["messages"].clone();
    assert_eq!(messages[messages.as_array().expect("a list").len() - 1]["content"], "milk\n");
    let [file] = room.sessions().try_into().expect("one session");
    let kept = read(&file).expect("text");
    assert!(
        kept.contains(r#""provider":"brings""#) && !kept.contains("nowhere") && !kept.contains("sk-brought"),
        "{kept}"
    );
    let last: Value = serde_json::from_str(kept.lines().last().expect("a line")).expect("JSON");
    assert_eq!(last["message"]["usage"]["output"], 4, "{last}");
}

#[test]
fn extension_asks_its_own_model_and_hears_the_sessions_step_by_step() {
    let script = Script::new()
        .then(Answer::new().text("Of my own.").reply())
        .otherwise(Answer::new().text("one two three").reply());
    let room = room(script);
    let (stdout, stderr, is_good) = run(&room, &["--model", "scripted/model", "/aside Who?"]);
    assert!(is_good, "{stdout}\n{stderr}");
    let requests = room.server.requests();
    let keys: Vec<_> = requests.iter().map(|request| request.header("x-brought").is_some()).collect();
    assert_eq!(keys, [true, false], "the extension asks its own model, and the session its own");
    let asked: Value =
        serde_json::from_str(&read(&room.project().join("asked.json")).expect("it was written")).expect("JSON");
    assert_eq!((&asked["own"], &asked["whole"]), (&json!("Of my own."), &json!("one two three")));
    let steps: Vec<&str> = asked["steps"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert_eq!(steps.first().zip(steps.last()), Some((&"start", &"done")));
    let words = steps.iter().filter(|step| ["one", "two", "three"].contains(&step.trim())).count();
    assert_eq!(words, 3, "{steps:?}");
}

#[test]
fn model_that_nobody_brings_is_said_so() {
    let room = room(Script::new());
    let (_, stderr, is_good) = run(&room, &["--model", "brings/other", "Hello"]);
    assert!(!is_good && stderr.contains("there is no model brings/other, and no extension brings it"), "{stderr}");
    write(&room.at("agent/settings.json"), br#"{"defaultProvider": "brings", "defaultModel": "other"}"#);
    let (_, stderr, _) = run(&room, &["Hello"]);
    assert!(stderr.contains("there is no model brings/other, the default in settings.json, and no"), "{stderr}");
    let mut command = room.pi();
    let output = command.args(["-p", "--model", "brings/m", "Hello"]).stdin(Stdio::null()).output().expect("pi starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && stderr.contains(r#"there is no provider "brings""#), "{stderr}");
}

#[test]
fn address_on_this_machine_needs_to_be_granted() {
    let room = Room::new(Script::new().otherwise(Answer::new().text("Hello.").reply()));
    write(&room.project().join("brings.ts"), EXTENSION.replace("$URL", &room.server.url()).as_bytes());
    let (stdout, stderr, is_good) = run(&room, &["--model", "brings/m", "Hello"]);
    assert!(!is_good && room.server.requests().is_empty(), "{stdout}\n{stderr}");
    assert!(stderr.contains("pi ext allow brings http --host 127.0.0.1"), "{stderr}");
}
