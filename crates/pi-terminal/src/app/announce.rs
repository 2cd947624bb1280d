//! What extensions show beside the conversation.

use pi_transcript::{
    RequestId,
    question::{Announcement, Asker, NotifyType, WidgetPlacement},
};

use super::{App, Own};
use crate::{
    chat::Tone,
    draft::{Authors, guest},
};

impl App {
    pub(super) fn announce(&mut self, id: &RequestId, asker: Option<&Asker>, announcement: &Announcement) {
        let own = |key: &str| Own { guest: guest(asker).unwrap_or("pi").to_owned(), key: key.to_owned() };
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
                self.statuses.insert(own(key), Asker::signed(asker, text));
            }
            Announcement::SetStatus { key, text: None } => drop(self.statuses.remove(&own(key))),
            Announcement::SetWidget { key, content, placement } => {
                self.above.remove(&own(key));
                self.below.remove(&own(key));
                let Some(content) = content else { return };
                match placement.unwrap_or_default() {
                    WidgetPlacement::AboveEditor => self.above.insert(own(key), content.clone()),
                    WidgetPlacement::BelowEditor => self.below.insert(own(key), content.clone()),
                };
            }
            Announcement::SetTitle { title } => self.title = Some(Asker::signed(asker, title)),
            Announcement::SetWorkingMessage { message } => {
                self.working_message = message.as_ref().map(|message| Asker::signed(asker, message));
            }
            Announcement::SetEditorText { text, inserted } => {
                self.rewrite(&Authors::announced(asker), |editor| match inserted {
                    // What was typed meanwhile is not in the text.
                    Some(inserted) => editor.paste(inserted),
                    None => editor.set(text),
                });
                self.changed_by = Some(id.clone());
            }
        }
    }
}
