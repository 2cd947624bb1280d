//! What waits to be said is not lost when the server ends, however it ends.

use nix::sys::signal::Signal;
use pi_testkit::{Client, Script, model::Answer};
use serde_json::{Value, json};

use crate::serving::{Serving, fits};

/// The model never finishes its first answer, and every other one at once.
fn script() -> Script {
    let held = Answer::new().text("Thinking").hold().reply();
    Script::new().then(held).otherwise(Answer::new().text("Done.").reply())
}

/// Begins a run, steers it and adds what shall follow.
async fn say_three_things(serving: &Serving) -> Client {
    let mut client = serving.with_session("?clientId=c").await;
    client.send(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "First"})).await;
    serving.room.server.received(1).await;
    for command in [
        json!({"type": "follow_up", "id": "f", "sessionId": "s", "message": "Third, with password=hunter2"}),
        json!({"type": "steer", "id": "t", "sessionId": "s", "message": "Second"}),
    ] {
        let answer = client.ask(&command).await;
        assert_eq!(answer["success"], true, "{answer}");
    }
    client
}

/// What waits now, as behaviour and text.
async fn waiting(client: &mut Client, id: &str) -> Vec<(String, String)> {
    let answer = client.ask(&json!({"type": "get_queue", "id": id, "sessionId": "s"})).await;
    let items = answer["data"]["items"].as_array().unwrap_or_else(|| panic!("{answer}"));
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    items.iter().map(|item| (text(&item["behavior"]), text(&item["message"]))).collect()
}

/// The last of what people said, as the model was sent it.
fn said(serving: &Serving, count: usize) -> Vec<String> {
    let body = serving.room.server.requests().last().expect("a request").json();
    let messages = body["messages"].as_array().expect("messages");
    let by_people = messages.iter().filter(|message| message["role"] == "user");
    let texts: Vec<String> = by_people.map(|message| message["content"].to_string()).collect();
    texts[texts.len() - count..].to_vec()
}

/// How a server ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Crash,
    /// Told to end, and then at once.
    Hurry,
}

/// Ends the server while two messages wait, and looks for them afterwards.
#[track_caller]
fn check(end: End) {
    let mut serving = Serving::start(script());
    serving.block_on(async {
        let mut client = say_three_things(&serving).await;
        match end {
            End::Crash => serving.signal(Signal::SIGKILL),
            End::Hurry => {
                serving.signal(Signal::SIGTERM);
                client.expect("server_shutdown", |frame| frame["type"] == "server_shutdown").await;
                serving.signal(Signal::SIGTERM);
            }
        }
    });
    serving.wait();
    serving.start_again();
    let expected = [("steer", "Second"), ("followUp", "Third, with password=hunter2")];
    let expected = expected.map(|(behaviour, text)| (behaviour.to_owned(), text.to_owned()));
    serving.block_on(async {
        let mut client = serving.connect("?clientId=c").await;
        assert_eq!(waiting(&mut client, "q1").await, expected);
        // Nothing is said by itself.
        assert_eq!(serving.room.server.requests().len(), 1);
        let ran = client.ask(&json!({"type": "prompt", "id": "p2", "sessionId": "s", "message": "Again"})).await;
        assert!(fits(&ran, &json!({"success": true})), "{ran}");
        assert_eq!(said(&serving, 3), ["\"Again\"", "\"Second\"", "\"Third, with password=hunter2\""]);
        assert_eq!(waiting(&mut client, "q2").await, []);
    });
    serving.restart(Signal::SIGKILL);
    serving.block_on(async {
        let mut client = serving.connect("?clientId=c").await;
        assert_eq!(waiting(&mut client, "q3").await, [], "what was said does not wait again");
    });
}

#[test]
fn what_waits_is_there_after_a_crash() {
    check(End::Crash);
}

#[test]
fn what_waits_is_there_after_an_end_in_a_hurry() {
    check(End::Hurry);
}

#[test]
fn what_waits_as_it_was_edited_is_there_after_a_crash() {
    let mut serving = Serving::start(script());
    serving.block_on(async {
        let mut client = say_three_things(&serving).await;
        let queue = client.ask(&json!({"type": "get_queue", "id": "q", "sessionId": "s"})).await["data"].clone();
        let third = queue["items"][1]["itemId"].clone();
        let items = json!([{"itemId": third, "message": "Other words"}]);
        let edit = json!({
            "type": "edit_queue", "id": "e", "sessionId": "s", "revision": queue["revision"], "items": items
        });
        let edited = client.ask(&edit).await;
        assert_eq!(edited["success"], true, "{edited}");
    });
    serving.restart(Signal::SIGKILL);
    serving.block_on(async {
        let mut client = serving.connect("?clientId=c").await;
        assert_eq!(waiting(&mut client, "q1").await, [("followUp".to_owned(), "Other words".to_owned())]);
        // Whoever saw the queue before the crash does not know this one.
        for revision in 0..6 {
            let id = format!("old-{revision}");
            let edit = json!({"type": "edit_queue", "id": id, "sessionId": "s", "revision": revision, "items": []});
            let refused = client.ask(&edit).await;
            assert!(fits(&refused, &json!({"success": false, "code": "queue_changed"})), "{refused}");
        }
    });
}

#[test]
fn what_waits_goes_with_a_session_that_is_deleted() {
    let serving = Serving::start(script());
    serving.block_on(async {
        let mut client = say_three_things(&serving).await;
        let state = client.ask(&json!({"type": "get_state", "id": "g", "sessionId": "s"})).await;
        let file = state["data"]["sessionFile"].clone();
        let gone = client.ask(&json!({"type": "delete_session", "id": "d", "sessionId": "s"})).await;
        assert_eq!(gone["success"], true, "{gone}");
        let load = json!({"type": "load_session", "id": "l", "sessionId": "s", "sessionPath": file});
        let loaded = client.ask(&load).await;
        assert_eq!(loaded["success"], true, "{loaded}");
        assert_eq!(waiting(&mut client, "q1").await, []);
    });
}
