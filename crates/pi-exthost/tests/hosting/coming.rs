//! Guests that come and go while their session runs.

use std::{sync::Arc, time::Duration};

use futures_util::FutureExt;
use pi_exthost::{
    Figures, Patience,
    guest::ToolInvocation,
    guests::{AtWork, Busy, DuplicateGuest},
};
use pi_extproto::hook::event::{Event, payload::BusEvent};
use pi_testkit::ScriptedGuest;
use serde_json::{Value, json};
use tokio::{sync::mpsc, time::Instant};
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
    assert!(again.heard().is_empty(), "it is told nothing of what was before");
    house.guests.arrange(|id| (id.as_str() == "a").then_some(7));
    assert_eq!(tools(&house), ["t of b"], "it comes where it was put");
}

#[tokio::test]
async fn guest_that_comes_back_goes_on_with_its_figures() {
    let house = House::new(&["on agent_start"]);
    let never = CancellationToken::new();
    house.fire("agent_start", &Value::Null, &never).await;
    let before = house.guests.enrolled().await.remove(0);
    assert_eq!(before.figures.asked, 1);
    house.guests.retire(&"a".into()).await;
    let past = |path: &str| house.guests.past(&"a".into(), path, &[]);
    assert_eq!(past(&before.path), before.figures, "also while it is away");
    assert_eq!(past("elsewhere"), Figures::default(), "another of its name");
    let again = ScriptedGuest::new("guest a\non agent_start", house.session.clone()).expect("a script");
    house.guests.admit(again, 0).expect("its place is free");
    house.fire("agent_start", &Value::Null, &never).await;
    assert_eq!(house.guests.enrolled().await.remove(0).figures.asked, 2);
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
    change.finish(again.clone()).await.expect("its name is its own");
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

const BLOCKS: &str =
    r#"outcome {"family":"tool_call","outcome":{"action":"block","reason":"not that","terminate":false}}"#;

fn bash() -> Value {
    json!({ "toolName": "bash", "toolCallId": "c", "input": { "command": "rm -rf /" } })
}

/// Where the house has a guest `a`, what takes its place.
fn successor(house: &House, script: &str) -> Arc<ScriptedGuest> {
    ScriptedGuest::new(&format!("guest a\n{script}"), house.session.clone()).expect("a script")
}

#[tokio::test]
async fn who_waited_for_an_exchange_is_heard_by_all_handlers_of_the_one_that_comes() {
    let house = House::new(&["on tool_call"]);
    let never = CancellationToken::new();
    let change = house.guests.begin_change(&"a".into(), AtWork::Ends).expect("it is idle").expect("it is here");
    let call = bash();
    let mut asked = Box::pin(house.fire("tool_call", &call, &never));
    assert!(futures_util::poll!(&mut asked).is_pending());
    let again = successor(&house, &format!("on tool_call\non tool_call\n{BLOCKS}"));
    change.finish(again.clone()).await.expect("its name is its own");
    let (verdict, _) = asked.await;
    assert!(format!("{verdict:?}").contains("not that"), "the second handler is one of the new guest: {verdict:?}");
    assert_eq!(again.heard().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn event_is_heard_by_one_guest_whoever_takes_its_place_meanwhile() {
    let house = House::new(&[&format!("on tool_call\nwait 100\non tool_call\n{BLOCKS}")]);
    let never = CancellationToken::new();
    let call = bash();
    let mut asked = Box::pin(house.fire("tool_call", &call, &never));
    assert!(futures_util::poll!(&mut asked).is_pending(), "its first handler is at work");
    let change = house.guests.begin_change(&"a".into(), AtWork::Ends).expect("it ends").expect("it is here");
    // What its second handler looks for is in the first of its successor.
    let again = successor(&house, &format!("on tool_call\n{BLOCKS}\non tool_call"));
    change.finish(again.clone()).await.expect("its name is its own");
    let (verdict, _) = asked.await;
    assert!(format!("{verdict:?}").contains("not that"), "{verdict:?}");
    assert_eq!((house.heard(0).len(), again.heard().len()), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn guest_that_comes_has_heard_of_the_session_before_it_is_asked() {
    let house = House::new(&["on tool_call"]);
    let never = CancellationToken::new();
    let call = bash();
    let change = house.guests.begin_change(&"a".into(), AtWork::Ends).expect("it is idle").expect("it is here");
    let mut asked = Box::pin(house.fire("tool_call", &call, &never));
    assert!(futures_util::poll!(&mut asked).is_pending());
    let script = format!("on session_start\nwait 100\non tool_call\n{BLOCKS}");
    let again = successor(&house, &script);
    let mut finished = Box::pin(change.finish(again.clone()));
    assert!(futures_util::poll!(&mut finished).is_pending());
    assert!(futures_util::poll!(&mut asked).is_pending(), "it has not heard of the session");
    let start = r#"session_start {"reason":"reload"}"#;
    assert_eq!(again.heard(), [start]);
    finished.await.expect("its name is its own");
    let (verdict, _) = asked.await;
    assert!(format!("{verdict:?}").contains("not that"), "{verdict:?}");
    assert!(again.heard()[1].starts_with("tool_call"), "{:?}", again.heard());
    // One that is new as well.
    let late = ScriptedGuest::new(&format!("guest b\n{script}"), house.session.clone()).expect("a script");
    let mut welcomed = Box::pin(house.guests.welcome(late.clone(), 0));
    assert!(futures_util::poll!(&mut welcomed).is_pending());
    let fired = house.fire("tool_call", &call, &never);
    let (welcomed, _) = tokio::join!(welcomed, fired);
    assert_eq!(welcomed, Ok(()));
    assert_eq!(late.heard()[0], start);
}

#[tokio::test(start_paused = true)]
async fn guest_that_waits_for_what_it_says_itself_while_it_begins_is_told() {
    let house = House::new(&["tool t"]);
    let never = CancellationToken::new();
    let late = "guest b\nchannel news\non bus\non session_start\nwait 100\non agent_start";
    let late = ScriptedGuest::new(late, house.session.clone()).expect("a script");
    let mut welcomed = Box::pin(house.guests.welcome(late.clone(), 1));
    assert!(futures_util::poll!(&mut welcomed).is_pending());
    let said = house.guests.dispatch(Event::Bus(BusEvent { channel: "news".to_owned(), data: json!(1) }), &never);
    assert!(said.now_or_never().is_some(), "it need not have begun for this");
    assert!(late.heard()[1].starts_with("bus"), "{:?}", late.heard());
    assert!(house.fire("agent_start", &Value::Null, &never).now_or_never().is_none());
}

#[tokio::test(start_paused = true)]
async fn guest_that_takes_long_to_begin_is_asked_all_the_same() {
    let house = House::new(&[]);
    let never = CancellationToken::new();
    let late = r#"guest a
        on session_start
        wait 9000
        on session_start
        wait 9000
        tool t
        answer here"#;
    let late = ScriptedGuest::new(late, house.session.clone()).expect("a script");
    let began = Instant::now();
    let mut welcomed = Box::pin(house.guests.welcome(late.clone(), 0));
    assert!(futures_util::poll!(&mut welcomed).is_pending());
    let tool = house.guests.tool("t").expect("a tool");
    let updates = mpsc::channel(1).0;
    let call = ToolInvocation { call_id: "c".into(), name: "t".to_owned(), input: Default::default(), updates };
    let called = async {
        let answer = tool.call(call, &never).await.expect("an answer");
        (format!("{answer:?}").contains("here"), began.elapsed())
    };
    let (welcomed, called) = tokio::join!(welcomed, called);
    assert_eq!((welcomed, called), (Ok(()), (true, Patience::default().handler)));
    assert_eq!(began.elapsed(), Duration::from_secs(18));
}
