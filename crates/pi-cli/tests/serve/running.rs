//! While a run goes on: a client looks at the session, answers, steers and ends it.

use std::time::Duration;

use nix::sys::signal::Signal;
use pi_testkit::{Script, model::Answer};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::serving::{Serving, fits};

/// Ten times what a machine under load needs; the run itself never ends.
const SOON: Duration = Duration::from_secs(10);

fn held() -> Script {
    Script::new().then(Answer::new().text("Thinking").hold().text(" done.").reply())
}

#[test]
fn a_run_can_be_looked_at_and_ended() {
    let serving = Serving::start(held());
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        client.send(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello"})).await;
        client
            .expect("the start of the run", |frame| {
                fits(frame, &json!({"type": "command_started", "data": {"commandId": "p"}}))
            })
            .await;
        serving.room.server.received(1).await;
        let state = timeout(SOON, client.ask(&json!({"type": "get_state", "id": "g", "sessionId": "s"}))).await;
        let state = state.expect("a read does not wait for the run");
        assert!(fits(&state, &json!({"success": true, "data": {"isStreaming": true}})), "{state}");
        let aborted = timeout(SOON, client.ask(&json!({"type": "abort", "id": "a", "sessionId": "s"}))).await;
        assert_eq!(aborted.expect("an abort does not wait for the run")["success"], true);
        let ended = client.answer("p").await;
        assert!(fits(&ended, &json!({"success": false, "code": "aborted"})), "{ended}");
    });
}

/// Sends two commands in one breath to many sessions at once, so that their handlers are begun in any order, and answers what
/// came of the first of each and, after that, what stands in its session.
async fn in_one_breath(serving: &Serving, work: &Value, end: &str) -> Vec<(Value, Value)> {
    const SESSIONS: usize = 40;
    let mut client = serving.connect("?lifecycle=none").await;
    for number in 0..SESSIONS {
        let id = format!("s{number}");
        let made = client.ask(&json!({"type": "create_session", "id": id, "sessionId": id})).await;
        assert_eq!(made["success"], true, "{made}");
    }
    for number in 0..SESSIONS {
        let mut work = work.clone();
        work["id"] = json!(format!("w{number}"));
        work["sessionId"] = json!(format!("s{number}"));
        client.send(&work).await;
        client.send(&json!({"type": end, "id": format!("a{number}"), "sessionId": format!("s{number}")})).await;
    }
    let mut ends = Vec::new();
    for number in 0..SESSIONS {
        let ended = timeout(SOON, client.answer(&format!("w{number}"))).await;
        let ended = ended.unwrap_or_else(|_| panic!("what was stopped ends: {number}, after {ends:?}"));
        client.answer(&format!("a{number}")).await;
        let look = json!({"type": "get_messages", "id": format!("m{number}"), "sessionId": format!("s{number}")});
        ends.push((ended, client.ask(&look).await));
    }
    ends
}

#[test]
fn an_abort_right_behind_its_prompt_ends_the_run() {
    let serving = Serving::start(Script::new().otherwise(Answer::new().text("Thinking").hold().reply()));
    serving.block_on(async {
        for (ended, stands) in in_one_breath(&serving, &json!({"type": "prompt", "message": "Hello"}), "abort").await {
            let messages = stands["data"]["messages"].as_array().expect("messages");
            // The abort itself is worth one version; a prompt that was not said is worth none.
            let (code, version) = if messages.is_empty() { ("aborted_unsaid", 1) } else { ("aborted", 2) };
            assert!(fits(&ended, &json!({"success": false, "code": code})), "{ended} {stands}");
            assert_eq!(stands["sessionVersion"], version, "{ended} {stands}");
        }
    });
}

#[test]
fn an_abort_right_behind_a_message_that_begins_a_run_ends_it_at_once() {
    for kind in ["steer", "follow_up"] {
        let serving = Serving::start(Script::new().otherwise(Answer::new().text("Thinking").hold().reply()));
        serving.block_on(async {
            for (said, stands) in in_one_breath(&serving, &json!({"type": kind, "message": "Hello"}), "abort").await {
                // It may have been stopped before it was said, or before anybody heard that its run had begun.
                let unsaid = said["code"] == "aborted_unsaid";
                assert!(unsaid || said["success"] == true || said["code"] == "aborted", "{said}");
                let messages = stands["data"]["messages"].as_array().expect("messages");
                assert_eq!(messages.is_empty(), unsaid, "{said} {stands}");
            }
            let mut client = serving.connect("?clientId=other&lifecycle=none").await;
            let listed = client.ask(&json!({"type": "list_sessions", "id": "l"})).await;
            for session in listed["data"]["sessions"].as_array().expect("a list") {
                assert_eq!(session["isStreaming"], false, "{session}");
            }
        });
    }
}

