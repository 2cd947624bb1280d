//! What clients hear of a session, and how they come back to it.

use std::time::Duration;

use pi_testkit::{Client, Script, model::Answer};
use serde_json::{Value, json};

use crate::serving::{Serving, fits};

const QUIET: Duration = Duration::from_millis(200);

/// The events of sessions among frames: number and type.
fn events(frames: &[Value]) -> Vec<(u64, String)> {
    let events = frames.iter().filter(|frame| frame["type"] == "event" && frame["seq"].is_u64());
    let told = |frame: &Value| {
        (frame["seq"].as_u64().expect("a number"), frame["event"]["type"].as_str().unwrap_or_default().to_owned())
    };
    events.map(told).collect()
}

/// What the model said, put together from deltas.
fn text(frames: &[Value]) -> String {
    let deltas = frames.iter().filter_map(|frame| frame["event"]["assistantMessageEvent"]["delta"].as_str());
    deltas.collect()
}

async fn prompt(client: &mut Client, id: &str) {
    let answer = client.ask(&json!({"type": "prompt", "id": id, "sessionId": "s", "message": "Hello"})).await;
    assert_eq!(answer["success"], true, "{answer}");
}

#[test]
fn only_who_subscribed_hears_and_hears_everything_in_order() {
    let words = "one two three four five six seven eight nine ten";
    let serving = Serving::start(Script::new().then(Answer::new().text(words).reply()));
    serving.block_on(async {
        let mut client = serving.with_session("?clientId=a&lifecycle=none").await;
        let mut deaf = serving.connect("?clientId=b&lifecycle=none").await;
        let subscribed = client.ask(&json!({"type": "subscribe", "id": "sub", "sessionId": "s"})).await;
        assert!(fits(&subscribed, &json!({"success": true, "data": {"resume": "live"}})), "{subscribed}");
        prompt(&mut client, "p").await;
        let frames = client.rest(QUIET).await;
        let told = events(&frames);
        assert_eq!(text(&frames), words);
        assert!(told.is_sorted_by_key(|(seq, _)| *seq), "{told:?}");
        assert_eq!(told.first().map(|(_, kind)| kind.as_str()), Some("agent_start"));
        assert_eq!(told.last().map(|(_, kind)| kind.as_str()), Some("agent_settled"));
        assert_eq!(deaf.rest(QUIET).await, Vec::<Value>::new());
    });
}

#[test]
fn who_comes_back_gets_what_was_missed_and_nothing_twice() {
    let answer = |text: &str| Answer::new().text(text).reply();
    let serving = Serving::start(Script::new().then(answer("First answer.")).then(answer("Second answer.")));
    serving.block_on(async {
        let mut stays = serving.with_session("?clientId=a&lifecycle=none").await;
        let mut leaves = serving.connect("?clientId=b&lifecycle=none").await;
        for client in [&mut stays, &mut leaves] {
            client.ask(&json!({"type": "subscribe", "id": "sub", "sessionId": "s"})).await;
        }
        prompt(&mut stays, "p1").await;
        let mut heard = leaves.rest(QUIET).await;
        let last = heard.iter().rev().find(|frame| frame["type"] == "event").expect("an event").clone();
        leaves.close().await.expect("it closes");
        prompt(&mut stays, "p2").await;
        let mut back = serving.connect("?clientId=b&lifecycle=none").await;
        let resumed = back
            .ask(&json!({"type": "subscribe", "id": "again", "sessionId": "s", "afterSeq": last["seq"], "epoch": last["epoch"]}))
            .await;
        assert_eq!(resumed["data"]["resume"], "replay", "{resumed}");
        heard.extend(back.rest(QUIET).await);
        let whole = stays.rest(QUIET).await;
        assert_eq!(text(&heard), text(&whole));
        let (whole, heard) = (events(&whole), events(&heard));
        assert_eq!(heard.last(), whole.last());
        let mut numbers: Vec<u64> = heard.iter().map(|(seq, _)| *seq).collect();
        let count = numbers.len();
        numbers.dedup();
        assert_eq!(numbers.len(), count, "an event was told twice");
    });
}

#[test]
fn an_unknown_numbering_begins_with_a_snapshot() {
    let serving = Serving::start(Script::new().then(Answer::new().text("Hi.").reply()));
    serving.block_on(async {
        let mut client = serving.with_session("?lifecycle=none").await;
        prompt(&mut client, "p").await;
        let frame = json!({"type": "subscribe", "id": "sub", "sessionId": "s", "afterSeq": 3, "epoch": "older"});
        assert_eq!(client.ask(&frame).await["data"]["resume"], "snapshot");
        let snapshot = client.expect("a snapshot", |frame| frame["type"] == "session_snapshot").await;
        let shape =
            json!({"data": {"reason": "epoch_changed", "sessionInfo": {"messageCount": 2}, "queue": {"items": []}}});
        assert!(fits(&snapshot, &shape), "{snapshot}");
    });
}

#[test]
fn number_that_was_never_told_begins_with_a_snapshot_that_says_so() {
    let serving = Serving::start(Script::new().then(Answer::new().text("Hi.").reply()));
    serving.block_on(async {
        let mut client = serving.with_session("?lifecycle=none").await;
        prompt(&mut client, "p").await;
        let now = client.ask(&json!({"type": "subscribe", "id": "now", "sessionId": "s"})).await["data"].clone();
        let frame = json!({"type": "subscribe", "id": "sub", "sessionId": "s",
            "afterSeq": now["seq"].as_u64().expect("a number") + 1, "epoch": now["epoch"]});
        assert_eq!(client.ask(&frame).await["data"]["resume"], "snapshot");
        let snapshot = client.expect("a snapshot", |frame| frame["type"] == "session_snapshot").await;
        let shape = json!({"data": {"reason": "ahead_of_end", "epoch": now["epoch"], "seq": now["seq"]}});
        assert!(fits(&snapshot, &shape), "{snapshot}");
    });
}

