//! Circuits of the shell and of providers: what counts, what does not, and how an open one refuses.

use pi_testkit::{Client, Reply, Script, model::Answer};
use serde_json::{Value, json};

use crate::{
    room,
    serving::{Serving, fits},
};

#[track_caller]
fn check(answer: &Value, shape: &Value) {
    assert!(fits(answer, shape), "{answer:#}\nis not like {shape:#}");
}

async fn metrics(client: &mut Client, id: &str) -> Value {
    client.ask(&json!({"type": "get_metrics", "id": id})).await["data"].clone()
}

async fn prompt(client: &mut Client, id: &str) -> Value {
    client.ask(&json!({"type": "prompt", "id": id, "sessionId": "s", "message": "Go on"})).await
}

async fn bash(client: &mut Client, id: &str, command: &str) -> Value {
    client.ask(&json!({"type": "bash", "id": id, "sessionId": "s", "command": command})).await
}

/// Failures that open the circuit of a session.
const MOST: usize = 10;

#[test]
fn commands_of_the_model_go_through_the_circuit_of_the_shell() {
    let hanging = (0..MOST).fold(Answer::new(), |answer, number| {
        answer.call(&format!("c{number}"), "bash", &json!({"command": "sleep 20", "timeout": 0.2}))
    });
    let script = Script::new()
        .then(hanging.reply())
        .then(Answer::new().text("They hang.").reply())
        .then(Answer::new().call("last", "bash", &json!({"command": "true"})).reply())
        .then(Answer::new().text("It is refused.").reply());
    let serving = Serving::start(script);
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        check(&prompt(&mut client, "1").await, &json!({"success": true}));
        check(
            &metrics(&mut client, "m1").await["bashCircuitBreaker"],
            &json!({"totalCalls": MOST, "totalTimeouts": MOST, "totalRejected": 0, "openSessionCount": 1}),
        );
        check(&prompt(&mut client, "2").await, &json!({"success": true}));
        let messages = client.ask(&json!({"type": "get_messages", "id": "g", "sessionId": "s"})).await;
        let told = messages["data"]["messages"].as_array().expect("a list").iter();
        let refused = told.rev().find(|message| message["role"] == "toolResult").expect("a result").to_string();
        assert!(refused.contains("Bash circuit breaker open for session s (recovery in "), "{refused}");
        let refused = bash(&mut client, "3", "true").await;
        check(&refused, &json!({"success": false, "code": "bash_circuit_open", "hint": "wait for the recovery"}));
        assert!(refused["retryAfterMs"].as_u64().is_some_and(|wait| wait > 0 && wait <= 30_000), "{refused}");
        let health = client.ask(&json!({"type": "health_check", "id": "h"})).await;
        check(&health["data"], &json!({"hasOpenBashCircuit": true, "hasOpenCircuit": false}));
    });
}

#[test]
fn exit_codes_and_aborts_of_commands_are_no_failures_of_the_shell() {
    let script = Script::new().then(Answer::new().call("c", "bash", &json!({"command": "exit 7"})).reply());
    let serving = Serving::start(script.otherwise(Answer::new().text("Done.").reply()));
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        check(&prompt(&mut client, "p").await, &json!({"success": true}));
        for number in 0..=MOST {
            check(&bash(&mut client, &format!("e{number}"), "exit 3").await, &json!({"success": true}));
        }
        client.send(&json!({"type": "bash", "id": "long", "sessionId": "s", "command": "echo on; sleep 20"})).await;
        client.ask(&json!({"type": "get_state", "id": "g", "sessionId": "s"})).await;
        client.ask(&json!({"type": "abort_bash", "id": "a", "sessionId": "s"})).await;
        check(&client.answer("long").await, &json!({"data": {"cancelled": true}}));
        check(
            &metrics(&mut client, "m").await["bashCircuitBreaker"],
            &json!({"totalCalls": MOST + 3, "totalTimeouts": 0, "globalFailureCount": 0, "openSessionCount": 0}),
        );
    });
}