#[test]
fn an_abort_right_behind_a_shell_command_ends_it() {
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        let work = json!({"type": "bash", "command": "sleep 600"});
        for (ended, _) in in_one_breath(&serving, &work, "abort_bash").await {
            assert!(fits(&ended, &json!({"success": true, "data": {"cancelled": true}})), "{ended}");
        }
    });
}

#[test]
fn whoever_comes_in_the_middle_of_a_message_can_have_it_from_its_beginning() {
    let serving = Serving::start(held());
    serving.block_on(async {
        let mut client = serving.with_session("?clientId=one").await;
        client.ask(&json!({"type": "subscribe", "id": "l", "sessionId": "s"})).await;
        client.send(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello"})).await;
        let update = json!({"event": {"assistantMessageEvent": {"type": "text_delta", "delta": "Thinking"}}});
        client.expect("the first words", |frame| fits(frame, &update)).await;
        let mut late = serving.connect("?clientId=two").await;
        let unknown = json!({"type": "subscribe", "id": "l", "sessionId": "s", "afterSeq": 0, "epoch": "none"});
        let answer = late.ask(&unknown).await;
        assert!(fits(&answer, &json!({"success": true, "data": {"resume": "snapshot"}})), "{answer}");
        let snapshot = late.expect("a snapshot", |frame| frame["type"] == "session_snapshot").await;
        let partial = json!({"data": {"partial": {"content": [{"type": "text", "text": "Thinking"}]}}});
        assert!(fits(&snapshot, &partial), "{snapshot}");
    });
}

#[test]
fn a_prompt_is_answered_when_its_run_ends() {
    let serving = Serving::start(Script::new().then(Answer::new().text("Hi there.").reply()));
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        let said = client.ask(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello"})).await;
        assert!(fits(&said, &json!({"success": true, "sessionVersion": 1})), "{said}");
        let last = client.ask(&json!({"type": "get_last_assistant_text", "id": "t", "sessionId": "s"})).await;
        assert_eq!(last["data"]["text"], "Hi there.");
    });
}

#[test]
fn what_was_answered_is_known_after_a_crash_and_nothing_runs_twice() {
    let script = Script::new().otherwise(Answer::new().text("Once.").reply());
    let mut serving = Serving::start(script);
    let prompt = json!({"type": "prompt", "id": "p", "idempotencyKey": "k", "sessionId": "s", "message": "Hello"});
    let first = serving.block_on(async {
        let mut client = serving.with_session("?clientId=c").await;
        client.ask(&prompt).await
    });
    serving.restart(Signal::SIGKILL);
    serving.block_on(async {
        let mut client = serving.connect("?clientId=c").await;
        let mut again = client.ask(&prompt).await;
        assert_eq!(again["replayed"], true, "{again}");
        again.as_object_mut().expect("an object").remove("replayed");
        assert_eq!(again, first);
        let count = client.ask(&json!({"type": "get_messages", "id": "m", "sessionId": "s"})).await;
        assert_eq!(count["data"]["messages"].as_array().map(Vec::len), Some(2), "{count}");
        let changed = json!({"type": "prompt", "id": "q", "sessionId": "s", "message": "And?", "ifSessionVersion": 1});
        assert!(fits(&client.ask(&changed).await, &json!({"success": true, "sessionVersion": 2})));
    });
}

#[test]
fn a_command_in_flight_at_a_crash_is_failed_and_not_run_again() {
    let mut serving = Serving::start(held().otherwise(Answer::new().text("Never.").reply()));
    let prompt = json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello"});
    serving.block_on(async {
        let mut client = serving.with_session("?clientId=c").await;
        client.send(&prompt).await;
        serving.room.server.received(1).await;
    });
    serving.restart(Signal::SIGKILL);
    serving.block_on(async {
        let mut client = serving.connect("?clientId=c").await;
        let again = client.ask(&prompt).await;
        assert!(fits(&again, &json!({"success": false, "code": "interrupted", "replayed": true})), "{again}");
        let recovery = client.ask(&json!({"type": "get_startup_recovery", "id": "r"})).await;
        assert_eq!(recovery["data"]["recoveredInFlight"][0]["commandId"], "p", "{recovery}");
    });
}

#[test]
fn a_command_that_is_cut_at_the_end_moves_the_version_once() {
    let mut serving = Serving::start(held());
    let prompt = json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello"});
    let told = serving.block_on(async {
        let mut client = serving.with_session("?clientId=c").await;
        client.send(&prompt).await;
        serving.room.server.received(1).await;
        serving.signal(Signal::SIGTERM);
        client.expect("server_shutdown", |frame| frame["type"] == "server_shutdown").await;
        serving.signal(Signal::SIGTERM);
        let cut = client.answer("p").await;
        assert!(fits(&cut, &json!({"success": false, "sessionVersion": 1})), "{cut}");
        cut["sessionVersion"].clone()
    });
    serving.wait();
    serving.start_again();
    serving.block_on(async {
        let mut client = serving.connect("?clientId=c").await;
        let named =
            json!({"type": "set_session_name", "id": "n", "sessionId": "s", "name": "x", "ifSessionVersion": told});
        let named = client.ask(&named).await;
        assert!(fits(&named, &json!({"success": true, "sessionVersion": 2})), "{named}");
    });
}

