//! Several events as one: a reader that comes late gets the same text in fewer pieces.

use std::io;

use super::{AgentEvent, AssistantMessageEvent};
use crate::{
    id::{RequestId, ToolCallId},
    question::{Announcement, UiRequest},
};

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
        let Some(subject) = next.subject().filter(|subject| self.event.subject().as_ref() == Some(subject)) else {
            return false;
        };
        match subject {
            Subject::Text(_) | Subject::Thinking(_) | Subject::Arguments(_) => self.add_piece(next),
            Subject::Call(_) => self.replace_state(next),
            Subject::Command(_) => self.add_output(next),
            Subject::Component(_) => {
                self.event.clone_from(next);
                true
            }
        }
    }

    fn add_piece(&mut self, next: &AgentEvent) -> bool {
        let AgentEvent::MessageUpdate { message, usage, assistant_message_event: so_far } = &mut self.event else {
            return false;
        };
        let AgentEvent::MessageUpdate { message: later, usage: used, assistant_message_event: more } = next else {
            return false;
        };
        let (Some(text), Some((_, more))) = (delta(so_far), more.piece()) else { return false };
        text.push_str(more);
        message.clone_from(later);
        if used.is_some() {
            usage.clone_from(used);
        }
        true
    }

    /// It is the output so far, so the later one says all that the earlier one does.
    fn replace_state(&mut self, next: &AgentEvent) -> bool {
        let AgentEvent::ToolExecutionUpdate { partial_result, .. } = &mut self.event else { return false };
        let AgentEvent::ToolExecutionUpdate { partial_result: later, .. } = next else { return false };
        partial_result.clone_from(later);
        true
    }

    fn add_output(&mut self, next: &AgentEvent) -> bool {
        let AgentEvent::BashExecutionUpdate { delta, dropped, .. } = &mut self.event else { return false };
        let AgentEvent::BashExecutionUpdate { delta: more, dropped: later, .. } = next else { return false };
        delta.push_str(more);
        // What went from the beginning goes after everything came, so both are sums.
        *dropped = match (*dropped, *later) {
            (None, None) => None,
            (before, later) => Some(before.unwrap_or(0).saturating_add(later.unwrap_or(0))),
        };
        true
    }

    pub fn event(&self) -> &AgentEvent {
        &self.event
    }

    pub fn into_event(self) -> AgentEvent {
        self.event
    }
}

/// What an event that says more of something says more of.
#[derive(Debug, PartialEq, Eq)]
enum Subject<'a> {
    /// Blocks of the message that the model is writing, by their place in it.
    Text(u64),
    Thinking(u64),
    Arguments(u64),
    /// A call of the model.
    Call(&'a ToolCallId),
    /// A command of the person.
    Command(Option<&'a str>),
    /// A component that an extension draws.
    Component(&'a RequestId),
}

/// The text to which further pieces can be added.
fn delta(step: &mut AssistantMessageEvent) -> Option<&mut String> {
    match step {
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

impl AssistantMessageEvent {
    /// A piece of a text, and of which.
    fn piece(&self) -> Option<(Subject<'_>, &str)> {
        match self {
            Self::TextDelta { content_index, delta, .. } => Some((Subject::Text(*content_index), delta)),
            Self::ThinkingDelta { content_index, delta, .. } => Some((Subject::Thinking(*content_index), delta)),
            Self::ToolCallDelta { content_index, delta, .. } => Some((Subject::Arguments(*content_index), delta)),
            Self::Start { .. }
            | Self::TextStart { .. }
            | Self::TextEnd { .. }
            | Self::ThinkingStart { .. }
            | Self::ThinkingEnd { .. }
            | Self::ToolCallStart { .. }
            | Self::ToolCallEnd { .. }
            | Self::Done { .. }
            | Self::Error { .. }
            | Self::Other(_) => None,
        }
    }
}

impl AgentEvent {
    /// Whether it says more of a text of the model and nothing else, or shows a component anew: it may wait a moment for
    /// those that follow.
    pub fn is_piece(&self) -> bool {
        self.piece().is_some() || matches!(self, Self::ExtensionUiRender { .. })
    }

    /// Whether it only tells a person something: nothing depends on when that is.
    pub fn is_notice(&self) -> bool {
        matches!(self, Self::ExtensionUiRequest { request: UiRequest::Announcement(Announcement::Notify { .. }), .. })
    }

    /// Whether there are events that [`Joined`] could add to it.
    pub fn can_grow(&self) -> bool {
        self.subject().is_some()
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
        assistant_message_event.piece().map(|(_, delta)| delta)
    }

    /// What it says more of: events that follow each other and have the same subject can be one.
    fn subject(&self) -> Option<Subject<'_>> {
        match self {
            Self::MessageUpdate { assistant_message_event, .. } => {
                assistant_message_event.piece().map(|(subject, _)| subject)
            }
            Self::ToolExecutionUpdate { tool_call_id, .. } => Some(Subject::Call(tool_call_id)),
            Self::BashExecutionUpdate { id, .. } => Some(Subject::Command(id.as_deref())),
            Self::ExtensionUiRender { request_id, .. } => Some(Subject::Component(request_id)),
            Self::AgentStart
            | Self::AgentEnd { .. }
            | Self::AgentSettled { .. }
            | Self::TurnStart
            | Self::TurnEnd { .. }
            | Self::MessageStart { .. }
            | Self::MessageEnd { .. }
            | Self::ToolExecutionStart { .. }
            | Self::ToolExecutionEnd { .. }
            | Self::AutoCompactionStart { .. }
            | Self::AutoCompactionEnd { .. }
            | Self::AutoRetryStart { .. }
            | Self::AutoRetryEnd { .. }
            | Self::QueueUpdate { .. }
            | Self::EntryAppended { .. }
            | Self::SessionInfoChanged { .. }
            | Self::ThinkingLevelChanged { .. }
            | Self::ExtensionError { .. }
            | Self::ExtensionUiRequest { .. }
            | Self::ExtensionUiResolved { .. }
            | Self::StorageFailed { .. }
            | Self::StorageRecovered
            | Self::InputNotice { .. }
            | Self::Guardrail { .. }
            | Self::MessagesUnsaid { .. }
            | Self::OffersChanged
            | Self::SessionTree { .. }
            | Self::Other(_) => None,
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
