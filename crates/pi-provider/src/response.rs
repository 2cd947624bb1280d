//! Answers that were not streamed.
//!
//! A whole answer is read as a stream of one frame: the rules of the dialect find what is in it, so that one path leads
//! from either kind of answer to the same [`StreamEvent`]s, and from them to a message. Where a contract says in
//! `response_mapping` where things are, what is found there counts. Start with [`Answers`]; [`Reading`] tells an answer
//! from an error that came with a good status, also for everything that is no chat.

mod mapped;

use std::time::SystemTime;

use indexmap::IndexMap;
use pi_redact::Redactor;
use serde_json::{Value, json};

pub(crate) use self::mapped::call_part;
use crate::{
    classify::classify_event,
    dialect::Dialect,
    error::CallError,
    event::{StreamEvent, TokenUsage, UNKNOWN_USAGE},
    manifest::Manifest,
    secret::{Carried, Secret, redactor},
    stream::{
        CompileError, Pipeline,
        usage::{Counts, UsagePaths},
    },
};

/// Reads the answers of a provider's chats. Compiled once; cheap to clone.
#[derive(Debug, Clone)]
pub struct Answers {
    dialect: Pipeline,
    /// What the contract's own paths lead to.
    mapped: Option<Pipeline>,
}

/// Whose answer is read, and what may not be quoted from it.
#[derive(Debug, Clone, Copy)]
pub struct Reading<'a> {
    pub manifest: &'a Manifest,
    /// The credential that was sent.
    pub secret: Option<&'a Secret>,
    /// What else was sent and may not be repeated, in the address and in headers.
    pub others: &'a [Secret],
    /// When the answer came, for dates in it.
    pub received: SystemTime,
}

impl Answers {
    /// Compiles the rules for whole answers: those of the dialect and the contract's paths. A manifest's own rules are
    /// about frames of streams and have no part in it.
    pub fn compile(manifest: &Manifest, dialect: Dialect) -> Result<Self, CompileError> {
        let mut plain = manifest.clone();
        plain.streaming = None;
        let mapped = mapped::compile(manifest, dialect)?;
        Ok(Self { dialect: Pipeline::compile(&plain, dialect)?, mapped })
    }

    /// The same for whoever is in the middle of a call: paths that cannot be compiled are a fault of the manifest.
    pub fn of(manifest: &Manifest, dialect: Dialect) -> Result<Self, CallError> {
        Self::compile(manifest, dialect).map_err(|fault| CallError::Option {
            option: "response_mapping".to_owned(),
            reason: format!("the manifest of {} cannot be used: {fault}", manifest.id),
        })
    }

    /// Reads a chat's answer.
    pub fn read(&self, reading: &Reading<'_>, body: &[u8]) -> Result<Vec<StreamEvent>, CallError> {
        let text = std::str::from_utf8(body).map_err(|_| reading.malformed("no UTF-8"))?;
        let mut events = Vec::new();
        let ending = self.dialect.read_whole(text, &mut events);
        let is_failure = |event: &StreamEvent| matches!(event, StreamEvent::StreamError { .. });
        let failed = events.iter().any(is_failure);
        if failed || ending.malformed > 0 || !is_answer(&events) {
            // An error in the dialect's words or in others, or no JSON at all.
            let value = reading.json(body)?;
            // Some servers send an empty error beside every answer.
            events.retain(|event| !is_failure(event));
            if failed && !is_answer(&events) {
                return Err(reading.refused(&value));
            }
        }
        if let Some(mapped) = &self.mapped {
            let mut found = Vec::new();
            mapped.read_whole(text, &mut found);
            mapped::prefer(&mut events, &found);
        }
        if !is_answer(&events) {
            return Err(reading.malformed("no answer in it"));
        }
        if !matches!(events.last(), Some(StreamEvent::StreamEnd { .. })) {
            let finish = events.iter().find_map(mapped::end).cloned();
            events.push(StreamEvent::StreamEnd { finish });
        }
        Ok(events)
    }
}

