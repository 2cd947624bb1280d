//! The shapes of the ten messages: they name the faults of a message that the types refuse.

use serde_json::Value;

use pi_transcript::json::{
    Problem,
    shape::{self, Member, Shape, optional, required},
};

use super::{MEMBERS, Payload, VERSION};

const TEXTS: Shape = Shape::List { items: &Shape::Text, least: 0 };
const OBJECT: Shape = Shape::Record(&[]);
const OBJECTS: Shape = Shape::List { items: &OBJECT, least: 0 };

const SCOPE: &[Member] = &[optional("paths", TEXTS), optional("hosts", TEXTS), optional("env", TEXTS)];

const REQUIREMENT: &[Member] =
    &[required("capability", Shape::Text), optional("methods", TEXTS), optional("scope", Shape::Record(SCOPE))];

pub(crate) const CAPABILITY_MANIFEST: &[Member] = &[
    required("schema", Shape::Word(&["pi.ext.cap.v1"])),
    required("capabilities", Shape::List { items: &Shape::Record(REQUIREMENT), least: 0 }),
];

pub(super) const REGISTER: &[Member] = &[
    required("name", Shape::Text),
    required("version", Shape::Text),
    required("api_version", Shape::Text),
    optional("capabilities", TEXTS),
    optional("capability_manifest", Shape::Record(CAPABILITY_MANIFEST)),
    optional("tools", OBJECTS),
    optional("slash_commands", OBJECTS),
    optional("event_hooks", TEXTS),
];

pub(super) const TOOL_CALL: &[Member] = &[
    required("call_id", Shape::Text),
    required("name", Shape::Text),
    required("input", OBJECT),
    optional("context", OBJECT),
];

pub(super) const TOOL_RESULT: &[Member] =
    &[required("call_id", Shape::Text), required("output", OBJECT), required("is_error", Shape::Flag)];

pub(super) const SLASH_COMMAND: &[Member] =
    &[required("name", Shape::Text), optional("args", TEXTS), optional("input", OBJECT)];

pub(super) const SLASH_RESULT: &[Member] = &[required("output", OBJECT), required("is_error", Shape::Flag)];

pub(super) const EVENT_HOOK: &[Member] = &[required("event", Shape::Text), optional("data", OBJECT)];

pub(super) const HOST_CALL: &[Member] = &[
    required("call_id", Shape::Text),
    required("capability", Shape::Text),
    required("method", Shape::Text),
    required("params", OBJECT),
    optional("timeout_ms", Shape::Count),
    optional("cancel_token", Shape::Text),
    optional("context", OBJECT),
];

const HOST_ERROR: &[Member] = &[
    required("code", Shape::Word(&["timeout", "denied", "io", "invalid_request", "internal"])),
    required("message", Shape::Text),
    optional("details", OBJECT),
    optional("retryable", Shape::Flag),
];

const BACKPRESSURE: &[Member] = &[optional("credits", Shape::Count), optional("delay_ms", Shape::Count)];

const CHUNK: &[Member] = &[
    required("index", Shape::Count),
    required("is_last", Shape::Flag),
    optional("backpressure", Shape::Record(BACKPRESSURE)),
];

pub(super) const HOST_RESULT: &[Member] = &[
    required("call_id", Shape::Text),
    required("output", OBJECT),
    required("is_error", Shape::Flag),
    optional("error", Shape::Record(HOST_ERROR)),
    optional("chunk", Shape::Record(CHUNK)),
];

const CORRELATION: &[Member] = &[
    required("extension_id", Shape::Text),
    required("scenario_id", Shape::Text),
    optional("session_id", Shape::Text),
    optional("run_id", Shape::Text),
    optional("artifact_id", Shape::Text),
    optional("tool_call_id", Shape::Text),
    optional("slash_command_id", Shape::Text),
    optional("event_id", Shape::Text),
    optional("host_call_id", Shape::Text),
    optional("rpc_id", Shape::Text),
    optional("trace_id", Shape::Text),
    optional("span_id", Shape::Text),
];

const SOURCE: &[Member] = &[
    required("component", Shape::Word(&["capture", "harness", "runtime", "extension"])),
    optional("host", Shape::Text),
    optional("pid", Shape::Count),
];

pub(super) const LOG: &[Member] = &[
    required("schema", Shape::Word(&["pi.ext.log.v1"])),
    required("ts", Shape::Text),
    required("level", Shape::Word(&["debug", "info", "warn", "error"])),
    required("event", Shape::Text),
    required("message", Shape::Text),
    required("correlation", Shape::Record(CORRELATION)),
    optional("source", Shape::Record(SOURCE)),
    optional("data", OBJECT),
];

pub(super) const ERROR: &[Member] =
    &[required("code", Shape::Text), required("message", Shape::Text), optional("details", OBJECT)];

const ENVELOPE: &[Member] = &[
    required("id", Shape::Text),
    required("version", Shape::Word(&[VERSION])),
    required("type", Shape::Word(Payload::KINDS)),
    required("payload", OBJECT),
];

/// Every fault of a message, in the order of its members; a payload of an unknown type is only an object.
pub(super) fn problems(message: &Value) -> Vec<Problem> {
    let mut found = shape::problems(&Shape::Record(ENVELOPE), message);
    let Some(kind) = message.get("type").and_then(Value::as_str) else { return found };
    let Some(payload) = message.get("payload").filter(|payload| payload.is_object()) else { return found };
    if let Some((_, members)) = MEMBERS.iter().find(|(name, _)| *name == kind) {
        let inner = shape::problems(&Shape::Record(members), payload).into_iter();
        found.extend(inner.map(|fault| match fault.path.as_str() {
            // Only the note that there are more faults has no place of its own.
            "" => fault,
            path => Problem { path: format!("payload.{path}"), message: fault.message },
        }));
    }
    if kind == "host_result" {
        found.extend(contradiction(payload));
    }
    found
}

/// Whether `is_error` and the presence of `error` disagree.
fn contradiction(payload: &Value) -> Option<Problem> {
    let broken = match (payload.get("is_error")?.as_bool()?, payload.get("error").is_some()) {
        (true, false) => "required when is_error is true",
        (false, true) => "forbidden when is_error is false",
        (true, true) | (false, false) => return None,
    };
    Some(Problem { path: "payload.error".to_owned(), message: broken.to_owned() })
}