#[test]
fn the_end_waits_for_what_is_in_flight_and_tells_everybody() {
    let mut serving = Serving::start(held());
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        client.send(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello"})).await;
        serving.room.server.received(1).await;
        serving.signal(Signal::SIGTERM);
        client.expect("server_shutdown", |frame| frame["type"] == "server_shutdown").await;
        let late = client.ask(&json!({"type": "get_state", "id": "late", "sessionId": "s"})).await;
        assert!(fits(&late, &json!({"success": false, "code": "shutting_down"})), "{late}");
        serving.room.server.release(1);
        assert_eq!(client.answer("p").await["success"], true);
        let closing = client.expect("the goodbye", |frame| frame["type"] == "connection_closing").await;
        assert_eq!(closing["data"]["reason"], "shutting_down");
        assert_eq!(client.closed().await.map(|frame| u16::from(frame.code)), Some(1001));
    });
    assert_eq!(serving.wait(), Some(0));
}

#[test]
fn code_is_given_back_whenever_nothing_is_done_any_more() {
    let serving = Serving::logged(Script::new().then(Answer::new().text("Hi.").reply()));
    let until_given_back = async |times: usize| {
        while serving.log().matches("code that is not needed now is given back").count() < times {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    serving.block_on(async {
        until_given_back(1).await;
        let mut client = serving.with_session("").await;
        until_given_back(2).await;
        let said = client.ask(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello"})).await;
        assert_eq!(said["success"], true, "{said}");
        until_given_back(3).await;
        // Many who only look leave as much behind.
        for number in 0..pi_server::bustle::LOOKS {
            let looked = client.ask(&json!({"type": "get_state", "id": format!("l{number}"), "sessionId": "s"})).await;
            assert_eq!(looked["success"], true, "{looked}");
        }
        until_given_back(4).await;
    });
}

#[test]
fn what_is_said_right_behind_a_prompt_is_said_into_its_run() {
    const ROUNDS: usize = 4;
    let round = |script: Script, _| {
        script.then(Answer::new().text("One").hold().reply()).then(Answer::new().text("Two.").reply())
    };
    let serving = Serving::start((0..ROUNDS).fold(Script::new(), round));
    serving.block_on(async {
        let mut client = serving.with_session("?lifecycle=none").await;
        assert_eq!(client.ask(&json!({"type": "subscribe", "id": "hear", "sessionId": "s"})).await["success"], true);
        for round in 0..ROUNDS {
            let id = |name: &str| format!("{name}{round}");
            client.send(&json!({"type": "prompt", "id": id("one"), "sessionId": "s", "message": "One?"})).await;
            let two = json!({"type": "prompt", "id": id("two"), "sessionId": "s", "message": "Two?",
                "streamingBehavior": "steer"});
            client.send(&two).await;
            assert_eq!(client.answer(&id("two")).await["success"], true);
            serving.room.server.release(1);
            assert_eq!(client.answer(&id("one")).await["success"], true);
        }
        let begun = client.seen().iter().filter(|frame| frame["event"]["type"] == "agent_start").count();
        assert_eq!(begun, ROUNDS, "one run for each");
    });
}

#[test]
fn message_that_begins_a_run_moves_the_version_once() {
    let serving = Serving::start(Script::new().otherwise(Answer::new().text("Yes.").reply()));
    serving.block_on(async {
        let mut client = serving.with_session("?lifecycle=none").await;
        assert_eq!(client.ask(&json!({"type": "subscribe", "id": "hear", "sessionId": "s"})).await["success"], true);
        for (number, kind) in ["steer", "follow_up"].into_iter().enumerate() {
            let said = client.ask(&json!({"type": kind, "id": kind, "sessionId": "s", "message": "Hello"})).await;
            assert!(fits(&said, &json!({"success": true, "sessionVersion": 2 * number + 1})), "{said}");
            client.expect("the end", |frame| frame["event"]["type"] == "agent_settled").await;
            let named = json!({"type": "set_session_name", "id": format!("n{number}"), "sessionId": "s", "name": kind,
                "ifSessionVersion": said["sessionVersion"]});
            let named = client.ask(&named).await;
            assert_eq!(named["success"], true, "{named}");
        }
    });
}

#[test]
fn shell_command_that_is_stopped_before_it_starts_was_cancelled() {
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        let mut client = serving.with_session("?lifecycle=none").await;
        for round in 0..10 {
            let (run, stop) = (format!("run{round}"), format!("stop{round}"));
            client.send(&json!({"type": "bash", "id": run, "sessionId": "s", "command": "sleep 5"})).await;
            client.send(&json!({"type": "abort_bash", "id": stop, "sessionId": "s"})).await;
            let ran = client.answer(&run).await;
            assert!(fits(&ran, &json!({"success": true, "data": {"cancelled": true}})), "{ran}");
        }
    });
}

#[test]
fn answer_to_a_shell_command_says_that_it_was_cut_and_where_all_of_it_is() {
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        let mut client = serving.with_session("?lifecycle=none").await;
        let ran = client.ask(&json!({"type": "bash", "id": "b", "sessionId": "s", "command": "seq 1 20000"})).await;
        assert_eq!(ran["data"]["truncated"], true, "{ran}");
        let whole = crate::room::read(ran["data"]["fullOutputPath"].as_str().expect("a path").as_ref());
        assert!(whole.is_some_and(|whole| whole.starts_with("1\n2\n")));
        let ran = client.ask(&json!({"type": "bash", "id": "c", "sessionId": "s", "command": "echo"})).await;
        assert_eq!(ran["data"], json!({"exitCode": 0, "output": "\n", "cancelled": false}));
    });
}

