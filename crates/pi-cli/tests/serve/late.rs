//! What takes too long is ended, and leaves nothing behind that nobody is told of.

use std::time::Duration;

use nix::sys::signal::Signal;
use pi_server::settings::Settings;
use pi_testkit::{Client, Script, model::Answer};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    house::House,
    room::write,
    serving::{Serving, fits},
};

#[track_caller]
fn check(answer: &Value, shape: &Value) {
    assert!(fits(answer, shape), "{answer:#}\nis not like {shape:#}");
}

/// Two answers, and then one that does not come to its end.
fn held_at_the_third() -> Script {
    let answer = |text: &str| Answer::new().text(text).reply();
    Script::new().then(answer("One.")).then(answer("Two.")).then(Answer::new().text("To sum").hold().reply())
}

/// Says two things, and goes back to the first with a summary of what is left. The summary is not finished.
async fn go_back(serving: &Serving) -> Client {
    let mut client = serving.with_session("").await;
    for id in ["p1", "p2"] {
        let prompt = json!({"type": "prompt", "id": id, "sessionId": "s", "message": id});
        check(&client.ask(&prompt).await, &json!({"success": true}));
    }
    let shown = client.ask(&json!({"type": "get_messages", "id": "g", "sessionId": "s", "limit": 20})).await;
    let target = &shown["data"]["entryIds"][1];
    let back = json!({"type": "navigate_tree", "id": "back", "sessionId": "s", "targetId": target,
        "options": {"summarize": true}});
    client.send(&back).await;
    serving.room.server.received(3).await;
    client
}

/// How many messages there are, and the version.
async fn looked(client: &mut Client, id: &str) -> (usize, Value) {
    let answer = client.ask(&json!({"type": "get_messages", "id": id, "sessionId": "s"})).await;
    (answer["data"]["messages"].as_array().map_or(0, Vec::len), answer["sessionVersion"].clone())
}

#[test]
fn summary_of_a_branch_lets_control_pass_and_is_ended_by_abort() {
    let serving = Serving::start(held_at_the_third());
    serving.block_on(async {
        let mut client = go_back(&serving).await;
        assert_eq!(looked(&mut client, "l1").await, (4, json!(2)));
        check(&client.ask(&json!({"type": "abort", "id": "a", "sessionId": "s"})).await, &json!({"success": true}));
        let went = client.answer("back").await;
        check(&went, &json!({"success": true, "data": {"cancelled": true, "aborted": true}}));
        assert_eq!(looked(&mut client, "l2").await.0, 4);
    });
}

#[test]
fn summary_of_a_branch_that_takes_too_long_changes_nothing() {
    let serving = Serving::with(held_at_the_third(), &["--set", "extendedTimeoutMs=300"]);
    serving.block_on(async {
        let mut client = go_back(&serving).await;
        check(&client.answer("back").await, &json!({"success": false, "code": "timeout"}));
        serving.room.server.abandoned(1).await;
        // Behind the work that was stopped.
        let name = json!({"type": "set_session_name", "id": "n", "sessionId": "s", "name": "x", "ifSessionVersion": 2});
        check(&client.ask(&name).await, &json!({"success": true, "sessionVersion": 3}));
        assert_eq!(looked(&mut client, "l").await, (4, json!(3)));
    });
}

#[test]
fn signal_is_heard_while_an_extension_never_loads() {
    let mut serving = Serving::prepared(Script::new(), &[], |room| {
        write(&room.at("agent/extensions/stuck.ts"), b"export default () => new Promise(() => {});");
        // So that extensions are asked whether the project is trusted, too.
        write(&room.project().join(".pi/prompts/brought.md"), b"Do it.");
    });
    let mut client = serving.block_on(async {
        let mut client = serving.connect("").await;
        client.send(&json!({"type": "create_session", "id": "c", "sessionId": "stuck"})).await;
        client.expect("the start", |frame| frame["type"] == "command_started").await;
        client
    });
    serving.signal(Signal::SIGTERM);
    serving.block_on(client.expect("the end", |frame| frame["type"] == "server_shutdown"));
    let began = Instant::now();
    serving.signal(Signal::SIGTERM);
    assert_eq!(serving.wait(), Some(0));
    // Far less than a guest has to load.
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}

/// Server and session commands have a moment, and are killed soon after it.
fn hasty(settings: &mut Settings) {
    settings.engine.normal_ms = 200;
    settings.engine.kill_after_ms = 50;
}

#[tokio::test(flavor = "multi_thread")]
async fn session_that_takes_too_long_to_be_made_is_not_there() {
    let house = House::open_as(Script::new(), &[], hasty).await;
    let mut client = house.client("a").await;
    house.pause();
    let create = |id: &str| json!({"type": "create_session", "id": id, "sessionId": "new"});
    check(&client.ask(&create("c1")).await, &json!({"success": false, "code": "timeout"}));
    let listed = client.ask(&json!({"type": "list_sessions", "id": "l"})).await;
    check(&listed, &json!({"data": {"sessions": [{"sessionId": "s"}]}}));
    assert_eq!(listed["data"]["sessions"].as_array().map(Vec::len), Some(1), "{listed}");
    house.go_on(8);
    check(&client.ask(&create("c2")).await, &json!({"success": true}));
}

#[tokio::test(flavor = "multi_thread")]
async fn session_that_takes_too_long_to_end_is_announced_as_gone() {
    let house = House::open_as(Script::new(), &["guest stubborn\non session_shutdown\nhang"], hasty).await;
    let (mut client, mut other) = (house.client("a").await, house.client("b").await);
    let delete = json!({"type": "delete_session", "id": "d", "sessionId": "s"});
    check(&client.ask(&delete).await, &json!({"success": false, "code": "timeout"}));
    other.expect("session_deleted", |frame| frame["type"] == "session_deleted").await;
    let listed = client.ask(&json!({"type": "list_sessions", "id": "l"})).await;
    assert_eq!(listed["data"]["sessions"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn session_whose_old_conversation_takes_too_long_to_end_goes_on_with_the_new_one() {
    let script = Script::new().otherwise(Answer::new().text("Hi.").reply());
    let house = House::open_as(script, &["guest stubborn\non session_shutdown\nhang"], hasty).await;
    let mut client = house.client("a").await;
    let say = |id: &str| json!({"type": "prompt", "id": id, "sessionId": "s", "message": "Hello"});
    check(&client.ask(&say("p1")).await, &json!({"success": true, "sessionVersion": 1}));
    let begin = json!({"type": "new_session", "id": "n", "sessionId": "s"});
    check(&client.ask(&begin).await, &json!({"success": false, "code": "timeout"}));
    // It is another conversation, and whoever expects the old one is told.
    let mut stale = say("p2");
    stale["ifSessionVersion"] = json!(1);
    check(&client.ask(&stale).await, &json!({"success": false, "code": "version_mismatch"}));
    check(&client.ask(&say("p3")).await, &json!({"success": true}));
    assert_eq!(looked(&mut client, "l").await.0, 2);
}
