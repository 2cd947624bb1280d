//! Commands in which an extension asks a person: what is needed to answer, and to stop, is never behind them.

use nix::sys::signal::Signal;
use pi_testkit::{Client, Script, model::Answer};
use serde_json::{Value, json};

use crate::{
    room::write,
    serving::{Serving, fits},
};

const CAUTIOUS: &str = include_str!("../extensions/cautious.ts");

fn serving(script: Script) -> Serving {
    Serving::prepared(script, &["-e", "cautious.ts"], |room| {
        write(&room.project().join("cautious.ts"), CAUTIOUS.as_bytes());
    })
}

fn talkative() -> Script {
    Script::new().otherwise(Answer::new().text("Yes.").reply())
}

#[track_caller]
fn check(answer: &Value, expected: &Value) {
    assert!(fits(answer, expected), "{answer}\nis not like {expected}");
}

async fn client(serving: &Serving, query: &str) -> Client {
    let mut client = serving.connect(query).await;
    for kind in ["create_session", "subscribe"] {
        client.ask(&json!({"type": kind, "id": format!("{kind} {query}"), "sessionId": "s"})).await;
    }
    client
}

/// Does something in the session that is over soon.
async fn ask(client: &mut Client, kind: &str) -> Value {
    client.ask(&json!({"type": kind, "id": format!("{kind} {}", fastrand::u64(..)), "sessionId": "s"})).await
}

/// The next question of the session.
async fn asked(client: &mut Client) -> Value {
    let is_it = |frame: &Value| frame["type"] == "event" && frame["event"]["type"] == "extension_ui_request";
    client.expect("a question", is_it).await["event"]["requestId"].clone()
}

async fn answer(client: &mut Client, session: &str, question: &Value) -> Value {
    let id = format!("answer {}", fastrand::u64(..));
    let response = json!({"method": "confirm", "confirmed": true});
    let frame = json!({"type": "extension_ui_response", "id": id, "sessionId": session, "requestId": question,
        "response": response});
    client.ask(&frame).await
}

/// What was said so far, one line a message.
async fn said(client: &mut Client) -> Vec<String> {
    let messages = ask(client, "get_messages").await["data"]["messages"].as_array().cloned().unwrap_or_default();
    let text = |message: &Value| match &message["content"] {
        Value::String(text) => text.clone(),
        blocks => blocks[0]["text"].as_str().unwrap_or_default().to_owned(),
    };
    messages
        .iter()
        .map(|message| format!("{}: {}", message["role"].as_str().unwrap_or_default(), text(message)))
        .collect()
}

/// The commands that ask, in a session in which something was said, with the file of another one.
async fn departures(client: &mut Client) -> Vec<Value> {
    client.ask(&json!({"type": "create_session", "id": "make other", "sessionId": "other"})).await;
    for session in ["other", "s"] {
        let prompt =
            json!({"type": "prompt", "id": format!("hello {session}"), "sessionId": session, "message": "Hello"});
        check(&client.ask(&prompt).await, &json!({"success": true}));
    }
    let file = client.ask(&json!({"type": "get_state", "id": "file", "sessionId": "other"})).await;
    let file = file["data"]["sessionFile"].clone();
    client.ask(&json!({"type": "delete_session", "id": "delete other", "sessionId": "other"})).await;
    let tree = ask(client, "get_tree").await;
    let nodes = tree["data"]["nodes"].as_array().cloned().unwrap_or_default();
    let entry = nodes.iter().find(|node| node["role"] == "user").expect("somebody spoke")["entryId"].clone();
    vec![
        json!({"type": "navigate_tree", "targetId": entry}),
        json!({"type": "fork", "entryId": entry}),
        json!({"type": "switch_session_file", "sessionPath": file}),
        json!({"type": "new_session"}),
    ]
}

#[test]
fn commands_that_ask_let_their_answer_and_reads_pass() {
    let serving = serving(talkative());
    serving.block_on(async {
        let mut client = client(&serving, "").await;
        // Forking leaves nothing behind that could be gone back to, so what leaves more comes later.
        for mut command in departures(&mut client).await {
            command["id"] = command["type"].clone();
            command["sessionId"] = "s".into();
            client.send(&command).await;
            let question = asked(&mut client).await;
            check(&ask(&mut client, "get_state").await, &json!({"success": true}));
            check(&answer(&mut client, "s", &question).await, &json!({"success": true}));
            let kind = command["type"].as_str().expect("it has one");
            check(&client.answer(kind).await, &json!({"success": true, "data": {"cancelled": false}}));
        }
    });
}