#[test]
fn shell_that_does_not_start_opens_its_circuit() {
    let before = |room: &room::Room| {
        room::write(&room.at("agent/settings.json"), br#"{"shellPath": "/nowhere/shell"}"#);
    };
    let serving = Serving::prepared(Script::new(), &[], before);
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        for number in 0..MOST {
            check(&bash(&mut client, &number.to_string(), "true").await, &json!({"success": false, "code": "refused"}));
        }
        check(&bash(&mut client, "last", "true").await, &json!({"success": false, "code": "bash_circuit_open"}));
        check(
            &metrics(&mut client, "m").await["bashCircuitBreaker"],
            &json!({"totalTimeouts": 0, "totalRejected": 1, "globalFailureCount": MOST}),
        );
    });
}

#[test]
fn provider_that_wants_fewer_calls_or_fails_is_left_alone_and_one_that_refuses_is_not() {
    let limited = || Reply::json(429, &json!({"error": {"message": "slow down"}}));
    let broken = || Reply::json(503, &json!({"error": {"message": "broken"}}));
    let refusal = || Reply::json(400, &json!({"error": {"message": "no", "type": "invalid_request_error"}}));
    let script = (0..6).fold(Script::new(), |script, _| script.then(refusal()));
    let script = script.then(limited()).then(limited()).then(limited()).then(Reply::reset()).otherwise(broken());
    let serving = Serving::start(script);
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        client.ask(&json!({"type": "set_auto_retry", "id": "off", "sessionId": "s", "enabled": false})).await;
        for number in 0..6 {
            let said = prompt(&mut client, &format!("refused{number}")).await;
            check(&said, &json!({"success": false, "code": "provider_failed"}));
        }
        let circuit = metrics(&mut client, "m1").await["circuitBreakers"][0].clone();
        check(&circuit, &json!({"state": "closed", "totalCalls": 6, "totalSuccesses": 0, "totalFailures": 0}));
        assert_eq!(circuit.get("retryAfterMs"), None, "{circuit}");
        for number in 0..5 {
            let said = prompt(&mut client, &format!("failed{number}")).await;
            check(&said, &json!({"success": false, "code": "provider_failed"}));
            // Whoever goes on at once is refused as soon as the circuit is open.
            let wait = said["retryAfterMs"].as_u64();
            assert!(if number < 4 { wait.is_none() } else { wait.is_some_and(|wait| wait > 0) }, "{number}: {said}");
        }
        let said = client.ask(&json!({"type": "get_messages", "id": "g1", "sessionId": "s"})).await["data"].clone();
        let before = client.ask(&json!({"type": "get_state", "id": "v1", "sessionId": "s"})).await;
        let refused = prompt(&mut client, "open").await;
        // A client that waits and sends it again has said it once.
        let after = client.ask(&json!({"type": "get_messages", "id": "g2", "sessionId": "s"})).await["data"].clone();
        assert_eq!(after, said, "nothing is said");
        assert_eq!(refused["sessionVersion"], before["sessionVersion"], "nothing is changed: {before}");
        check(
            &refused,
            &json!({"success": false, "code": "circuit_open", "hint": "wait for the recovery, or choose another model"}),
        );
        let error = refused["error"].as_str().expect("words");
        assert!(error.starts_with("Circuit breaker open for scripted (recovery in "), "{error}");
        assert!(refused["retryAfterMs"].as_u64().is_some_and(|wait| wait > 0 && wait <= 30_000), "{refused}");
        // What would join a run begins one where there is none.
        for kind in ["steer", "follow_up"] {
            let said = client.ask(&json!({"type": kind, "id": kind, "sessionId": "s", "message": "Go on"})).await;
            check(&said, &json!({"success": false, "code": "circuit_open"}));
        }
        // Where there is nothing to summarise nobody would be asked.
        let nothing = client.ask(&json!({"type": "compact", "id": "compact", "sessionId": "s"})).await;
        check(&nothing, &json!({"success": false, "code": "nothing_to_compact"}));
        let behind = json!({"type": "prompt", "id": "b", "sessionId": "s", "message": "Go on", "streamingBehavior": "steer"});
        check(&client.ask(&behind).await, &json!({"success": false, "code": "circuit_open"}));
        let after = client.ask(&json!({"type": "get_messages", "id": "g3", "sessionId": "s"})).await["data"].clone();
        assert_eq!(after, said, "nothing is said");
        let circuit = metrics(&mut client, "m2").await["circuitBreakers"][0].clone();
        check(&circuit, &json!({"state": "open", "totalSuccesses": 0, "totalFailures": 5, "totalRejected": 4}));
        assert!(circuit["retryAfterMs"].as_u64().is_some_and(|wait| wait > 0 && wait <= 30_000), "{circuit}");
        let health = client.ask(&json!({"type": "health_check", "id": "h"})).await;
        check(&health["data"], &json!({"healthy": false, "hasOpenCircuit": true, "hasOpenBashCircuit": false}));
    });
}

