//! What refusals mean: codes, words, statuses, waits.

use std::time::{Duration, SystemTime};

use pi_provider::{
    Allowance, ErrorCode, Failure, Limits,
    classify::{Refusal, classify, classify_event},
};
use pi_redact::{Evidence, Options, Personal, Redactor};
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use crate::support::manifest;

const PLANTED: &str = "sk-planted-9f27c41b6e";

fn redactor() -> Redactor {
    let secrets = vec![PLANTED.to_owned()];
    Redactor::new(Options { secrets, evidence: Evidence::Shapes, personal: Personal::Keep })
}

fn refusal(changes: Value, status: u16, headers: &[(&'static str, &'static str)], body: &[u8]) -> Failure {
    let headers: HeaderMap =
        headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
    let received = SystemTime::UNIX_EPOCH + Duration::from_secs(1_794_787_007);
    classify(&manifest("http://127.0.0.1", changes), Refusal { status, headers: &headers, body, received }, &redactor())
}

fn code(changes: Value, status: u16, body: &Value) -> ErrorCode {
    refusal(changes, status, &[], body.to_string().as_bytes()).code
}

#[test]
fn built_in_meanings_need_no_manifest() {
    use ErrorCode::*;
    let openai =
        |kind: &str, code: Value, message: &str| json!({"error": {"message": message, "type": kind, "code": code}});
    let google = |status: &str, message: &str| json!({"error": {"code": 400, "status": status, "message": message}});
    let anthropic = |kind: &str, message: &str| json!({"type": "error", "error": {"type": kind, "message": message}});
    let invalid = "invalid_request_error";
    for (status, body, expected) in [
        (401, openai(invalid, json!("invalid_api_key"), "Incorrect"), Authentication),
        (401, openai(invalid, Value::Null, "You didn't provide anything"), Authentication),
        (404, openai(invalid, Value::Null, "Invalid URL"), NotFound),
        (400, openai(invalid, json!("context_length_exceeded"), "m"), RequestTooLarge),
        (400, openai(invalid, Value::Null, "This model's maximum context length is 8192 tokens"), RequestTooLarge),
        (429, openai("insufficient_quota", json!("insufficient_quota"), "m"), QuotaExhausted),
        (429, openai("tokens", json!("rate_limit_exceeded"), "m"), RateLimited),
        (429, json!({"error": {"message": "You exceeded your current quota"}}), QuotaExhausted),
        (429, json!({"error": {"message": "Check your billing"}}), QuotaExhausted),
        (429, json!({"error": {"message": "Rate limit: requests per minute quota"}}), RateLimited),
        (400, json!({"error": {"message": "field quota is not known"}}), InvalidRequest),
        (400, openai(invalid, json!(400), "bad field"), InvalidRequest),
        (400, openai("exceed_context_size_error", json!(400), "the request exceeds"), RequestTooLarge),
        (500, openai("server_error", json!("server_error"), "m"), ServerError),
        (503, openai("server_error", json!("overloaded"), "m"), Overloaded),
        (529, anthropic("overloaded_error", "Overloaded"), Overloaded),
        (500, anthropic("api_error", "Internal"), ServerError),
        (400, openai("api_error", Value::Null, "m does not support tools"), InvalidRequest),
        (500, openai("server_error", json!(500), "tools param requires --jinja flag"), InvalidRequest),
        (404, openai("api_error", Value::Null, "model not found"), NotFound),
        (429, openai("api_error", Value::Null, "later"), RateLimited),
        (400, anthropic(invalid, "prompt is too long: 200001 tokens > 200000 maximum"), RequestTooLarge),
        (400, anthropic(invalid, "Your credit balance is too low to access the API"), QuotaExhausted),
        (400, google("INVALID_ARGUMENT", "Invalid value"), InvalidRequest),
        (400, google("INVALID_ARGUMENT", "The input token count (9) exceeds the maximum"), RequestTooLarge),
        (429, google("RESOURCE_EXHAUSTED", "You exceeded your current quota"), RateLimited),
        (503, google("UNAVAILABLE", "m"), Overloaded),
        (504, google("DEADLINE_EXCEEDED", "m"), Timeout),
        (500, json!({"error": {"message": "m"}}), ServerError),
        (402, json!({"message": "m"}), QuotaExhausted),
        (409, json!({}), Conflict),
        (418, json!({}), Unknown),
    ] {
        assert_eq!(code(json!({}), status, &body), expected, "{status} {body}");
    }
    let reason =
        json!({"error": {"code": 400, "status": "INVALID_ARGUMENT", "details": [{"reason": "API_KEY_INVALID"}]}});
    assert_eq!(code(json!({}), 400, &reason), Authentication);
}

