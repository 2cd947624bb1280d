//! The texts in the body of a request, whatever dialect it is in.

use serde_json::{Map, Value};

use crate::error::CallError;

/// Members whose texts are read by the model.
const TEXTS: [&str; 14] = [
    "content",
    "text",
    "texts",
    "input",
    "output",
    "instructions",
    "system",
    "prompt",
    "query",
    "documents",
    "arguments",
    "args",
    "response",
    "result",
];
/// Members inside those that are not: names, references, media.
const NO_TEXTS: [&str; 15] = [
    "type",
    "role",
    "id",
    "call_id",
    "tool_call_id",
    "tool_use_id",
    "name",
    "data",
    "url",
    "image_url",
    "file_id",
    "file_data",
    "source",
    "media_type",
    "cache_control",
];
/// Where objects hold what a tool is given or gives back. Its members are the tool's own: whatever they are called, what is
/// in them is text. Lists under these names are messages and parts.
const TOOLS_OWN: [&str; 6] = ["args", "arguments", "input", "response", "result", "output"];
/// Members that vouch for what stands beside them, which is refused if it was changed.
const SIGNATURES: [&str; 5] =
    ["signature", "thoughtSignature", "thought_signature", "thinkingSignature", "encrypted_content"];

/// What the texts at a place are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Settings, not read by the model.
    Outside,
    /// Read by the model, but for members that are known to be none.
    Inside,
    /// What belongs to a tool: all of it.
    ToolsOwn,
}

/// Calls `visit` for every text.
pub(super) fn for_each_text(
    payload: &mut Value,
    visit: &mut dyn FnMut(&mut String) -> Result<(), CallError>,
) -> Result<(), CallError> {
    walk(payload, Place::Outside, visit)
}

fn walk(
    value: &mut Value,
    place: Place,
    visit: &mut dyn FnMut(&mut String) -> Result<(), CallError>,
) -> Result<(), CallError> {
    match value {
        Value::String(text) if place != Place::Outside => visit(text),
        Value::Array(elements) => elements.iter_mut().try_for_each(|element| walk(element, place, visit)),
        Value::Object(members) if place != Place::ToolsOwn && is_signed(members) => Ok(()),
        Value::Object(members) => members.iter_mut().try_for_each(|(name, member)| {
            let place = within(place, name, member);
            walk(member, place, visit)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn within(place: Place, name: &str, member: &Value) -> Place {
    match place {
        Place::ToolsOwn => Place::ToolsOwn,
        Place::Outside | Place::Inside if TOOLS_OWN.contains(&name) && member.is_object() => Place::ToolsOwn,
        Place::Inside if NO_TEXTS.contains(&name) => Place::Outside,
        Place::Inside => Place::Inside,
        Place::Outside if TEXTS.contains(&name) => Place::Inside,
        Place::Outside => Place::Outside,
    }
}

/// Thinking with a signature, thinking that was withheld, and whatever else a provider wants back as it was.
fn is_signed(part: &Map<String, Value>) -> bool {
    let has = |name: &&str| part.get(*name).and_then(Value::as_str).is_some_and(|signature| !signature.is_empty());
    part.get("type").and_then(Value::as_str) == Some("redacted_thinking") || SIGNATURES.iter().any(has)
}
