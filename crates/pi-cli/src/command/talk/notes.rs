//! What somebody should know of what happens even if they only want the answer.

use pi_transcript::{
    AgentEvent,
    question::{Announcement, Asker, NotifyType, UiRequest},
};

use super::print::Keeping;
use crate::console::Console;

/// Tells it on standard error.
pub(super) struct Notes {
    pub(super) keeping: Keeping,
}

impl Notes {
    pub(super) fn take(&self, event: &AgentEvent, console: &mut Console) {
        match event {
            AgentEvent::AutoRetryStart { attempt, max_attempts, delay_ms, error_message } => {
                let seconds = *delay_ms as f64 / 1000.0;
                console.remark(&format!("retrying {attempt} of {max_attempts} in {seconds:.1} s: {error_message}"));
            }
            AgentEvent::ToolExecutionEnd { tool_name, denied: Some(reason), .. } => {
                console.note(&format!("{tool_name} was not allowed: {reason}"));
            }
            AgentEvent::ExtensionError { extension_path, error, .. } => {
                console.note(&format!("the extension {extension_path} failed: {error}"));
            }
            AgentEvent::ExtensionUiRequest {
                asker,
                request: UiRequest::Announcement(Announcement::Notify { message, notify_type }),
                ..
            } => {
                // Each line by itself: an extension could write what looks like one of ours.
                let lines = message.split('\n').map(|line| Asker::signed(asker.as_ref(), line));
                let message = lines.collect::<Vec<_>>().join("\n");
                match notify_type.unwrap_or_default() {
                    NotifyType::Info => console.remark(&message),
                    NotifyType::Warning => console.note(&message),
                    NotifyType::Error => console.complaint(&message),
                }
            }
            AgentEvent::StorageFailed { .. } if self.keeping == Keeping::InVain => {}
            AgentEvent::StorageFailed { message } => {
                console.note(&format!("the session is kept in memory only: {message}"));
            }
            AgentEvent::Guardrail { message, .. } | AgentEvent::InputNotice { message } => console.note(message),
            AgentEvent::MessagesUnsaid { texts } => {
                texts.iter().for_each(|text| console.note(&format!("not said any more: {text}")));
            }
            AgentEvent::StorageRecovered => console.note("the session is on the disk again"),
            _ => {}
        }
    }
}
