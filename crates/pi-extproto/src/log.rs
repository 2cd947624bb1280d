//! Log entries `pi.ext.log.v1`: what capture, harness, runtime and extensions write, one JSON object per line.
//!
//! [`LogEntry`] is the payload of a `log` message and a line of a log file alike. [`LogEntry::breaches`] checks what the
//! schema cannot say, [`LogEntry::normalise`] makes two runs comparable, [`LogEntry::redact`] is mandatory before
//! anything is written, and [`ledger`] is the evidence that every host call leaves.

pub mod ledger;
mod normal;
mod redaction;
mod rules;
mod target;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use pi_transcript::json::{Digest, Extra, canonical, present};

pub use self::{
    normal::normalise_paths,
    redaction::RedactedEntry,
    target::{program, target},
};
use crate::{Object, capability::Method, count::Count, word::open_words};

/// One entry of an extension log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct LogEntry {
    pub schema: LogSchema,
    /// When, by RFC 3339.
    #[schemars(extend("format" = "date-time"))]
    pub ts: String,
    pub level: Level,
    /// A stable name for programs.
    pub event: LogEvent,
    /// A summary for people.
    pub message: String,
    pub correlation: Correlation,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub data: Option<Object>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// What an extension says when it logs through the host, which adds time, ids and source; the parameters of `log`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct LogNote {
    pub level: Level,
    pub event: LogEvent,
    pub message: String,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub data: Option<Object>,
}

/// The one version of the log entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, TS)]
pub enum LogSchema {
    #[default]
    #[serde(rename = "pi.ext.log.v1")]
    V1,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

open_words! {
    /// What a log entry is about.
    pub enum LogEvent {
        ExtensionRegister = "extension.register",
        ExtensionReady = "extension.ready",
        ToolCallStart = "tool_call.start",
        ToolCallEnd = "tool_call.end",
        SlashCommandStart = "slash_command.start",
        SlashCommandEnd = "slash_command.end",
        EventHookStart = "event_hook.start",
        EventHookEnd = "event_hook.end",
        HostCallStart = "host_call.start",
        HostCallEnd = "host_call.end",
        PolicyDecision = "policy.decision",
        CompatWarning = "compat.warning",
    }
}

/// The ids by which entries are joined. The most specific one that exists is always given.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct Correlation {
    pub extension_id: String,
    /// Deterministic: the same in every run of the same scenario.
    pub scenario_id: String,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub artifact_id: Option<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub slash_command_id: Option<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub event_id: Option<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub host_call_id: Option<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub rpc_id: Option<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub span_id: Option<String>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// Who wrote an entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct Source {
    pub component: Component,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub pid: Option<Count>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Component {
    Capture,
    Harness,
    Runtime,
    Extension,
}

impl Correlation {
    pub fn new(extension_id: impl Into<String>, scenario_id: impl Into<String>) -> Self {
        Self { extension_id: extension_id.into(), scenario_id: scenario_id.into(), ..Self::default() }
    }
}

/// What the ledger records instead of the parameters of a call: the digest of the canonical form of method and
/// parameters. Equal on every tier and in every language that follows RFC 8785.
pub fn params_hash(method: &Method, params: &Object) -> Digest {
    canonical::digest_of_two(("method", method.as_str()), ("params", params))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digests were made with two other implementations, in Python and in JavaScript.
    #[track_caller]
    fn check(method: &str, params: &str, digest: &str) {
        let params = serde_json::from_str(params).expect("an object");
        assert_eq!(params_hash(&Method::from(method), &params).to_string(), digest, "{method}");
    }

    #[test]
    fn hash_is_that_of_other_implementations() {
        check(
            "tool",
            r#"{"name":"grep","input":{"pattern":"TODO","path":"src/"}}"#,
            "5e71440cd85353d0da810e9b333893ecc9ca75255593cbb8bf592c888ad38276",
        );
        check("log", "{}", "7d81836c401b1ce5884e17aa43ad68c12817cd01dd21d22f7ea4cf25d585190e");
        check(
            "http",
            r#"{"url":"https://example.org/é","headers":[{"name":"b","value":"2"},{"name":"a","value":"1"}],"b":true,"a":null}"#,
            "fd5cadea874a818d586c81652b44e5dc622799c102d3a4c3678932404ebdf144",
        );
    }

    #[test]
    fn members_are_sorted_by_utf16_units() {
        check(
            "fs",
            r#"{"€":"euro","\r":"cr","1":"one","\u0080":"ctl","😀":"grin","\ufb33":"dalet"}"#,
            "9dc1b99c8790a7c916c4c9d6c35c797588c40f5c764462fad68209a150f3ae1d",
        );
    }

    #[test]
    fn spelling_of_numbers_and_order_of_members_do_not_matter() {
        let digest = "19d08ef734d5249b627c2edb00152415f39462750338431bd038e6e93040cb8d";
        check(
            "exec",
            r#"{"big":18446744073709551616,"e":1e21,"f":1e300,"neg":-0,"one":1.0,"small":1e-7,"third":0.1}"#,
            digest,
        );
        check(
            "exec",
            r#"{"third":0.10,"small":0.0000001,"one":1,"neg":0,"f":10e299,"e":1000000000000000000000,"big":18446744073709551615}"#,
            digest,
        );
    }
}
