//! Messages: blocks of content, results as words of the user, marks for the cache.

use serde::{
    Serialize, Serializer,
    ser::{SerializeMap, SerializeSeq},
};
use serde_json::{Map, Value, json};

use super::{
    openai_chat::Text,
    plan::{Marker, Plan},
    tools::Offer,
    turn::{Answer, Part, Turn},
};
use crate::call::ToolChoice;

/// How many of the last messages of the user are marked for the cache, beside the system text and the tools. A provider
/// accepts four marks.
const MARKED_MESSAGES: usize = 2;

pub(super) fn write<M: SerializeMap>(plan: &Plan<'_>, body: &mut M) -> Result<(), M::Error> {
    body.serialize_entry("model", &plan.model)?;
    if !plan.system.is_empty() {
        match plan.marker {
            None => body.serialize_entry("system", &plan.system)?,
            marker => body.serialize_entry("system", &[Text::new(&plan.system, marker)])?,
        }
    }
    body.serialize_entry("messages", &Messages(plan))?;
    if !plan.tools.is_empty() {
        body.serialize_entry("tools", &Tools(plan))?;
    }
    Ok(())
}

/// Dotted members for the choice of tools.
pub(super) fn choice(choice: Option<&ToolChoice>, parallel: Option<bool>) -> Map<String, Value> {
    let mut value = match choice {
        None if parallel.is_none() => return Map::new(),
        None | Some(ToolChoice::Auto) => json!({"type": "auto"}),
        Some(ToolChoice::None) => json!({"type": "none"}),
        Some(ToolChoice::Required) => json!({"type": "any"}),
        Some(ToolChoice::Tool(name)) => json!({"type": "tool", "name": name}),
    };
    if let (Some(parallel), Some(members)) = (parallel, value.as_object_mut())
        && choice != Some(&ToolChoice::None)
    {
        members.insert("disable_parallel_tool_use".to_owned(), json!(!parallel));
    }
    Map::from_iter([("tool_choice".to_owned(), value)])
}

struct Messages<'p>(&'p Plan<'p>);

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let plan = self.0;
        let is_user = |group: &[Turn<'_>]| !matches!(group[0], Turn::Assistant(_));
        let mut unmarked = plan.groups().filter(|group| is_user(group)).count().saturating_sub(MARKED_MESSAGES);
        let mut messages = serializer.serialize_seq(None)?;
        for group in plan.groups() {
            let mut marker = None;
            let role = if is_user(group) {
                match unmarked.checked_sub(1) {
                    Some(left) => unmarked = left,
                    None => marker = plan.marker,
                }
                plan.role("user")
            } else {
                plan.role("assistant")
            };
            messages.serialize_element(&Message { role, content: Blocks { group, marker } })?;
        }
        messages.end()
    }
}

#[derive(Serialize)]
struct Message<'p> {
    role: &'p str,
    content: Blocks<'p>,
}

/// The blocks of neighbouring turns; the mark stands on the last of them.
struct Blocks<'p> {
    group: &'p [Turn<'p>],
    marker: Option<Marker<'p>>,
}

impl Serialize for Blocks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let size = |turn: &Turn<'_>| match turn {
            Turn::System(_) => 1,
            Turn::User { parts, .. } | Turn::Assistant(parts) => parts.len(),
            Turn::Results(answers) => answers.len(),
        };
        let mut left = self.group.iter().map(size).sum::<usize>();
        let mut marker = || {
            left -= 1;
            self.marker.filter(|_| left == 0)
        };
        let mut blocks = serializer.serialize_seq(None)?;
        for turn in self.group {
            match turn {
                Turn::System(text) => blocks.serialize_element(&Text::new(text, marker()))?,
                Turn::User { parts, .. } | Turn::Assistant(parts) => {
                    for part in parts {
                        blocks.serialize_element(&Block { part, marker: marker() })?;
                    }
                }
                Turn::Results(answers) => {
                    for answer in answers {
                        blocks.serialize_element(&ToolResult {
                            kind: "tool_result",
                            tool_use_id: &answer.id,
                            content: Given(answer),
                            is_error: answer.is_error,
                            cache_control: marker(),
                        })?;
                    }
                }
            }
        }
        blocks.end()
    }
}

struct Block<'p> {
    part: &'p Part<'p>,
    marker: Option<Marker<'p>>,
}

impl Serialize for Block<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.part {
            Part::Text { text, .. } => Text::new(text, self.marker).serialize(serializer),
            Part::Thinking { signature, redacted: true, .. } => {
                let mut block = serializer.serialize_map(Some(2))?;
                block.serialize_entry("type", "redacted_thinking")?;
                block.serialize_entry("data", &signature.unwrap_or_default())?;
                block.end()
            }
            Part::Thinking { text, signature, redacted: false } => {
                let mut block = serializer.serialize_map(Some(3))?;
                block.serialize_entry("type", "thinking")?;
                block.serialize_entry("thinking", text)?;
                block.serialize_entry("signature", &signature.unwrap_or_default())?;
                block.end()
            }
            Part::Media(media) => Marked { media, cache_control: self.marker }.serialize(serializer),
            Part::Call { id, name, arguments, .. } => {
                ToolUse { kind: "tool_use", id, name, input: arguments, cache_control: self.marker }
                    .serialize(serializer)
            }
        }
    }
}

#[derive(Serialize)]
struct Marked<'p> {
    #[serde(flatten)]
    media: &'p Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Marker<'p>>,
}

#[derive(Serialize)]
struct ToolUse<'p> {
    #[serde(rename = "type")]
    kind: &'static str,
    id: &'p str,
    name: &'p str,
    input: &'p Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Marker<'p>>,
}

#[derive(Serialize)]
struct ToolResult<'p> {
    #[serde(rename = "type")]
    kind: &'static str,
    tool_use_id: &'p str,
    content: Given<'p>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_error: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Marker<'p>>,
}

/// What a tool gave: a text, or blocks where there is more.
struct Given<'p>(&'p Answer<'p>);

impl Serialize for Given<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(serializer, &Text::new(&self.0.text, None))
    }
}

struct Tools<'p>(&'p Plan<'p>);

impl Serialize for Tools<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let last = self.0.tools.len() - 1;
        let takes_marks = self.0.quirks.is_none_or(|quirks| quirks.marked_tools != Some(false));
        serializer.collect_seq(self.0.tools.iter().enumerate().map(|(index, offer)| {
            let Offer { name, description, parameters } = offer;
            let cache_control = self.0.marker.filter(|_| index == last && takes_marks);
            Tool { name, description, input_schema: parameters, cache_control }
        }))
    }
}

#[derive(Serialize)]
struct Tool<'p> {
    name: &'p str,
    description: &'p str,
    input_schema: &'p Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Marker<'p>>,
}
