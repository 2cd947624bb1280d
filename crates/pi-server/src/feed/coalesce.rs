//! Several steps of a growing message as one: the client gets the same text in fewer frames.

use pi_transcript::{AgentEvent, AssistantMessageEvent};

/// What can be said in one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strand {
    Text(u64),
    Thinking(u64),
    Arguments(u64),
}

/// An event that grows while those that follow it say more of the same.
#[derive(Debug)]
pub(crate) struct Run {
    strand: Option<Strand>,
    event: AgentEvent,
}

impl Run {
    pub(crate) fn new(event: AgentEvent) -> Self {
        Self { strand: strand(&event).map(|(strand, _)| strand), event }
    }

    /// Takes `next` in, if it is more of the same.
    pub(crate) fn absorb(&mut self, next: &AgentEvent) -> bool {
        let Some((strand, delta)) = strand(next) else { return false };
        if self.strand != Some(strand) {
            return false;
        }
        let AgentEvent::MessageUpdate { usage, assistant_message_event, .. } = &mut self.event else { return false };
        if let AgentEvent::MessageUpdate { usage: Some(later), .. } = next {
            *usage = Some(later.clone());
        }
        match &mut **assistant_message_event {
            AssistantMessageEvent::TextDelta { delta: so_far, .. }
            | AssistantMessageEvent::ThinkingDelta { delta: so_far, .. }
            | AssistantMessageEvent::ToolCallDelta { delta: so_far, .. } => so_far.push_str(delta),
            AssistantMessageEvent::Start { .. }
            | AssistantMessageEvent::TextStart { .. }
            | AssistantMessageEvent::TextEnd { .. }
            | AssistantMessageEvent::ThinkingStart { .. }
            | AssistantMessageEvent::ThinkingEnd { .. }
            | AssistantMessageEvent::ToolCallStart { .. }
            | AssistantMessageEvent::ToolCallEnd { .. }
            | AssistantMessageEvent::Done { .. }
            | AssistantMessageEvent::Error { .. }
            | AssistantMessageEvent::Other(_) => return false,
        }
        true
    }

    pub(crate) fn into_event(self) -> AgentEvent {
        self.event
    }
}

/// Whether an event says more of a text and nothing else.
pub(crate) fn is_piece(event: &AgentEvent) -> bool {
    strand(event).is_some()
}

/// The bytes of text in a step.
pub(crate) fn length(event: &AgentEvent) -> usize {
    strand(event).map_or(0, |(_, delta)| delta.len())
}

fn strand(event: &AgentEvent) -> Option<(Strand, &str)> {
    let AgentEvent::MessageUpdate { assistant_message_event, .. } = event else { return None };
    match &**assistant_message_event {
        AssistantMessageEvent::TextDelta { content_index, delta, .. } => Some((Strand::Text(*content_index), delta)),
        AssistantMessageEvent::ThinkingDelta { content_index, delta, .. } => {
            Some((Strand::Thinking(*content_index), delta))
        }
        AssistantMessageEvent::ToolCallDelta { content_index, delta, .. } => {
            Some((Strand::Arguments(*content_index), delta))
        }
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
