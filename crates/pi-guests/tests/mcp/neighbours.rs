//! What other extensions may ask of a server: what it offers, and nothing else.

use std::{fs, time::Duration};

use pi_guests::mcp::Limits;
use serde_json::{Value, json};

use crate::house::{Plan, start};

fn plan(mode: &str) -> Plan {
    let policy = json!({ "grants": { "neighbour": [{ "capability": "tool" }] } });
    Plan { policy, ..Plan::pipes(mode) }
}

fn echo() -> Value {
    json!({ "text": "heard" })
}

#[tokio::test(flavor = "multi_thread")]
async fn tool_that_is_offered_can_be_used_by_others() {
    let house = start(plan("good")).await.expect("it starts");
    assert_eq!(house.ask_as_neighbour("echo", echo()).await, r#"[{"type":"text","text":"heard"}]"#);
    assert_eq!(house.ask_as_neighbour("hidden", json!({})).await, "! the server srv offers no tool hidden");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_can_be_used_where_nothing_is_offered() {
    let mut unwanted = plan("good");
    unwanted.entry["includeTools"] = json!(["another"]);
    let house = start(unwanted).await.expect("it starts");
    assert_eq!(house.tools(), ["resources"]);
    assert_eq!(house.ask_as_neighbour("echo", echo()).await, "! the server srv offers no tool echo");

    let agent = tempfile::tempdir().expect("a folder");
    fs::write(agent.path().join("mcp-pins.json"), "{").expect("a file");
    let unknown = Plan { agent: Some(agent.path().to_owned()), ..plan("good") };
    let house = start(unknown).await.expect("it starts");
    assert!(house.guest.faults()[0].starts_with("none of its tools is offered"), "{:?}", house.guest.faults());
    assert_eq!(house.ask_as_neighbour("echo", echo()).await, "! the server srv offers no tool echo");
}

#[tokio::test(flavor = "multi_thread")]
async fn call_that_waits_for_the_connection_is_judged_by_its_lists() {
    let folder = tempfile::tempdir().expect("a folder");
    let gate = folder.path().join("open");
    let mut plan = plan("gated");
    plan.entry["env"]["GATE"] = json!(gate);
    plan.entry["excludeTools"] = json!(["echo"]);
    plan.limits = Limits { patience: Duration::from_millis(100), ..plan.limits };
    let house = start(plan).await.expect("it is still starting");
    let (refused, answered, ()) =
        tokio::join!(house.ask_as_neighbour("echo", echo()), house.ask_as_neighbour("environment", json!({})), async {
            let begun = |ledger: String| ledger.matches(r#""method":"mcp""#).count() >= 2;
            house.until("both calls wait", |house| begun(house.ledger())).await;
            fs::write(&gate, "").expect("a file");
        });
    assert_eq!(refused, "! the server srv offers no tool echo");
    assert!(answered.contains("GATE"), "{answered}");
}
