//! Guests that come and go while their session runs.

use pi_exthost::guests::DuplicateGuest;
use pi_extproto::hook::event::{
    Event,
    payload::{SessionStartEvent, StartReason},
};
use pi_testkit::ScriptedGuest;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::house::House;

const LISTENS: &str = "on agent_start\non session_start\non session_shutdown\ntool t";

fn tools(house: &House) -> Vec<String> {
    house.guests.tools().into_iter().map(|tool| format!("{} of {}", tool.offer.definition.name, tool.guest)).collect()
}

#[tokio::test]
async fn guest_that_goes_is_told_and_asked_nothing_more() {
    let house = House::new(&[LISTENS, "on agent_start\ntool t"]);
    let never = CancellationToken::new();
    let kept = house.guests.tool("t").expect("a tool");
    assert!(house.guests.retire(&"a".into()).await);
    house.fire("agent_start", &Value::Null, &never).await;
    assert_eq!(house.heard(0), [r#"session_shutdown {"reason":"reload"}"#, "shutdown"]);
    assert_eq!(house.heard(1), ["agent_start null"]);
    assert_eq!(tools(&house), ["t of b"]);
    // A run that began before still holds its tool.
    assert_eq!(kept.guest.as_str(), "a");
    assert!(!house.guests.retire(&"a".into()).await, "it is not here any more");
}

#[tokio::test]
async fn guest_that_comes_takes_its_place() {
    let house = House::new(&["tool t", "tool t"]);
    let guest = |id: &str| {
        let script = format!("guest {id}\n{LISTENS}");
        ScriptedGuest::new(&script, house.session.clone()).expect("a script")
    };
    house.guests.retire(&"a".into()).await;
    let again = guest("a");
    house.guests.admit(again.clone(), 0).expect("its place is free");
    assert_eq!(tools(&house), ["t of a"], "it comes before those that stayed");
    assert_eq!(house.guests.admit(guest("a"), 7), Err(DuplicateGuest { id: "a".into() }));
    let start = SessionStartEvent { reason: StartReason::Reload, previous_session_file: None };
    house.guests.tell_one(&"a".into(), Event::SessionStart(start)).await;
    assert_eq!(again.heard(), [format!("session_start {}", json!({ "reason": "reload" }))]);
    assert!(house.heard(1).is_empty(), "nobody else is told");
}
