//! Events of one session: numbered, replayable, in one of two forms.

use pi_transcript::{
    AgentEvent, AssistantMessageEvent, Message, RequestId, SessionId, SessionInfo,
    json::present,
    question::{Asked, Asker},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{id::Epoch, response::Queue};

/// An event with its number. Within an epoch numbers grow by one from event to event.
///
/// Coalesced updates carry the number of the last one that they stand for, so a client that resumes from it misses
/// nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Numbered {
    pub session_id: SessionId,
    /// Absent from servers without `subscribe`.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub epoch: Option<Epoch>,
    pub event: Box<AgentEvent>,
}

/// How a growing message is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateForm {
    /// After `switch_session`: every `message_update` carries the message so far.
    Cumulative,
    /// After `subscribe`: only what was added.
    Deltas,
}

impl UpdateForm {
    /// Gives `event` this form. `so_far` is asked only for the updates that carry the message.
    ///
    /// The step itself never holds the message: in one form it stands beside the step, in the other nowhere.
    #[must_use]
    pub fn apply(self, event: AgentEvent, so_far: impl FnOnce() -> Message) -> AgentEvent {
        match event {
            AgentEvent::MessageUpdate { message: _, usage, mut assistant_message_event } => {
                let message = match self {
                    Self::Cumulative => Some(so_far()),
                    Self::Deltas => None,
                };
                drop_message(&mut assistant_message_event);
                AgentEvent::MessageUpdate { message, usage, assistant_message_event }
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
            | AgentEvent::AutoCompactionStart { .. }
            | AgentEvent::AutoCompactionEnd { .. }
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
            | AgentEvent::Other(_) => event,
        }
    }
}

/// Takes the whole message out of a step, wherever the kind of step keeps it.
fn drop_message(step: &mut AssistantMessageEvent) {
    match step {
        AssistantMessageEvent::Start { partial: message }
        | AssistantMessageEvent::TextStart { partial: message, .. }
        | AssistantMessageEvent::TextDelta { partial: message, .. }
        | AssistantMessageEvent::TextEnd { partial: message, .. }
        | AssistantMessageEvent::ThinkingStart { partial: message, .. }
        | AssistantMessageEvent::ThinkingDelta { partial: message, .. }
        | AssistantMessageEvent::ThinkingEnd { partial: message, .. }
        | AssistantMessageEvent::ToolCallStart { partial: message, .. }
        | AssistantMessageEvent::ToolCallDelta { partial: message, .. }
        | AssistantMessageEvent::ToolCallEnd { partial: message, .. }
        | AssistantMessageEvent::Done { message, .. }
        | AssistantMessageEvent::Error { error: message, .. } => *message = None,
        AssistantMessageEvent::Other(members) => _ = members.shift_remove("partial"),
    }
}

/// What a session is now, for a client that missed too much to be told what happened.
///
/// What was said before is read with `get_messages`; events go on after `seq`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct SessionSnapshot {
    pub session_id: SessionId,
    pub epoch: Epoch,
    /// The number of the last event that this snapshot contains.
    pub seq: u64,
    pub reason: SnapshotReason,
    pub session_info: SessionInfo,
    /// The message that is being streamed, as far as it is.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub partial: Option<Message>,
    pub queue: Queue,
    /// The questions that wait for an answer.
    pub questions: Vec<OpenQuestion>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum SnapshotReason {
    /// The events after `afterSeq` are no longer kept.
    TooFarBehind,
    /// Numbers started anew, as after a restart.
    EpochChanged,
    /// There is no event with the number `afterSeq` so far: the client remembers what this session never told.
    AheadOfEnd,
}

/// A question that waits for an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct OpenQuestion {
    pub request_id: RequestId,
    /// Who asks, as the host knows it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub asker: Option<Asker>,
    #[serde(flatten)]
    pub question: Asked,
}