#[test]
fn commands_that_ask_are_ended_by_an_abort() {
    let serving = serving(talkative());
    serving.block_on(async {
        let mut client = client(&serving, "").await;
        let commands = departures(&mut client).await;
        let before = said(&mut client).await;
        for mut command in commands {
            command["id"] = command["type"].clone();
            command["sessionId"] = "s".into();
            client.send(&command).await;
            let question = asked(&mut client).await;
            check(&ask(&mut client, "abort").await, &json!({"success": true}));
            let kind = command["type"].as_str().expect("it has one");
            check(&client.answer(kind).await, &json!({"data": {"cancelled": true}}));
            check(&answer(&mut client, "s", &question).await, &json!({"success": false, "code": "request_settled"}));
        }
        assert_eq!(said(&mut client).await, before);
    });
}

#[test]
fn late_answer_is_told_from_one_that_nobody_asked_for() {
    let serving = serving(talkative());
    serving.block_on(async {
        let mut client = client(&serving, "").await;
        client.ask(&json!({"type": "create_session", "id": "make other", "sessionId": "other"})).await;
        client.send(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "/ask"})).await;
        let question = asked(&mut client).await;
        let refused = |code: &str| json!({"success": false, "code": code, "field": "requestId"});
        check(&answer(&mut client, "other", &question).await, &refused("request_mismatch"));
        check(&answer(&mut client, "s", &question).await, &json!({"success": true}));
        check(&answer(&mut client, "s", &question).await, &refused("request_settled"));
        check(&answer(&mut client, "s", &"nobody".into()).await, &refused("no_pending_request"));
    });
}

#[test]
fn message_beside_a_command_of_an_extension_begins_a_run() {
    for message in [
        json!({"type": "steer"}),
        json!({"type": "follow_up"}),
        json!({"type": "prompt", "streamingBehavior": "followUp"}),
        json!({"type": "prompt"}),
    ] {
        let serving = serving(talkative());
        serving.block_on(async {
            let mut client = client(&serving, "").await;
            client.send(&json!({"type": "prompt", "id": "slash", "sessionId": "s", "message": "/ask"})).await;
            let question = asked(&mut client).await;
            check(&ask(&mut client, "get_state").await, &json!({"data": {"isStreaming": false}}));
            let mut message = message;
            for (member, value) in [("id", "m"), ("sessionId", "s"), ("message", "Hello")] {
                message[member] = value.into();
            }
            check(&client.ask(&message).await, &json!({"success": true}));
            check(&answer(&mut client, "s", &question).await, &json!({"success": true}));
            check(&client.answer("slash").await, &json!({"success": true}));
            // Those that join a run are answered when one has begun.
            check(
                &client.ask(&json!({"type": "prompt", "id": "next", "sessionId": "s", "message": "More"})).await,
                &json!({"success": true}),
            );
            assert_eq!(said(&mut client).await, ["user: Hello", "assistant: Yes.", "user: More", "assistant: Yes."]);
        });
    }
}

#[test]
fn message_that_begins_a_run_and_is_asked_about_lets_its_answer_and_reads_pass() {
    for kind in ["steer", "follow_up"] {
        let serving = serving(talkative());
        serving.block_on(async {
            let mut client = client(&serving, "").await;
            let say = |id: &str| json!({"type": kind, "id": id, "sessionId": "s", "message": "Please"});
            client.send(&say("one")).await;
            let question = asked(&mut client).await;
            check(&ask(&mut client, "get_state").await, &json!({"success": true, "data": {"isStreaming": false}}));
            check(&answer(&mut client, "s", &question).await, &json!({"success": true}));
            check(&client.answer("one").await, &json!({"success": true}));
            let next = json!({"type": "prompt", "id": "next", "sessionId": "s", "message": "More"});
            check(&client.ask(&next).await, &json!({"success": true}));
            client.send(&say("two")).await;
            asked(&mut client).await;
            check(&ask(&mut client, "abort").await, &json!({"success": true}));
            check(&client.answer("two").await, &json!({"success": false, "code": "aborted_unsaid"}));
            assert_eq!(said(&mut client).await, ["user: Please", "assistant: Yes.", "user: More", "assistant: Yes."]);
        });
    }
}

