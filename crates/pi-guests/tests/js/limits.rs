//! What becomes of a guest that uses up too much, or is told to stop. What there is to use up is in `hostile.yaml`.

use std::time::Duration;

use pi_exthost::{Ask, GuestFault, Stopwatch};
use pi_guests::js::{Health, Limits, Time};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::house::{call, call_with, program, start, text, tool};

fn limited(body: &str, limits: Limits) -> pi_guests::js::Program {
    let mut program = program(&tool(body));
    program.limits = limits;
    program.time = Time::Real;
    program
}

fn quick() -> Limits {
    Limits {
        stretch: Duration::from_millis(200),
        memory: 16 << 20,
        back_off: Duration::from_millis(20),
        ..Limits::default()
    }
}

fn over(fault: &GuestFault) -> String {
    if let GuestFault::OverLimit { limit } = fault { limit.clone() } else { panic!("another fault: {fault:?}") }
}

/// A body that misbehaves when it is told to, and is fine otherwise.
fn moody(bad: &str) -> String {
    format!("if (params.bad) {{ {bad} }} return 'fine ' + (globalThis.count = (globalThis.count ?? 0) + 1);")
}

#[tokio::test]
async fn guest_that_went_over_a_limit_starts_anew() {
    for (bad, expected) in [
        ("for (;;) {}", "200ms of work without a pause"),
        ("const all = []; for (;;) all.push(new Array(100000).fill(7));", "memory"),
    ] {
        let guest = start(limited(&moody(bad), quick())).await.expect("it loads");
        assert_eq!(text(&call(&guest, "t", json!({})).await.expect("fine")), "fine 1");
        let fault = call(&guest, "t", json!({ "bad": true })).await.expect_err("too much");
        assert_eq!(over(&fault), expected, "{bad}");
        let answer = call(&guest, "t", json!({})).await.expect("it was started anew");
        assert_eq!(text(&answer), "fine 1", "a new runtime knows nothing of the old one");
    }
}

#[tokio::test]
async fn deadline_of_a_call_stops_it() {
    let guest = start(limited(&moody("for (;;) {}"), Limits::default())).await.expect("it loads");
    let ask = Ask { cancel: CancellationToken::new(), stopwatch: Stopwatch::new(Duration::from_millis(100)) };
    let fault = call_with(&guest, "t", json!({ "bad": true }), ask).await.expect_err("too long");
    assert_eq!(over(&fault), "100ms for its work");
}

#[tokio::test]
async fn call_that_nobody_waits_for_is_interrupted() {
    let guest = start(limited(&moody("for (;;) {}"), Limits::default())).await.expect("it loads");
    let waiting = tokio::time::timeout(Duration::from_millis(100), call(&guest, "t", json!({ "bad": true })));
    assert!(waiting.await.is_err(), "it runs");
    let answer =
        tokio::time::timeout(Duration::from_secs(20), call(&guest, "t", json!({}))).await.expect("it was interrupted");
    assert_eq!(text(&answer.expect("fine")), "fine 1");
}

#[tokio::test]
async fn cancelled_call_hears_its_signal() {
    let body = "return new Promise((done) => signal.addEventListener('abort', () => done('stopped'), { once: true }));";
    let guest = start(limited(body, Limits::default())).await.expect("it loads");
    let cancel = CancellationToken::new();
    let ask = Ask { cancel: cancel.clone(), stopwatch: Stopwatch::unlimited() };
    let (answer, ()) = tokio::join!(call_with(&guest, "t", json!({}), ask), async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        cancel.cancel();
    });
    assert_eq!(text(&answer.expect("an answer")), "stopped");
}

#[tokio::test]
async fn guest_that_trips_too_often_stays_away() {
    let limits =
        Limits { restarts: 2, back_off: Duration::ZERO, stretch: Duration::from_millis(50), ..Limits::default() };
    let guest = start(limited(&moody("for (;;) {}"), limits)).await.expect("it loads");
    for _ in 0..3 {
        call(&guest, "t", json!({ "bad": true })).await.expect_err("too long");
    }
    assert_eq!(call(&guest, "t", json!({})).await, Err(GuestFault::Gone));
    assert_eq!(guest.health(), Health::Quarantined);
}

#[tokio::test]
async fn guest_rests_before_it_is_started_a_second_time() {
    let limits =
        Limits { back_off: Duration::from_secs(3600), stretch: Duration::from_millis(50), ..Limits::default() };
    let guest = start(limited(&moody("for (;;) {}"), limits)).await.expect("it loads");
    for _ in 0..2 {
        call(&guest, "t", json!({ "bad": true })).await.expect_err("too long");
    }
    let fault = call(&guest, "t", json!({})).await.expect_err("it rests");
    assert_eq!(over(&fault), "restarts: it rests for a moment");
}

#[tokio::test]
async fn memory_is_told_while_the_guest_goes_on() {
    let guest = start(limited("return 'fine';", Limits::default())).await.expect("it loads");
    let before = guest.memory().await.expect("a number");
    assert!((10_000..20 << 20).contains(&before), "{before}");
    assert_eq!(text(&call(&guest, "t", json!({})).await.expect("fine")), "fine");
}
