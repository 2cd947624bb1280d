//! The faults of the reference server, each with a test that shows that this one has it not.
//!
//! `faults.yaml` lists them with their tests, which stand in many places; those that stand nowhere else are here.
//! `docs/faults.md` is the same list for people; run the test with `UPDATE=1` to write its rows anew. Their verdicts are written by
//! `cargo xtask verdicts`.

use std::{collections::BTreeSet, path::Path, process::Stdio};

use pi_testkit::{Reply, Script, model::Answer};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    conformance::compare,
    room::{self, Room},
    serving::{Serving, fits},
};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/faults.md");
/// Behind this line of the page the table begins.
const MARK: &str = "<!-- written by the test every_fault_has_its_tests -->\n\n";
const HEAD: &str = "| fault | what the reference does | shown here by | verdict |\n|---|---|---|---|\n";
/// How many there are.
const FAULTS: usize = 19;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fault {
    fault: usize,
    was: String,
    /// What is seen of it beside the tests.
    by: Option<String>,
    /// File and name.
    tests: Vec<(String, String)>,
}

/// Whether a file of the repository has this test.
fn is_there((file, test): &(String, String)) -> bool {
    let path = format!("{}/../../{file}", env!("CARGO_MANIFEST_DIR"));
    let sign = match file.rsplit('.').next() {
        Some("yaml") => format!("says: {test}\n"),
        Some("mjs") => format!("test(\"{test}\""),
        _ => format!("fn {test}("),
    };
    room::read(Path::new(&path)).is_some_and(|text| text.contains(&sign))
}

#[test]
fn every_fault_has_its_tests() {
    let faults: Vec<Fault> = serde_saphyr::from_str(include_str!("faults.yaml")).expect("the list is good");
    assert!(faults.iter().map(|fault| fault.fault).eq(1..=FAULTS), "one for each, in order");
    let lost: Vec<_> = faults.iter().flat_map(|fault| &fault.tests).filter(|test| !is_there(test)).collect();
    assert!(lost.is_empty(), "these tests are not there: {lost:#?}");
    assert!(faults.iter().all(|fault| !fault.tests.is_empty()));
    let rows: Vec<String> = faults
        .iter()
        .map(|Fault { fault, was, by, tests }| {
            let test = |(file, test): &(String, String)| format!("`{test}` in [{}](../{file})", name(file));
            let tests = tests.iter().map(test).collect::<Vec<_>>().join("; ");
            let by = by.as_ref().map_or(String::new(), |by| format!("; measured by `{by}`"));
            format!("| {fault} | {was} | {tests}{by} |")
        })
        .collect();
    compare(Path::new(PAGE), MARK, HEAD, &rows);
}

fn name(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

#[track_caller]
fn check(answer: &Value, shape: &Value) {
    assert!(fits(answer, shape), "{answer:#}\nis not like {shape:#}");
}

#[test]
fn session_that_is_there_survives_being_made_and_loaded_again() {
    let serving =
        Serving::with(Script::new().otherwise(Answer::new().text("Hi.").reply()), &["--set", "maxSessions=2"]);
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        client.ask(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello"})).await;
        let file = serving.room.sessions().remove(0);
        for (id, frame) in [
            ("1", json!({"type": "create_session", "id": "1", "sessionId": "s"})),
            ("2", json!({"type": "load_session", "id": "2", "sessionId": "s", "sessionPath": file})),
            ("3", json!({"type": "load_session", "id": "3", "sessionId": "t", "sessionPath": file})),
        ] {
            let refused = client.ask(&frame).await;
            assert_eq!(refused["success"], false, "{id}: {refused}");
        }
        let state = client.ask(&json!({"type": "get_state", "id": "g", "sessionId": "s"})).await;
        check(&state, &json!({"success": true, "sessionVersion": 1, "data": {"messageCount": 2}}));
        let metrics = client.ask(&json!({"type": "get_metrics", "id": "m"})).await;
        check(&metrics, &json!({"data": {"sessionCount": 1}}));
        // What was refused took no place.
        let other = client.ask(&json!({"type": "create_session", "id": "o", "sessionId": "t"})).await;
        check(&other, &json!({"success": true}));
    });
}

#[test]
fn command_that_timed_out_does_nothing_later() {
    let serving = Serving::with(Script::new(), &["--set", "extendedTimeoutMs=200", "--set", "killAfterMs=200"]);
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        // Goes on when the test says so, which is after its time.
        let command = "while [ ! -e go ]; do sleep 0.02; done; echo late > late";
        let slow = json!({"type": "bash", "id": "slow", "sessionId": "s", "command": command});
        client.send(&slow).await;
        // It waits behind the other one for longer than it may run, which is no time of its own.
        let behind = json!({"type": "bash", "id": "behind", "sessionId": "s", "command": "echo done"});
        client.send(&behind).await;
        check(&client.answer("slow").await, &json!({"success": false, "timedOut": true, "code": "timeout"}));
        check(&client.answer("behind").await, &json!({"success": true, "sessionVersion": 1}));
        let again = client.ask(&slow).await;
        check(&again, &json!({"success": false, "timedOut": true, "replayed": true}));
        let state = client.ask(&json!({"type": "get_state", "id": "g", "sessionId": "s"})).await;
        check(&state, &json!({"sessionVersion": 1}));
        room::write(&serving.room.project().join("go"), b"");
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    });
    assert!(!serving.room.project().join("late").exists(), "it goes on although it was answered as timed out");
}

