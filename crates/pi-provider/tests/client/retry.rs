//! What is tried again, how often, and after how long.

use std::sync::{Arc, Mutex};

use pi_provider::{Attempts, CallError, ErrorCode, client::Settings, retry::Retrying};
use pi_testkit::{Reply, Script, server::Step};
use tokio::time::Instant;

use super::*;

/// The number of requests, the time that passed in milliseconds, and what came of it.
async fn run(script: Script, changes: Value) -> (usize, u128, Result<String, CallError>) {
    let fixture = Fixture::with(script, changes).await;
    let begin = Instant::now();
    let outcome = fixture.text().await;
    (fixture.server.requests().len(), begin.elapsed().as_millis(), outcome)
}

#[tokio::test(start_paused = true)]
async fn answer_after_failures_is_as_good_as_any() {
    let script = Script::new().then(failing(500)).then(failing(503)).then(Reply::reset()).then(hello());
    let policy = json!({"retry_policy": {"jitter": "none"}});
    let (requests, waited, outcome) = run(script, policy).await;
    assert_eq!((requests, waited, outcome.unwrap().as_str()), (4, 7000, "Hello, world"));
}

#[tokio::test(start_paused = true)]
async fn facts_say_how_often_and_how_long() {
    let fixture = Fixture::new(Script::new().then(failing(500)).then(hello())).await;
    let answer = fixture.stream().await.unwrap();
    assert_eq!((answer.facts().attempts, answer.facts().waited), (2, seconds(1)));
}

