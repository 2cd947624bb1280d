//! Sessions of one folder share what they are made of, and a later one sees what was changed before it.

use pi_testkit::{Client, Script};
use serde_json::{Value, json};

use crate::{room::write, serving::Serving};

async fn make(client: &mut Client, session: &str) {
    let made = client.ask(&json!({"type": "create_session", "id": session, "sessionId": session})).await;
    assert_eq!(made["success"], true, "{made}");
}

/// Whether the model of a session is told of the person's own file, and which tools it has.
async fn look(client: &mut Client, session: &str) -> (bool, Vec<String>) {
    let id = format!("sources-{session}-{}", client.seen().len());
    let sources = client.ask(&json!({"type": "list_context_sources", "id": id, "sessionId": session})).await;
    let tools = client.ask(&json!({"type": "get_tools", "id": format!("tools-{id}"), "sessionId": session})).await;
    let active = tools["data"]["tools"].as_array().expect("a list").iter().filter(|tool| tool["active"] == true);
    let names = active.filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect();
    (sources["data"].to_string().contains("AGENTS.md"), names)
}

#[test]
fn session_sees_what_was_changed_before_it_was_made() {
    let serving = Serving::start(Script::new());
    let usual: Vec<String> = ["read", "bash", "edit", "write"].map(str::to_owned).into();
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        make(&mut client, "same").await;
        assert_eq!(look(&mut client, "same").await, (false, usual.clone()));
        write(&serving.room.at("agent/AGENTS.md"), b"Be brief.");
        make(&mut client, "told").await;
        assert_eq!(look(&mut client, "told").await, (true, usual.clone()));
        write(&serving.room.at("agent/settings.json"), &settings(&json!({"defaultTools": ["read"]})));
        make(&mut client, "bare").await;
        assert_eq!(look(&mut client, "bare").await, (true, vec!["read".to_owned()]));
        assert_eq!(look(&mut client, "same").await, (false, usual.clone()), "it stays as it was made");
    });
}

fn settings(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}
