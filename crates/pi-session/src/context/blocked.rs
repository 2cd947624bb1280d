//! What a filter of a provider blocked, and what later requests have in its place.
//!
//! The failed answer says in its diagnostics which entries were blocked, so that a session which is opened again knows it too.

use std::{collections::HashSet, sync::Arc};

use pi_transcript::{Block, EntryId, Message, message::AssistantMessage};
use serde_json::{Map, Value, json};

use super::Spoken;

/// What the diagnostic of a prompt is called that a filter blocked.
const BLOCKED_PROMPT: &str = "blocked_prompt";

/// What the model is shown in the place of what was blocked, where something must stand there.
const LEFT_OUT: &str = include_str!("left-out.txt");

/// The diagnostics of an answer that did not come because a filter blocked these entries.
pub(crate) fn diagnostics(filter: &str, entries: &[EntryId], timestamp: u64) -> Value {
    json!([{"type": BLOCKED_PROMPT, "timestamp": timestamp, "details": {"filter": filter, "entries": entries}}])
}

/// The messages without what was blocked. Results, and answers that have them, stay in their place with other words.
pub(crate) fn without_blocked(messages: Vec<Spoken>) -> Vec<Spoken> {
    let blocked: HashSet<EntryId> = messages.iter().flat_map(|(_, message)| blocked_by(message)).collect();
    if blocked.is_empty() {
        return messages;
    }
    let left = |(id, message): Spoken| {
        let message = if blocked.contains(&id) { in_its_place(&message)? } else { message };
        Some((id, message))
    };
    messages.into_iter().filter_map(left).collect()
}

/// The entries of which a failed answer says that they were blocked.
fn blocked_by(message: &Message) -> Vec<EntryId> {
    let Message::Assistant(said) = message else { return Vec::new() };
    let told = said.diagnostics.as_ref().and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let is_block = |told: &&Value| told.get("type").and_then(Value::as_str) == Some(BLOCKED_PROMPT);
    let entries = told.iter().filter(is_block).filter_map(|told| told.pointer("/details/entries")?.as_array());
    entries.flatten().filter_map(Value::as_str).map(EntryId::from).collect()
}

fn in_its_place(message: &Message) -> Option<Arc<Message>> {
    let left_out = || Block::text(LEFT_OUT.trim_end());
    match message {
        Message::ToolResult(result) => {
            let mut result = result.clone();
            (result.content, result.details) = (vec![left_out()], None);
            Some(Arc::new(Message::ToolResult(result)))
        }
        Message::Assistant(said) => {
            let call = |block: &Block| match block {
                Block::ToolCall(call) => {
                    let mut call = call.clone();
                    call.arguments = Map::new();
                    Some(Block::ToolCall(call))
                }
                Block::Text(_) | Block::Thinking(_) | Block::Image(_) | Block::Other(_) => None,
            };
            let content = [left_out()].into_iter().chain(said.content.iter().filter_map(call)).collect();
            Some(Arc::new(Message::Assistant(Box::new(AssistantMessage { content, ..(**said).clone() }))))
        }
        Message::User(_)
        | Message::BashExecution(_)
        | Message::Custom(_)
        | Message::BranchSummary(_)
        | Message::CompactionSummary(_)
        | Message::System(_)
        | Message::Other(_) => None,
    }
}
