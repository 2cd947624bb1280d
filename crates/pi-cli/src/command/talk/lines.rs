//! Events as one object per line, under the names that Pi's JSON mode has since 0.73.
//!
//! Clients of the server read the names of its protocol, which are older. Readers of this mode exist for Pi, so here Pi
//! wins: what is called `auto_compaction_*` elsewhere is `compaction_*`, and updates carry no copy of the message so far.

use pi_transcript::{AgentEvent, Message};
use serde::Serialize;
use serde_json::{Value, json};

/// Writes lines, and knows what the answer that is coming has consumed so far: readers expect that in every update.
pub(super) struct Lines {
    usage: Value,
}

impl Lines {
    pub(super) fn new() -> Self {
        let cost = json!({"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0});
        let usage = json!({"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": cost});
        Lines { usage }
    }

    /// The line of an event.
    pub(super) fn line(&mut self, event: &AgentEvent) -> String {
        match event {
            AgentEvent::MessageStart { message: Message::Assistant(said) } => self.usage = value(&said.usage),
            AgentEvent::MessageUpdate { usage: Some(usage), .. } => self.usage = value(usage),
            _ => {}
        }
        line(event, &self.usage)
    }
}

fn line(event: &AgentEvent, so_far: &Value) -> String {
    let mut value = serde_json::to_value(event).expect("an event is JSON");
    if let Some(members) = value.as_object_mut() {
        match event {
            AgentEvent::AutoCompactionStart { .. } => {
                members.insert("type".to_owned(), "compaction_start".into());
            }
            AgentEvent::AutoCompactionEnd { .. } => {
                members.insert("type".to_owned(), "compaction_end".into());
            }
            AgentEvent::MessageUpdate { .. } => {
                members.remove("message");
                members.insert("usage".to_owned(), so_far.clone());
            }
            AgentEvent::AgentStart
            | AgentEvent::AgentEnd { .. }
            | AgentEvent::AgentSettled { .. }
            | AgentEvent::TurnStart
            | AgentEvent::TurnEnd { .. }
            | AgentEvent::MessageStart { .. }
            | AgentEvent::MessageEnd { .. }
            | AgentEvent::ToolExecutionStart { .. }
            | AgentEvent::ToolExecutionUpdate { .. }
            | AgentEvent::ToolExecutionEnd { .. }
            | AgentEvent::AutoRetryStart { .. }
            | AgentEvent::AutoRetryEnd { .. }
            | AgentEvent::QueueUpdate { .. }
            | AgentEvent::EntryAppended { .. }
            | AgentEvent::SessionInfoChanged { .. }
            | AgentEvent::ThinkingLevelChanged { .. }
            | AgentEvent::BashExecutionUpdate { .. }
            | AgentEvent::ExtensionError { .. }
            | AgentEvent::ExtensionUiRequest { .. }
            | AgentEvent::ExtensionUiRender { .. }
            | AgentEvent::ExtensionUiResolved { .. }
            | AgentEvent::StorageFailed { .. }
            | AgentEvent::StorageRecovered
            | AgentEvent::InputNotice { .. }
            | AgentEvent::Guardrail { .. }
            | AgentEvent::MessagesUnsaid { .. }
            | AgentEvent::OffersChanged
            | AgentEvent::SessionTree { .. }
            | AgentEvent::Other(_) => {}
        }
    }
    value.to_string()
}

fn value(usage: &impl Serialize) -> Value {
    serde_json::to_value(usage).expect("usage is JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_readers_of_pi_know() {
        for (given, expected) in [
            (json!({"type": "agent_start"}), json!({"type": "agent_start"})),
            (
                json!({"type": "auto_compaction_start", "reason": "overflow"}),
                json!({"type": "compaction_start", "reason": "overflow"}),
            ),
            (
                json!({"type": "auto_compaction_end", "aborted": true, "willRetry": false}),
                json!({"type": "compaction_end", "aborted": true, "willRetry": false}),
            ),
            (
                json!({"type": "message_update", "message": {"role": "user", "content": "all of it", "timestamp": 0},
                    "assistantMessageEvent": {"type": "text_delta", "contentIndex": 0, "delta": "it"}}),
                json!({"type": "message_update", "usage": Lines::new().usage,
                    "assistantMessageEvent": {"type": "text_delta", "contentIndex": 0, "delta": "it"}}),
            ),
        ] {
            let event: AgentEvent = serde_json::from_value(given).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&Lines::new().line(&event)).unwrap(), expected);
        }
    }
}
