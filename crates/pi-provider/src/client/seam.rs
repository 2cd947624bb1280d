//! Where others take part in a call: they see or replace a request, or produce an answer themselves.

use std::pin::Pin;

use futures_util::{Stream, future::BoxFuture};
use pi_envelope::Prompt;
use pi_transcript::ProviderId;
use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    call::Call,
    error::CallError,
    event::StreamEvent,
    guardrail::{Finding, Guardrails},
};

/// Sees every chat request before it is sent, and may replace it. The session implements it for extensions, which this
/// crate must not know; tests implement it with a script.
pub trait Interceptor: Send + Sync {
    /// An error ends the call. The credential is not in the draft. Dropped when the call is cancelled.
    fn intercept<'a>(&'a self, draft: Draft<'a>) -> BoxFuture<'a, Result<Interception, CallError>>;
}

/// A request that is about to be sent.
#[derive(Debug, Clone, Copy)]
pub struct Draft<'a> {
    pub provider: &'a ProviderId,
    pub model: &'a str,
    pub payload: &'a Value,
    /// Names in lower case.
    pub headers: &'a [(String, String)],
}

/// What an interceptor did.
#[derive(Debug, Clone, PartialEq)]
pub enum Interception {
    Unchanged,
    /// `None` keeps what was there.
    Replaced {
        payload: Option<Value>,
        headers: Option<Vec<(String, String)>>,
    },
}

/// Who changed a request after it was built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Replacer {
    Guardrail,
    Interceptor,
}

/// A provider whose answers somebody else produces. The session implements it for extensions, which this crate must not
/// know; tests implement it with a script.
pub trait ForeignStream: Send + Sync {
    /// Begins an answer. Dropping the stream ends it.
    fn open<'a>(&'a self, asked: ForeignCall<'a>) -> BoxFuture<'a, Result<EventStream, CallError>>;
}

/// What is asked of a foreign provider.
#[derive(Debug, Clone, Copy)]
pub struct ForeignCall<'a> {
    pub provider: &'a ProviderId,
    pub model: &'a str,
    pub call: Call<'a>,
    /// Cancelled when nobody wants the answer any more.
    pub cancel: &'a CancellationToken,
}

/// The events of an answer; the last one is an end or an error.
pub type EventStream = Pin<Box<dyn Stream<Item = Result<StreamEvent, CallError>> + Send>>;

/// Filters a prompt that is not sent as a request. The prompt is returned only where it changed.
pub(super) fn filter_prompt(
    guardrails: &Guardrails,
    prompt: &Prompt,
) -> Result<(Option<Prompt>, Vec<Finding>), CallError> {
    if !guardrails.has_input() {
        return Ok((None, Vec::new()));
    }
    let unusable = |_| CallError::Option {
        option: "prompt".to_owned(),
        reason: "masking its text breaks the marks in it".to_owned(),
    };
    let mut value = serde_json::to_value(prompt).map_err(unusable)?;
    let mut tools = value.get_mut("tools").map(Value::take).unwrap_or_default();
    let definitions = tools.as_array_mut().into_iter().flatten().filter_map(|tool| tool.get_mut("definition"));
    let findings = guardrails.filter_conversation(&mut value, definitions)?;
    value["tools"] = tools;
    let is_masked = findings.iter().any(Finding::is_masked);
    let masked = is_masked.then(|| serde_json::from_value(value).map_err(unusable)).transpose()?;
    Ok((masked, findings))
}