#[test]
fn manifest_wins_over_what_is_built_in() {
    let rules = json!({"error_classification": {
        "by_http_status": {"400": "conflict", "418": "overloaded"},
        "by_error_code": {"1113": "quota_exhausted", "Insufficient_Quota": "rate_limited", "teapot": "unknown"},
        "by_error_message": [{"pattern": "nap(ping)?", "maps_to": "overloaded"}],
    }});
    let check = |status, error: Value| code(rules.clone(), status, &json!({"error": error}));
    assert_eq!(check(429, json!({"code": 1113})), ErrorCode::QuotaExhausted);
    assert_eq!(check(429, json!({"code": "insufficient_quota"})), ErrorCode::RateLimited);
    assert_eq!(check(400, json!({"message": "I am NAPPING"})), ErrorCode::Overloaded);
    assert_eq!(check(400, json!({"code": "invalid_request_error"})), ErrorCode::Conflict);
    assert_eq!(check(418, json!({"code": "teapot"})), ErrorCode::Overloaded);
}

#[test]
fn whole_failure_is_told() {
    let headers = [
        ("x-request-id", "req_1"),
        ("retry-after", "20"),
        ("x-ratelimit-limit-requests", "60"),
        ("x-ratelimit-remaining-requests", "0"),
        ("x-ratelimit-reset-requests", "11.2s"),
    ];
    let body = br#"{"error": {"code": "rate_limit_exceeded", "type": "tokens", "message": "slow down"}}"#;
    let expected = Failure {
        code: ErrorCode::RateLimited,
        status: Some(429),
        provider_code: Some("rate_limit_exceeded".to_owned()),
        message: "slow down".to_owned(),
        retry_after: Some(Duration::from_secs(20)),
        request_id: Some("req_1".to_owned()),
        limits: Some(Box::new(Limits {
            requests: Allowance { limit: Some(60), remaining: Some(0), reset: Some(Duration::from_millis(11_200)) },
            tokens: Allowance::default(),
        })),
        is_anonymous: false,
    };
    let failure = refusal(json!({}), 429, &headers, body);
    assert_eq!(failure, expected);
    let told = "429 rate_limited: slow down (request id req_1; 0 of 60 requests left, resets in 12 s)";
    assert_eq!(failure.to_string(), told);
    let missing = refusal(json!({}), 404, &headers, br#"{"error": {"message": "no such model"}}"#);
    assert_eq!(missing.to_string(), "404 not_found: no such model (request id req_1)", "limits are not to blame");
}

#[test]
fn bodies_that_are_no_json_are_read_too() {
    let message = |status, body: &[u8]| {
        let failure = refusal(json!({}), status, &[], body);
        (failure.code, failure.message)
    };
    let gateway = b"<html><head><title>502 Bad Gateway</title></head></html>";
    assert_eq!(message(502, gateway), (ErrorCode::ServerError, "502 Bad Gateway".to_owned()));
    assert_eq!(message(503, b""), (ErrorCode::Overloaded, "Service Unavailable".to_owned()));
    assert_eq!(message(500, b"\xff\xfe broken"), (ErrorCode::ServerError, "\u{fffd}\u{fffd} broken".to_owned()));
    assert_eq!(message(799, b"{}"), (ErrorCode::Unknown, "no reason given".to_owned()));
}

#[test]
fn waits_are_found_wherever_they_stand() {
    let wait = |changes: Value, headers: &[(&'static str, &'static str)], body: Value| {
        refusal(changes, 429, headers, body.to_string().as_bytes()).retry_after.map(|wait| wait.as_millis())
    };
    let none = || json!({});
    assert_eq!(wait(none(), &[("retry-after", "20")], none()), Some(20_000));
    assert_eq!(wait(none(), &[("retry-after", "1.5")], none()), Some(1500));
    assert_eq!(wait(none(), &[("retry-after", "Sun, 15 Nov 2026 23:57:17 GMT")], none()), Some(30_000));
    assert_eq!(wait(none(), &[("retry-after-ms", "250"), ("retry-after", "1")], none()), Some(250));
    let own = json!({"rate_limit_headers": {"retry_after": "x-wait"}});
    assert_eq!(wait(own, &[("x-wait", "3"), ("retry-after", "1")], none()), Some(3000));
    let used_up = [("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "6m0s")];
    assert_eq!(wait(none(), &used_up, none()), Some(360_000));
    let left = [("x-ratelimit-remaining-tokens", "5"), ("x-ratelimit-reset-tokens", "6m0s")];
    assert_eq!(wait(none(), &left, none()), None);
    let info =
        json!({"error": {"details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "23s"}]}});
    assert_eq!(wait(none(), &[], info.clone()), Some(23_000));
    assert_eq!(wait(none(), &[], json!([info])), Some(23_000), "in a list, as for a stream without events");
    assert_eq!(wait(none(), &[], json!({"error": {"retry_after_ms": 1200}})), Some(1200));
    let says = |message: &str| json!({"error": {"message": message}});
    assert_eq!(wait(none(), &[], says("Limit: 3 / min. Please try again in 20s.")), Some(20_000));
    assert_eq!(wait(none(), &[], says("Please try again in 6m0s. Visit")), Some(360_000));
    assert_eq!(wait(none(), &[], says("Please try again in 450ms.")), Some(450));
    assert_eq!(wait(none(), &[], says("Please retry after 7 seconds.")), Some(7000));
    assert_eq!(wait(none(), &[], says("Please try again later")), None);
    let extraction = |unit: &str| json!({"error_classification": {"retry_after_extraction": {"pattern": r"wait (\d+) ticks", "unit": unit}}});
    assert_eq!(wait(extraction("seconds"), &[], says("wait 90 ticks")), Some(90_000));
    assert_eq!(wait(extraction("milliseconds"), &[], says("wait 90 ticks")), Some(90));
}

#[test]
fn credentials_and_length_do_not_get_through() {
    let quoted = json!({"error": {"code": PLANTED, "message": format!("Incorrect API key provided: {PLANTED}."), "request_id": PLANTED}});
    let failure = refusal(json!({}), 401, &[], quoted.to_string().as_bytes());
    assert!(!format!("{failure:?} {failure}").contains("planted"), "{failure:?}");
    let text = refusal(json!({}), 500, &[], format!("proxy saw {PLANTED}").as_bytes());
    assert_eq!(text.message, "proxy saw [REDACTED]");
    let long = refusal(json!({}), 500, &[], "ä".repeat(30_000).as_bytes());
    assert_eq!(long.message, format!("{}…", "ä".repeat(1024)));
}

#[test]
fn errors_inside_a_stream_have_no_status() {
    let manifest = manifest("http://127.0.0.1", json!({}));
    let check = |frame: Value| classify_event(&manifest, &frame, &redactor(), SystemTime::UNIX_EPOCH);
    let overloaded = check(json!({"type": "error", "error": {"type": "overloaded_error", "message": PLANTED}}));
    let expected = Failure {
        code: ErrorCode::Overloaded,
        status: None,
        provider_code: Some("overloaded_error".to_owned()),
        message: "[REDACTED]".to_owned(),
        retry_after: None,
        request_id: None,
        limits: None,
        is_anonymous: false,
    };
    assert_eq!(overloaded, expected);
    assert_eq!(check(json!({"error": {"code": 502, "message": "upstream"}})).code, ErrorCode::ServerError);
    assert_eq!(check(json!({"error": {"message": "odd"}})).code, ErrorCode::Unknown);
}
