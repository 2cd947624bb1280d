//! Waiting is bounded everywhere.

use pi_provider::{CallError, Phase, SetBy};
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
        let timeouts = Timeouts { first_byte: Some(seconds(20)), ..Timeouts::default() };
        let fixture = fixture(Script::new().then(reply), timeouts, json!({})).await;
        assert_eq!(phase(&fixture.error().await), (Phase::FirstByte, seconds(20)));
        fixture.server.abandoned(1).await;
    }
}

#[tokio::test(start_paused = true)]
async fn stream_that_stops_times_out_between_pieces() {
    let timeouts = Timeouts { idle: Some(seconds(30)), ..Timeouts::default() };
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
}

/// For a stream it is the time to the first byte of each attempt; what follows may take as long as it takes.
#[tokio::test(start_paused = true)]
async fn stream_has_the_time_to_its_first_byte_that_the_manifest_gives_it() {
    let written = json!({"endpoint": {"timeout_ms": 7000}});
    let late = || Script::new().then(hello().after(Step::Wait(seconds(8))));
    let slow = fixture(late(), Timeouts::default(), written.clone()).await;
    let error = slow.error().await;
    assert!(matches!(error, CallError::TimedOut { phase: Phase::FirstByte, set_by: SetBy::Manifest, .. }), "{error:?}");
    let told = "mock-one did not answer in time (waiting for the first byte, 7 s, the timeout_ms of its manifest)";
    assert_eq!(error.to_string(), told);
    slow.server.abandoned(1).await;
    let own = Timeouts { first_byte: Some(seconds(9)), ..Timeouts::default() };
    let patient = fixture(late(), own, written.clone()).await;
    assert_eq!(patient.text().await.unwrap(), "Hello, world", "what the caller says comes first");
    let trickle = (0..9).fold(Reply::events([delta("a")]), |reply, _| {
        reply.and(Step::Wait(seconds(6))).and(Step::Bytes(delta("a").into()))
    });
    let trickle = trickle.and(Step::Bytes(stop().into())).and(Step::Bytes("data: [DONE]\n\n".into()));
    let long = fixture(Script::new().then(trickle), Timeouts::default(), written).await;
    assert_eq!(long.text().await.unwrap(), "aaaaaaaaaa", "54 s in all");
}

/// The manifests that come with pi have ten minutes, for whole answers.
#[tokio::test(start_paused = true)]
async fn manifest_does_not_make_anybody_wait_longer_for_a_silent_stream() {
    let check = async |timeouts: Timeouts, expected: &str| {
        let written = json!({"endpoint": {"timeout_ms": 600_000}});
        let silent = fixture(Script::new().otherwise(Reply::hang()), timeouts, written).await;
        let told = silent.error().await.to_string();
        assert_eq!(told, format!("mock-one did not answer in time (waiting for the first byte, {expected})"));
        let whole = silent.complete().await.unwrap_err();
        assert_eq!(phase(&whole), (Phase::Total, seconds(600)));
    };
    check(Timeouts::default(), "300 s, the usual limit").await;
    check(Timeouts { first_byte: Some(seconds(400)), ..Timeouts::default() }, "400 s").await;
}

#[tokio::test(start_paused = true)]
async fn every_limit_is_told_with_its_value_and_who_set_it() {
    let hang = || Script::new().otherwise(Reply::hang());
    let stops = || Script::new().otherwise(Reply::events([delta("Hel")]).and(Step::Hang));
    let unlimited = Timeouts { first_byte: Some(Duration::MAX), ..Timeouts::default() };
    let total = Timeouts { total: Some(seconds(50)), ..unlimited };
    for (script, timeouts, expected) in [
        (hang(), Timeouts::default(), "waiting for the first byte, 300 s, the usual limit"),
        (hang(), Timeouts { first_byte: Some(seconds(20)), ..unlimited }, "waiting for the first byte, 20 s"),
        (stops(), Timeouts::default(), "waiting for the next piece, 300 s, the usual limit"),
        (stops(), Timeouts { idle: Some(seconds(30)), ..unlimited }, "waiting for the next piece, 30 s"),
        (hang(), total, "in all, 50 s"),
        (stops(), total, "in all, 50 s"),
    ] {
        let fixture = fixture(script, timeouts, json!({})).await;
        let told = fixture.error().await.to_string();
        assert_eq!(told, format!("mock-one did not answer in time ({expected})"));
    }
    let whole = fixture(hang(), Timeouts::default(), json!({})).await;
    let told = whole.complete().await.unwrap_err().to_string();
    assert_eq!(told, "mock-one did not answer in time (in all, 600 s, the usual limit)");
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
    let timeouts = Timeouts { first_byte: Some(seconds(20)), ..Timeouts::default() };
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
