//! Refusals say what to do next, and never keep a client from looking and stopping.

use nix::sys::signal::Signal;
use pi_testkit::{Script, model::Answer};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::serving::{Serving, fits};

#[track_caller]
fn check(answer: &Value, shape: &Value) {
    assert!(fits(answer, shape), "{answer:#}\nis not like {shape:#}");
}

fn held() -> Script {
    Script::new().then(Answer::new().text("Wait").hold().text(" for it.").reply())
}

#[test]
fn client_with_too_much_pending_can_still_look_and_stop() {
    let serving = Serving::with(held(), &["--set", "maxPendingPerClient=1"]);
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        client.send(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello"})).await;
        serving.room.server.received(1).await;
        check(
            &client.ask(&json!({"type": "bash", "id": "b", "sessionId": "s", "command": "true"})).await,
            &json!({"success": false, "code": "too_many_pending", "retryAfterMs": 250,
                "error": "Too many pending commands for this client (max 1)",
                "hint": "wait for answers; reads have room of their own, and abort is always taken"}),
        );
        let state = client.ask(&json!({"type": "get_state", "id": "g", "sessionId": "s"})).await;
        check(&state, &json!({"success": true, "data": {"isStreaming": true}}));
        check(&client.ask(&json!({"type": "abort", "id": "a", "sessionId": "s"})).await, &json!({"success": true}));
        check(
            &client.answer("p").await,
            &json!({"success": false, "code": "aborted",
                "hint": "somebody ended it, and what was said so far is kept: go on from there with a new prompt"}),
        );
    });
}

#[test]
fn client_that_finds_no_room_is_told_when_to_come_back() {
    let serving = Serving::with(Script::new(), &["--set", "maxConnections=1"]);
    serving.block_on(async {
        let _first = serving.connect("").await;
        let request = format!(
            "GET /ws HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
            serving.address,
            serving.token()
        );
        let mut stream = TcpStream::connect(&serving.address).await.expect("it listens");
        stream.write_all(request.as_bytes()).await.expect("it reads");
        let mut answer = Vec::new();
        // It is not closed: the object is the end.
        while !answer.ends_with(b"}") {
            assert!(stream.read_buf(&mut answer).await.expect("it answers") > 0, "it ends without an object");
        }
        let answer = String::from_utf8(answer).expect("text");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("HTTP/1.1 503") && head.contains("\r\nretry-after: 5\r\n"), "{head}");
        check(
            &serde_json::from_str(body).expect("JSON"),
            &json!({"code": "connection_limit", "error": "Connection limit reached (1 connections)", "retryAfterMs": 5000}),
        );
    });
}

#[test]
fn what_cannot_be_done_says_what_to_do() {
    let mut serving = Serving::start(
        Script::new().then(Answer::new().text("Hi.").reply()).otherwise(Answer::new().hold().text("Never.").reply()),
    );
    let prompt = |id: &str, message: &str| json!({"type": "prompt", "id": id, "sessionId": "s", "message": message});
    serving.block_on(async {
        let mut client = serving.with_session("?clientId=c").await;
        check(&client.ask(&prompt("1", "Hello")).await, &json!({"success": true}));
        check(
            &client.ask(&prompt("1", "Hello again")).await,
            &json!({"success": false, "code": "conflict", "hint": "use a new id and a new key for a new command",
                "error": "Conflicting id '1': previously used for another 'prompt', with other contents"}),
        );
        let fork = json!({"type": "fork", "id": "f", "sessionId": "s", "entryId": "nowhere"});
        check(
            &client.ask(&fork).await,
            &json!({"success": false, "code": "not_found", "error": "Entry nowhere not found"}),
        );
        client.send(&prompt("2", "And?")).await;
        serving.room.server.received(2).await;
    });
    serving.restart(Signal::SIGKILL);
    serving.block_on(async {
        let mut client = serving.connect("?clientId=c").await;
        check(
            &client.ask(&prompt("2", "And?")).await,
            &json!({"success": false, "code": "interrupted",
                "hint": "it was not done, or not to its end: look at the state, then send it under a new id and key"}),
        );
    });
}
