//! The texts in the body of a request, whatever dialect it is in: what is said in it, and what is sent beside that.

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
/// Members of settings whose values are words of the API, of which nobody can say anything with them. The model is named to
/// whoever has it.
const API_WORDS: [&str; 16] = [
    "model",
    "tool_choice",
    "mode",
    "effort",
    "reasoning_effort",
    "thinking",
    "thinkingLevel",
    "summary",
    "include",
    "verbosity",
    "service_tier",
    "format",
    "responseMimeType",
    "mimeType",
    "fileUri",
    "ttl",
];
/// Members of settings that are prose: what stands in them can be masked.
const PROSE: [&str; 2] = ["description", "title"];
/// Members of schemas whose own members are schemas, under names that whoever wrote them chose.
const NAMED: [&str; 4] = ["properties", "patternProperties", "$defs", "definitions"];
/// Where objects hold what a tool is given or gives back. Its members are the tool's own: whatever they are called, what is
/// in them is text. Lists under these names are messages and parts.
const TOOLS_OWN: [&str; 6] = ["args", "arguments", "input", "response", "result", "output"];
/// Members that vouch for what stands beside them, which is refused if it was changed.
const SIGNATURES: [&str; 5] =
    ["signature", "thoughtSignature", "thought_signature", "thinkingSignature", "encrypted_content"];

/// What the texts at a place are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Settings, tools and schemas: not said to the model, and sent.
    Beside,
    /// Names, references, media.
    Outside,
    /// Read by the model, but for members that are known to be none.
    Inside,
    /// What belongs to a tool: all of it.
    ToolsOwn,
}

/// A text of a body.
pub(super) enum Text<'t> {
    /// Somebody says it, and may say it otherwise.
    Said(&'t mut String),
    /// It means something else if it is changed: the name of a tool, a value that a schema allows, where an answer stops.
    Fixed(&'t str),
}

type Visit<'v> = dyn FnMut(Text<'_>) -> Result<(), CallError> + 'v;

/// Calls `visit` for every text of a body.
pub(super) fn for_each_text(payload: &mut Value, visit: &mut Visit<'_>) -> Result<(), CallError> {
    walk(payload, Place::Beside, visit)
}

/// Calls `visit` for what is said in a document that is not sent as it is.
pub(super) fn for_each_said(document: &mut Value, visit: &mut Visit<'_>) -> Result<(), CallError> {
    walk(document, Place::Outside, visit)
}

fn walk(value: &mut Value, place: Place, visit: &mut Visit<'_>) -> Result<(), CallError> {
    match value {
        Value::String(text) => match place {
            Place::Inside | Place::ToolsOwn => visit(Text::Said(text)),
            Place::Beside => visit(Text::Fixed(text)),
            Place::Outside => Ok(()),
        },
        Value::Array(elements) => elements.iter_mut().try_for_each(|element| walk(element, place, visit)),
        Value::Object(members) if place != Place::ToolsOwn && is_signed(members) => Ok(()),
        Value::Object(members) => members.iter_mut().try_for_each(|(name, member)| {
            let place = within(place, name, member);
            match member {
                // What somebody names is no member of ours, whatever the name is.
                Value::Object(named) if place == Place::Beside && NAMED.contains(&name.as_str()) => {
                    named.iter_mut().try_for_each(|(name, schema)| {
                        visit(Text::Fixed(name))?;
                        walk(schema, Place::Beside, visit)
                    })
                }
                member => walk(member, place, visit),
            }
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

fn within(place: Place, name: &str, member: &Value) -> Place {
    match place {
        Place::ToolsOwn => Place::ToolsOwn,
        Place::Beside | Place::Outside | Place::Inside if TOOLS_OWN.contains(&name) && member.is_object() => {
            Place::ToolsOwn
        }
        Place::Inside if NO_TEXTS.contains(&name) => Place::Outside,
        Place::Inside => Place::Inside,
        Place::Beside | Place::Outside if TEXTS.contains(&name) => Place::Inside,
        Place::Outside => Place::Outside,
        Place::Beside if PROSE.contains(&name) && member.is_string() => Place::Inside,
        // A tool is called by its name, and who wrote the tool chose it; and what a schema says of a member is an object,
        // whatever the member is called.
        Place::Beside if name == "name" || member.is_object() => Place::Beside,
        Place::Beside if API_WORDS.contains(&name) || NO_TEXTS.contains(&name) => Place::Outside,
        Place::Beside => Place::Beside,
    }
}

/// Thinking with a signature, thinking that was withheld, and whatever else a provider wants back as it was.
fn is_signed(part: &Map<String, Value>) -> bool {
    let has = |name: &&str| part.get(*name).and_then(Value::as_str).is_some_and(|signature| !signature.is_empty());
    part.get("type").and_then(Value::as_str) == Some("redacted_thinking") || SIGNATURES.iter().any(has)
}
