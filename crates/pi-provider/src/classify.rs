//! Tells what a refusal means.
//!
//! The provider's own code in the body beats the status, because providers send one status for many things: 429 for a
//! moment and for an empty account, 400 for a wrong field and for a prompt that is too long. Pure: status, headers, bytes
//! and the time go in, a [`Failure`] comes out. Start with [`classify`]; [`classify_event`] is for errors inside a stream.

mod builtin;
mod said;

use std::{
    borrow::Cow,
    time::{Duration, SystemTime},
};

use pi_redact::Redactor;
use regex::Regex;
use reqwest::{StatusCode, header::HeaderMap};
use serde_json::Value;

use self::{
    builtin::{Builtin, without_case},
    said::Said,
};
use crate::{
    error::{ErrorCode, Failure},
    limits::{Limits, asked_wait, header},
    manifest::Manifest,
};

/// The longest message that is kept, in bytes.
const LONGEST_MESSAGE: usize = 2048;
/// The longest code and request id that are kept, in bytes.
const LONGEST_CODE: usize = 128;

/// An answer that is not the one that was asked for.
#[derive(Debug, Clone, Copy)]
pub struct Refusal<'a> {
    pub status: u16,
    pub headers: &'a HeaderMap,
    /// As much of it as was read.
    pub body: &'a [u8],
    /// When it came, for dates in it.
    pub received: SystemTime,
}

/// What the refusal means. The redactor should know the credential that was sent: some providers quote it.
pub fn classify(manifest: &Manifest, refusal: Refusal<'_>, redactor: &Redactor) -> Failure {
    let Refusal { status, headers, body, received } = refusal;
    let value: Option<Value> = serde_json::from_slice(body).ok().or_else(|| said::in_event(body));
    let extraction = &manifest.contract.response_mapping.error_extraction;
    let said = match &value {
        Some(value) => Said::read(value, extraction),
        None => Said::from_text(&String::from_utf8_lossy(body)),
    };
    let message = said.message.as_deref().unwrap_or_default();
    // Some send an error with a status of success.
    let telling = if status >= 400 { Some(status) } else { said.status() };
    let code = meaning(manifest, &said, message, telling);
    let waits = &Builtin::get().waits;
    let retry_after = asked_wait(manifest, headers, value.as_ref().unwrap_or(&Value::Null), message, waits, received);
    let reason = || StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    let message = if message.is_empty() { reason().unwrap_or("no reason given") } else { message };
    let request_id = request_id(headers).or(said.request_id.clone());
    let limits = Limits::read(&manifest.rate_limit_headers, headers, received);
    let limits = (limits != Limits::default()).then(|| Box::new(limits));
    Failure { limits, ..failure(code, Some(status), &said, message, retry_after, request_id, redactor) }
}

/// What an error in the middle of a stream means; `error` is the whole frame.
pub fn classify_event(manifest: &Manifest, error: &Value, redactor: &Redactor, received: SystemTime) -> Failure {
    let said = Said::read(error, &manifest.contract.response_mapping.error_extraction);
    let message = said.message.as_deref().unwrap_or_default();
    let code = meaning(manifest, &said, message, said.status());
    let headers = HeaderMap::new();
    let retry_after = asked_wait(manifest, &headers, error, message, &Builtin::get().waits, received);
    let message = if message.is_empty() { "the stream reports an error" } else { message };
    failure(code, None, &said, message, retry_after, said.request_id.clone(), redactor)
}

/// Whether these are the words of a server that takes no tools.
pub(crate) fn refuses_tools(message: &str) -> bool {
    Builtin::get().refused_tools.iter().any(|words| words.is_match(message))
}

/// The provider's number of the request, if a header has it.
pub fn request_id(headers: &HeaderMap) -> Option<String> {
    let text = Builtin::get().places.request_id_headers.iter().find_map(|name| header(headers, name))?;
    Some(shortened(text, LONGEST_CODE).into_owned())
}

