//! What a provider accepts of a context.

use std::sync::Arc;

use pi_transcript::{
    Block, Message, StopReason, ToolCallId,
    content::ToolCall,
    json::Extra,
    message::{AssistantMessage, ToolResultMessage},
};

use super::{Spoken, blocked::without_blocked};

/// What the model is told of a call whose result was never written.
const INTERRUPTED: &str = include_str!("interrupted.txt");

/// The messages without answers that ended in an error, and without what made them fail because a filter blocked it.
pub(crate) fn passed(messages: Vec<Spoken>) -> Vec<Spoken> {
    let mut messages = without_blocked(messages);
    messages.retain(|(_, message)| !is_failed(message));
    messages
}

/// The messages that have `passed`, with a result for every call, in the order in which they are sent:
/// behind an answer stand the results of its calls, in the order of the calls.
///
/// After a crash or an abort a call can stand there alone. Nobody knows whether it ran, so it is not run again: the model is told,
/// and decides. The id of such a result is that of the answer and of the call, so it is the same in every prompt.
pub fn sendable(messages: &[Spoken]) -> Vec<Spoken> {
    let kept = passed(messages.to_vec());
    let mut sent: Vec<Spoken> = Vec::with_capacity(kept.len());
    // Results that already stand behind their calls.
    let mut taken = vec![false; kept.len()];
    for (index, (id, message)) in kept.iter().enumerate() {
        if taken[index] {
            continue;
        }
        sent.push((id.clone(), Arc::clone(message)));
        let Message::Assistant(said) = &**message else { continue };
        // Its calls may be cut in the middle; no provider is sent them.
        if said.stop_reason == StopReason::Aborted {
            continue;
        }
        let end = kept[index + 1..].iter().position(|(_, message)| matches!(&**message, Message::Assistant(_)));
        let turn = index + 1..end.map_or(kept.len(), |end| index + 1 + end);
        for call in calls(said) {
            let result = turn.clone().find(|at| !taken[*at] && answers(&kept[*at].1) == Some(&call.id));
            sent.push(match result {
                Some(at) => {
                    taken[at] = true;
                    kept[at].clone()
                }
                None => {
                    let result = interrupted(call, said.timestamp);
                    (format!("{id}/{}", call.id).into(), Arc::new(Message::ToolResult(Box::new(result))))
                }
            });
        }
    }
    sent
}

/// Whether a message stands for an answer that did not come; no provider is sent it.
pub(crate) fn is_failed(message: &Message) -> bool {
    match message {
        Message::Assistant(said) => matches!(said.stop_reason.known(), Some(StopReason::Error | StopReason::Pending)),
        Message::User(_)
        | Message::ToolResult(_)
        | Message::BashExecution(_)
        | Message::Custom(_)
        | Message::BranchSummary(_)
        | Message::CompactionSummary(_)
        | Message::System(_)
        | Message::Other(_) => false,
    }
}

/// The calls of an answer.
pub(crate) fn calls(said: &AssistantMessage) -> impl Iterator<Item = &ToolCall> {
    said.content.iter().filter_map(|block| match block {
        Block::ToolCall(call) => Some(call),
        Block::Text(_) | Block::Thinking(_) | Block::Image(_) | Block::Other(_) => None,
    })
}

/// The call that a message is the result of.
pub(crate) fn answers(message: &Message) -> Option<&ToolCallId> {
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
        duration_ms: None,
        denied_by: None,
        extra: Extra::new(),
    }
}
