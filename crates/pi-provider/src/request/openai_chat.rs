//! Chat Completions: a list of messages, tool results in messages of their own.

use std::borrow::Cow;

use serde::{
    Serialize, Serializer,
    ser::{SerializeMap, SerializeSeq},
};
use serde_json::{Map, Value, json};

use super::{
    members::place,
    plan::{Marker, Plan},
    rules::Rules,
    tools::Offer,
    turn::{Answer, Part, Turn},
    writer::TEXT_OF_JSON,
};
use crate::{call::ToolChoice, dialect::Dialect};

/// What the model is made to say between the results of its calls and the user, for servers that insist on it.
const RESULTS_READ: &str = "I have read the results.";

pub(super) fn write<M: SerializeMap>(plan: &Plan<'_>, body: &mut M) -> Result<(), M::Error> {
    body.serialize_entry("model", &plan.model)?;
    body.serialize_entry("messages", &Messages(plan))?;
    if !plan.tools.is_empty() {
        body.serialize_entry("tools", &Functions(&plan.tools))?;
    }
    Ok(())
}

/// Dotted members for the choice of tools.
pub(super) fn choice(choice: Option<&ToolChoice>, parallel: Option<bool>) -> Map<String, Value> {
    choice_in_words(choice, parallel, |name| json!({"type": "function", "function": {"name": name}}))
}

/// Dotted members for the choice of tools in OpenAI's words; `only` is the form of a single tool.
pub(super) fn choice_in_words(
    choice: Option<&ToolChoice>,
    parallel: Option<bool>,
    only: impl FnOnce(&str) -> Value,
) -> Map<String, Value> {
    let choice = choice.map(|choice| match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Tool(name) => only(name),
    });
    let choice = choice.map(|choice| ("tool_choice".to_owned(), choice));
    choice.into_iter().chain(parallel.map(|parallel| ("parallel_tool_calls".to_owned(), json!(parallel)))).collect()
}

struct Messages<'p>(&'p Plan<'p>);

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let plan = self.0;
        let mut messages = serializer.serialize_seq(None)?;
        let system = plan.role("system");
        if !plan.system.is_empty() {
            let content = Content::System(&plan.system, plan.marker);
            messages.serialize_element(&Message { role: system, content, metadata: None })?;
        }
        let is_user = |group: &&[Turn<'_>]| matches!(group[0], Turn::User { .. });
        let last_user = plan.marker.map_or(0, |_| plan.groups().filter(is_user).count());
        let mut users = 0;
        let mut is_answered = false;
        for group in plan.groups() {
            let follows_results = std::mem::replace(&mut is_answered, matches!(group[0], Turn::Results(_)));
            match &group[0] {
                Turn::System(text) => {
                    let content = Content::System(text, None);
                    messages.serialize_element(&Message { role: system, content, metadata: None })?;
                }
                Turn::User { metadata, .. } => {
                    users += 1;
                    if follows_results && plan.quirks.is_some_and(|quirks| quirks.assistant_after_result) {
                        let (role, content) = (plan.role("assistant"), Some(RESULTS_READ.into()));
                        messages.serialize_element(&Spoken { role, content, tool_calls: None })?;
                    }
                    let marker = plan.marker.filter(|_| users == last_user);
                    let role = plan.role("user");
                    let content = Content::User { group, is_string: is_string(plan), marker };
                    messages.serialize_element(&Message { role, content, metadata: *metadata })?;
                }
                Turn::Assistant(_) => messages.serialize_element(&Assistant { plan, group })?,
                Turn::Results(answers) => {
                    for answer in answers {
                        messages.serialize_element(&ToolMessage::of(plan, answer))?;
                    }
                }
            }
        }
        messages.end()
    }
}

/// Whether the provider takes the content of a message only as one text.
fn is_string(plan: &Plan<'_>) -> bool {
    let text = plan.contract.request_mapping.content_block_mapping.get("text");
    text.and_then(|text| text.wrapper.as_deref()) == Some("string")
}

#[derive(Serialize)]
struct Message<'p> {
    role: &'p str,
    content: Content<'p>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'p Value>,
}

