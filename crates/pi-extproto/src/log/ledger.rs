//! The evidence of a host call: one entry before it starts, one when it has ended, with what it touches and never the parameters
//! themselves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use pi_transcript::json::Digest;

use crate::{
    Object,
    capability::{Capability, Method},
    connector::to_object,
    host::{CheckedCall, ErrorCode},
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
    /// The path, program, host, variable or operation that the call names, without contents and arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The deadline that counts, if there is one.
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
    pub fn new(call: &CheckedCall) -> Self {
        Self {
            capability: call.capability().clone(),
            method: call.method(),
            params_hash: call.params_hash(),
            target: call.target().map(str::to_owned),
            timeout_ms: call.deadline_ms(),
        }
    }

    pub fn end(self, duration_ms: u64, error: Option<ErrorCode>) -> End {
        let error = error.map(|code| EndError { code });
        End { start: self, duration_ms, is_error: error.is_some(), error }
    }

    pub fn to_data(&self) -> Object {
        to_object(self)
    }
}

impl End {
    pub fn to_data(&self) -> Object {
        to_object(self)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::host::HostCall;

    #[test]
    fn evidence_names_the_call_without_its_parameters() {
        let call: HostCall = serde_json::from_value(json!({
            "call_id": "h", "capability": "read", "method": "fs", "timeout_ms": 2500.0,
            "params": { "op": "read", "path": "secret.txt" },
        }))
        .expect("a call");
        let checked = call.check().expect("an honest call");
        let start = Start::new(&checked);
        let mut expected = json!({
            "capability": "read", "method": "fs", "params_hash": checked.params_hash().to_string(),
            "target": "secret.txt", "timeout_ms": 2500,
        });
        assert_eq!(Value::Object(start.to_data()), expected);

        expected["duration_ms"] = json!(7);
        expected["is_error"] = json!(true);
        expected["error"] = json!({ "code": "denied" });
        assert_eq!(Value::Object(start.end(7, Some(ErrorCode::Denied)).to_data()), expected);
    }
}
