//! How long a provider asked to wait, wherever it said so.

use std::time::{Duration, SystemTime};

use regex::Regex;
use reqwest::header::HeaderMap;
use serde_json::Value;

use super::{
    Limits, Present, USUAL, first,
    moment::{parse_milliseconds, parse_wait},
};
use crate::manifest::{Manifest, failure::TimeUnit};

/// What was asked for, in this order: milliseconds in a header, the header, members of the body, the words of the
/// message, and the time at which a used up limit comes back.
pub(crate) fn asked_wait(
    manifest: &Manifest,
    headers: &HeaderMap,
    body: &Value,
    message: &str,
    phrases: &[Regex],
    now: SystemTime,
) -> Option<Duration> {
    let own = manifest.rate_limit_headers.retry_after.as_deref();
    let present = Present::of(headers);
    first(present, None, &USUAL.wait_headers.milliseconds)
        .and_then(parse_milliseconds)
        .or_else(|| first(present, own, &USUAL.wait_headers.seconds).and_then(|text| parse_wait(text, now)))
        .or_else(|| in_body(body, now))
        .or_else(|| by_manifest(manifest, message))
        .or_else(|| {
            let words = phrases.iter().find_map(|phrase| Some(phrase.captures(message)?.get(1)?.as_str()))?;
            parse_wait(words, now)
        })
        .or_else(|| Limits::read(&manifest.rate_limit_headers, headers, now).exhausted_until())
}

fn in_body(body: &Value, now: SystemTime) -> Option<Duration> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    // Google wraps its errors in a list, where the answer would have been a list.
    let body = body.as_array().and_then(|list| list.first()).unwrap_or(body);
    let at = |path: &str| body.pointer(path).and_then(text);
    let (members, details) = (&USUAL.wait_members, &USUAL.wait_details);
    let list = body.pointer(&details.list).and_then(Value::as_array);
    let delay = list.into_iter().flatten().find_map(|detail| text(detail.get(&details.member)?));
    (delay.and_then(|delay| parse_wait(&delay, now)))
        .or_else(|| members.milliseconds.iter().find_map(|path| parse_milliseconds(&at(path)?)))
        .or_else(|| members.seconds.iter().find_map(|path| parse_wait(&at(path)?, now)))
}

/// Why a manifest's pattern cannot be used to find how long to wait.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PatternError {
    #[error(transparent)]
    Syntax(#[from] regex::Error),
    #[error("the pattern has no group for the number, such as ([0-9]+)")]
    NoGroup,
}

/// The pattern of a manifest's `retry_after_extraction`, compiled.
pub(crate) fn wait_pattern(text: &str) -> Result<Regex, PatternError> {
    let pattern = Regex::new(text)?;
    if pattern.captures_len() > 1 { Ok(pattern) } else { Err(PatternError::NoGroup) }
}

fn by_manifest(manifest: &Manifest, message: &str) -> Option<Duration> {
    let extraction = manifest.error_classification.retry_after_extraction.as_ref()?;
    let pattern = match wait_pattern(&extraction.pattern) {
        Ok(pattern) => pattern,
        Err(error) => {
            tracing::warn!(provider = %manifest.id, %error, "retry_after_extraction is not a regular expression");
            return None;
        }
    };
    let number = pattern.captures(message)?.get(1)?.as_str().trim().parse::<f64>().ok()?;
    let seconds = match extraction.unit {
        TimeUnit::Seconds => number,
        TimeUnit::Milliseconds => number / 1000.0,
    };
    Duration::try_from_secs_f64(seconds).ok()
}