#[test]
fn open_circuit_refuses_only_what_would_ask_the_provider() {
    const WISHED: &str = "do it yourself";
    let long = "Words and more words. ".repeat(80);
    let answer = |text: &str| Answer::new().text(&format!("{text} {long}")).usage(10, 2).reply();
    let broken = Reply::json(503, &json!({"error": {"message": "broken"}}));
    let script = Script::new().then(answer("One.")).then(answer("Two.")).otherwise(broken);
    let serving = Serving::prepared(script, &["-e", "stand-in.ts"], |room| {
        room::write(&room.project().join("stand-in.ts"), include_bytes!("../extensions/stand-in.ts"));
        let settings = br#"{"compaction": {"enabled": false, "keepRecentTokens": 3, "reserveTokens": 100}}"#;
        room::write(&room.at("agent/settings.json"), settings);
    });
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        client.ask(&json!({"type": "set_auto_retry", "id": "off", "sessionId": "s", "enabled": false})).await;
        for number in 0..2 {
            check(&prompt(&mut client, &format!("said{number}")).await, &json!({"success": true}));
        }
        // More than half of the calls of a minute.
        for number in 0..3 {
            check(&prompt(&mut client, &format!("failed{number}")).await, &json!({"code": "provider_failed"}));
        }
        let asked = serving.room.server.requests().len();
        let shown = client.ask(&json!({"type": "get_messages", "id": "g", "sessionId": "s", "limit": 20})).await;
        let second = &shown["data"]["entryIds"][1];
        let (plain, wishing) = (json!({"summarize": true}), json!({"summarize": true, "customInstructions": WISHED}));
        let refused = json!({"success": false, "code": "circuit_open"});
        let done = json!({"success": true});
        let missing = json!({"success": false, "code": "not_found", "field": "targetId"});
        let cases = [
            (json!({"type": "compact"}), &refused),
            (json!({"type": "navigate_tree", "targetId": second, "options": plain}), &refused),
            (json!({"type": "prompt", "message": "Go on"}), &refused),
            (json!({"type": "navigate_tree", "targetId": "ffffffff", "options": plain}), &missing),
            (json!({"type": "prompt", "message": "/nothing"}), &done),
            (json!({"type": "prompt", "message": WISHED}), &done),
            (json!({"type": "steer", "message": WISHED}), &done),
            (json!({"type": "follow_up", "message": "/nothing"}), &done),
            (json!({"type": "compact", "customInstructions": WISHED}), &done),
            (json!({"type": "navigate_tree", "targetId": second, "options": wishing}), &done),
        ];
        for (number, (mut command, expected)) in cases.into_iter().enumerate() {
            (command["id"], command["sessionId"]) = (format!("c{number}").into(), "s".into());
            let answered = client.ask(&command).await;
            assert!(fits(&answered, expected), "{command}: {answered}");
            let waits = answered["retryAfterMs"].as_u64().is_some_and(|wait| wait > 0 && wait <= 30_000);
            assert_eq!(waits, *expected == refused, "{command}: {answered}");
        }
        assert_eq!(serving.room.server.requests().len(), asked, "nobody was asked");
        let circuit = metrics(&mut client, "m").await["circuitBreakers"][0].clone();
        check(&circuit, &json!({"state": "open", "totalRejected": 3}));
    });
}
