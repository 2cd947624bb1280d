//! Host calls and their results: the only way in which an extension reaches anything outside itself.
//!
//! [`HostCall::check`] turns what was written into a [`CheckedCall`], which is all that policy, executors and ledger see.
//! A call is answered by one [`HostResult`], or by several that carry chunks; [`stream`] holds the rules for several. A result either has an error or has none: the flag `is_error` exists on the wire only.

mod checked;
pub mod stream;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use pi_transcript::json::{Extra, present};

pub use self::checked::{BadCall, CheckedCall};

use crate::{
    Object,
    capability::{Capability, Method, derive},
    connector::Call,
    count::Count,
};

/// A request of an extension for privileged work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct HostCall {
    /// Joins the call with its results.
    pub call_id: String,
    /// What the extension says that it needs; the host derives the truth and refuses a difference.
    pub capability: Capability,
    /// The connector that is called.
    pub method: Method,
    /// What the connector is asked to do.
    pub params: Object,
    /// How long the host may work on it, in milliseconds of wall-clock time. Where the parameters have a deadline of their
    /// own, the smaller one counts.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<Count>,
    /// A handle with which the call can be cancelled, any number of times.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub cancel_token: Option<String>,
    /// Free metadata. Policy never looks at it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub context: Option<Object>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

impl HostCall {
    /// The wire form of a call, with an honest claim.
    pub fn new(call_id: impl Into<String>, call: &Call) -> Self {
        let (method, params) = (call.method(), call.params());
        let capability = derive(&method, &params).expect("the types of calls hold what the derivation looks at");
        Self {
            call_id: call_id.into(),
            capability,
            method,
            params,
            timeout_ms: None,
            cancel_token: None,
            context: None,
            extra: Extra::new(),
        }
    }
}

/// An answer to a host call, or one chunk of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(try_from = "WireResult", into = "WireResult")]
#[schemars(with = "WireResult")]
#[ts(as = "WireResult")]
pub struct HostResult {
    pub call_id: String,
    /// What the connector found; usually empty when there is an error.
    pub output: Object,
    pub error: Option<HostError>,
    pub chunk: Option<Chunk>,
    pub extra: Extra,
}

/// Why a host call did not do what it was asked to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct HostError {
    pub code: ErrorCode,
    /// For people; programs look at the code and at the details.
    pub message: String,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub details: Option<Object>,
    /// Whether the same call may succeed later. Absent means what the code says by default.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// The kinds of failure of a host call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The deadline passed.
    Timeout,
    /// The capability was not granted, or the call is outside its scope.
    Denied,
    /// A file, a process or the network failed.
    Io,
    /// Method, parameters or claimed capability are wrong.
    InvalidRequest,
    /// The host broke one of its own rules.
    Internal,
}

/// The place of a result in a stream of results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct Chunk {
    /// Counts from zero, without gaps.
    pub index: Count,
    /// Set once, on the chunk after which nothing follows.
    pub is_last: bool,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub backpressure: Option<Backpressure>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// A hint to whoever reads or feeds a stream. Ignoring it is allowed; a sender never relies on it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct Backpressure {
    /// How many more chunks the sender may emit before it waits for the reader.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub credits: Option<Count>,
    /// How long to wait before the next chunk or call, in milliseconds.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<Count>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

impl HostResult {
    pub fn success(call_id: impl Into<String>, output: Object) -> Self {
        Self { call_id: call_id.into(), output, error: None, chunk: None, extra: Extra::new() }
    }

    pub fn failure(call_id: impl Into<String>, error: HostError) -> Self {
        Self { call_id: call_id.into(), output: Object::new(), error: Some(error), chunk: None, extra: Extra::new() }
    }
}

impl HostError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: None, retryable: None, extra: Extra::new() }
    }

    pub fn is_retryable(&self) -> bool {
        self.retryable.unwrap_or_else(|| self.code.is_retryable())
    }
}

impl ErrorCode {
    pub const ALL: [Self; 5] = [Self::Timeout, Self::Denied, Self::Io, Self::InvalidRequest, Self::Internal];

    /// What an error of this code means when it does not say whether a retry may help.
    ///
    /// Time and input/output can be better the next time; a refusal, a malformed call or a bug cannot. Whether a call is
    /// *safe* to repeat is another question, which only its author can answer.
    pub fn is_retryable(self) -> bool {
        match self {
            Self::Timeout | Self::Io => true,
            Self::Denied | Self::InvalidRequest | Self::Internal => false,
        }
    }
}

/// A result as it is written: with a flag that must agree with the presence of an error.
#[derive(Clone, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields, rename = "HostResult")]
#[schemars(
    rename = "HostResult",
    description = "An answer to a host call, or one chunk of it.",
    extend("allOf" = [
        { "if": { "properties": { "is_error": { "const": true } } }, "then": { "required": ["error"] } },
        { "if": { "properties": { "is_error": { "const": false } } }, "then": { "not": { "required": ["error"] } } },
    ])
)]
struct WireResult {
    call_id: String,
    /// What the connector found; usually empty when there is an error.
    output: Object,
    /// Whether `error` is there.
    is_error: bool,
    /// Required when `is_error` is true, forbidden otherwise.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    error: Option<HostError>,
    /// Present when the answer comes in several results.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    chunk: Option<Chunk>,
    #[serde(flatten)]
    #[ts(skip)]
    extra: Extra,
}

/// A result whose flag and error disagree.
#[derive(Debug, thiserror::Error)]
enum Contradiction {
    #[error("`error` is required when `is_error` is true")]
    Missing,
    #[error("`error` is forbidden when `is_error` is false")]
    Forbidden,
}

impl TryFrom<WireResult> for HostResult {
    type Error = Contradiction;

    fn try_from(wire: WireResult) -> Result<Self, Contradiction> {
        let WireResult { call_id, output, is_error, error, chunk, extra } = wire;
        match (is_error, &error) {
            (true, None) => Err(Contradiction::Missing),
            (false, Some(_)) => Err(Contradiction::Forbidden),
            (true, Some(_)) | (false, None) => Ok(Self { call_id, output, error, chunk, extra }),
        }
    }
}

impl From<HostResult> for WireResult {
    fn from(result: HostResult) -> Self {
        let HostResult { call_id, output, error, chunk, extra } = result;
        Self { call_id, output, is_error: error.is_some(), error, chunk, extra }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_retry_defaults_that_an_error_may_override() {
        let defaults = ErrorCode::ALL.map(|code| HostError::new(code, "").is_retryable());
        assert_eq!(defaults, [true, false, true, false, false]);
        let permanent = HostError { retryable: Some(false), ..HostError::new(ErrorCode::Io, "no such file") };
        assert!(!permanent.is_retryable());
    }

    #[test]
    fn flag_and_error_agree_or_the_result_is_refused() {
        let read = |json: &str| serde_json::from_str::<HostResult>(json);
        let error = r#"{"code":"io","message":"gone"}"#;
        let result = read(&format!(r#"{{"call_id":"h","output":{{}},"is_error":true,"error":{error}}}"#));
        assert_eq!(result.expect("a result"), HostResult::failure("h", HostError::new(ErrorCode::Io, "gone")));
        assert!(read(r#"{"call_id":"h","output":{},"is_error":true}"#).is_err());
        assert!(read(&format!(r#"{{"call_id":"h","output":{{}},"is_error":false,"error":{error}}}"#)).is_err());
    }
}
