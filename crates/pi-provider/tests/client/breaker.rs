//! A provider that keeps failing is left alone, and tried again later.

use pi_provider::{
    CallError,
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
    let CallError::CircuitOpen { retry_in, .. } = fixture.error().await else { panic!("not open") };
    assert_eq!((fixture.server.requests().len(), retry_in), (5, seconds(30)));
    assert!(fixture.client.breakers().has_open());
    tokio::time::sleep(seconds(30)).await;
    assert_eq!(snapshot(&fixture).state, CircuitState::HalfOpen);
    assert_eq!(fixture.text().await.unwrap(), "Hello, world");
    let expected = Snapshot { state: CircuitState::Closed, calls: 0, failures: 0, opened: 1, retry_in: None };
    assert_eq!(snapshot(&fixture), expected);
}

#[tokio::test(start_paused = true)]
async fn our_own_faults_do_not_count() {
    for reply in [failing(400), failing(401), failing(429)] {
        let fixture = fixture(Script::new().otherwise(reply)).await;
        for _ in 0..8 {
            assert!(matches!(fixture.error().await, CallError::Refused { .. }));
        }
        let seen = snapshot(&fixture);
        assert_eq!((seen.state, seen.calls, fixture.server.requests().len()), (CircuitState::Closed, 0, 8));
    }
}

#[tokio::test(start_paused = true)]
async fn broken_and_silent_streams_count_and_finished_ones_do_too() {
    let truncated = Reply::events([delta("Hel")]);
    let silent = Reply::events([delta("Hel")]).and(Step::Hang);
    let script = Script::new().then(hello()).then(truncated).then(silent).otherwise(hello());
    let server = Server::start(script).await.unwrap();
    let manifest = manifest(&server.url(), serde_json::from_str(ONCE).unwrap());
    let timeouts = Timeouts { idle: seconds(10), ..Timeouts::default() };
    let fixture = Fixture::of(server, manifest, Settings { timeouts, ..settings() });
    fixture.text().await.unwrap();
    fixture.error().await;
    fixture.error().await;
    drop(fixture.stream().await.unwrap());
    let seen = snapshot(&fixture);
    assert_eq!((seen.calls, seen.failures), (3, 2), "an answer that nobody read to its end says nothing");
}

#[tokio::test(start_paused = true)]
async fn circuit_that_opens_between_attempts_leaves_the_real_error() {
    let fixture =
        Fixture::with(Script::new().otherwise(failing(500)), json!({"retry_policy": {"max_retries": 9}})).await;
    let error = fixture.error().await;
    assert!(matches!(error, CallError::Refused { .. }), "{error}");
    assert_eq!(fixture.server.requests().len(), 5);
}