enum Content<'p> {
    System(&'p str, Option<Marker<'p>>),
    User { group: &'p [Turn<'p>], is_string: bool, marker: Option<Marker<'p>> },
}

impl Serialize for Content<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::System(text, None) => serializer.serialize_str(text),
            Self::System(text, marker) => serializer.collect_seq([Text::new(text, *marker)]),
            Self::User { group, is_string, marker } => {
                let mut parts = user_parts(group).peekable();
                let only = match (parts.next(), parts.peek()) {
                    (Some(Part::Text { text, .. }), None) => Some(text),
                    (Some(_) | None, _) => None,
                };
                match only {
                    Some(text) if marker.is_none() => serializer.serialize_str(text),
                    Some(_) | None if *is_string && user_parts(group).all(|part| matches!(part, Part::Text { .. })) => {
                        serializer.serialize_str(&texts(user_parts(group), "\n\n"))
                    }
                    Some(_) | None => parts_with_mark(user_parts(group), *marker, serializer),
                }
            }
        }
    }
}

fn user_parts<'p>(group: &'p [Turn<'p>]) -> impl Iterator<Item = &'p Part<'p>> {
    group.iter().flat_map(|turn| match turn {
        Turn::User { parts, .. } | Turn::Assistant(parts) => parts.as_slice(),
        Turn::System(_) | Turn::Results(_) => &[],
    })
}

/// Parts as a list; the mark stands on the last one that can carry it.
fn parts_with_mark<'p, S: Serializer>(
    parts: impl Iterator<Item = &'p Part<'p>>,
    marker: Option<Marker<'p>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut list = serializer.serialize_seq(None)?;
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        match part {
            Part::Text { text, .. } => {
                list.serialize_element(&Text::new(text, marker.filter(|_| parts.peek().is_none())))?;
            }
            Part::Media(block) => list.serialize_element(block)?,
            Part::Thinking { .. } | Part::Call { .. } => {}
        }
    }
    list.end()
}

/// All texts as one.
pub(super) fn texts<'p>(parts: impl Iterator<Item = &'p Part<'p>>, between: &str) -> Cow<'p, str> {
    let mut whole = Cow::Borrowed("");
    for part in parts {
        let Part::Text { text, .. } = part else { continue };
        if whole.is_empty() {
            whole = Cow::Borrowed(text);
        } else {
            whole.to_mut().push_str(between);
            whole.to_mut().push_str(text);
        }
    }
    whole
}

#[derive(Serialize)]
pub(super) struct Text<'p> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'p str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Marker<'p>>,
}

impl<'p> Text<'p> {
    pub(super) fn new(text: &'p str, cache_control: Option<Marker<'p>>) -> Self {
        Self { kind: "text", text, cache_control }
    }
}

struct Assistant<'p> {
    plan: &'p Plan<'p>,
    group: &'p [Turn<'p>],
}

impl Serialize for Assistant<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let parts = || user_parts(self.group);
        let role = self.plan.role("assistant");
        let text = texts(parts(), "");
        // Servers that want the model to speak after results want it to say something, too.
        let is_said = !text.is_empty() || self.plan.quirks.is_some_and(|quirks| quirks.assistant_after_result);
        let content = is_said.then_some(text);
        let calls = Calls { group: self.group, dialect: self.plan.dialect };
        let tool_calls = parts().any(|part| matches!(part, Part::Call { .. })).then_some(calls);
        if !parts().any(|part| matches!(part, Part::Thinking { .. })) {
            return Spoken { role, content, tool_calls }.serialize(serializer);
        }
        let mut message = serializer.serialize_map(None)?;
        message.serialize_entry("role", role)?;
        message.serialize_entry("content", &content)?;
        let mode = &self.plan.contract.capability_contracts.generative.reasoning_mode;
        let (mut thought, mut details) = (String::new(), Vec::new());
        for part in parts() {
            match part {
                Part::Thinking { signature: Some(data), redacted: true, .. } if mode.details_field.is_some() => {
                    details.push(encrypted_thought(data));
                }
                Part::Thinking { text, signature: Some(signature), .. } if mode.details_field.is_some() => {
                    details.push(json!({"type": "reasoning.text", "text": text, "signature": signature}));
                }
                Part::Thinking { text, .. } => thought.push_str(text),
                Part::Text { .. } | Part::Media(_) | Part::Call { .. } => {}
            }
        }
        if let Some(field) = mode.replay_field.as_deref().filter(|_| !thought.is_empty()) {
            message.serialize_entry(field, &thought)?;
        }
        if let Some(field) = mode.details_field.as_deref().filter(|_| !details.is_empty()) {
            message.serialize_entry(field, &details)?;
        }
        if let Some(calls) = tool_calls {
            message.serialize_entry("tool_calls", &calls)?;
        }
        message.end()
    }
}

