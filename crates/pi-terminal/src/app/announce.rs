//! What extensions show beside the conversation.

use pi_transcript::{
    RequestId,
    question::{Announcement, Asker, NotifyType, WidgetPlacement},
};

use super::App;
use crate::chat::Tone;

impl App {
    pub(super) fn announce(&mut self, id: &RequestId, asker: Option<&Asker>, announcement: &Announcement) {
        match announcement {
            Announcement::Notify { message, notify_type } => {
                let tone = match notify_type.unwrap_or_default() {
                    NotifyType::Info => Tone::Quiet,
                    NotifyType::Warning => Tone::Warning,
                    NotifyType::Error => Tone::Bad,
                };
                self.note(tone, Asker::signed(asker, message));
            }
            Announcement::SetStatus { key, text: Some(text) } => {
                self.statuses.insert(key.clone(), text.clone());
            }
            Announcement::SetStatus { key, text: None } => drop(self.statuses.remove(key)),
            Announcement::SetWidget { key, content, placement } => {
                self.above.remove(key);
                self.below.remove(key);
                let Some(content) = content else { return };
                match placement.unwrap_or_default() {
                    WidgetPlacement::AboveEditor => self.above.insert(key.clone(), content.clone()),
                    WidgetPlacement::BelowEditor => self.below.insert(key.clone(), content.clone()),
                };
            }
            Announcement::SetTitle { title } => self.title = Some(title.clone()),
            Announcement::SetWorkingMessage { message } => self.working_message.clone_from(message),
            Announcement::SetEditorText { text } => {
                self.editor.set(text);
                self.changed_by = Some(id.clone());
            }
        }
    }
}