#[test]
fn a_long_answer_costs_its_length_and_not_its_square() {
    let pieces: Vec<String> = (0..300).map(|number| format!("word{number} ")).collect();
    let answer = pieces.iter().fold(Answer::new(), |answer, piece| answer.text(piece).hold());
    let serving = Serving::with(Script::new().then(answer.reply()), &["--set", "server.coalesceMs=0"]);
    serving.block_on(async {
        let mut client = serving.with_session("?lifecycle=none").await;
        client.ask(&json!({"type": "subscribe", "id": "sub", "sessionId": "s"})).await;
        client.send(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Say something"})).await;
        let mut frames = Vec::new();
        for piece in &pieces {
            // The model goes on when this piece was heard.
            let is_it = |frame: &Value| frame["event"]["assistantMessageEvent"]["delta"] == **piece;
            frames.push(client.expect("the piece", is_it).await);
            serving.room.server.release(1);
        }
        client.answer("p").await;
        frames.extend(client.rest(QUIET).await);
        let words = pieces.concat();
        assert_eq!(text(&frames), words);
        let bytes: usize = frames.iter().map(|frame| frame.to_string().len()).sum();
        // With all that was said before in each of them it would be 150 times as much.
        assert!(bytes < 40 * words.len(), "{bytes} bytes for {} of text", words.len());
    });
}

#[test]
fn who_listens_stays_when_a_session_goes_on_in_another_file() {
    let serving = Serving::start(Script::new().otherwise(Answer::new().text("Well.").reply()));
    serving.block_on(async {
        let mut client = serving.with_session("?clientId=a&lifecycle=none").await;
        let mut watcher = serving.connect("?clientId=b&lifecycle=none").await;
        client.ask(&json!({"type": "subscribe", "id": "sub", "sessionId": "s"})).await;
        watcher.ask(&json!({"type": "switch_session", "id": "sub", "sessionId": "s"})).await;
        prompt(&mut client, "p").await;
        for kind in ["new_session", "fork"] {
            let said =
                client.ask(&json!({"type": "get_fork_messages", "id": format!("m-{kind}"), "sessionId": "s"})).await;
            let entry = &said["data"]["messages"][0]["entryId"];
            let command = match kind {
                "fork" => json!({"type": kind, "id": kind, "sessionId": "s", "entryId": entry}),
                _ => json!({"type": kind, "id": kind, "sessionId": "s"}),
            };
            client.rest(QUIET).await;
            watcher.rest(QUIET).await;
            let answer = client.ask(&command).await;
            assert_eq!(answer["success"], true, "{answer}");
            for listener in [&mut client, &mut watcher] {
                let told = listener.expect("the snapshot", |frame| frame["type"] == "session_snapshot").await;
                assert_eq!(told["data"]["reason"], "epoch_changed", "{told}");
            }
            prompt(&mut client, &format!("then-{kind}")).await;
            for listener in [&mut client, &mut watcher] {
                let told = events(&listener.rest(QUIET).await);
                assert_eq!(told.last().map(|(_, kind)| kind.as_str()), Some("agent_settled"), "{told:?}");
            }
        }
    });
}

#[test]
fn repeated_subscription_of_a_connection_that_listens_sends_nothing_twice() {
    let serving = Serving::start(Script::new().otherwise(Answer::new().text("Hi.").reply()));
    serving.block_on(async {
        let mut client = serving.with_session("?clientId=a&lifecycle=none").await;
        let subscribe = json!({"type": "subscribe", "id": "sub", "sessionId": "s"});
        client.ask(&subscribe).await;
        prompt(&mut client, "one").await;
        let before = events(&client.rest(QUIET).await);
        let again = client.ask(&subscribe).await;
        assert_eq!(again["replayed"], true, "{again}");
        prompt(&mut client, "two").await;
        let after = events(&client.rest(QUIET).await);
        let numbers: Vec<u64> = after.iter().map(|(seq, _)| *seq).collect();
        let last = before.last().expect("the first run is told").0;
        let is_in_order = numbers.is_sorted_by(|one, next| one < next);
        assert!(numbers.first() == Some(&(last + 1)) && is_in_order, "{numbers:?} after {last}");
    });
}

#[test]
fn events_of_a_run_come_before_its_answer() {
    const RUNS: usize = 120;
    let serving = Serving::start(Script::new().otherwise(Answer::new().text("Done.").reply()));
    serving.block_on(async {
        let mut client = serving.with_session("?lifecycle=none").await;
        let joined = client.ask(&json!({"type": "subscribe", "id": "join", "sessionId": "s"})).await;
        assert_eq!(joined["success"], true, "{joined}");
        for number in 0..RUNS {
            let prompt = json!({"type": "prompt", "id": format!("p{number}"), "sessionId": "s", "message": "Hi"});
            assert_eq!(client.ask(&prompt).await["success"], true);
            let settled = client.seen().iter().filter(|frame| frame["event"]["type"] == "agent_settled").count();
            assert_eq!(settled, number + 1, "the answer came before the end of the run");
        }
    });
}
