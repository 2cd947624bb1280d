//! What extensions bring for a session beside what its files say: skills and prompt templates.
//!
//! An extension names files and folders, and we read them for it. So it may name what it may read, and nothing else: otherwise
//! the beginning of any file would be in its reach as the description of a template.

use std::{path::PathBuf, sync::Arc};

use pi_exthost::{GuestId, Occasion, Terms};
use pi_extproto::{
    hook::{
        Hook,
        event::payload::{DiscoverReason, ResourcesDiscoverEvent},
    },
    host::ErrorCode,
};
use pi_session::settings::expand_home;
use pi_transcript::question::NotifyType;

use super::{Brought, Company, off_thread};

/// Files and folders of a kind that one extension may name.
const MOST: usize = 100;

impl Company {
    /// Asks all of them, and lets the session have what they name now. At the beginning nobody is told what is new by that.
    pub(super) async fn gather_anew(&self, reason: DiscoverReason) {
        let _turn = self.gathering.lock().await;
        let before = self.brought();
        if before == Brought::default() && !self.guests.listens(Hook::ResourcesDiscover) {
            return;
        }
        let brought = self.name(reason).await;
        if brought == before {
            return;
        }
        brought.clone_into(&mut self.brought.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        let furniture = Arc::clone(&self.furniture);
        match off_thread(move || furniture.with(&brought)).await {
            Ok((furnished, notes)) => {
                let difference = self.furnish(furnished, notes).await;
                if let Some(difference) = difference.filter(|_| reason == DiscoverReason::Reload) {
                    self.tell(NotifyType::Info, difference).await;
                }
            }
            Err(failure) => self.tell_unread(&failure).await,
        }
    }

    /// What they name, as far as they may read it.
    async fn name(&self, reason: DiscoverReason) -> Brought {
        let event = || ResourcesDiscoverEvent { cwd: self.furniture.directory().display().to_string(), reason };
        let named = self.guests.resources_discover(event, &self.ended).await;
        let mut brought = Brought::default();
        for (guest, paths) in named {
            brought.skills.append(&mut self.readable(&guest, paths.skill_paths).await);
            brought.prompts.append(&mut self.readable(&guest, paths.prompt_paths).await);
            if let Some(dispatcher) = self.dispatcher.get().filter(|_| !paths.theme_paths.is_empty()) {
                dispatcher
                    .warn(&guest, "themePaths of resources_discover have no effect here: themes are dark and light");
            }
        }
        brought
    }

    async fn readable(&self, guest: &GuestId, paths: Vec<String>) -> Vec<PathBuf> {
        let Some(dispatcher) = self.dispatcher.get() else { return Vec::new() };
        if paths.len() > MOST {
            let message =
                format!("{guest} brings {} files and folders of a kind; {MOST} of them are used", paths.len());
            self.tell(NotifyType::Warning, message).await;
        }
        let mut readable = Vec::new();
        for path in paths.iter().map(|path| path.trim()).filter(|path| !path.is_empty()).take(MOST) {
            let whole = self.furniture.directory().join(expand_home(path, self.extensions.home()));
            let occasion = Occasion::Event(Hook::ResourcesDiscover.as_str().to_owned());
            let terms = Terms { cancel: self.ended.child_token(), occasion, ..Terms::background() };
            match dispatcher.readable(guest, whole.display().to_string(), terms).await {
                Ok(path) => readable.push(path),
                // A person was told, and how to allow it.
                Err(error) if error.code == ErrorCode::Denied => {}
                Err(error) => {
                    let message = format!("{guest} brings {path}, which cannot be used: {}", error.message);
                    self.tell(NotifyType::Warning, message).await;
                }
            }
        }
        readable
    }
}