fn failure(
    code: ErrorCode,
    status: Option<u16>,
    said: &Said,
    message: &str,
    retry_after: Option<Duration>,
    request_id: Option<String>,
    redactor: &Redactor,
) -> Failure {
    let safe = |text: &str, length| shortened(&redactor.redact_text(text), length).into_owned();
    Failure {
        code,
        status,
        provider_code: said.provider_code().map(|code| safe(code, LONGEST_CODE)),
        message: safe(message, LONGEST_MESSAGE),
        retry_after,
        request_id: request_id.map(|id| safe(&id, LONGEST_CODE)),
        limits: None,
        is_anonymous: false,
    }
}

fn meaning(manifest: &Manifest, said: &Said, message: &str, status: Option<u16>) -> ErrorCode {
    match said_meaning(manifest, said, message, status) {
        // It is the request that is at fault, and not the server: one without tools is answered.
        ErrorCode::ServerError if refuses_tools(message) => ErrorCode::InvalidRequest,
        code => code,
    }
}

/// Codes, then words, then the status, but for the few words that say more than a code; `invalid_request` from a code is only a heading and is kept for the end, and so is
/// a heading for any failure where the status says that the request is at fault.
fn said_meaning(manifest: &Manifest, said: &Said, message: &str, status: Option<u16>) -> ErrorCode {
    let builtin = Builtin::get();
    let own = &manifest.error_classification.by_error_code;
    let by_manifest = |code: &String| {
        let exact = own.get(code).copied();
        exact.or_else(|| own.iter().find(|(name, _)| name.eq_ignore_ascii_case(code)).map(|(_, &meaning)| meaning))
    };
    let is_ours = status.is_some_and(|status| (400..500).contains(&status));
    let by_builtin = |code: &String| {
        let code = code.to_ascii_lowercase();
        builtin.codes.get(&code).copied().filter(|_| !(is_ours && builtin.headings.contains(&code)))
    };
    let by_code: Vec<ErrorCode> =
        said.codes.iter().filter_map(by_manifest).chain(said.codes.iter().filter_map(by_builtin)).collect();
    if let Some(code) = builtin.messages.iter().filter(|it| it.beats_codes).find_map(|it| it.meaning(status, message)) {
        return code;
    }
    let is_telling = |code: &ErrorCode| !matches!(code, ErrorCode::InvalidRequest | ErrorCode::Unknown);
    if let Some(code) = by_code.iter().copied().find(is_telling) {
        return code;
    }
    if let Some(code) = by_message(manifest, message, status) {
        return code;
    }
    let by_status = status.map(|status| {
        let written = manifest.error_classification.by_http_status.get(&status.to_string()).copied();
        written.unwrap_or_else(|| ErrorCode::from_status(status))
    });
    match (by_status, by_code.first().copied()) {
        (Some(status), _) if is_telling(&status) => status,
        (_, Some(code)) => code,
        (Some(status), None) => status,
        (None, None) => ErrorCode::Unknown,
    }
}

fn by_message(manifest: &Manifest, message: &str, status: Option<u16>) -> Option<ErrorCode> {
    if message.is_empty() {
        return None;
    }
    let own = manifest.error_classification.by_error_message.iter().find_map(|rule| match pattern(&rule.pattern) {
        Ok(pattern) => pattern.is_match(message).then_some(rule.maps_to),
        Err(error) => {
            tracing::warn!(provider = %manifest.id, %error, "by_error_message is not a regular expression");
            None
        }
    });
    own.or_else(|| Builtin::get().messages.iter().find_map(|words| words.meaning(status, message)))
}

/// Whether a code of a provider has a meaning without a manifest.
pub(crate) fn is_known_code(code: &str) -> bool {
    Builtin::get().codes.contains_key(&code.to_ascii_lowercase())
}

/// Words of a manifest in a message, compiled.
pub(crate) fn pattern(words: &str) -> Result<Regex, regex::Error> {
    without_case(words)
}

/// Cuts a text that is too long, and shows that it was cut.
fn shortened(text: &str, length: usize) -> Cow<'_, str> {
    if text.len() <= length {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}…", &text[..text.floor_char_boundary(length)]))
}
