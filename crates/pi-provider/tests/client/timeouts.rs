//! Waiting is bounded everywhere.

use pi_provider::{CallError, Phase};
use pi_testkit::{Reply, Script, server::Step};

use super::*;

const ONCE: &str = "none";

async fn fixture(script: Script, timeouts: Timeouts, changes: Value) -> Fixture {
    let server = Server::start(script).await.unwrap();
    let mut all = json!({"retry_policy": {"strategy": ONCE}});
    support::merge(&mut all, changes);
    let manifest = manifest(&server.url(), all);
    Fixture::of(server, manifest, Settings { timeouts, ..settings() })
}

fn phase(error: &CallError) -> (Phase, Duration) {
    match error {
        CallError::TimedOut { phase, after, .. } => (*phase, *after),
        other => panic!("{other}"),
    }
}

#[tokio::test(start_paused = true)]
async fn silent_server_times_out_before_the_first_byte_and_sees_the_close() {
    let head_only = Reply::events(Vec::<Vec<u8>>::new()).and(Step::Hang);
    for reply in [Reply::hang(), head_only] {
        let timeouts = Timeouts { first_byte: seconds(20), ..Timeouts::default() };
        let fixture = fixture(Script::new().then(reply), timeouts, json!({})).await;
        assert_eq!(phase(&fixture.error().await), (Phase::FirstByte, seconds(20)));
        fixture.server.abandoned(1).await;
    }
}

#[tokio::test(start_paused = true)]
async fn stream_that_stops_times_out_between_pieces() {
    let timeouts = Timeouts { idle: seconds(30), ..Timeouts::default() };
    let reply =
        Reply::events([delta("Hel")]).and(Step::Wait(seconds(29))).and(Step::Bytes(delta("lo").into())).and(Step::Hang);
    let fixture = fixture(Script::new().then(reply), timeouts, json!({})).await;
    let mut answer = fixture.stream().await.unwrap();
    answer.next().await.unwrap().unwrap();
    answer.next().await.unwrap().unwrap();
    assert_eq!(phase(&answer.next().await.unwrap().unwrap_err()), (Phase::Idle, seconds(30)));
    assert!(answer.next().await.is_none());
    fixture.server.abandoned(1).await;
}

#[tokio::test(start_paused = true)]
async fn whole_answer_has_the_time_that_the_manifest_gives_it() {
    let trickle = || whole("Hi").after(Step::Wait(seconds(8)));
    let written = json!({"endpoint": {"timeout_ms": 7000}});
    let slow = fixture(Script::new().then(trickle()), Timeouts::default(), written.clone()).await;
    assert_eq!(phase(&slow.complete().await.unwrap_err()), (Phase::Total, seconds(7)));
    let own = Timeouts { total: Some(seconds(9)), ..Timeouts::default() };
    let patient = fixture(Script::new().then(trickle()), own, written.clone()).await;
    patient.complete().await.unwrap();
    let streamed =
        fixture(Script::new().then(hello().after(Step::Wait(seconds(8)))), Timeouts::default(), written).await;
    assert_eq!(streamed.text().await.unwrap(), "Hello, world", "a stream is not bound by it");
}

#[tokio::test(start_paused = true)]
async fn all_attempts_share_one_deadline() {
    let changes = json!({"retry_policy": {"strategy": "fixed_delay", "min_delay_ms": 1000}});
    let own = Timeouts { total: Some(seconds(20)), ..Timeouts::default() };
    let slow = || failing(503).after(Step::Wait(seconds(8)));
    let script = || Script::new().otherwise(slow());
    for mode in ["whole", "stream"] {
        let fixture = fixture(script(), own, changes.clone()).await;
        let begun = tokio::time::Instant::now();
        let error = match mode {
            "whole" => fixture.complete().await.unwrap_err(),
            _ => fixture.error().await,
        };
        assert_eq!(phase(&error), (Phase::Total, seconds(20)), "{mode}");
        assert_eq!(begun.elapsed().as_secs(), 20, "{mode}");
        assert_eq!(fixture.server.requests().len(), 3, "{mode}");
    }
    let late = Timeouts { total: Some(seconds(8) + Duration::from_millis(500)), ..Timeouts::default() };
    let fixture = fixture(script(), late, changes).await;
    let begun = tokio::time::Instant::now();
    assert!(matches!(fixture.error().await, CallError::Refused { .. }), "there is no time for another attempt");
    assert_eq!(begun.elapsed().as_secs(), 8);
}

#[tokio::test(start_paused = true)]
async fn stream_has_to_be_over_in_the_time_that_the_caller_gives_it() {
    let own = Timeouts { total: Some(seconds(50)), ..Timeouts::default() };
    let endless = (0..9).fold(Reply::events([delta("a")]), |reply, _| {
        reply.and(Step::Wait(seconds(20))).and(Step::Bytes(delta("a").into()))
    });
    let fixture = fixture(Script::new().then(endless), own, json!({})).await;
    let mut answer = fixture.stream().await.unwrap();
    for _ in 0..3 {
        answer.next().await.unwrap().unwrap();
    }
    assert_eq!(phase(&answer.next().await.unwrap().unwrap_err()), (Phase::Total, seconds(50)));
    fixture.server.abandoned(1).await;
}

#[tokio::test(start_paused = true)]
async fn refusal_whose_body_never_comes_is_still_a_refusal() {
    let mut reply = failing(401);
    reply.steps.truncate(1);
    let fixture = fixture(Script::new().then(reply.and(Step::Hang)), Timeouts::default(), json!({})).await;
    assert_eq!(fixture.error().await.to_string(), "mock-one answered: 401 authentication: Unauthorized");
}

#[tokio::test(start_paused = true)]
async fn timeouts_before_the_first_byte_are_tried_again() {
    let timeouts = Timeouts { first_byte: seconds(20), ..Timeouts::default() };
    let script = Script::new().then(Reply::hang()).then(hello());
    let changes = json!({"retry_policy": {"strategy": "fixed_delay"}});
    let fixture = fixture(script, timeouts, changes).await;
    assert_eq!(fixture.text().await.unwrap(), "Hello, world");
}

#[tokio::test(start_paused = true)]
async fn connection_that_is_never_made_times_out() {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    // Nobody accepts, so the queue is full after these and the next one waits.
    let _queued: Vec<std::net::TcpStream> = (0..2).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
    let server = Server::start(Script::new()).await.unwrap();
    let manifest = manifest(&format!("http://{address}"), json!({"retry_policy": {"strategy": ONCE}}));
    let timeouts = Timeouts { connect: seconds(7), ..Timeouts::default() };
    let fixture = Fixture::of(server, manifest, Settings { timeouts, ..settings() });
    assert_eq!(phase(&fixture.error().await), (Phase::Connect, seconds(7)));
}
