//! What components do that other tiers do not, or do otherwise; what all of them do is in `tiers.yaml`.

use std::time::Duration;

use pi_exthost::Guest;
use pi_extproto::capability::{Capability, Declared};
use pi_guests::wasm::WasmGuest;
use serde_json::json;

use crate::house::{House, OPEN, invocation, never, program, start, told};

#[tokio::test]
async fn registration_is_what_init_returned() {
    let house = House::new(OPEN);
    let guest = start(&house, Default::default()).await.expect("it starts");
    let registration = guest.registration();
    assert_eq!((registration.id.as_str(), registration.tools.len()), ("test", 28));
    let answer = &registration.tool("answer").expect("a tool").definition;
    assert_eq!((answer.description.as_str(), json!(answer.parameters)), ("d", json!({ "type": "object" })));
    let commands: Vec<_> = registration.commands.iter().map(|it| it.definition.name.as_str()).collect();
    assert_eq!(commands, ["greet", "subscribe"]);
    let hooks: Vec<_> = registration.hooks.keys().map(|hook| hook.as_str()).collect();
    assert_eq!(hooks, ["agent_start", "tool_call"]);
    assert!(registration.channels.is_empty());
}

#[tokio::test]
async fn what_a_component_says_of_itself_is_traced_and_compared_with_its_manifest() {
    let house = House::new(OPEN);
    let desk = house.desk_of(Declared::new(None, Some(&[Capability::Read])));
    let guest = WasmGuest::start(program(Default::default()), desk.clone()).await.expect("it starts");
    desk.registered(&guest.registration(), Duration::ZERO);
    let ledger = house.ledger().await;
    let warned = ledger.iter().filter(|line| line["event"] == "compat.warning").map(|line| &line["message"]);
    let expected = [
        "it calls itself \"reference\", and is known here as \"test\"",
        "it says that it needs exec, which its manifest does not declare",
    ];
    assert_eq!(warned.collect::<Vec<_>>(), expected);
    let traced = house.traced();
    let said = &traced.iter().find(|message| message["type"] == "register").expect("it registered")["payload"];
    let needs = json!([
        { "capability": "read", "methods": ["fs"], "scope": { "paths": ["src/**"] } },
        { "capability": "exec" },
    ]);
    assert_eq!(
        (&said["name"], &said["version"], &said["capabilities"]),
        (&json!("reference"), &json!("1.0.0"), &json!(["read", "exec"]))
    );
    assert_eq!(said["capability_manifest"], json!({ "schema": "pi.ext.cap.v1", "capabilities": needs }));
}

#[tokio::test]
async fn channel_is_in_the_registration_once_it_is_subscribed_to() {
    let house = House::new(OPEN);
    let guest = start(&house, Default::default()).await.expect("it starts");
    let guests = house.attend(guest.clone());
    guests.command("subscribe").expect("a command").run(String::new(), &never()).await.expect("it runs");
    assert!(guest.registration().channels.contains("news"));
}

#[tokio::test]
async fn ended_guest_answers_nothing() {
    let house = House::new(OPEN);
    let guest = start(&house, Default::default()).await.expect("it starts");
    guest.shutdown().await;
    let ask = pi_exthost::Ask { cancel: never(), stopwatch: pi_exthost::Stopwatch::unlimited() };
    let answer = guest.call_tool(invocation("count", json!({})), ask).await;
    assert_eq!(answer, Err(pi_exthost::GuestFault::Gone));
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_that_is_taken_back_is_over_and_so_is_the_work() {
    let house = House::new(OPEN);
    let guests = house.attend(start(&house, Default::default()).await.expect("it starts"));
    let answer = guests.tool("kill").expect("a tool").call(invocation("kill", json!({})), &never()).await;
    assert_eq!(told(&Ok(answer.expect("an answer"))), "the stream is over");
    guests.shutdown().await;
    let ledger = house.ledger().await;
    let of = |event: &str| ledger.iter().filter(|line| line["event"] == event).count();
    assert_eq!((of("host_call.start"), of("host_call.end")), (1, 1));
}
