//! A provider that keeps failing is left alone, and tried again later.

use pi_provider::{
    Attempts, CallError, Cause, ErrorCode,
    breaker::{CircuitState, Snapshot},
};
use pi_testkit::{Reply, Script, server::Step};

use super::*;

const ONCE: &str = r#"{"retry_policy": {"strategy": "none"}}"#;

async fn fixture(script: Script) -> Fixture {
    Fixture::with(script, serde_json::from_str(ONCE).unwrap()).await
}

fn snapshot(fixture: &Fixture) -> Snapshot {
    let all = fixture.client.breakers().snapshots();
    assert_eq!(all.len(), 1);
    all[0].1
}

#[tokio::test(start_paused = true)]
async fn failures_open_the_circuit_and_a_probe_closes_it() {
    let mut script = Script::new();
    for _ in 0..5 {
        script = script.then(failing(500));
    }
    let fixture = fixture(script.otherwise(hello())).await;
    for _ in 0..5 {
        assert!(matches!(fixture.error().await, CallError::Refused { .. }));
    }
    tokio::time::sleep(Duration::from_millis(1)).await;
    let error = fixture.error().await;
    assert_eq!(error.to_string(), "mock-one failed too often; it is tried again in 30 s", "in whole seconds");
    let CallError::CircuitOpen { retry_in, cause, .. } = error else { panic!("not open") };
    let message = "mock-one answered: 500 server_error: no".to_owned();
    assert_eq!(cause, Some(Cause { code: ErrorCode::ServerError, message }));
    assert_eq!((fixture.server.requests().len(), retry_in), (5, Duration::from_millis(29_999)));
    assert!(fixture.client.breakers().has_open());
    tokio::time::sleep(retry_in).await;
    assert_eq!(snapshot(&fixture).state, CircuitState::HalfOpen);
    assert_eq!(fixture.text().await.unwrap(), "Hello, world");
    let seen = snapshot(&fixture);
    let state = CircuitState::Closed;
    assert_eq!(seen, Snapshot { state, calls: 0, failures: 0, opened: 1, retry_in: None, history: seen.history });
}

#[tokio::test(start_paused = true)]
async fn our_own_faults_do_not_count() {
    for reply in [failing(400), failing(401), failing(404)] {
        let fixture = fixture(Script::new().otherwise(reply)).await;
        for _ in 0..8 {
            assert!(matches!(fixture.error().await, CallError::Refused { .. }));
        }
        let seen = snapshot(&fixture);
        assert_eq!((seen.state, seen.calls, fixture.server.requests().len()), (CircuitState::Closed, 0, 8));
    }
}

#[tokio::test(start_paused = true)]
async fn provider_that_wants_fewer_calls_is_left_alone() {
    let fixture = fixture(Script::new().otherwise(failing(429))).await;
    for _ in 0..5 {
        assert!(matches!(fixture.error().await, CallError::Refused { .. }));
    }
    assert!(matches!(fixture.error().await, CallError::CircuitOpen { .. }));
    assert_eq!(fixture.server.requests().len(), 5);
}

#[tokio::test(start_paused = true)]
async fn broken_and_silent_streams_count_and_finished_ones_do_too() {
    let truncated = Reply::events([delta("Hel")]);
    let silent = Reply::events([delta("Hel")]).and(Step::Hang);
    let script = Script::new().then(hello()).then(truncated).then(silent).otherwise(hello());
    let server = Server::start(script).await.unwrap();
    let manifest = manifest(&server.url(), serde_json::from_str(ONCE).unwrap());
    let timeouts = Timeouts { idle: Some(seconds(10)), ..Timeouts::default() };
    let fixture = Fixture::of(server, manifest, Settings { timeouts, ..settings() });
    fixture.text().await.unwrap();
    fixture.error().await;
    fixture.error().await;
    drop(fixture.stream().await.unwrap());
    let seen = snapshot(&fixture);
    assert_eq!((seen.calls, seen.failures), (3, 2), "an answer that nobody read to its end says nothing");
}

#[tokio::test(start_paused = true)]
async fn call_that_opens_the_circuit_is_not_kept_from_its_own_retries() {
    let mut script = Script::new();
    for _ in 0..6 {
        script = script.then(failing(500));
    }
    let policy = json!({"retry_policy": {"max_retries": 9, "jitter": "none", "strategy": "fixed_delay"}});
    let fixture = Fixture::with(script.otherwise(hello()), policy).await;
    let begin = tokio::time::Instant::now();
    assert_eq!(fixture.text().await.unwrap(), "Hello, world");
    assert_eq!((fixture.server.requests().len(), begin.elapsed()), (7, seconds(6)));
    let seen = snapshot(&fixture);
    assert_eq!((seen.state, seen.opened), (CircuitState::Closed, 1), "it opened, and the answer closed it");
}

#[tokio::test(start_paused = true)]
async fn caller_who_tries_again_is_let_through_and_others_are_not() {
    let mut fixture = Fixture::new(Script::new().otherwise(failing(500))).await;
    for attempt in 1..=6 {
        fixture.options.attempts = Attempts::Caller { attempt };
        assert!(matches!(fixture.error().await, CallError::Refused { .. }), "attempt {attempt}");
    }
    assert_eq!(fixture.server.requests().len(), 6, "one request for each call");
    fixture.options.attempts = Attempts::Caller { attempt: 1 };
    assert!(matches!(fixture.error().await, CallError::CircuitOpen { .. }));
    assert_eq!(fixture.server.requests().len(), 6);
}
