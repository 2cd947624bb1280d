//! A host call that was looked at, once: everything that policy, executor and ledger need to know about it.

use pi_transcript::json::Digest;

use super::{ErrorCode, HostCall, HostError};
use crate::{
    capability::{Capability, Method, Mismatch, check_claim, derive},
    connector::{BadParams, Call, OtherCall},
    count::Count,
    log,
};

/// A host call whose parameters are understood and whose claim is true. Only [`HostCall::check`] makes one, and nothing
/// after it looks at raw parameters: what is judged, done and recorded is the same call.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedCall {
    call_id: String,
    call: Call,
    capability: Capability,
    params_hash: Digest,
    target: Option<String>,
    deadline_ms: Option<u64>,
    cancel_token: Option<String>,
}

/// Why a call is refused before anybody is asked. The caller's fault: `invalid_request`, not worth a retry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadCall {
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    #[error(transparent)]
    Params(#[from] BadParams),
}

impl HostCall {
    /// Reads the call and compares its claim with what it needs. A false claim is reported before anything else.
    pub fn check(&self) -> Result<CheckedCall, BadCall> {
        let capability = check_claim(&self.capability, &self.method, &self.params)?;
        let call = Call::parse(&self.method, &self.params)?;
        let timeouts = [self.timeout_ms.as_ref().map(Count::get), call.timeout_ms()];
        Ok(CheckedCall {
            call_id: self.call_id.clone(),
            params_hash: log::params_hash(&self.method, &self.params),
            target: log::target(&call, &self.params),
            deadline_ms: timeouts.into_iter().flatten().min(),
            cancel_token: self.cancel_token.clone(),
            call,
            capability,
        })
    }
}

impl CheckedCall {
    /// A call that was made from types, so that its claim cannot be false: the native way of a tier, without a detour
    /// through JSON but for the digest.
    pub fn native(call_id: impl Into<String>, call: Call, timeout_ms: Option<u64>) -> Self {
        let (method, params) = (call.method(), call.params());
        let capability = derive(&method, &params).expect("the types of calls hold what the derivation looks at");
        Self {
            call_id: call_id.into(),
            capability,
            params_hash: log::params_hash(&method, &params),
            target: log::target(&call, &params),
            deadline_ms: [timeout_ms, call.timeout_ms()].into_iter().flatten().min(),
            cancel_token: None,
            call,
        }
    }

    /// Joins the call with its results.
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    pub fn call(&self) -> &Call {
        &self.call
    }

    pub fn method(&self) -> Method {
        self.call.method()
    }

    /// What the call needs, and what it claimed to need.
    pub fn capability(&self) -> &Capability {
        &self.capability
    }

    /// What the ledger records instead of the parameters.
    pub fn params_hash(&self) -> Digest {
        self.params_hash
    }

    /// What it touches, in a word that may be written down.
    pub fn target(&self) -> Option<&str> {
        self.target.as_deref()
    }

    /// How long the host may work on it, in milliseconds. A call may say so twice, in `timeout_ms` of the call and of its
    /// parameters; the smaller one wins.
    pub fn deadline_ms(&self) -> Option<u64> {
        self.deadline_ms
    }

    pub fn cancel_token(&self) -> Option<&str> {
        self.cancel_token.as_deref()
    }

    /// The call itself, for the executor.
    pub fn into_call(self) -> Call {
        self.call
    }
}

impl From<&BadCall> for HostError {
    fn from(bad: &BadCall) -> Self {
        Self::new(ErrorCode::InvalidRequest, bad.to_string())
    }
}

/// What the caller of a connector that does not exist is told, if policy would have let it.
impl From<&OtherCall> for HostError {
    fn from(call: &OtherCall) -> Self {
        Self::new(ErrorCode::InvalidRequest, format!("there is no connector {}", call.method.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn call(capability: &str, method: &str, params: &Value) -> HostCall {
        let call = json!({ "call_id": "h", "capability": capability, "method": method, "params": params });
        serde_json::from_value(call).expect("a host call")
    }

    fn command(timeout_ms: Option<u64>) -> Value {
        let mut params = json!({ "command": "ls", "args": [], "env": {}, "stream": false });
        if let Some(timeout) = timeout_ms {
            params["timeout_ms"] = json!(timeout);
        }
        params
    }

    #[test]
    fn spoofed_call_becomes_an_invalid_request_whatever_its_parameters_are() {
        let spoofed = call("read", "tool", &json!({ "name": "bash" }));
        let error = HostError::from(&spoofed.check().expect_err("a false claim"));
        assert_eq!(error, HostError::new(ErrorCode::InvalidRequest, "the call claims read but needs exec"));
    }

    #[test]
    fn parameters_that_nobody_understands_are_refused() {
        let bad = call("exec", "exec", &json!({ "command": "ls" })).check().expect_err("no arguments");
        let message = "params.args: required member is missing; params.env: required member is missing; \
                       params.stream: required member is missing";
        assert_eq!(HostError::from(&bad), HostError::new(ErrorCode::InvalidRequest, message));
    }

    #[test]
    fn checked_call_carries_what_was_checked() {
        let checked = call("exec", "exec", &command(None)).check().expect("a good call");
        assert_eq!((checked.call_id(), checked.method()), ("h", Method::Exec));
        assert_eq!(checked.capability(), &Capability::Exec);
        assert_eq!(checked.params_hash(), log::params_hash(&Method::Exec, &checked.call().params()));
    }

    #[test]
    fn unknown_method_is_its_own_capability_and_has_no_connector() {
        let checked = call("teleport", "teleport", &json!({ "to": [1] })).check().expect("a call to be judged");
        assert_eq!(checked.capability(), &Capability::from("teleport"));
        let Call::Other(other) = checked.into_call() else { panic!("an unknown method") };
        let refused = HostError::new(ErrorCode::InvalidRequest, "there is no connector teleport");
        assert_eq!(HostError::from(&other), refused);
    }

    #[test]
    fn smaller_of_two_deadlines_wins() {
        for (outer, inner, expected) in [
            (None, None, None),
            (Some(5), None, Some(5)),
            (None, Some(7), Some(7)),
            (Some(5), Some(7), Some(5)),
            (Some(9), Some(7), Some(7)),
        ] {
            let mut call = call("exec", "exec", &command(inner));
            call.timeout_ms = outer.map(Count::from);
            assert_eq!(call.check().expect("a good call").deadline_ms(), expected, "{outer:?} {inner:?}");
        }
    }

    #[test]
    fn every_question_may_have_a_deadline() {
        for question in [
            json!({ "op": "select", "title": "t", "options": [] }),
            json!({ "op": "confirm", "title": "t", "message": "m" }),
            json!({ "op": "input", "title": "t" }),
            json!({ "op": "editor", "title": "t" }),
            json!({ "op": "interview", "questions": [] }),
        ] {
            let mut params = question;
            params["timeout_ms"] = json!(3);
            let checked = call("ui", "ui", &params).check().expect("a question");
            assert_eq!(checked.deadline_ms(), Some(3), "{params}");
        }
    }
}
