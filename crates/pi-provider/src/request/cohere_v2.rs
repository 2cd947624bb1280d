//! Cohere's second chat: messages like those of Chat Completions, with thinking in blocks of content, and beside calls
//! in a plan of their own.

use serde::{
    Serialize, Serializer,
    ser::{SerializeMap, SerializeSeq},
};
use serde_json::{Map, Value, json};

use super::{
    change::Changes,
    openai_chat::{Calls, Functions, Text, ToolMessage},
    plan::Plan,
    turn::{Part, Turn},
};
use crate::{call::ToolChoice, dialect::Dialect};

pub(super) fn write<M: SerializeMap>(plan: &Plan<'_>, body: &mut M) -> Result<(), M::Error> {
    body.serialize_entry("model", &plan.model)?;
    body.serialize_entry("messages", &Messages(plan))?;
    if !plan.tools.is_empty() {
        body.serialize_entry("tools", &Functions(&plan.tools))?;
    }
    Ok(())
}

/// Dotted members for the choice of tools.
pub(super) fn choice(choice: Option<&ToolChoice>, changes: &mut Changes) -> Map<String, Value> {
    let word = match choice {
        None | Some(ToolChoice::Auto) => return Map::new(),
        Some(ToolChoice::None) => "NONE",
        Some(ToolChoice::Required) => "REQUIRED",
        Some(ToolChoice::Tool(name)) => {
            changes.changed("tool_choice", format!("any tool, because the API cannot ask for {name} alone"));
            "REQUIRED"
        }
    };
    Map::from_iter([("tool_choice".to_owned(), json!(word))])
}

struct Messages<'p>(&'p Plan<'p>);

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let plan = self.0;
        let mut messages = serializer.serialize_seq(None)?;
        let system = plan.role("system");
        if !plan.system.is_empty() {
            messages.serialize_element(&Plain { role: system, content: &plan.system })?;
        }
        for turn in &plan.turns {
            match turn {
                Turn::System(text) => messages.serialize_element(&Plain { role: system, content: text })?,
                Turn::User { parts, .. } => match parts.as_slice() {
                    [Part::Text { text, .. }] => {
                        messages.serialize_element(&Plain { role: plan.role("user"), content: text })?;
                    }
                    parts => messages.serialize_element(&Message {
                        role: plan.role("user"),
                        content: Some(Blocks { parts, with_thinking: false }),
                        tool_plan: String::new(),
                        tool_calls: None,
                    })?,
                },
                Turn::Assistant(parts) => {
                    messages.serialize_element(&assistant(plan.role("assistant"), parts, turn, plan.dialect))?
                }
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

fn assistant<'p>(role: &'p str, parts: &'p [Part<'p>], turn: &'p Turn<'p>, dialect: Dialect) -> Message<'p> {
    let calls = parts.iter().any(|part| matches!(part, Part::Call { .. }));
    // What leads to calls comes as a plan, also from models that do not think, which refuse blocks of thinking.
    let plan = |part: &Part<'p>| match part {
        Part::Thinking { text, .. } if calls => Some(*text),
        Part::Thinking { .. } | Part::Text { .. } | Part::Media(_) | Part::Call { .. } => None,
    };
    let words = parts.iter().any(|part| !matches!(part, Part::Call { .. }) && plan(part).is_none());
    Message {
        role,
        content: words.then_some(Blocks { parts, with_thinking: !calls }),
        tool_plan: parts.iter().filter_map(plan).collect(),
        tool_calls: calls.then_some(Calls { group: std::slice::from_ref(turn), dialect }),
    }
}

#[derive(Serialize)]
struct Plain<'p> {
    role: &'p str,
    content: &'p str,
}

#[derive(Serialize)]
struct Message<'p> {
    role: &'p str,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Blocks<'p>>,
    #[serde(skip_serializing_if = "String::is_empty")]
    tool_plan: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<Calls<'p>>,
}

struct Blocks<'p> {
    parts: &'p [Part<'p>],
    with_thinking: bool,
}

impl Serialize for Blocks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut blocks = serializer.serialize_seq(None)?;
        for part in self.parts {
            match part {
                Part::Text { text, .. } => blocks.serialize_element(&Text::new(text, None))?,
                Part::Thinking { text, .. } if self.with_thinking => {
                    blocks.serialize_element(&Thinking { kind: "thinking", thinking: text })?;
                }
                Part::Media(block) => blocks.serialize_element(block)?,
                Part::Thinking { .. } | Part::Call { .. } => {}
            }
        }
        blocks.end()
    }
}

#[derive(Serialize)]
struct Thinking<'p> {
    #[serde(rename = "type")]
    kind: &'static str,
    thinking: &'p str,
}
