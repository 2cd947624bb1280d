//! Refusals say what to do next, and never keep a client from looking and stopping.

use nix::sys::signal::Signal;
use pi_testkit::{Script, model::Answer};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    door::{self, get, http},
    serving::{Serving, fits},
};

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
fn server_that_can_keep_no_more_outcomes_says_which_limit_it_is_and_when_there_is_room() {
    let serving = Serving::with(Script::new(), &["--set", "outcomesMost=100", "--set", "outcomesKept=100"]);
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        let set = |id: usize| json!({"type": "set_auto_retry", "id": format!("c{id}"), "sessionId": "s", "enabled": true});
        let mut done = 0;
        let refused = loop {
            let answer = client.ask(&set(done)).await;
            if answer["success"] != true {
                break answer;
            }
            done += 1;
        };
        // Making the session was one as well.
        assert_eq!(done, 99, "{refused}");
        let said = "Server busy - too many concurrent commands. Please retry. (server.outcomesMost is 100: so many outcomes are \
                    kept for commands that are sent again)";
        check(&refused, &json!({"success": false, "code": "busy", "error": said}));
        let wait = refused["retryAfterMs"].as_u64().unwrap_or_default();
        assert!((300_000..=600_000).contains(&wait), "{refused}");
        check(&client.ask(&set(0)).await, &json!({"success": true, "replayed": true}));
    });
}

#[test]
fn too_many_sessions_are_refused_with_what_makes_room() {
    let serving = Serving::with(Script::new(), &["--set", "maxSessions=1"]);
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        let refused = client.ask(&json!({"type": "create_session", "id": "c", "sessionId": "t"})).await;
        let hint = "waiting does not help: list_sessions shows those that are here, with their messageCount, and delete_session \
                    unloads one; its file stays";
        let error = "Session limit reached (1 sessions)";
        check(&refused, &json!({"success": false, "code": "session_limit", "error": error, "hint": hint}));
        assert_eq!(refused.get("retryAfterMs"), None);
    });
}

#[test]
fn head_that_is_wrong_is_told_what_to_send_instead() {
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        let mut client = serving.connect("").await;
        for (frame, field, hint) in [
            (json!({}), "type", "say which command it is"),
            (json!({"type": "health_check", "id": 7}), "id", "send a value of this JSON type"),
            (json!({"type": "health_check", "id": "anon:7"}), "id", "the server makes such ids itself"),
            (json!({"type": "health_check", "dependsOn": ["a"]}), "id", "give the command an id of its own"),
            (
                json!({"type": "get_state", "sessionId": "s", "ifSessionVersion": "1"}),
                "ifSessionVersion",
                "send a number",
            ),
        ] {
            client.send(&frame).await;
            let answer = client.expect("a refusal", |frame| frame["success"] == false).await;
            check(&answer, &json!({"code": "validation_failed", "field": field}));
            assert!(answer["hint"].as_str().is_some_and(|told| told.starts_with(hint)), "{answer}");
        }
    });
}

#[test]
fn job_is_awaited_no_longer_than_the_setting_says() {
    let serving = Serving::with(Script::new(), &["--set", "dependencyTimeoutMs=200"]);
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        client.send(&json!({"type": "bash", "id": "b", "sessionId": "s", "command": "sleep 1000"})).await;
        let after = json!({"type": "get_state", "id": "g", "sessionId": "s", "dependsOn": ["b"]});
        check(
            &client.ask(&after).await,
            &json!({"success": false, "code": "dependency_timeout", "error": "Command 'dependsOn:b' timed out after 200ms"}),
        );
        check(&client.ask(&json!({"type": "abort_bash", "id": "a", "sessionId": "s"})).await, &json!({"success": true}));
    });
}

#[test]
fn refusal_of_a_read_names_the_number_that_was_set() {
    let serving = Serving::with(held(), &["--set", "maxPendingPerClient=2"]);
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        let wait = |id: &str, on: &str| json!({"type": "get_state", "id": id, "sessionId": "s", "dependsOn": [on]});
        client.send(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello"})).await;
        serving.room.server.received(1).await;
        for id in ["1", "2"] {
            client.send(&wait(id, "p")).await;
        }
        check(
            &client.ask(&wait("3", "p")).await,
            &json!({"success": false, "code": "too_many_pending",
                "error": "Too many pending commands for this client (max 2)"}),
        );
        // Reads do not use up what commands that do something may have.
        check(
            &client.ask(&json!({"type": "steer", "id": "t", "sessionId": "s", "message": "Well"})).await,
            &json!({"success": true}),
        );
    });
}

