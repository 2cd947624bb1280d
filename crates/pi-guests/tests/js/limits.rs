//! What an extension may not use up.

use std::time::Duration;

use pi_exthost::{Ask, GuestFault, Stopwatch};
use pi_guests::js::{Health, JsGuest, Limits, Time};
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

async fn contained(bad: &str, expected: &str) {
    let guest = start(limited(&moody(bad), quick())).await.expect("it loads");
    assert_eq!(text(&call(&guest, "t", json!({})).await.expect("fine")), "fine 1");
    let fault = call(&guest, "t", json!({ "bad": true })).await.expect_err("too much");
    assert_eq!(over(&fault), expected, "{bad}");
    let answer = call(&guest, "t", json!({})).await.expect("it was started anew");
    assert_eq!(text(&answer), "fine 1", "a new runtime knows nothing of the old one");
}

#[tokio::test]
async fn busy_loop_is_stopped_and_the_guest_starts_anew() {
    contained("for (;;) {}", "200ms of work without a pause").await;
}

#[tokio::test]
async fn busy_loop_that_catches_everything_is_stopped_too() {
    contained("for (;;) { try { for (;;) {} } catch {} finally { continue; } }", "200ms of work without a pause").await;
}

#[tokio::test]
async fn flood_of_promises_is_stopped() {
    contained(
        "await new Promise(() => { const again = () => { Promise.resolve().then(again); }; again(); });",
        "200ms of work without a pause",
    )
    .await;
}

#[tokio::test]
async fn flood_of_ticks_is_stopped() {
    contained(
        "await new Promise(() => { const again = () => process.nextTick(again); again(); });",
        "200ms of work without a pause",
    )
    .await;
}

#[tokio::test]
async fn heap_bomb_is_stopped() {
    contained("const all = []; for (;;) all.push(new Array(100000).fill(7));", "memory").await;
    contained("const all = []; for (;;) all.push('x'.repeat(100000) + all.length);", "memory").await;
}

#[tokio::test]
async fn bomb_of_buffers_is_stopped() {
    contained("const all = []; for (;;) all.push(new Uint8Array(1 << 20));", "memory").await;
}

#[tokio::test]
async fn endless_recursion_is_an_error_and_no_more() {
    let guest = start(limited(&moody("const f = () => f() + 1; f();"), quick())).await.expect("it loads");
    let fault = call(&guest, "t", json!({ "bad": true })).await.expect_err("too deep");
    let GuestFault::Threw { message, .. } = fault else { panic!("{fault:?}") };
    assert!(message.contains("stack"), "{message}");
    assert_eq!(text(&call(&guest, "t", json!({})).await.expect("fine")), "fine 1");
}

#[tokio::test]
async fn flood_of_timers_is_refused() {
    let body = moody("for (let n = 0; n < 100000; n++) setTimeout(() => {}, 1e6);");
    let guest = start(limited(&body, Limits { timers: 100, ..quick() })).await.expect("it loads");
    let fault = call(&guest, "t", json!({ "bad": true })).await.expect_err("too many");
    assert_eq!(fault.to_string(), "more than 100 timers at the same time; clear some");
}

#[tokio::test]
async fn flood_of_host_calls_is_refused() {
    let body = moody(
        "const all = []; for (let n = 0; n < 5000; n++) all.push(pi.fs.stat('x').then(() => 'ok', (fault) => fault.code));
         const seen = await Promise.all(all); return seen.includes('invalid_request') ? 'refused' : 'all';",
    );
    let guest = start(limited(&body, Limits { stretch: Duration::from_secs(10), memory: 64 << 20, ..quick() }))
        .await
        .expect("it loads");
    let answer = call(&guest, "t", json!({ "bad": true })).await.expect("an answer");
    assert_eq!(text(&answer), "refused");
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

#[tokio::test]
async fn factory_that_does_not_end_is_no_guest() {
    let mut program = program("export default () => { for (;;) {} }");
    program.limits = quick();
    let fault = JsGuest::start(program, crate::house::desk(&Default::default())).await.expect_err("it does not load");
    assert_eq!(over(&fault), "200ms of work without a pause");
}
