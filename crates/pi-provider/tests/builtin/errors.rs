//! Refusals as the built-in providers write them get the standard code that they mean.

use std::time::{Duration, SystemTime};

use pi_provider::{
    Failure, Manifest, builtin,
    classify::{Refusal, classify},
    manifest::load::{Format, load},
};
use pi_redact::{Evidence, Options, Personal, Redactor};
use reqwest::header::HeaderMap;

fn manifest(id: &str) -> Manifest {
    let built_in = builtin::find(id).unwrap();
    load(built_in.text, &built_in.path(), Format::Yaml).manifest.unwrap()
}

fn failure(id: &str, status: u16, body: &str) -> Failure {
    let redactor = Redactor::new(Options { secrets: Vec::new(), evidence: Evidence::Shapes, personal: Personal::Keep });
    let headers = HeaderMap::new();
    let refusal = Refusal { status, headers: &headers, body: body.as_bytes(), received: SystemTime::UNIX_EPOCH };
    classify(&manifest(id), refusal, &redactor)
}

/// Provider, status, the standard name, and the body as the provider writes it.
const REFUSALS: &str = include_str!("refusals.txt");

#[test]
fn refusals_are_told_apart() {
    for line in REFUSALS.lines() {
        let [id, status, name, body] = line.splitn(4, ' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let failure = failure(id, status.parse().unwrap(), body);
        assert_eq!(failure.code.name(), name, "{line}");
    }
}

#[test]
fn waits_are_read_from_messages() {
    let table = [
        (
            "gemini",
            r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"Quota exceeded. Please retry in 12.5s."}}"#,
            12.5,
        ),
        (
            "groq",
            r#"{"error":{"message":"Rate limit reached. Please try again in 7.66s.","code":"rate_limit_exceeded"}}"#,
            7.66,
        ),
        ("azure-openai", r#"{"error":{"code":"429","message":"Please retry after 20 seconds."}}"#, 20.0),
        (
            "moonshot",
            r#"{"error":{"type":"rate_limit_reached_error","message":"please try again after 1 seconds"}}"#,
            1.0,
        ),
    ];
    for (id, body, seconds) in table {
        assert_eq!(failure(id, 429, body).retry_after, Some(Duration::from_secs_f64(seconds)), "{id}");
    }
}