#[test]
fn message_behind_a_prompt_that_an_extension_asks_about_holds_nobody_and_is_not_lost() {
    let serving = serving(talkative());
    serving.block_on(async {
        let mut client = client(&serving, "").await;
        client.send(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Please"})).await;
        let question = asked(&mut client).await;
        client.send(&json!({"type": "steer", "id": "one", "sessionId": "s", "message": "One"})).await;
        client.send(&json!({"type": "follow_up", "id": "two", "sessionId": "s", "message": "Two"})).await;
        check(&ask(&mut client, "get_state").await, &json!({"success": true}));
        check(&answer(&mut client, "s", &question).await, &json!({"success": true}));
        for id in ["one", "two", "p"] {
            check(&client.answer(id).await, &json!({"success": true}));
        }
        let users: Vec<String> = said(&mut client).await.into_iter().filter(|line| line.starts_with("user")).collect();
        assert_eq!(users, ["user: Please", "user: One", "user: Two"]);
    });
}

#[test]
fn abort_ends_a_prompt_that_is_asked_about_and_what_was_to_join_it() {
    let serving = serving(talkative());
    serving.block_on(async {
        let mut client = client(&serving, "").await;
        client.send(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Please"})).await;
        asked(&mut client).await;
        client.send(&json!({"type": "steer", "id": "one", "sessionId": "s", "message": "One"})).await;
        check(&ask(&mut client, "abort").await, &json!({"success": true}));
        for id in ["one", "p"] {
            check(&client.answer(id).await, &json!({"success": false, "code": "aborted_unsaid"}));
        }
        assert!(said(&mut client).await.is_empty());
    });
}

/// An extension that asks a person about the end of every run.
const THOROUGH: &str =
    r#"export default (pi) => pi.on("agent_end", (event, ctx) => ctx.ui.confirm("Over?", "Really?"));"#;

#[test]
fn abort_of_a_run_whose_end_is_asked_about_lets_the_answer_and_reads_pass() {
    let held = Script::new().then(Answer::new().text("Thinking").hold().text(" done.").reply());
    let serving = Serving::prepared(held, &["-e", "thorough.js"], |room| {
        write(&room.project().join("thorough.js"), THOROUGH.as_bytes());
    });
    serving.block_on(async {
        let mut client = client(&serving, "").await;
        client.send(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello"})).await;
        serving.room.server.received(1).await;
        client.send(&json!({"type": "abort", "id": "a", "sessionId": "s"})).await;
        let question = asked(&mut client).await;
        check(&ask(&mut client, "get_state").await, &json!({"success": true}));
        check(&answer(&mut client, "s", &question).await, &json!({"success": true}));
        check(&client.answer("a").await, &json!({"success": true}));
        check(&client.answer("p").await, &json!({"success": false, "code": "aborted"}));
    });
}

/// An extension that asks a person before it has begun.
const SHY: &str =
    r#"export default (pi) => pi.on("session_start", (event, ctx) => ctx.ui.confirm("Begin?", "Really?"));"#;

#[test]
fn abort_ends_a_prompt_that_waits_for_an_extension_to_begin() {
    let serving = Serving::prepared(talkative(), &["-e", "shy.js"], |room| {
        write(&room.project().join("shy.js"), SHY.as_bytes());
    });
    serving.block_on(async {
        let mut client = client(&serving, "").await;
        let question = asked(&mut client).await;
        let prompt = |id: &str| json!({"type": "prompt", "id": id, "sessionId": "s", "message": "Hello"});
        client.send(&prompt("p")).await;
        check(&ask(&mut client, "abort").await, &json!({"success": true}));
        check(&client.answer("p").await, &json!({"success": false, "code": "aborted_unsaid"}));
        check(&answer(&mut client, "s", &question).await, &json!({"success": true}));
        check(&client.ask(&prompt("q")).await, &json!({"success": true}));
        assert_eq!(said(&mut client).await, ["user: Hello", "assistant: Yes."]);
    });
}

#[test]
fn run_that_a_command_of_an_extension_began_is_waited_for_and_counted() {
    let serving = serving(Script::new().then(Answer::new().text("One").hold().text(" two.").reply()));
    serving.block_on(async {
        let mut client = client(&serving, "").await;
        let begun = client.ask(&json!({"type": "prompt", "id": "go", "sessionId": "s", "message": "/go"})).await;
        check(&begun, &json!({"success": true, "sessionVersion": 1}));
        let guarded = json!({"type": "bash", "id": "sh", "sessionId": "s", "command": "true", "ifSessionVersion": 1});
        client.send(&guarded).await;
        client.send(&json!({"type": "compact", "id": "short", "sessionId": "s"})).await;
        check(&ask(&mut client, "get_state").await, &json!({"data": {"isStreaming": true}}));
        serving.room.server.release(1);
        check(&client.answer("sh").await, &json!({"success": false, "code": "version_mismatch", "sessionVersion": 2}));
        // It came behind the run, and was not refused for it.
        check(&client.answer("short").await, &json!({"success": false, "code": "nothing_to_compact"}));
    });
}

#[test]
fn sessions_that_are_gone_are_let_go_by_who_listened() {
    let serving = serving(talkative());
    serving.block_on(async {
        let mut client = client(&serving, "").await;
        client.ask(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello"})).await;
        client.ask(&json!({"type": "create_session", "id": "make t", "sessionId": "t"})).await;
        client.ask(&json!({"type": "subscribe", "id": "hear t", "sessionId": "t"})).await;
        check(&ask(&mut client, "delete_session").await, &json!({"success": true}));
        serving.signal(Signal::SIGTERM);
        let last = client.expect("the end", |frame| frame["type"] == "connection_closing").await;
        let resume = last["data"]["resume"].as_array().cloned().unwrap_or_default();
        let sessions: Vec<&Value> = resume.iter().map(|point| &point["sessionId"]).collect();
        assert_eq!(sessions, ["t"]);
    });
}
