//! Several events as one: a reader that comes late gets the same text in fewer pieces.

use std::io;

use super::{AgentEvent, AssistantMessageEvent};

/// What an event weighs beside its text.
const EMPTY: usize = 200;

/// An event that grows while those that follow it say more of the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined {
    event: AgentEvent,
}

impl Joined {
    pub fn new(event: AgentEvent) -> Self {
        Self { event }
    }

    /// Takes `next` in, if it is more of the same: a further piece of one text, or a later state of one call.
    pub fn absorb(&mut self, next: &AgentEvent) -> bool {
        match (&mut self.event, next) {
            (
                AgentEvent::MessageUpdate { message, usage, assistant_message_event: so_far },
                AgentEvent::MessageUpdate { message: later, usage: used, assistant_message_event: more },
            ) => {
                if !extend(so_far, more) {
                    return false;
                }
                message.clone_from(later);
                if used.is_some() {
                    usage.clone_from(used);
                }
                true
            }
            (
                AgentEvent::ToolExecutionUpdate { tool_call_id, partial_result, .. },
                AgentEvent::ToolExecutionUpdate { tool_call_id: same, partial_result: later, .. },
            ) if tool_call_id == same => {
                // It is the output so far, so the later one says all that the earlier one does.
                partial_result.clone_from(later);
                true
            }
            (
                AgentEvent::BashExecutionUpdate { id, delta },
                AgentEvent::BashExecutionUpdate { id: same, delta: more },
            ) if id == same => {
                delta.push_str(more);
                true
            }
            _ => false,
        }
    }

    pub fn event(&self) -> &AgentEvent {
        &self.event
    }

    pub fn into_event(self) -> AgentEvent {
        self.event
    }
}

/// Adds a piece to the one before it, if both belong to one text.
fn extend(so_far: &mut AssistantMessageEvent, more: &AssistantMessageEvent) -> bool {
    use AssistantMessageEvent::{TextDelta, ThinkingDelta, ToolCallDelta};
    match (so_far, more) {
        (TextDelta { content_index: block, delta: so_far, .. }, TextDelta { content_index: same, delta: more, .. })
        | (
            ThinkingDelta { content_index: block, delta: so_far, .. },
            ThinkingDelta { content_index: same, delta: more, .. },
        )
        | (
            ToolCallDelta { content_index: block, delta: so_far, .. },
            ToolCallDelta { content_index: same, delta: more, .. },
        ) if block == same => {
            so_far.push_str(more);
            true
        }
        _ => false,
    }
}

impl AgentEvent {
    /// Whether it says more of a text of the model and nothing else.
    pub fn is_piece(&self) -> bool {
        self.piece().is_some()
    }

    /// Whether there are events that [`Joined`] could add to it.
    pub fn can_grow(&self) -> bool {
        self.is_piece() || matches!(self, Self::ToolExecutionUpdate { .. } | Self::BashExecutionUpdate { .. })
    }

    /// About how many bytes it takes to keep.
    pub fn weight(&self) -> usize {
        let text = match (self, self.piece()) {
            // Most events are pieces, so these are not written out to be weighed.
            (Self::MessageUpdate { message: None, .. }, Some(piece)) => piece.len(),
            (event, _) => written(event),
        };
        EMPTY + text
    }

    fn piece(&self) -> Option<&str> {
        let Self::MessageUpdate { assistant_message_event, .. } = self else { return None };
        match &**assistant_message_event {
            AssistantMessageEvent::TextDelta { delta, .. }
            | AssistantMessageEvent::ThinkingDelta { delta, .. }
            | AssistantMessageEvent::ToolCallDelta { delta, .. } => Some(delta),
            AssistantMessageEvent::Start { .. }
            | AssistantMessageEvent::TextStart { .. }
            | AssistantMessageEvent::TextEnd { .. }
            | AssistantMessageEvent::ThinkingStart { .. }
            | AssistantMessageEvent::ThinkingEnd { .. }
            | AssistantMessageEvent::ToolCallStart { .. }
            | AssistantMessageEvent::ToolCallEnd { .. }
            | AssistantMessageEvent::Done { .. }
            | AssistantMessageEvent::Error { .. }
            | AssistantMessageEvent::Other(_) => None,
        }
    }
}

/// The length of an event as JSON, which is not kept.
fn written(event: &AgentEvent) -> usize {
    struct Scale(usize);
    impl io::Write for Scale {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut scale = Scale(0);
    serde_json::to_writer(&mut scale, event).expect("an event is JSON");
    scale.0
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn event(value: &Value) -> AgentEvent {
        serde_json::from_value(value.clone()).expect("an event")
    }

    fn delta(kind: &str, index: u64, text: &str) -> Value {
        json!({ "type": "message_update",
            "assistantMessageEvent": { "type": kind, "contentIndex": index, "delta": text } })
    }

    fn progress(call: &str, text: &str) -> Value {
        json!({ "type": "tool_execution_update", "toolCallId": call, "toolName": "bash", "args": {},
            "partialResult": { "content": [{ "type": "text", "text": text }] } })
    }

    /// What is left of `given` when every event absorbs as many as it can.
    #[track_caller]
    fn check(given: &[Value], expected: &[Value]) {
        let mut joined: Vec<Joined> = Vec::new();
        for next in given.iter().map(event) {
            if !joined.last_mut().is_some_and(|last| last.absorb(&next)) {
                joined.push(Joined::new(next));
            }
        }
        let left: Vec<Value> = joined.iter().map(|it| serde_json::to_value(it.event()).expect("JSON")).collect();
        assert_eq!(left, expected);
    }

    #[test]
    fn pieces_of_one_text_are_one_piece() {
        for kind in ["text_delta", "thinking_delta", "toolcall_delta"] {
            check(&[delta(kind, 0, "a"), delta(kind, 0, "b"), delta(kind, 0, "c")], &[delta(kind, 0, "abc")]);
            check(&[delta(kind, 0, "a"), delta(kind, 1, "b")], &[delta(kind, 0, "a"), delta(kind, 1, "b")]);
        }
        let other = [delta("text_delta", 0, "a"), delta("thinking_delta", 0, "b"), json!({ "type": "turn_start" })];
        check(&other, &other);
    }

    #[test]
    fn later_state_of_a_call_takes_the_place_of_the_earlier_one() {
        check(
            &[progress("1", "a"), progress("1", "ab"), progress("2", "x")],
            &[progress("1", "ab"), progress("2", "x")],
        );
        let printed = |delta: &str| json!({ "type": "bash_execution_update", "delta": delta });
        check(&[printed("a"), printed("b")], &[printed("ab")]);
    }

    #[test]
    fn weight_grows_with_the_text() {
        let weight = |text: &str| event(&delta("text_delta", 0, text)).weight();
        assert_eq!(weight("abc"), weight("") + 3);
        let weight = |text: &str| event(&progress("1", text)).weight();
        assert_eq!(weight("abc"), weight("") + 3);
    }
}