#[test]
fn client_that_sends_too_much_can_still_stop_its_run() {
    let serving = Serving::with(held(), &["--set", "commandsPerMinutePerClient=2"]);
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        client.send(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello"})).await;
        serving.room.server.received(1).await;
        let refused = client.ask(&json!({"type": "get_state", "id": "g", "sessionId": "s"})).await;
        check(
            &refused,
            &json!({"success": false, "code": "rate_limited", "error": "Rate limit exceeded (2 commands/minute)",
                "hint": "wait as long as retryAfterMs says; abort and answers to questions have room of their own"}),
        );
        assert!(refused["retryAfterMs"].as_u64().is_some_and(|wait| wait > 0 && wait <= 60_001), "{refused}");
        for (id, kind) in [("1", "abort_bash"), ("2", "abort_retry"), ("3", "abort")] {
            let stopped = client.ask(&json!({"type": kind, "id": id, "sessionId": "s"})).await;
            check(&stopped, &json!({"success": true}));
        }
        check(&client.answer("p").await, &json!({"success": false, "code": "aborted"}));
        // It is not refused for the rate: there is nothing to answer.
        let answer = json!({"type": "extension_ui_response", "id": "a", "sessionId": "s", "requestId": "r",
            "response": {"method": "cancelled"}});
        check(&client.ask(&answer).await, &json!({"success": false, "code": "no_pending_request"}));
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
            &json!({"success": false, "code": "conflict",
                "hint": "use a new id and a new key for a new command; programs that share a server name themselves with clientId and have ids of their own then",
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

#[test]
fn field_that_is_wrong_is_told_with_what_to_write_instead() {
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        for (wrong, field, hint) in [
            (json!({"type": "prompt", "sessionId": "s", "message": ""}), "message", "it is empty"),
            (json!({"type": "create_session", "cwd": "project"}), "cwd", "the whole path"),
            (json!({"type": "create_session", "cwd": "~/project"}), "cwd", "~"),
            (json!({"type": "create_session", "sessionId": "not good"}), "sessionId", "A-Z"),
            (json!({"type": "set_thinking_level", "sessionId": "s", "level": "much"}), "level", "one of these words"),
            (json!({"type": "subscribe", "sessionId": "s", "afterSeq": 3}), "epoch", "both"),
            (json!({"type": "get_command_history", "limit": 0}), "limit", "leave the field out"),
            (json!({"type": "list_stored_sessions", "cursor": "nowhere"}), "cursor", "nextCursor"),
            (json!({"type": "list_requests", "sessionId": "s", "before": "none"}), "before", "list_requests"),
        ] {
            let mut wrong = wrong;
            wrong["id"] = json!(format!("{field} {hint}"));
            let refused = client.ask(&wrong).await;
            assert!(fits(&refused, &json!({"success": false, "field": field})), "{refused}");
            assert!(refused["hint"].as_str().is_some_and(|said| said.contains(hint)), "{refused}");
        }
        let compacted = client.ask(&json!({"type": "compact", "id": "compact", "sessionId": "s"})).await;
        assert!(fits(&compacted, &json!({"success": false, "code": "nothing_to_compact"})), "{compacted}");
        assert!(
            compacted["hint"].as_str().is_some_and(|said| said.contains("the conversation is short")),
            "{compacted}"
        );
    });
}

#[test]
fn server_that_drains_lets_runs_be_ended_and_says_that_it_is_there() {
    let mut serving = Serving::with(held(), &[]);
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        client.send(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello"})).await;
        serving.room.server.received(1).await;
        serving.signal(Signal::SIGTERM);
        client.expect("server_shutdown", |frame| frame["type"] == "server_shutdown").await;
        let own = serving.address.clone();
        assert_eq!(http(&serving, &get("/healthz", &own, "")).await, (200, "ok\n".to_owned()));
        let token = format!("authorization: Bearer {}\r\n", serving.token());
        let (status, body) = http(&serving, &get("/readyz", &own, &token)).await;
        assert!(status == 503 && body.contains("the server is ending"), "{status} {body}");
        // A client that comes back would be refused all it asks; it waits for the next server instead.
        assert_eq!(door::status(&serving.url(""), Some(&serving.token())).await, 503);
        check(
            &client.ask(&json!({"type": "bash", "id": "b", "sessionId": "s", "command": "true"})).await,
            &json!({"success": false, "code": "shutting_down"}),
        );
        check(&client.ask(&json!({"type": "abort", "id": "a", "sessionId": "s"})).await, &json!({"success": true}));
        check(&client.answer("p").await, &json!({"success": false, "code": "aborted"}));
    });
    assert_eq!(serving.wait(), Some(0));
}

#[test]
fn what_cannot_be_understood_is_counted_too() {
    let serving = Serving::with(Script::new(), &["--set", "commandsPerMinutePerClient=3"]);
    serving.block_on(async {
        let mut client = serving.connect("?lifecycle=none").await;
        for (number, code) in [(1, "invalid_json"), (2, "invalid_json"), (3, "invalid_json"), (4, "rate_limited")] {
            client.send_text(&format!("{{\"id\":\"{number}\",nothing")).await;
            check(&client.answer(&number.to_string()).await, &json!({"success": false, "code": code}));
        }
    });
}
