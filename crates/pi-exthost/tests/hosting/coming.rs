//! Guests that come and go while their session runs.

use futures_util::FutureExt;
use pi_exthost::{
    guest::ToolInvocation,
    guests::{AtWork, Busy, DuplicateGuest},
};
use pi_extproto::hook::event::{
    Event,
    payload::{SessionStartEvent, StartReason},
};
use pi_testkit::ScriptedGuest;
use serde_json::{Value, json};
use tokio::sync::mpsc;
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

#[tokio::test]
async fn guest_at_work_is_not_exchanged_until_it_has_ended() {
    let house = House::new(&["on agent_start\nheed"]);
    let (never, stop) = (CancellationToken::new(), CancellationToken::new());
    let mut heard = Box::pin(house.fire("agent_start", &Value::Null, &stop));
    assert!(futures_util::poll!(&mut heard).is_pending());
    let busy = house.guests.begin_change(&"a".into(), AtWork::GoesOn);
    assert_eq!(busy.map(|change| change.is_some()), Err(Busy));
    stop.cancel();
    heard.await;
    let change = house.guests.begin_change(&"a".into(), AtWork::GoesOn).expect("it is idle");
    assert!(change.is_some());
    assert!(house.guests.begin_change(&"a".into(), AtWork::Ends).is_err(), "it is being exchanged");
    drop(change);
    assert!(house.fire("agent_start", &Value::Null, &never).now_or_never().is_none(), "it is asked at once");
    let heard = ["agent_start null", "cancelled", "agent_start null", "abandoned"];
    assert_eq!(house.heard(0), heard, "it stays where nobody took its place");
}

#[tokio::test]
async fn guard_is_not_missing_while_it_is_exchanged() {
    let house = House::new(&["on tool_call\non session_shutdown\ntool t\nanswer old"]);
    let never = CancellationToken::new();
    let kept = house.guests.tool("t").expect("a tool");
    let mut change = house.guests.begin_change(&"a".into(), AtWork::GoesOn).expect("it is idle").expect("it is here");
    change.dismiss().await;
    assert_eq!(house.heard(0), [r#"session_shutdown {"reason":"reload"}"#, "shutdown"]);
    let call = json!({ "toolName": "bash", "toolCallId": "c", "input": { "command": "rm -rf /" } });
    let mut asked = Box::pin(house.fire("tool_call", &call, &never));
    assert!(futures_util::poll!(&mut asked).is_pending(), "nobody decides in its place");
    let script = r#"guest a
        on tool_call
        outcome {"family":"tool_call","outcome":{"action":"block","reason":"not that","terminate":false}}
        tool t
        answer new"#;
    let again = ScriptedGuest::new(script, house.session.clone()).expect("a script");
    change.finish(again.clone()).expect("its name is its own");
    let (verdict, _) = asked.await;
    assert!(format!("{verdict:?}").contains("not that"), "{verdict:?}");
    // A tool that was handed out before is that of the one who came.
    let updates = mpsc::channel(1).0;
    let call = ToolInvocation { call_id: "c".into(), name: "t".to_owned(), input: Default::default(), updates };
    let answer = kept.call(call, &never).await.expect("an answer");
    assert!(format!("{answer:?}").contains("new"), "{answer:?}");
    assert_eq!(tools(&house), ["t of a"]);
    assert!(house.incidents().is_empty(), "{:?}", house.incidents());
}

#[tokio::test]
async fn guest_that_was_dismissed_and_has_no_successor_is_gone() {
    let house = House::new(&["tool t", "tool u"]);
    let mut change = house.guests.begin_change(&"a".into(), AtWork::Ends).expect("it is here").expect("it is here");
    change.dismiss().await;
    drop(change);
    assert_eq!(tools(&house), ["u of b"]);
    assert!(house.guests.begin_change(&"a".into(), AtWork::Ends).expect("nobody is at work").is_none());
}
