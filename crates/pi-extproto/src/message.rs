//! The ten messages between an extension and its host, version 1.0.
//!
//! [`parse`] reads one message and knows every fault of a bad one; [`validate`] is the same without the message.
//! The verdict is that of the published schema, to the letter: `format` is only an annotation, an absent member is not
//! `null`, `1.0` is a whole number, numbers beyond 64 bits are numbers, unknown members are kept, and of two members
//! with the same name the last one counts. Three limits come from reading JSON at all, and hold for the schema
//! validators that stand on the same reader too: a number that no double can hold (`1e400`) is refused, text must be
//! valid Unicode (a lone surrogate escape is refused), and nesting stops at 128 levels.

mod payload;
mod shape;

use schemars::{Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::SerializeMap};
use serde_json::Value;
use ts_rs::TS;

use pi_transcript::json::{Extra, Problem, shape::Member};

pub use self::payload::{ErrorReport, EventHook, Register, SlashCommand, SlashResult, ToolCall, ToolResult};
pub(crate) use self::shape::CAPABILITY_MANIFEST;
use crate::{
    Object,
    host::{HostCall, HostResult},
    log::LogEntry,
};

/// The protocol version that every message carries.
pub const VERSION: &str = "1.0";

/// One message.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Joins a request with its answer.
    pub id: String,
    pub payload: Payload,
    /// Members of the envelope that this version does not know.
    pub extra: Extra,
}

/// The table of messages: variant, payload, the value of `type`, and the members that a fault is explained with.
macro_rules! messages {
    ($($variant:ident($payload:ty) = $kind:literal, $members:path;)*) => {
        /// What a message says; the variant is its `type`.
        #[derive(Debug, Clone, PartialEq, TS)]
        #[ts(tag = "type", content = "payload", rename_all = "snake_case")]
        pub enum Payload {
            $($variant($payload),)*
        }

        impl Payload {
            /// The values of `type`, in the order of the variants.
            pub const KINDS: &'static [&'static str] = &[$($kind,)*];

            /// The value of `type`.
            pub fn kind(&self) -> &'static str {
                match self { $(Self::$variant(_) => $kind,)* }
            }

            fn read(kind: &str, payload: Object) -> Result<Self, serde_json::Error> {
                let payload = Value::Object(payload);
                match kind {
                    $($kind => <$payload>::deserialize(payload).map(Self::$variant),)*
                    other => Err(serde_json::Error::unknown_variant(other, Self::KINDS)),
                }
            }

            fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                match self { $(Self::$variant(payload) => map.serialize_entry("payload", payload),)* }
            }

            /// The schema of every payload, with its kind.
            pub(crate) fn schemas(generator: &mut SchemaGenerator) -> Vec<(&'static str, Schema)> {
                vec![$(($kind, generator.subschema_for::<$payload>()),)*]
            }
        }

        /// The members of the payload of every message, by its `type`.
        const MEMBERS: &[(&str, &[Member])] = &[$(($kind, $members),)*];
    };
}

messages! {
    Register(Register) = "register", shape::REGISTER;
    ToolCall(ToolCall) = "tool_call", shape::TOOL_CALL;
    ToolResult(ToolResult) = "tool_result", shape::TOOL_RESULT;
    SlashCommand(SlashCommand) = "slash_command", shape::SLASH_COMMAND;
    SlashResult(SlashResult) = "slash_result", shape::SLASH_RESULT;
    EventHook(EventHook) = "event_hook", shape::EVENT_HOOK;
    HostCall(HostCall) = "host_call", shape::HOST_CALL;
    HostResult(HostResult) = "host_result", shape::HOST_RESULT;
    Log(LogEntry) = "log", shape::LOG;
    Error(ErrorReport) = "error", shape::ERROR;
}

impl Message {
    pub fn new(id: impl Into<String>, payload: Payload) -> Self {
        Self { id: id.into(), payload, extra: Extra::new() }
    }
}

/// Reads one message, or says everything that is wrong with it and where.
pub fn parse(bytes: &[u8]) -> Result<Message, Vec<Problem>> {
    let value = serde_json::from_slice(bytes).map_err(|error| vec![not_json(&error)])?;
    parse_value(&value)
}

/// Reads one message that is JSON already, or says everything that is wrong with it and where.
pub fn parse_value(value: &Value) -> Result<Message, Vec<Problem>> {
    Message::deserialize(value).map_err(|error| {
        let mut problems = shape::problems(value);
        if problems.is_empty() {
            // The shapes and the types are tested to agree; should they ever not, a fault without a path is still a fault.
            problems.push(Problem { path: String::new(), message: error.to_string() });
        }
        problems
    })
}

