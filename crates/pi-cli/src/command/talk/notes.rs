//! What somebody should know of what happens even if they only want the answer.

use pi_transcript::{
    AgentEvent,
    json::Extra,
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
                let message = Asker::signed(asker.as_ref(), message);
                match notify_type.unwrap_or_default() {
                    NotifyType::Info => console.remark(&message),
                    NotifyType::Warning => console.note(&message),
                    NotifyType::Error => console.complaint(&message),
                }
            }
            AgentEvent::Other(members) if is_called(members, "storage_failed") && self.keeping == Keeping::InVain => {}
            AgentEvent::Other(members) if is_called(members, "storage_failed") => {
                let why = members.get("message").and_then(|message| message.as_str()).unwrap_or_default();
                console.note(&format!("the session is kept in memory only: {why}"));
            }
            AgentEvent::Other(members) if is_called(members, "guardrail") || is_called(members, "input_notice") => {
                console.note(members.get("message").and_then(|message| message.as_str()).unwrap_or_default());
            }
            AgentEvent::Other(members) if is_called(members, "messages_unsaid") => {
                let texts = members.get("texts").and_then(|texts| texts.as_array()).into_iter().flatten();
                for text in texts.filter_map(|text| text.as_str()) {
                    console.note(&format!("not said any more: {text}"));
                }
            }
            AgentEvent::Other(members) if is_called(members, "storage_recovered") => {
                console.note("the session is on the disk again");
            }
            _ => {}
        }
    }
}

/// Whether an event that Pi does not have is of this type.
fn is_called(members: &Extra, name: &str) -> bool {
    members.get("type").is_some_and(|kind| kind == name)
}
