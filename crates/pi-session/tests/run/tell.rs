//! Events as short lines.

use pi_transcript::{AgentEvent, AssistantMessageEvent, Block, Message, json::Open};

/// An event in one line; pieces of an answer are left out, its beginning and its end tell enough.
pub(crate) fn tell(event: &AgentEvent) -> Option<String> {
    Some(match event {
        AgentEvent::AgentStart => "agent_start".to_owned(),
        AgentEvent::AgentEnd { messages, will_retry } => {
            let then = match will_retry {
                Some(true) => ", then a retry",
                Some(false) => "",
                None => ", then nobody knows",
            };
            format!("agent_end with {}{then}", messages.len())
        }
        AgentEvent::AgentSettled { aborted } => {
            format!("settled{}", if *aborted == Some(true) { " aborted" } else { "" })
        }
        AgentEvent::TurnStart => "turn_start".to_owned(),
        AgentEvent::TurnEnd { tool_results, .. } => format!("turn_end with {}", tool_results.len()),
        AgentEvent::MessageStart { message } => format!("{} starts", message.role()),
        AgentEvent::MessageEnd { message } => message_end(message),
        AgentEvent::MessageUpdate { assistant_message_event, .. } => match &**assistant_message_event {
            AssistantMessageEvent::ToolCallStart { .. } => "  toolcall_start".to_owned(),
            AssistantMessageEvent::TextEnd { content, .. } => format!("  text_end {content:?}"),
            _ => return None,
        },
        AgentEvent::ToolExecutionStart { tool_name, args, .. } => format!("tool {tool_name} {args} starts"),
        AgentEvent::ToolExecutionUpdate { .. } => return None,
        AgentEvent::ToolExecutionEnd { tool_name, denied: Some(reason), .. } => {
            format!("tool {tool_name} is not allowed: {reason}")
        }
        AgentEvent::ToolExecutionEnd { tool_name, is_error, denied: None, .. } => {
            format!("tool {tool_name} {}", if *is_error { "fails" } else { "ends" })
        }
        AgentEvent::AutoRetryStart { attempt, max_attempts, error_message, .. } => {
            format!("retry {attempt} of {max_attempts}: {error_message}")
        }
        AgentEvent::AutoRetryEnd { success: true, .. } => "retry helped".to_owned(),
        AgentEvent::AutoRetryEnd { success: false, attempt, .. } => format!("retry given up after {attempt}"),
        AgentEvent::QueueUpdate { steering, follow_up } => format!("queue {steering:?} {follow_up:?}"),
        AgentEvent::ExtensionError { event, error, .. } => format!("extension failed at {event}: {error}"),
        AgentEvent::ExtensionUiRequest { .. } => "question".to_owned(),
        AgentEvent::ExtensionUiRender { lines, .. } => format!("component of {} lines", lines.len()),
        AgentEvent::ExtensionUiResolved { outcome, .. } => format!("question {outcome:?}"),
        AgentEvent::ThinkingLevelChanged { level } => format!("thinking {level}"),
        AgentEvent::SessionInfoChanged { name } => format!("named {name:?}"),
        AgentEvent::EntryAppended { entry } => format!("entry {}", entry.kind()),
        AgentEvent::AutoCompactionStart { .. } => "compaction starts".to_owned(),
        AgentEvent::AutoCompactionEnd { error_message: Some(error), .. } => format!("compaction fails: {error}"),
        AgentEvent::AutoCompactionEnd { aborted, .. } => format!("compaction ends, aborted: {aborted}"),
        AgentEvent::BashExecutionUpdate { delta, .. } => format!("bash {delta:?}"),
        AgentEvent::StorageFailed { .. }
        | AgentEvent::StorageRecovered
        | AgentEvent::InputNotice { .. }
        | AgentEvent::Guardrail { .. }
        | AgentEvent::MessagesUnsaid { .. }
        | AgentEvent::OffersChanged
        | AgentEvent::SessionTree { .. }
        | AgentEvent::Other(_) => serde_json::to_string(event).expect("an event is JSON"),
    })
}

fn message_end(message: &Message) -> String {
    match message {
        Message::User(user) => format!("user {:?}", user.content.text()),
        Message::Custom(custom) => format!("custom {:?}", custom.content.text()),
        Message::Assistant(said) => {
            let Open::Known(reason) = &said.stop_reason else { return "assistant?".to_owned() };
            let error = said.error_message.as_ref().map(|error| format!(" ({error})")).unwrap_or_default();
            format!("assistant {:?} {:?}{error}", text(&said.content), reason)
        }
        Message::ToolResult(result) => {
            format!(
                "result of {}{} {:?}",
                result.tool_name,
                if result.is_error { " failed" } else { "" },
                text(&result.content)
            )
        }
        other => other.role().to_owned(),
    }
}

fn text(blocks: &[Block]) -> String {
    blocks.iter().filter_map(Block::as_text).collect()
}
