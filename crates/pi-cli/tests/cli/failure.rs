//! `--json` where a command cannot be carried out: an object for the machine, the same text as ever for people.

use insta::assert_snapshot;
use serde_json::Value;

use crate::world::{BAD, GOOD, World};

const CALL: &str = r#"{"capability":"log","method":"log","params":{"level":"info","event":"note","message":"hello"}}"#;

fn world() -> World {
    World::new()
        .with("good.json", GOOD)
        .with("bad.json", BAD)
        .with("settings.json", "{}")
        .with("wrong.json", r#"{"extensions":{"policy":{"mode":"loose"}}}"#)
        .with("list.json", "[")
        .with("call.json", CALL)
}

/// Runs a line with and without `--json`: code and standard error are the same, and there is an object for each failure,
/// whose message stands on standard error too.
#[track_caller]
fn check(line: &str, code: i32, failures: usize) {
    let world = world();
    let run = |line: &str| {
        let output = world.command(line).output().expect("pi runs");
        let [out, error] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("text"));
        (output.status.code(), out, error)
    };
    let (plain_code, plain_out, plain_error) = run(line);
    assert_eq!((plain_code, &*plain_out), (Some(code), ""), "{line}");
    let (machine_code, out, error) = run(&format!("{line} --json"));
    // Usage repeats what was written.
    assert_eq!((machine_code, error.replace(" --json", "")), (Some(code), plain_error), "{line}");
    let objects: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    assert_eq!(objects.len(), failures, "{line}: {out}");
    let flat = error.split_whitespace().collect::<Vec<_>>().join(" ");
    for object in objects {
        assert_eq!(object.as_object().expect("an object").keys().collect::<Vec<_>>(), ["error"]);
        assert_eq!(object["error"]["exit_code"], code, "{line}");
        for member in ["message", "hint"] {
            let text = object["error"][member].as_str().unwrap_or_default();
            assert!(!text.is_empty() && flat.contains(text), "{line}: {member} of {object}");
        }
        for problem in object["error"]["errors"].as_array().into_iter().flatten() {
            assert!(error.contains(problem["message"].as_str().expect("a message")), "{line}: {problem}");
        }
    }
}

#[test]
fn every_command_with_json_tells_its_failures_as_objects() {
    let explain = "policy explain --extension git --project . --config";
    for (line, code, failures) in [
        ("envelope validate", 2, 1),
        ("envelope validate - -", 2, 1),
        ("envelope validate --loud good.json", 2, 1),
        ("ext-message validate", 2, 1),
        ("ext-message validate - -", 2, 1),
        ("envelope stats", 2, 1),
        ("envelope stats - -", 2, 1),
        ("envelope diff good.json", 2, 1),
        ("envelope diff - -", 2, 1),
        ("envelope diff good.json gone.json", 2, 1),
        ("envelope diff bad.json good.json", 2, 1),
        ("envelope diff . gone.json", 2, 2),
        ("policy explain", 2, 1),
        (&format!("{explain} gone.json --call @call.json"), 2, 1),
        (&format!("{explain} list.json --call @call.json"), 2, 1),
        (&format!("{explain} wrong.json --call @call.json"), 2, 1),
        (&format!("{explain} settings.json --call @call.json --manifest bad.json"), 2, 1),
        (&format!("{explain} settings.json --call @call.json --at tomorrow"), 2, 1),
        ("ext teleport git", 2, 1),
    ] {
        check(line, code, failures);
    }
}

#[test]
fn object_holds_what_people_read_in_members() {
    let shown = world().run("policy explain --json --config wrong.json --extension git --call @call.json");
    assert_snapshot!(shown, @r#"
    {"error":{"message":"wrong.json is not a policy that can be used","hint":"`pi schema policy` prints what is expected","file":"wrong.json","errors":[{"path":"extensions.policy.mode","message":"expected \"strict\", \"prompt\" or \"permissive\""}],"exit_code":2}}
    --- on standard error
    error: wrong.json is not a policy that can be used
      extensions.policy.mode: expected "strict", "prompt" or "permissive"
    hint: `pi schema policy` prints what is expected
    --- exit 2
    "#);
    assert_snapshot!(world().run("envelope diff --json bad.json gone.json"), @r#"
    {"error":{"message":"bad.json is not a valid envelope","hint":"`pi schema envelope` prints what is expected","file":"bad.json","errors":[{"path":"messages[0].role","message":"expected one of \"system\", \"user\", \"assistant\", \"tool\", found \"robot\""},{"path":"messages[0].segments","message":"expected at least 1 item, found 0"}],"exit_code":2}}
    {"error":{"message":"cannot read gone.json: No such file or directory (os error 2)","hint":"check the name; `-` reads standard input","file":"gone.json","exit_code":2}}
    --- on standard error
    error: bad.json is not a valid envelope
      messages[0].role: expected one of "system", "user", "assistant", "tool", found "robot"
      messages[0].segments: expected at least 1 item, found 0
    hint: `pi schema envelope` prints what is expected
    error: cannot read gone.json: No such file or directory (os error 2)
    hint: check the name; `-` reads standard input
    --- exit 2
    "#);
    assert_snapshot!(world().run("policy explain --json --config settings.json --extension git --call {}"), @r#"
    {"error":{"message":"the call is not a host call","hint":"write the payload of a host_call: {\"capability\": \"read\", \"method\": \"tool\", \"params\": {\"name\": \"read\", \"input\": {\"path\": \"a\"}}}","errors":[{"path":"capability","message":"required member is missing"},{"path":"method","message":"required member is missing"},{"path":"params","message":"required member is missing"}],"exit_code":2}}
    --- on standard error
    note: settings.json holds no extensions.policy; the defaults decide
    error: the call is not a host call
      capability: required member is missing
      method: required member is missing
      params: required member is missing
    hint: write the payload of a host_call: {"capability": "read", "method": "tool", "params": {"name": "read", "input": {"path": "a"}}}
    --- exit 2
    "#);
    assert_snapshot!(world().run("envelope validate --json"), @r#"
    {"error":{"message":"the following required arguments were not provided: <FILE>...","hint":"Usage: pi envelope validate --json <FILE>...","exit_code":2}}
    --- on standard error
    error: the following required arguments were not provided:
      <FILE>...

    Usage: pi envelope validate --json <FILE>...

    For more information, try '--help'.
    --- exit 2
    "#);
}

#[test]
fn json_as_a_value_asks_for_nothing() {
    let shown = world().run("ext run -- --json");
    assert!(shown.starts_with("--- on standard error"), "{shown}");
    let shown = world().run("policy explain --config settings.json --extension=--json --call {}");
    assert!(shown.starts_with("--- on standard error"), "{shown}");
}
