//! What a provider accepts of a context.

use std::{collections::HashSet, sync::Arc};

use pi_transcript::{
    Block, Message, StopReason, ToolCallId,
    content::ToolCall,
    json::Extra,
    message::{AssistantMessage, ToolResultMessage},
};

use super::Spoken;

/// What the model is told of a call whose result was never written.
const INTERRUPTED: &str = include_str!("interrupted.txt");

/// The messages without answers that ended in an error, and with a result for every call.
///
/// After a crash or an abort a call can stand there alone. Nobody knows whether it ran, so it is not run again: the model is told,
/// and decides. The id of such a result is that of the answer and of the call, so it is the same in every prompt.
pub fn sendable(messages: &[Spoken]) -> Vec<Spoken> {
    let answered: HashSet<&ToolCallId> = messages.iter().filter_map(|(_, message)| answers(message)).collect();
    let mut sent: Vec<Spoken> = Vec::with_capacity(messages.len());
    // Results that are made up follow those that are real.
    let mut owed: Vec<Spoken> = Vec::new();
    for (id, message) in messages {
        if answers(message).is_none() {
            sent.append(&mut owed);
        }
        if let Message::Assistant(said) = &**message {
            match said.stop_reason.known() {
                Some(StopReason::Error | StopReason::Pending) => continue,
                // Its calls may be cut in the middle; no provider is sent them.
                Some(StopReason::Aborted) => {}
                Some(StopReason::Stop | StopReason::Length | StopReason::ToolUse | StopReason::Deferred) | None => {
                    let open = calls(said).filter(|call| !answered.contains(&call.id));
                    owed.extend(open.map(|call| {
                        let result = interrupted(call, said.timestamp);
                        (format!("{id}/{}", call.id).into(), Arc::new(Message::ToolResult(Box::new(result))))
                    }));
                }
            }
        }
        sent.push((id.clone(), Arc::clone(message)));
    }
    sent.append(&mut owed);
    sent
}

/// The calls of an answer.
pub(crate) fn calls(said: &AssistantMessage) -> impl Iterator<Item = &ToolCall> {
    said.content.iter().filter_map(|block| match block {
        Block::ToolCall(call) => Some(call),
        Block::Text(_) | Block::Thinking(_) | Block::Image(_) | Block::Other(_) => None,
    })
}

/// The call that a message is the result of.
fn answers(message: &Message) -> Option<&ToolCallId> {
    match message {
        Message::ToolResult(result) => Some(&result.tool_call_id),
        Message::User(_)
        | Message::Assistant(_)
        | Message::BashExecution(_)
        | Message::Custom(_)
        | Message::BranchSummary(_)
        | Message::CompactionSummary(_)
        | Message::System(_)
        | Message::Other(_) => None,
    }
}

fn interrupted(call: &ToolCall, timestamp: u64) -> ToolResultMessage {
    ToolResultMessage {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        content: vec![Block::text(INTERRUPTED.trim_end())],
        details: None,
        is_error: true,
        timestamp,
        usage: None,
        nested_calls: None,
        extra: Extra::new(),
    }
}