/// Everything that is wrong with a message; nothing if [`parse`] accepts it.
pub fn validate(bytes: &[u8]) -> Vec<Problem> {
    match serde_json::from_slice(bytes) {
        Ok(value) => shape::problems(&value),
        Err(error) => vec![not_json(&error)],
    }
}

pub(crate) fn not_json(error: &serde_json::Error) -> Problem {
    Problem { path: String::new(), message: format!("not JSON: {error}") }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(4 + self.extra.len()))?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("version", VERSION)?;
        map.serialize_entry("type", self.payload.kind())?;
        self.payload.write(&mut map)?;
        for (name, member) in &self.extra {
            map.serialize_entry(name, member)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Envelope {
            id: String,
            version: String,
            #[serde(rename = "type")]
            kind: String,
            payload: Object,
            #[serde(flatten)]
            extra: Extra,
        }
        let Envelope { id, version, kind, payload, extra } = Envelope::deserialize(deserializer)?;
        if version != VERSION {
            return Err(D::Error::unknown_variant(&version, &[VERSION]));
        }
        let payload = Payload::read(&kind, payload).map_err(D::Error::custom)?;
        Ok(Self { id, payload, extra })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_named_with_its_path() {
        let problems = validate(
            br#"{"version":"2.0","type":"host_result","payload":{
                "call_id":1,"is_error":true,"error":{"code":"sad","retryable":"no"},
                "chunk":{"index":-1,"backpressure":{"credits":0.5}}}}"#,
        );
        let expected = [
            r#"id: required member is missing"#,
            r#"version: expected one of "1.0", found "2.0""#,
            r#"payload.call_id: expected a string, found 1"#,
            r#"payload.output: required member is missing"#,
            r#"payload.error.code: expected one of "timeout", "denied", "io", "invalid_request", "internal", found "sad""#,
            r#"payload.error.message: required member is missing"#,
            r#"payload.error.retryable: expected true or false, found "no""#,
            r#"payload.chunk.index: expected a whole number, zero or more, found -1"#,
            r#"payload.chunk.is_last: required member is missing"#,
            r#"payload.chunk.backpressure.credits: expected a whole number, zero or more, found 0.5"#,
        ];
        assert_eq!(problems.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn error_is_bound_to_its_flag() {
        let check = |payload: &str, expected: &[&str]| {
            let json = format!(r#"{{"id":"","version":"1.0","type":"host_result","payload":{payload}}}"#);
            let found: Vec<_> = validate(json.as_bytes()).iter().map(ToString::to_string).collect();
            assert_eq!(found, expected, "{payload}");
        };
        let missing = "payload.error: required when is_error is true";
        check(r#"{"call_id":"c","output":{},"is_error":true}"#, &[missing]);
        check(
            r#"{"call_id":"c","output":{},"is_error":false,"error":{"code":"io","message":""}}"#,
            &["payload.error: forbidden when is_error is false"],
        );
        let output = "payload.output: expected an object, found null";
        check(r#"{"call_id":"c","output":null,"is_error":true}"#, &[output, missing]);
        check(r#"{"call_id":"c","output":{},"is_error":false}"#, &[]);
    }

    #[test]
    fn faults_beside_an_unknown_type_are_named_too() {
        let found: Vec<_> = validate(br#"{"id":null,"version":"1.0","type":"shout"}"#)
            .into_iter()
            .map(|problem| problem.path)
            .collect();
        assert_eq!(found, ["id", "type", "payload"]);
    }

    #[test]
    fn text_that_is_not_json_is_refused_without_panic() {
        let deep = [b"[".repeat(100_000), b"]".repeat(100_000)].concat();
        for bytes in [&b""[..], b"{", b"\xff", br#""\ud800""#, b"1e400", b"{} {}", &deep] {
            let problems = validate(bytes);
            assert_eq!(problems.len(), 1);
            assert!(problems[0].message.starts_with("not JSON: "), "{problems:?}");
        }
        assert_eq!(validate(b"[]")[0].to_string(), "expected an object, found an array");
    }

    #[test]
    fn last_of_two_members_with_one_name_counts() {
        let message =
            parse(br#"{"id":1,"id":"a","version":"1.0","type":"error","payload":{"code":2,"code":"x","message":"m"}}"#);
        let report = ErrorReport { code: "x".into(), message: "m".into(), details: None, extra: Extra::new() };
        assert_eq!(message, Ok(Message::new("a", Payload::Error(report))));
    }
}
