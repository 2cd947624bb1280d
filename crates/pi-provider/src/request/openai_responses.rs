//! Responses: a flat list of items, one for each message, thought, call and result.

use serde::{
    Serialize, Serializer,
    ser::{SerializeMap, SerializeSeq},
};
use serde_json::{Map, Value, json};

use super::{
    openai_chat::{JsonText, choice_in_words},
    plan::Plan,
    tools::Offer,
    turn::{Answer, Part, Turn},
};
use crate::{call::ToolChoice, manifest::contract::SystemHandling};

pub(super) fn write<M: SerializeMap>(plan: &Plan<'_>, body: &mut M) -> Result<(), M::Error> {
    body.serialize_entry("model", &plan.model)?;
    if !plan.system.is_empty() && !is_inline(plan) {
        body.serialize_entry("instructions", &plan.system)?;
    }
    body.serialize_entry("input", &Items(plan))?;
    if !plan.tools.is_empty() {
        body.serialize_entry("tools", &Functions(&plan.tools))?;
    }
    Ok(())
}

/// Dotted members for the choice of tools.
pub(super) fn choice(choice: Option<&ToolChoice>, parallel: Option<bool>) -> Map<String, Value> {
    choice_in_words(choice, parallel, |name| json!({"type": "function", "name": name}))
}

fn is_inline(plan: &Plan<'_>) -> bool {
    plan.contract.request_mapping.system_message_handling == Some(SystemHandling::Inline)
}

struct Items<'p>(&'p Plan<'p>);

impl Serialize for Items<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let plan = self.0;
        let mut items = serializer.serialize_seq(None)?;
        let system = plan.role("system");
        if !plan.system.is_empty() && is_inline(plan) {
            items.serialize_element(&Message { role: system, content: Content::Text(&plan.system) })?;
        }
        for turn in &plan.turns {
            match turn {
                Turn::System(text) => {
                    items.serialize_element(&Message { role: system, content: Content::Text(text) })?;
                }
                Turn::User { parts, .. } => {
                    let content = Content::Input(parts);
                    items.serialize_element(&Message { role: plan.role("user"), content })?;
                }
                Turn::Assistant(parts) => {
                    // Items with ids are refused without the thoughts that led to them.
                    let ids = match plan.contract.request_mapping.plain_assistant_text {
                        Some(true) => Ids::Unknown,
                        _ if parts.iter().all(is_replayable) => Ids::Kept,
                        _ => Ids::Dropped,
                    };
                    for part in parts {
                        said(part, plan.role("assistant"), ids, &mut items)?;
                    }
                }
                Turn::Results(answers) => {
                    for answer in answers {
                        items.serialize_element(&Output {
                            kind: "function_call_output",
                            call_id: &answer.id,
                            output: Given(answer),
                        })?;
                    }
                }
            }
        }
        items.end()
    }
}

/// Whether items go back with the ids that the provider gave them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ids {
    Kept,
    Dropped,
    /// The provider has no items of what was said, only texts.
    Unknown,
}

/// One thing that the model said.
fn said<S: SerializeSeq>(part: &Part<'_>, role: &str, ids: Ids, items: &mut S) -> Result<(), S::Error> {
    match part {
        Part::Text { text, signature } => {
            // The signature of a text is the id of its item.
            match signature.filter(|signature| ids == Ids::Kept && signature.starts_with("msg_")) {
                Some(id) => items.serialize_element(&message_item(role, text, id)),
                None if ids == Ids::Unknown => items.serialize_element(&Message { role, content: Content::Text(text) }),
                None => items.serialize_element(&Message { role, content: Content::Output(text) }),
            }
        }
        Part::Thinking { .. } if ids == Ids::Unknown => Ok(()),
        Part::Thinking { text, signature, .. } => match thought(text, *signature) {
            Some(item) => items.serialize_element(&item),
            None => Ok(()),
        },
        Part::Call { id, item, name, arguments, .. } => items.serialize_element(&CallItem {
            kind: "function_call",
            id: item.filter(|_| ids == Ids::Kept),
            call_id: id,
            name,
            arguments: JsonText(arguments),
        }),
        Part::Media(_) => Ok(()),
    }
}

/// A thought that goes back: its whole item where the signature is one, else what was encrypted of it. `None` for an
/// item without anything encrypted, which only a provider that stored it could know.
fn thought(text: &str, signature: Option<&str>) -> Option<Value> {
    let signature = signature.unwrap_or_default();
    if let Ok(item @ Value::Object(_)) = serde_json::from_str::<Value>(signature) {
        let encrypted = item.get("encrypted_content").and_then(Value::as_str);
        return encrypted.is_some_and(|encrypted| !encrypted.is_empty()).then_some(item);
    }
    let summary = if text.trim().is_empty() { json!([]) } else { json!([{"type": "summary_text", "text": text}]) };
    Some(json!({"type": "reasoning", "summary": summary, "encrypted_content": signature}))
}

fn is_replayable(part: &Part<'_>) -> bool {
    match part {
        Part::Thinking { text, signature, .. } => thought(text, *signature).is_some(),
        Part::Text { .. } | Part::Media(_) | Part::Call { .. } => true,
    }
}

/// A message of the model with everything that an item has.
fn message_item(role: &str, text: &str, id: &str) -> Value {
    let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
    json!({"type": "message", "id": id, "role": role, "status": "completed", "content": content})
}

#[derive(Serialize)]
struct Message<'p> {
    role: &'p str,
    content: Content<'p>,
}

enum Content<'p> {
    Text(&'p str),
    Input(&'p [Part<'p>]),
    Output(&'p str),
}

impl Serialize for Content<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Output(text) => serializer.collect_seq([Text { kind: "output_text", text }]),
            Self::Input(parts) => {
                let mut list = serializer.serialize_seq(None)?;
                for part in *parts {
                    match part {
                        Part::Text { text, .. } => list.serialize_element(&Text { kind: "input_text", text })?,
                        Part::Media(block) => list.serialize_element(block)?,
                        Part::Thinking { .. } | Part::Call { .. } => {}
                    }
                }
                list.end()
            }
        }
    }
}

#[derive(Serialize)]
struct Text<'p> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'p str,
}

#[derive(Serialize)]
struct CallItem<'p> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'p str>,
    call_id: &'p str,
    name: &'p str,
    arguments: JsonText<'p>,
}

#[derive(Serialize)]
struct Output<'p> {
    #[serde(rename = "type")]
    kind: &'static str,
    call_id: &'p str,
    output: Given<'p>,
}

/// What a tool gave: a text, or a list where there is more.
struct Given<'p>(&'p Answer<'p>);

impl Serialize for Given<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(serializer, &Text { kind: "input_text", text: &self.0.text })
    }
}

struct Functions<'p>(&'p [Offer<'p>]);

impl Serialize for Functions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|offer| Function {
            kind: "function",
            name: offer.name,
            description: offer.description,
            parameters: &offer.parameters,
            strict: false,
        }))
    }
}

#[derive(Serialize)]
struct Function<'p> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'p str,
    description: &'p str,
    parameters: &'p Value,
    strict: bool,
}