#[tokio::test(start_paused = true)]
async fn it_is_given_up_after_the_last_retry() {
    let script = Script::new().otherwise(failing(500));
    let (requests, waited, outcome) = run(script, json!({"retry_policy": {"max_retries": 2}})).await;
    assert_eq!((requests, waited, outcome.unwrap_err().code()), (3, 2000, ErrorCode::ServerError));
    let (requests, ..) =
        run(Script::new().otherwise(failing(500)), json!({"retry_policy": {"strategy": "none"}})).await;
    assert_eq!(requests, 1);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_tried_again_for_a_caller_who_does_that() {
    for reply in [failing(503), failing(429).header("retry-after", "5"), Reply::reset()] {
        let mut fixture = Fixture::new(Script::new().then(reply).otherwise(hello())).await;
        fixture.options.attempts = Attempts::Caller { attempt: 1 };
        let begin = Instant::now();
        fixture.error().await;
        assert_eq!((fixture.server.requests().len(), begin.elapsed().as_millis()), (1, 0));
        fixture.options.attempts = Attempts::Caller { attempt: 2 };
        assert_eq!(fixture.text().await.unwrap(), "Hello, world");
    }
}

#[tokio::test(start_paused = true)]
async fn every_refusal_is_retried_or_not_by_its_standard_code() {
    for (status, code, requests) in [
        (400, ErrorCode::InvalidRequest, 1),
        (401, ErrorCode::Authentication, 1),
        (403, ErrorCode::PermissionDenied, 1),
        (404, ErrorCode::NotFound, 1),
        (408, ErrorCode::Timeout, 4),
        (409, ErrorCode::Conflict, 4),
        (413, ErrorCode::RequestTooLarge, 1),
        (422, ErrorCode::InvalidRequest, 1),
        (429, ErrorCode::RateLimited, 4),
        (500, ErrorCode::ServerError, 4),
        (502, ErrorCode::ServerError, 4),
        (503, ErrorCode::Overloaded, 4),
        (504, ErrorCode::Timeout, 4),
        (529, ErrorCode::Overloaded, 4),
    ] {
        let (count, _, outcome) = run(Script::new().otherwise(failing(status)), json!({})).await;
        let error = outcome.unwrap_err();
        assert_eq!((error.code(), count), (code, requests), "{status}");
        let CallError::Refused { failure, .. } = error else { panic!("{error}") };
        assert_eq!((failure.status, failure.message.as_str()), (Some(status), "no"));
    }
}

#[tokio::test(start_paused = true)]
async fn empty_account_is_not_asked_again() {
    let error = json!({"error": {"code": "insufficient_quota", "message": "You exceeded your current quota"}});
    let script = Script::new().otherwise(Reply::json(429, &error));
    let (requests, _, outcome) = run(script, json!({"retry_policy": {"retry_on_http_status": [429]}})).await;
    assert_eq!((requests, outcome.unwrap_err().code()), (1, ErrorCode::QuotaExhausted));
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_kept_to_and_too_much_is_reported() {
    let limited = |after: &str| failing(429).header("retry-after", after);
    let (requests, waited, _) = run(Script::new().then(limited("45")).then(hello()), json!({})).await;
    assert_eq!((requests, waited), (2, 45_000), "longer than the policy's longest delay");
    let (requests, waited, _) =
        run(Script::new().then(failing(503).header("retry-after-ms", "2500")).then(hello()), json!({})).await;
    assert_eq!((requests, waited), (2, 2500));
    let (requests, waited, outcome) = run(Script::new().then(limited("3600")).then(hello()), json!({})).await;
    let CallError::Refused { failure, .. } = outcome.unwrap_err() else { panic!("not refused") };
    assert_eq!((requests, waited, failure.retry_after), (1, 0, Some(seconds(3600))));
}

#[tokio::test(start_paused = true)]
async fn connection_that_ends_before_the_first_byte_is_tried_again() {
    let empty = Reply::events(Vec::<Vec<u8>>::new());
    let cut = Reply::events(Vec::<Vec<u8>>::new()).and(Step::Cut);
    let (requests, _, outcome) = run(Script::new().then(empty).then(cut).then(hello()), json!({})).await;
    assert_eq!((requests, outcome.unwrap().as_str()), (3, "Hello, world"));
}

/// Servers under load answer 200 before they know better. Nobody has seen anything of such an answer.
#[tokio::test(start_paused = true)]
async fn answer_that_begins_with_an_error_is_tried_again_like_a_refusal() {
    let overloaded = json!({"error": {"type": "overloaded_error", "message": "busy"}});
    let frame = format!("data: {overloaded}\n\n");
    let counted =
        format!("data: {}\n\n", json!({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 0}}));
    for reply in [
        Reply::events([frame.clone()]),
        Reply::events([": waiting\n\n".to_owned(), frame.clone()]),
        Reply::events([counted, frame.clone()]),
        Reply::events([": waiting\n\n"]).and(Step::Cut),
        Reply::json(200, &overloaded),
    ] {
        let script = Script::new().then(reply.clone()).then(reply).then(hello());
        let (requests, waited, outcome) = run(script, json!({"retry_policy": {"jitter": "none"}})).await;
        assert_eq!((requests, waited, outcome.unwrap().as_str()), (3, 3000, "Hello, world"));
    }
    let script = Script::new().then(Reply::json(200, &overloaded)).then(whole("Hi"));
    let fixture = Fixture::new(script).await;
    assert_eq!((fixture.complete().await.unwrap().facts.attempts, fixture.server.requests().len()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn error_at_the_beginning_is_given_up_by_the_same_rules() {
    let event = |error: Value| Reply::events([format!("data: {}\n\n", json!({"error": error}))]);
    let overloaded = || event(json!({"type": "overloaded_error", "message": "busy"}));
    let (requests, waited, outcome) =
        run(Script::new().otherwise(overloaded()), json!({"retry_policy": {"max_retries": 2}})).await;
    assert_eq!((requests, waited, outcome.unwrap_err().code()), (3, 2000, ErrorCode::Overloaded));
    let (requests, _, outcome) =
        run(Script::new().otherwise(event(json!({"type": "invalid_request_error", "message": "no"}))), json!({})).await;
    assert_eq!((requests, outcome.unwrap_err().code()), (1, ErrorCode::InvalidRequest));
    let mut fixture = Fixture::new(Script::new().otherwise(overloaded())).await;
    fixture.options.attempts = Attempts::Caller { attempt: 1 };
    assert_eq!((fixture.error().await.code(), fixture.server.requests().len()), (ErrorCode::Overloaded, 1));
}

#[tokio::test(start_paused = true)]
async fn error_behind_the_first_word_is_not_tried_again() {
    let frame = format!("data: {}\n\n", json!({"error": {"type": "overloaded_error", "message": "busy"}}));
    let fixture = Fixture::new(Script::new().then(Reply::events([delta("Hello"), frame])).otherwise(hello())).await;
    let mut answer = fixture.stream().await.unwrap();
    let first = answer.next().await.unwrap().unwrap();
    assert!(matches!(&first, StreamEvent::PartialContentDelta { content, .. } if content == "Hello"), "{first:?}");
    assert_eq!(text(&mut answer).await.unwrap_err().code(), ErrorCode::Overloaded);
    assert_eq!(fixture.server.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn whole_answer_of_which_half_came_is_not_asked_for_again() {
    let mut half = whole("Hi");
    half.steps[1] = Step::Bytes(b"{\"choices\"".to_vec());
    let fixture = Fixture::new(Script::new().then(half.and(Step::Cut)).then(whole("Hi"))).await;
    assert!(matches!(fixture.complete().await.unwrap_err(), CallError::Truncated { .. }));
    assert_eq!(fixture.server.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn closed_port_of_this_machine_is_tried_again_once_and_soon() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let server = Server::start(Script::new()).await.unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&told);
    let note = move |retrying: Retrying<'_>| {
        let Retrying { retry, retries, after, error } = retrying;
        listener.lock().unwrap().push((retry, retries, after, error.to_string()));
    };
    let settings = Settings { retry_listener: Some(Arc::new(note)), ..settings() };
    let fixture = Fixture::of(server, manifest(&format!("http://{address}/v1"), json!({})), settings);
    let begin = Instant::now();
    let error = fixture.error().await;
    let expected = format!("nothing answers at http://{address}");
    assert!(matches!(error, CallError::NothingAnswers { .. }), "{error}");
    assert_eq!((error.to_string(), error.code()), (expected.clone(), ErrorCode::ServerError));
    let pause = Duration::from_millis(200);
    assert_eq!((begin.elapsed(), told.lock().unwrap().as_slice()), (pause, &[(1, 1, pause, expected)][..]));
}