#[test]
fn deleting_a_session_gives_no_command_back() {
    let serving = Serving::with(Script::new(), &["--set", "commandsPerMinutePerClient=4"]);
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        let delete = |id: &str| json!({"type": "delete_session", "id": id, "sessionId": "s"});
        check(&client.ask(&delete("1")).await, &json!({"success": true}));
        for id in ["2", "3"] {
            check(&client.ask(&delete(id)).await, &json!({"success": false, "code": "session_not_found"}));
        }
        let refused = client.ask(&json!({"type": "health_check", "id": "4"})).await;
        check(&refused, &json!({"success": false, "code": "rate_limited"}));
        assert!(refused["retryAfterMs"].as_u64().is_some_and(|wait| wait > 0), "{refused}");
    });
}

#[test]
fn replay_of_a_switch_to_a_deleted_session_answers_once() {
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        let mut client = serving.with_session("?lifecycle=none").await;
        let switch = json!({"type": "switch_session", "id": "switch", "sessionId": "s"});
        check(&client.ask(&switch).await, &json!({"success": true}));
        client.ask(&json!({"type": "delete_session", "id": "delete", "sessionId": "s"})).await;
        client.send(&switch).await;
        client.ask(&json!({"type": "health_check", "id": "after"})).await;
        let mut answers = vec![client.answer("switch").await];
        let more = client.seen().iter().filter(|frame| frame["type"] == "response").cloned();
        answers.extend(more);
        assert_eq!(answers.len(), 1, "{answers:#?}");
        assert_eq!(answers[0]["command"], "switch_session", "{answers:#?}");
    });
}

#[test]
fn breakers_see_what_fails() {
    let refusal = Reply::json(400, &json!({"error": {"message": "no", "type": "invalid_request_error"}}));
    let script = Script::new()
        .then(refusal)
        .then(Answer::new().text("Hi.").reply())
        .otherwise(Reply::json(500, &json!({"error": {"message": "broken"}})));
    let serving = Serving::with(script, &["--set", "extendedTimeoutMs=200", "--set", "killAfterMs=200"]);
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        client.ask(&json!({"type": "set_auto_retry", "id": "off", "sessionId": "s", "enabled": false})).await;
        for (id, success) in [("1", false), ("2", true), ("3", false), ("4", false)] {
            let said = client.ask(&json!({"type": "prompt", "id": id, "sessionId": "s", "message": "Hello"})).await;
            assert_eq!(said["success"], success, "{said}");
        }
        for id in ["5", "6"] {
            let ran = client.ask(&json!({"type": "bash", "id": id, "sessionId": "s", "command": "sleep 20"})).await;
            check(&ran, &json!({"success": false, "timedOut": true}));
        }
        let metrics = client.ask(&json!({"type": "get_metrics", "id": "m"})).await;
        let shape = json!({"data": {
            // The refusal of a bad request is neither a success nor the provider's fault.
            "circuitBreakers": [{"providerName": "scripted", "totalCalls": 4, "totalSuccesses": 1, "totalFailures": 2}],
            "bashCircuitBreaker": {"totalCalls": 2, "totalTimeouts": 2},
        }});
        check(&metrics, &shape);
        let average = &metrics["data"]["circuitBreakers"][0]["avgLatencyMs"];
        assert!(average.as_f64().is_some_and(|average| average > 0.0), "{metrics:#}");
    });
}

#[test]
fn file_that_is_told_is_the_one_that_is_written() {
    let serving = Serving::start(Script::new().otherwise(Answer::new().text("Hi.").reply()));
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        let mut files = BTreeSet::new();
        for (id, frame) in [("1", None), ("2", Some("new_session")), ("3", Some("fork"))] {
            if let Some(kind) = frame {
                let messages =
                    client.ask(&json!({"type": "get_fork_messages", "id": format!("m{id}"), "sessionId": "s"})).await;
                let entry = &messages["data"]["messages"][0]["entryId"];
                let gone = client
                    .ask(&json!({"type": kind, "id": format!("g{id}"), "sessionId": "s", "entryId": entry}))
                    .await;
                check(&gone, &json!({"success": true}));
            }
            client.ask(&json!({"type": "prompt", "id": id, "sessionId": "s", "message": format!("number {id}")})).await;
            let state = client.ask(&json!({"type": "get_state", "id": format!("s{id}"), "sessionId": "s"})).await;
            let file = state["data"]["sessionFile"].as_str().expect("a file").to_owned();
            let text = room::read(Path::new(&file)).expect("it was written");
            assert!(text.contains(&format!("number {id}")), "{file} is not the file of {id}");
            files.insert(file);
        }
        assert_eq!(files.len(), 3, "{files:?}");
    });
}

#[test]
fn every_level_of_thinking_is_taken_and_no_other_word() {
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        for (level, taken) in [
            ("off", true),
            ("minimal", true),
            ("low", true),
            ("medium", true),
            ("high", true),
            ("xhigh", true),
            // What the reference has for off.
            ("none", true),
            ("lots", false),
            ("High", false),
            ("", false),
        ] {
            let frame =
                json!({"type": "set_thinking_level", "id": format!("l{level}"), "sessionId": "s", "level": level});
            assert_eq!(client.ask(&frame).await["success"], taken, "{level}");
        }
    });
}

#[test]
fn binary_starts_through_a_link() {
    let room = Room::new(Script::new());
    let link = room.at("linked");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_pi"), &link).expect("it can be made");
    #[expect(clippy::disallowed_methods, reason = "these tests start the real binary")]
    let mut command = std::process::Command::new(link);
    let serving = room.pi_to(&["serve"]);
    command.env_clear().envs(serving.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.args(["serve", "--stdio", "--model", "scripted/model", "--provider-dir"]).arg(room.at("providers"));
    let output = command.current_dir(room.project()).stdin(Stdio::null()).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let first = String::from_utf8_lossy(&output.stdout).lines().next().map(ToOwned::to_owned).unwrap_or_default();
    assert!(first.contains(r#""server_ready""#), "{first}");
}