#[test]
fn new_conversation_keeps_the_model_that_was_chosen() {
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        let mut client = serving.with_session("?lifecycle=none").await;
        let models = client.ask(&json!({"type": "get_available_models", "id": "m", "sessionId": "s"})).await;
        let state = json!({"type": "get_state", "sessionId": "s"});
        let before = client.ask(&with(&state, "id", "before")).await["data"]["model"].clone();
        let models = models["data"]["models"].as_array().expect("a list").clone();
        let other = models.iter().find(|model| **model != before).expect("another model");
        let choice = json!({"type": "set_model", "id": "set", "sessionId": "s", "provider": other["provider"],
            "modelId": other["id"]});
        assert_eq!(client.ask(&choice).await["success"], true);
        assert_eq!(client.ask(&json!({"type": "new_session", "id": "new", "sessionId": "s"})).await["success"], true);
        assert_eq!(client.ask(&with(&state, "id", "after")).await["data"]["model"], *other);
    });
}

fn with(command: &Value, member: &str, value: &str) -> Value {
    let mut command = command.clone();
    command[member] = value.into();
    command
}

#[test]
fn output_of_a_tool_is_told_once_and_leaves_room_for_what_happened_before() {
    const LINES: usize = 800;
    let line = "0123456789".repeat(6);
    // Forty at a time, so that there are about twenty updates.
    let command = format!("i=0; while [ $i -lt {LINES} ]; do yes {line} | head -n 40; i=$((i+40)); sleep 0.12; done");
    let script = Script::new()
        .then(Answer::new().call("c", "bash", &json!({"command": command})).reply())
        .otherwise(Answer::new().text("Done.").reply());
    let serving = Serving::start(script);
    serving.block_on(async {
        let mut client = serving.with_session("?lifecycle=none").await;
        let joined = client.ask(&json!({"type": "subscribe", "id": "hear", "sessionId": "s"})).await;
        client.send(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Count."})).await;
        client.expect("the end", |frame| frame["id"] == "p").await;
        let updates = client.seen().iter().filter(|frame| frame["event"]["type"] == "tool_execution_update");
        let (mut text, mut bytes, mut count) = (String::new(), 0, 0);
        for frame in updates {
            (bytes, count) = (bytes + frame.to_string().len(), count + 1);
            match frame["event"]["delta"].as_str() {
                Some(delta) => text.push_str(delta),
                // The first is told before there is any.
                None => {
                    text = frame["event"]["partialResult"]["content"][0]["text"].as_str().unwrap_or_default().into()
                }
            }
        }
        assert_eq!(text, format!("{line}\n").repeat(LINES));
        assert!(count > 5 && bytes < 5 * text.len(), "{bytes} bytes in {count} updates for {} of text", text.len());
        // Whoever was away for all of it is told what happened, without a snapshot.
        let mut back = serving.connect("?lifecycle=none").await;
        let again = json!({"type": "subscribe", "id": "back", "sessionId": "s", "afterSeq": joined["data"]["seq"],
            "epoch": joined["data"]["epoch"]});
        assert_eq!(back.ask(&again).await["data"]["resume"], "replay");
        back.expect("the end", |frame| frame["event"]["type"] == "agent_settled").await;
        let told = back.seen().iter().filter(|frame| frame["event"]["type"] == "tool_execution_update");
        assert_eq!(told.count(), 1, "only the last is kept");
    });
}
