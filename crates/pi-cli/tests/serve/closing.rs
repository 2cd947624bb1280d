//! How connections end: both sides say so, nobody is cut off in the middle of a word, and nobody who reads is too slow.

use std::time::Duration;

use pi_testkit::{Script, model::Answer};
use serde_json::json;

use crate::serving::{Serving, fits};

#[test]
fn goodbye_of_a_client_is_answered_with_the_same_code() {
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        for code in [1000, 1001, 3000] {
            let mut client = serving.connect("").await;
            client.say_goodbye(code).await;
            let answer = client.closed().await.map(|frame| u16::from(frame.code));
            assert_eq!(answer, Some(code));
        }
    });
}

#[test]
fn whoever_breaks_the_rules_of_the_transport_is_told_which() {
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        for (opcode, bytes, code) in [(1, vec![0xff, 0xfe], 1007), (3, vec![b'x'], 1002)] {
            let mut client = serving.connect("").await;
            client.send_nonsense(opcode, bytes).await;
            let told = client.closed().await.map(|frame| u16::from(frame.code));
            assert_eq!(told, Some(code), "{opcode}");
        }
    });
}

#[test]
fn whoever_sends_too_much_is_told_so_before_the_connection_ends() {
    let serving = Serving::start(Script::new());
    let limit = pi_wire::Limits::default().bytes;
    serving.block_on(async {
        for size in [2 * limit + 1, 3 * limit, 8 * limit] {
            let mut client = serving.connect("?lifecycle=none").await;
            let frame = format!("{{\"type\":\"health_check\",\"x\":\"{}\"}}", "x".repeat(size));
            client.send_text(&frame).await;
            let told = client.closed().await.map(|frame| (u16::from(frame.code), frame.reason.to_string()));
            assert_eq!(told, Some((1009, "the frame is too large".to_owned())), "{size}");
            let last = client.seen().last().cloned();
            assert!(last.is_some_and(|last| fits(&last, &json!({"data": {"reason": "too_large"}}))));
        }
    });
}

#[test]
fn refusal_of_a_frame_names_its_id_where_it_stands_first() {
    let serving = Serving::start(Script::new());
    let limit = pi_wire::Limits::default().bytes;
    serving.block_on(async {
        let mut client = serving.connect("?lifecycle=none").await;
        for (rest, code) in [
            (format!("\"x\":\"{}\"}}", "x".repeat(limit)), "message_too_large"),
            (format!("\"x\":{}", "[".repeat(100)), "too_deep"),
            ("\"x\":1,\"x\":2}".to_owned(), "duplicate_member"),
            ("\"x\":nothing}".to_owned(), "invalid_json"),
        ] {
            client.send_text(&format!("{{\"id\":\"{code}\",\"type\":\"health_check\",{rest}")).await;
            let answer = client.answer(code).await;
            assert!(fits(&answer, &json!({"success": false, "code": code})) && answer["hint"].is_string(), "{answer}");
        }
    });
}

/// One message that is larger than all events that are kept here, and than what may wait for a client.
const LARGE: usize = 300_000;
const NARROW: [&str; 4] = ["--set", "keptEventBytes=65536", "--set", "outboxBytes=131072"];

#[test]
fn client_that_reads_at_its_own_pace_gets_large_messages_and_many_answers() {
    let serving = Serving::with(Script::new().then(Answer::new().text(&"x".repeat(LARGE)).reply()), &NARROW);
    serving.block_on(async {
        let mut client = serving.with_session("?lifecycle=none").await;
        client.ask(&json!({"type": "set_auto_compaction", "id": "keep", "sessionId": "s", "enabled": false})).await;
        client.ask(&json!({"type": "subscribe", "id": "listen", "sessionId": "s"})).await;
        client.send(&json!({"type": "prompt", "id": "say", "sessionId": "s", "message": "Go on"})).await;
        let mut other = serving.connect("?clientId=other&lifecycle=none").await;
        loop {
            let state =
                other.ask(&json!({"type": "get_state", "id": fastrand::u64(..).to_string(), "sessionId": "s"})).await;
            if state["data"]["messageCount"] == 2 && state["data"]["isStreaming"] == false {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        // Nothing was read meanwhile.
        assert_eq!(client.answer("say").await["success"], true);
        client.expect("the end", |frame| frame["event"]["type"] == "agent_settled").await;
        let ids: Vec<String> = (0..5).map(|number| format!("read-{number}")).collect();
        for id in &ids {
            client.send(&json!({"type": "get_messages", "id": id, "sessionId": "s"})).await;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        for id in &ids {
            let answer = client.answer(id).await;
            assert!(answer.to_string().len() > LARGE);
        }
    });
}

#[test]
fn client_that_takes_nothing_is_let_go() {
    let script = Script::new().then(Answer::new().text(&"x".repeat(LARGE)).reply());
    let serving = Serving::with(script, &["--set", "pingMs=1500", "--set", "idleCloseMs=1500"]);
    serving.block_on(async {
        let mut other = serving.with_session("?clientId=other&lifecycle=none").await;
        other.ask(&json!({"type": "set_auto_compaction", "id": "keep", "sessionId": "s", "enabled": false})).await;
        other.ask(&json!({"type": "prompt", "id": "say", "sessionId": "s", "message": "Go on"})).await;
        let mut deaf = serving.connect("?clientId=deaf&lifecycle=none").await;
        for number in 0..90 {
            let ask = json!({"type": "get_messages", "id": format!("read-{number}"), "sessionId": "s"});
            // It is closed before all of them are taken, perhaps.
            drop(deaf.try_send(&ask).await);
        }
        let mut left = 100;
        loop {
            let id = format!("look-{left}");
            let metrics = other.ask(&json!({"type": "get_metrics", "id": id})).await;
            if metrics["data"]["connectionCount"] == 1 {
                break;
            }
            left -= 1;
            assert!(left > 0, "it is still there: {metrics}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
}
