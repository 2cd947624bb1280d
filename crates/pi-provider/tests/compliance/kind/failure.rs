//! Errors: what they mean, whether to try again, whether to go elsewhere.

use std::time::{Duration, SystemTime};

use pi_provider::{
    ErrorCode,
    classify::{self, Refusal},
    manifest::resilience::RetryPolicy,
    retry::{self, Decision},
};
use pi_redact::Redactor;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value, json};

use super::{Answer, Trouble, manifest, member, member_or_default};
use crate::runner::case::{Case, Folder};

pub(super) fn classify(folder: &Folder, case: &Case) -> Result<Answer, Trouble> {
    let manifest = manifest(folder, case)?;
    let mut headers = HeaderMap::new();
    for name in ["headers", "response_headers"] {
        for (name, value) in member_or_default::<Map<String, Value>>(case, name)? {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let pair = HeaderName::from_bytes(name.as_bytes()).ok().zip(HeaderValue::from_str(&value).ok());
            let (name, value) = pair.ok_or_else(|| Trouble::Case(format!("{name} is no header")))?;
            headers.insert(name, value);
        }
    }
    let body = match case.input.get("response_body") {
        None => Vec::new(),
        Some(Value::String(text)) => text.clone().into_bytes(),
        Some(value) => value.to_string().into_bytes(),
    };
    let refusal = Refusal {
        status: member(case, "http_status")?,
        headers: &headers,
        body: &body,
        received: SystemTime::UNIX_EPOCH,
    };
    let failure = classify::classify(&manifest, refusal, &Redactor::default());
    let code = failure.code;
    Ok(Answer::valid(json!({
        "error_code": code.number(),
        "error_name": code.name(),
        "error_type": code.name(),
        "retryable": code.is_retryable(),
        "fallbackable": code.is_fallbackable(),
        "message": failure.message,
        "provider_code": failure.provider_code,
        "request_id": failure.request_id,
        "retry_after_ms": failure.retry_after.map(|wait| wait.as_millis()),
    })))
}

pub(super) fn fall_back(case: &Case) -> Result<Answer, Trouble> {
    Ok(Answer::valid(json!({"should_fallback": code(&case.input)?.is_fallbackable()})))
}

/// Chance has a part in delays: both ends and the middle are asked for.
pub(super) fn retry(folder: &Folder, case: &Case) -> Result<Vec<Answer>, Trouble> {
    let policy: RetryPolicy = match case.input.get("retry_policy") {
        Some(_) => member(case, "retry_policy")?,
        None => manifest(folder, case)?.retry_policy,
    };
    let error: Map<String, Value> = member(case, "error")?;
    let number = |name: &str| error.get(name).or_else(|| case.input.get(name)).and_then(Value::as_u64);
    let status = number("http_status").or_else(|| number("status_code")).and_then(|status| u16::try_from(status).ok());
    let asked = number("retry_after_ms").map(Duration::from_millis);
    let trouble = retry::Trouble { code: code(&error)?, provider_code: None, status, retry_after: asked };
    let attempt = member(case, "attempt")?;
    let answer = |chance| match policy.decide(attempt, trouble, chance) {
        Decision::Retry { after } => json!({"should_retry": true, "delay_ms": after.as_millis()}),
        Decision::NotRetryable | Decision::NotListed | Decision::Exhausted | Decision::AskedTooLong { .. } => {
            json!({"should_retry": false})
        }
    };
    Ok([0.0, 0.5, 1.0].into_iter().map(answer).map(Answer::valid).collect())
}

fn code(members: &Map<String, Value>) -> Result<ErrorCode, Trouble> {
    let text = |name: &str| members.get(name).and_then(Value::as_str);
    let by_number = text("error_code").and_then(ErrorCode::from_number);
    let by_name = || text("error_name").or(text("error_code")).and_then(ErrorCode::from_name);
    by_number.or_else(by_name).ok_or_else(|| Trouble::Case("the case names no standard error".to_owned()))
}
