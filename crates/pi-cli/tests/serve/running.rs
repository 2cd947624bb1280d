//! While a run goes on: a client looks at the session, answers, steers and ends it.

use std::time::Duration;

use nix::sys::signal::Signal;
use pi_testkit::{Script, model::Answer};
use serde_json::json;
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
