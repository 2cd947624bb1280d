//! Components that extensions draw, over the wire, drawn by a scripted guest in the middle of a run.

use std::time::Duration;

use pi_testkit::{Client, Script, model::Answer};
use serde_json::{Value, json};

use crate::{house::House, serving::fits};

/// A model that calls the tool of the extension and then says something.
fn looking() -> Script {
    Script::new()
        .then(Answer::new().call("c1", "look", &json!({})).reply())
        .then(Answer::new().text("Seen.").reply())
        .otherwise(Answer::new().text("More.").reply())
}

async fn house(steps: &str) -> House {
    House::open(looking(), &[&format!("guest painter\ntool look\n{steps}\nanswer seen")]).await
}

async fn prompt(client: &mut Client) {
    client.send(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Look"})).await;
}

/// The next event of this type in the session.
async fn event(client: &mut Client, kind: &str) -> Value {
    let is_it = |frame: &Value| frame["type"] == "event" && frame["event"]["type"] == kind;
    client.expect(kind, is_it).await["event"].clone()
}

/// The next frame that shows this text.
async fn shows(client: &mut Client, text: &str) -> Value {
    let is_it = |frame: &Value| {
        frame["event"]["type"] == "extension_ui_render" && frame["event"]["lines"].to_string().contains(text)
    };
    client.expect(text, is_it).await["event"].clone()
}

fn key(id: &str, frame: &Value, key: &str) -> Value {
    json!({"type": "extension_ui_key", "id": id, "sessionId": "s", "requestId": frame["requestId"], "key": key})
}

/// Subscribes once more, as if nothing had been seen yet.
async fn comes_back(client: &mut Client) {
    let here = client.ask(&json!({"type": "subscribe", "id": "here", "sessionId": "s"})).await;
    let (id, epoch) = (format!("back{}", here["data"]["seq"]), &here["data"]["epoch"]);
    let back = json!({"type": "subscribe", "id": id, "sessionId": "s", "afterSeq": 0, "epoch": epoch});
    let back = client.ask(&back).await;
    assert_eq!(back["data"]["resume"], "replay", "{back}");
}

async fn waits_for(house: &House, line: &str) {
    for _ in 0..200 {
        if house.heard().iter().any(|heard| heard == line) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the guest did not hear {line:?}: {:#?}", house.heard());
}

#[tokio::test]
async fn everybody_sees_the_component_and_its_keys_arrive_in_order() {
    let house = house("open overlay\npaint \u{1b}[1mPick|one\nkeys 4\nclose").await;
    let (mut one, mut other) = (house.client("one").await, house.client("other").await);
    prompt(&mut one).await;
    let frame = shows(&mut one, "Pick").await;
    let lines = json!([[{"text": "Pick", "style": {"bold": true}}], [{"text": "one"}]]);
    let expected = json!({"lines": lines, "width": 80, "placement": "overlay"});
    assert!(fits(&frame, &expected), "{frame:#}");
    assert_eq!(shows(&mut other, "Pick").await, frame);
    // Without waiting for answers: the order is that of the line.
    for (id, name) in [("k1", "a"), ("k2", "down"), ("k3", "enter")] {
        one.send(&key(id, &frame, name)).await;
    }
    for id in ["k1", "k2", "k3"] {
        assert_eq!(one.answer(id).await["success"], true);
    }
    let mut wide = key("k4", &frame, "ctrl+c");
    (wide["width"], wide["height"]) = (json!(120), json!(40));
    assert_eq!(other.ask(&wide).await["success"], true, "any client that may control the session");
    for client in [&mut one, &mut other] {
        let resolved = event(client, "extension_ui_resolved").await;
        assert!(fits(&resolved, &json!({"requestId": frame["requestId"], "outcome": "closed"})), "{resolved}");
    }
    assert_eq!(one.answer("p").await["success"], true);
    let heard: Vec<String> = house.heard().into_iter().filter(|line| line.starts_with("key ")).collect();
    let expected = [r#"key "a" 80x24"#, r#"key "\u{1b}[B" 80x24"#, r#"key "\r" 80x24"#, r#"key "\u{3}" 120x40"#];
    assert_eq!(heard, expected);
    // Told once: nothing more of it is among what follows.
    let gone = one.ask(&key("k5", &frame, "a")).await;
    assert!(fits(&gone, &json!({"success": false, "code": "no_pending_request"})), "{gone}");
    let after = one.ask(&json!({"type": "get_state", "id": "g", "sessionId": "s"})).await;
    assert_eq!(after["success"], true);
    let again = one.seen().iter().filter(|frame| frame["event"]["type"] == "extension_ui_resolved").count();
    assert_eq!(again, 0);
}

#[tokio::test]
async fn client_that_comes_late_or_comes_back_sees_the_newest_frame() {
    let house = house("open editor\npaint first\nkeys 2\nclose").await;
    let mut one = house.client("one").await;
    prompt(&mut one).await;
    let frame = shows(&mut one, "first").await;
    assert_eq!(one.ask(&key("k1", &frame, "x")).await["success"], true);
    shows(&mut one, "key").await;
    // Who subscribes now has missed both frames and gets the second one only.
    let mut late = house.client("late").await;
    let seen = event(&mut late, "extension_ui_render").await;
    assert!(seen["lines"].to_string().contains(r#"key \"x\""#), "{seen}");
    // So does who comes back with the number of before.
    comes_back(&mut late).await;
    let seen = event(&mut late, "extension_ui_render").await;
    assert!(seen["lines"].to_string().contains(r#"key \"x\""#), "{seen}");
    assert_eq!(late.ask(&key("k2", &frame, "y")).await["success"], true);
    event(&mut late, "extension_ui_resolved").await;
    assert_eq!(one.answer("p").await["success"], true);
    // Of a component that is gone nobody is told any more.
    let mut later = house.client("later").await;
    let state = later.ask(&json!({"type": "get_state", "id": "g", "sessionId": "s"})).await;
    assert_eq!(state["success"], true);
    assert!(later.seen().iter().all(|frame| frame["event"]["type"] != "extension_ui_render"), "{:?}", later.seen());
}

#[tokio::test]
async fn flood_of_frames_stays_bounded_and_ends_with_the_last() {
    let house = house("open editor\nflood 10000\nkeys 1\nclose").await;
    let mut client = house.client("c").await;
    prompt(&mut client).await;
    let frame = shows(&mut client, "frame 10000").await;
    assert_eq!(client.ask(&key("k", &frame, "x")).await["success"], true);
    assert_eq!(client.answer("p").await["success"], true);
    let count = client.seen().iter().filter(|frame| frame["event"]["type"] == "extension_ui_render").count();
    assert!(count < 300, "{count} frames reached the client");
    // What is kept is not the flood either: all that happened can still be told from the start.
    let mut late = house.client("late").await;
    comes_back(&mut late).await;
    event(&mut late, "agent_settled").await;
    let count = late.seen().iter().filter(|frame| frame["event"]["type"] == "extension_ui_render").count();
    assert_eq!(count, 0, "a component that is gone is told by its end alone");
}

#[tokio::test]
async fn guest_that_fails_or_is_aborted_loses_its_component() {
    for (steps, outcome) in [("panic in the middle", "closed"), ("throw no more", "closed"), ("hang", "cancelled")] {
        let house = house(&format!("open editor\npaint here\nwait 100\n{steps}")).await;
        let mut client = house.client("c").await;
        prompt(&mut client).await;
        let frame = shows(&mut client, "here").await;
        if steps == "hang" {
            let aborted = client.ask(&json!({"type": "abort", "id": "a", "sessionId": "s"})).await;
            assert_eq!(aborted["success"], true, "{aborted}");
        }
        let resolved = event(&mut client, "extension_ui_resolved").await;
        let expected = json!({"requestId": frame["requestId"], "outcome": outcome});
        assert!(fits(&resolved, &expected), "{steps}: {resolved}");
        client.answer("p").await;
    }
}

#[tokio::test]
async fn abort_and_the_end_of_the_session_take_a_component_away() {
    let house = house("open editor\npaint here\nkeys 1").await;
    let mut client = house.client("c").await;
    prompt(&mut client).await;
    shows(&mut client, "here").await;
    client.ask(&json!({"type": "abort", "id": "a", "sessionId": "s"})).await;
    let resolved = event(&mut client, "extension_ui_resolved").await;
    assert_eq!(resolved["outcome"], "cancelled");
    assert_eq!(client.answer("p").await["code"], "aborted");
    waits_for(&house, "taken away").await;

    let house = House::open(looking(), &["guest painter\ntool look\nopen header\npaint here\nhang"]).await;
    let mut client = house.client("c").await;
    prompt(&mut client).await;
    let frame = shows(&mut client, "here").await;
    let refused = client.ask(&key("k", &frame, "a")).await;
    assert!(fits(&refused, &json!({"success": false, "code": "refused"})), "a header has no keys: {refused}");
    let deleted = client.ask(&json!({"type": "delete_session", "id": "d", "sessionId": "s"})).await;
    assert_eq!(deleted["success"], true, "{deleted}");
    let gone = client.ask(&key("k2", &frame, "a")).await;
    assert_eq!(gone["success"], false, "{gone}");
}

#[tokio::test]
async fn client_says_how_much_room_it_has_without_a_key() {
    let house = house("open editor\npaint here\nresized\npaint again\nwait 100\nclose").await;
    let mut client = house.client("c").await;
    prompt(&mut client).await;
    let frame = shows(&mut client, "here").await;
    let room = json!({"type": "extension_ui_key", "id": "r", "sessionId": "s", "requestId": frame["requestId"],
        "width": 40, "height": 10});
    assert_eq!(client.ask(&room).await["success"], true);
    assert_eq!(shows(&mut client, "again").await["width"], 40);
    assert_eq!(client.answer("p").await["success"], true);
    assert!(house.heard().contains(&"canvas 40x10".to_owned()), "{:?}", house.heard());
}