/// What a model said without thinking.
#[derive(Serialize)]
struct Spoken<'p> {
    role: &'p str,
    content: Option<Cow<'p, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<Calls<'p>>,
}

/// A thought that was encrypted goes back as it came.
fn encrypted_thought(data: &str) -> Value {
    match serde_json::from_str(data) {
        Ok(detail @ Value::Object(_)) => detail,
        Ok(_) | Err(_) => json!({"type": "reasoning.encrypted", "data": data}),
    }
}

/// Tool calls of a turn.
pub(super) struct Calls<'p> {
    pub(super) group: &'p [Turn<'p>],
    pub(super) dialect: Dialect,
}

impl Serialize for Calls<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let place_of_signature = Rules::of(self.dialect).call_signature.as_deref();
        serializer.collect_seq(user_parts(self.group).filter_map(|part| match part {
            Part::Call { id, name, arguments, signature, .. } => {
                let function = Function { name, arguments: JsonText(arguments) };
                let call = Call { id, kind: "function", function };
                let Some((path, signature)) = place_of_signature.zip(*signature) else {
                    return Some(Proven::Not(call));
                };
                let mut proof = Map::new();
                place(&mut proof, path, json!(signature));
                Some(Proven::By { call, proof })
            }
            Part::Text { .. } | Part::Media(_) | Part::Thinking { .. } => None,
        }))
    }
}

/// A call, with the proof that it was the model's where the provider gave one.
#[derive(Serialize)]
#[serde(untagged)]
enum Proven<'p> {
    Not(Call<'p>),
    By {
        #[serde(flatten)]
        call: Call<'p>,
        #[serde(flatten)]
        proof: Map<String, Value>,
    },
}

#[derive(Serialize)]
struct Call<'p> {
    id: &'p str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'p>,
}

#[derive(Serialize)]
struct Function<'p> {
    name: &'p str,
    arguments: JsonText<'p>,
}

/// JSON as a text, where the [writer](super::writer) of bodies writes it.
pub(super) struct JsonText<'p>(pub(super) &'p Map<String, Value>);

impl Serialize for JsonText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(TEXT_OF_JSON, self.0)
    }
}

#[derive(Serialize)]
pub(super) struct ToolMessage<'p> {
    role: &'p str,
    tool_call_id: &'p str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'p str>,
    content: &'p str,
}

impl<'p> ToolMessage<'p> {
    pub(super) fn of(plan: &'p Plan<'p>, answer: &'p Answer<'p>) -> Self {
        let is_named = plan.quirks.is_some_and(|quirks| quirks.tool_result_name);
        let name = is_named.then_some(answer.name);
        Self { role: plan.role("tool"), tool_call_id: &answer.id, name, content: &answer.text }
    }
}

/// Definitions of functions.
pub(super) struct Functions<'p>(pub(super) &'p [Offer<'p>]);

impl Serialize for Functions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|offer| Definition {
            kind: "function",
            function: Signature { name: offer.name, description: offer.description, parameters: &offer.parameters },
        }))
    }
}

#[derive(Serialize)]
struct Definition<'p> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Signature<'p>,
}

#[derive(Serialize)]
struct Signature<'p> {
    name: &'p str,
    description: &'p str,
    parameters: &'p Value,
}
