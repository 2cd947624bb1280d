//! The texts in the body of a request, whatever dialect it is in.

use serde_json::Value;

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
const NO_TEXTS: [&str; 16] = [
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
    "signature",
];

/// Calls `visit` for every text.
pub(super) fn for_each_text(
    payload: &mut Value,
    visit: &mut dyn FnMut(&mut String) -> Result<(), CallError>,
) -> Result<(), CallError> {
    walk(payload, false, visit)
}

fn walk(
    value: &mut Value,
    is_text: bool,
    visit: &mut dyn FnMut(&mut String) -> Result<(), CallError>,
) -> Result<(), CallError> {
    match value {
        Value::String(text) if is_text => visit(text),
        Value::Array(elements) => elements.iter_mut().try_for_each(|element| walk(element, is_text, visit)),
        Value::Object(members) => members.iter_mut().try_for_each(|(name, member)| {
            let is_text = (is_text || TEXTS.contains(&name.as_str())) && !NO_TEXTS.contains(&name.as_str());
            walk(member, is_text, visit)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}
