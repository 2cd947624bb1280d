//! The evidence of a host call: one entry before it starts, one when it has ended, never the parameters themselves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use pi_transcript::json::Digest;

use crate::{
    Object,
    capability::{Capability, Derived, Method},
    host::{ErrorCode, HostCall},
};

/// The `data` of `host_call.start`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields, rename = "LedgerStart")]
pub struct Start {
    pub capability: Capability,
    pub method: Method,
    #[schemars(with = "String")]
    #[ts(as = "String")]
    pub params_hash: Digest,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// The `data` of `host_call.end`: the start again, so that a single line tells the whole story, and the outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields, rename = "LedgerEnd")]
pub struct End {
    #[serde(flatten)]
    pub start: Start,
    pub duration_ms: u64,
    pub is_error: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<EndError>,
}

/// What the ledger keeps of an error; the message may quote parameters and is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(rename = "LedgerError")]
pub struct EndError {
    pub code: ErrorCode,
}

impl Start {
    /// Describes `call`; what it needs comes from the host, not from the claim of the call.
    pub fn new(derived: &Derived, call: &HostCall) -> Self {
        Self {
            capability: derived.capability().clone(),
            method: derived.method().clone(),
            params_hash: call.params_hash(),
            timeout_ms: call.timeout_ms.as_ref().map(crate::count::Count::get),
        }
    }

    pub fn end(self, duration_ms: u64, error: Option<ErrorCode>) -> End {
        let error = error.map(|code| EndError { code });
        End { start: self, duration_ms, is_error: error.is_some(), error }
    }

    pub fn into_data(self) -> Object {
        object(self)
    }
}

impl End {
    pub fn into_data(self) -> Object {
        object(self)
    }
}

fn object(data: impl Serialize) -> Object {
    match serde_json::to_value(data) {
        Ok(Value::Object(object)) => object,
        _ => unreachable!("a struct of strings and numbers is written as an object"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn evidence_names_the_call_without_its_parameters() {
        let call: HostCall = serde_json::from_value(json!({
            "call_id": "h", "capability": "read", "method": "fs", "timeout_ms": 2500.0,
            "params": { "op": "read", "path": "secret.txt" },
        }))
        .expect("a call");
        let start = Start::new(&call.check_declared().expect("an honest call"), &call);
        let mut expected = json!({
            "capability": "read", "method": "fs", "params_hash": call.params_hash().to_string(), "timeout_ms": 2500,
        });
        assert_eq!(Value::Object(start.clone().into_data()), expected);

        expected["duration_ms"] = json!(7);
        expected["is_error"] = json!(true);
        expected["error"] = json!({ "code": "denied" });
        assert_eq!(Value::Object(start.end(7, Some(ErrorCode::Denied)).into_data()), expected);
    }
}