impl Reading<'_> {
    /// The JSON of an answer, unless that is an error.
    pub fn json(&self, body: &[u8]) -> Result<Value, CallError> {
        let value: Value =
            serde_json::from_slice(body).map_err(|fault| self.malformed(&format!("no JSON: {fault}")))?;
        if let Some(error) = failed_choice(&value) {
            return Err(self.refused(&error));
        }
        if is_error(&value) { Err(self.refused(&value)) } else { Ok(value) }
    }

    /// The error for an answer that lacks something.
    pub fn malformed(&self, reason: &str) -> CallError {
        CallError::Malformed { provider: self.manifest.id.clone(), reason: reason.to_owned() }
    }

    /// The error for an answer that is one.
    pub fn refused(&self, error: &Value) -> CallError {
        let failure = classify_event(self.manifest, error, &self.redactor(), self.received);
        CallError::Refused { provider: self.manifest.id.clone(), failure: Box::new(failure) }
    }

    /// The provider's words, without secrets.
    pub fn safe(&self, words: &str) -> String {
        self.redactor().redact_text(words).into_owned()
    }

    /// A word that the server made up, such as an id or a name, without what the request carried.
    pub(crate) fn word(&self, word: &str) -> String {
        let mut word = word.to_owned();
        self.carried().hide_in_word(&mut word);
        word
    }

    pub(crate) fn carried(&self) -> Carried {
        Carried { credential: self.secret.cloned(), others: self.others.to_vec() }
    }

    pub(crate) fn redactor(&self) -> Redactor {
        redactor(&self.manifest.endpoint.auth, self.secret, self.others)
    }

    /// What an answer that is no chat's says about tokens.
    pub fn usage(&self, body: &Value) -> Option<TokenUsage> {
        let fields = &self.manifest.contract.capability_contracts.generative.token_usage_fields;
        let paths = UsagePaths::new(fields).or_else(|_| UsagePaths::new(&IndexMap::new())).ok()?;
        let member = ["usage", "usageMetadata", "meta"].iter().find_map(|name| body.get(name));
        let mut counts = Counts::default();
        // Ollama counts beside the answer.
        paths.add(member.unwrap_or(body), &mut counts);
        Some(counts.to_usage()).filter(|usage| *usage != TokenUsage::default())
    }
}

/// Whether anything was said, or at least why not.
fn is_answer(events: &[StreamEvent]) -> bool {
    events.iter().any(|event| match event {
        StreamEvent::PartialContentDelta { .. }
        | StreamEvent::ThinkingDelta { .. }
        | StreamEvent::ToolCallStarted { .. }
        | StreamEvent::PartialToolCall { .. }
        | StreamEvent::ToolCallEnded { .. } => true,
        StreamEvent::Other { name, .. } => name != UNKNOWN_USAGE,
        StreamEvent::FinalCandidate { finish, .. } | StreamEvent::StreamEnd { finish } => finish.is_some(),
        StreamEvent::Metadata { .. } | StreamEvent::StreamError { .. } => false,
    })
}

/// The error of an answer that failed in the middle, in the form of an error.
fn failed_choice(body: &Value) -> Option<Value> {
    if let Some(candidate) = body.pointer("/candidates/0") {
        return failed_candidate(candidate);
    }
    let choice = body.pointer("/choices/0")?;
    let is_told = |error: &&Value| {
        error.as_object().is_some_and(|it| !it.is_empty()) || error.as_str().is_some_and(|it| !it.is_empty())
    };
    if let Some(error) = choice.get("error").filter(is_told) {
        return Some(json!({ "error": error }));
    }
    match choice.get("finish_reason")?.as_str()? {
        "error" if !is_error(body) => {
            let message = "the server ended the answer with an error and did not say which";
            Some(json!({ "error": { "code": "server_error", "message": message } }))
        }
        word @ "insufficient_system_resource" => {
            let message = "the server has too few resources to finish the answer";
            Some(json!({ "error": { "code": word, "message": message } }))
        }
        _ => None,
    }
}

/// The same of Gemini's, which throws away what a model wrote and nobody can use.
fn failed_candidate(candidate: &Value) -> Option<Value> {
    match candidate.get("finishReason")?.as_str()? {
        word @ ("MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "MALFORMED_RESPONSE") => {
            Some(json!({ "error": { "code": word, "message": candidate.get("finishMessage") } }))
        }
        _ => None,
    }
}

/// Some providers, and many gateways before them, answer 200 and an error.
fn is_error(body: &Value) -> bool {
    let says = |name: &str| body.get(name).and_then(Value::as_str) == Some("error");
    let has_error = match body.get("error") {
        Some(Value::Object(error)) => !error.is_empty(),
        Some(Value::String(error)) => !error.is_empty(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) | None => false,
    };
    let status = body.pointer("/base_resp/status_code").and_then(Value::as_i64);
    has_error || says("type") || says("object") || status.is_some_and(|status| status != 0) || is_bare_error(body)
}

/// Nothing but a code and its words, as Alibaba's and others have it.
fn is_bare_error(body: &Value) -> bool {
    const BESIDE: [&str; 4] = ["code", "message", "request_id", "requestId"];
    let word = |name: &str| body.get(name).and_then(Value::as_str).filter(|word| !word.is_empty());
    let is_good = |code: &str| ["ok", "success", "0", "200"].contains(&code.to_ascii_lowercase().as_str());
    let is_alone = || body.as_object().is_some_and(|body| body.keys().all(|name| BESIDE.contains(&name.as_str())));
    word("code").is_some_and(|code| !is_good(code)) && word("message").is_some() && is_alone()
}
