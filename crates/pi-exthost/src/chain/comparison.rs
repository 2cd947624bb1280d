//! What a guest changed. It gets values as JSON and may hand them back as another language writes them: that is no change.

use pi_extproto::Object;
use pi_transcript::{Block, Message, ToolCall};
use serde::Deserialize;
use serde_json::Value;

/// Whether two objects say the same. A number is the same however it is written: a guest hands back what it was given.
pub fn is_same(one: &Object, other: &Object) -> bool {
    one.len() == other.len()
        && one.iter().all(|(name, value)| other.get(name).is_some_and(|found| is_same_value(value, found)))
}

pub fn is_same_value(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same_value(one, other))
        }
        (Value::Object(one), Value::Object(other)) => is_same(one, other),
        (one, other) => one == other,
    }
}

/// The calls of tools in a message that were not in the one that the guest heard, or not so, or not so often.
pub(super) fn foreign_calls(heard: &Value, answered: &Message) -> Vec<ToolCall> {
    let mut known = Message::deserialize(heard).map(|message| calls(&message)).unwrap_or_default();
    let mut foreign = Vec::new();
    for call in calls(answered) {
        match known.iter().position(|known| is_same_call(known, &call)) {
            Some(place) => drop(known.swap_remove(place)),
            None => foreign.push(call),
        }
    }
    foreign
}

fn is_same_call(one: &ToolCall, other: &ToolCall) -> bool {
    one.id == other.id && one.name == other.name && is_same(&one.arguments, &other.arguments)
}

fn calls(message: &Message) -> Vec<ToolCall> {
    let Message::Assistant(assistant) = message else { return Vec::new() };
    let call = |block: &Block| match block {
        Block::ToolCall(call) => Some(call.clone()),
        Block::Text(_) | Block::Thinking(_) | Block::Image(_) | Block::Other(_) => None,
    };
    assistant.content.iter().filter_map(call).collect()
}
