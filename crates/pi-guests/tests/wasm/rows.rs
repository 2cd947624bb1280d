//! What components do that other tiers do not, or do otherwise; what all of them do is in `tiers.yaml`.

use std::time::Duration;

use pi_exthost::Guest;
use pi_extproto::capability::{Capability, Declared};
use pi_guests::wasm::WasmGuest;
use serde_json::json;

use crate::house::{House, OPEN, invocation, never, program_saying, start, told};

#[tokio::test]
async fn registration_is_what_init_returned() {
    let house = House::new(OPEN);
    let guest = start(&house, Default::default()).await.expect("it starts");
    let registration = guest.registration();
    assert_eq!((registration.id.as_str(), registration.tools.len()), ("test", 28));
    let answer = &registration.tool("answer").expect("a tool").definition;
    assert_eq!((answer.description.as_str(), json!(answer.parameters)), ("d", json!({ "type": "object" })));
    let commands: Vec<_> = registration.commands.iter().map(|it| it.definition.name.as_str()).collect();
    assert_eq!(commands, ["greet", "subscribe", "echo", "report", "worry"]);
    let hooks: Vec<_> = registration.hooks.keys().map(|hook| hook.as_str()).collect();
    assert_eq!(hooks, ["agent_start", "tool_call"]);
    assert!(registration.channels.is_empty());
}

#[tokio::test]
async fn what_a_component_says_of_itself_is_traced_and_compared_with_its_manifest() {
    let house = House::new(OPEN);
    let desk = house.desk_of(Declared::new(None, Some(&[Capability::Read])));
    let needs = json!([
        { "capability": "read", "methods": ["fs"], "scope": { "paths": ["src/**"] } },
        { "capability": "exec" },
    ]);
    let program = program_saying(&needs, Default::default());
    let guest = WasmGuest::start(program, desk.clone()).await.expect("it starts");
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
    assert_eq!(
        (&said["name"], &said["version"], &said["capabilities"]),
        (&json!("reference"), &json!("1.0.0"), &json!(["read", "exec"]))
    );
    assert_eq!(said["capability_manifest"], json!({ "schema": "pi.ext.cap.v1", "capabilities": needs }));
}

#[tokio::test(flavor = "multi_thread")]
async fn component_is_held_to_what_it_said_and_to_its_manifest() {
    let house = House::new(OPEN);
    let desk = house.desk_of(Declared::new(None, Some(&[Capability::Read, Capability::Exec])));
    let program = program_saying(&json!([{ "capability": "read" }, { "capability": "write" }]), Default::default());
    let guests = house.attend(WasmGuest::start(program, desk).await.expect("it starts"));
    let mut answers = Vec::new();
    for tool in ["read", "execute", "write"] {
        let answer = guests.tool(tool).expect("a tool").call(invocation(tool, json!({})), &never()).await;
        answers.push(told(&Ok(answer.expect("an answer"))));
    }
    assert_eq!(answers[0], "remember\n");
    let said =
        "(the extension said itself that it does not need it). To change it, have it name exec when it registers";
    assert!(answers[1].starts_with("Extension test wanted exec: ") && answers[1].ends_with(said), "{}", answers[1]);
    assert!(answers[2].contains("(not declared). To change it, declare it: add "), "{}", answers[2]);
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
