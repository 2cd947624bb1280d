//! What extensions hear of a run before anybody else does.
//!
//! Events of the agent and hooks of extensions have the same names and the same JSON; what an extension hears beyond
//! that (the number of the turn, the time) is added here.

use pi_exthost::Guests;
use pi_extproto::hook::{Hook, event::Event};
use pi_transcript::AgentEvent;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Where a run is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Position {
    pub(crate) turn: u64,
    /// Milliseconds since 1970.
    pub(crate) now: u64,
}

/// Tells extensions of an event that takes no answer, and waits until they have heard it.
pub(crate) async fn notice(guests: &Guests, event: &AgentEvent, position: Position, cancel: &CancellationToken) {
    let Some(hook) = hook(event).filter(|hook| guests.listens(*hook)) else { return };
    // What tells of an end is heard after an abort as well.
    let ended = matches!(hook, Hook::AgentEnd | Hook::AgentSettled);
    let own = CancellationToken::new();
    let cancel = if ended { &own } else { cancel };
    match heard(hook, event, position) {
        Some(event) => drop(guests.dispatch(event, cancel).await),
        None => tracing::warn!(%hook, "an event has a shape that extensions do not know; they do not hear it"),
    }
}

/// The hook that an event fires. Those that take an answer are not among them; whoever fires these asks for it.
fn hook(event: &AgentEvent) -> Option<Hook> {
    match event {
        AgentEvent::AgentStart => Some(Hook::AgentStart),
        AgentEvent::AgentEnd { .. } => Some(Hook::AgentEnd),
        AgentEvent::AgentSettled { .. } => Some(Hook::AgentSettled),
        AgentEvent::TurnStart => Some(Hook::TurnStart),
        AgentEvent::MessageStart { .. } => Some(Hook::MessageStart),
        AgentEvent::MessageUpdate { .. } => Some(Hook::MessageUpdate),
        AgentEvent::ToolExecutionStart { .. } => Some(Hook::ToolExecutionStart),
        AgentEvent::ToolExecutionUpdate { .. } => Some(Hook::ToolExecutionUpdate),
        AgentEvent::ToolExecutionEnd { .. } => Some(Hook::ToolExecutionEnd),
        AgentEvent::TurnEnd { .. }
        | AgentEvent::MessageEnd { .. }
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
        | AgentEvent::Other(_) => None,
    }
}

fn heard(hook: Hook, event: &AgentEvent, position: Position) -> Option<Event> {
    let Ok(Value::Object(mut members)) = serde_json::to_value(event) else { return None };
    members.remove("type");
    if hook == Hook::TurnStart {
        members.insert("turnIndex".to_owned(), position.turn.into());
        members.insert("timestamp".to_owned(), position.now.into());
    }
    Event::read(hook.as_str(), Some(members)).ok()
}
