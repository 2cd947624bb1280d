//! Keys of extensions: which of them they have, and what is said of the others.

use std::collections::BTreeSet;

use pi_session::GuestShortcut;

use super::{App, Called};
use crate::{
    chat::Tone,
    keys::{Owner, owner},
    wish::Action,
};

/// Keys of which something is said in one chat: an extension may want others every second.
const MOST_TOLD: usize = 32;

/// The keys of extensions.
#[derive(Debug, Default)]
pub(super) struct Shortcuts {
    given: Vec<GuestShortcut>,
    told: BTreeSet<String>,
}

impl App {
    /// Gives extensions the keys that they want and may have; these are all that there are now.
    pub(crate) fn give_keys(&mut self, wanted: Vec<GuestShortcut>) {
        let (kept, given): (Vec<_>, Vec<_>) =
            wanted.into_iter().partition(|shortcut| owner(&shortcut.chord) == Owner::Chat);
        for GuestShortcut { chord, guest, .. } in kept {
            self.tell_key(format!("{chord} stays a key of the chat; extension {guest} wanted it"));
        }
        for GuestShortcut { chord, guest, .. } in &given {
            if owner(chord) == Owner::Editor {
                self.tell_key(format!("{chord} is a key of extension {guest} now, and not of the editor"));
            }
        }
        self.shortcuts.given = given;
    }

    /// Once, however often the extension is loaded anew.
    fn tell_key(&mut self, told: String) {
        if self.shortcuts.told.len() < MOST_TOLD && self.shortcuts.told.insert(told.clone()) {
            self.note(Tone::Warning, told);
        }
    }

    /// What is done at the key of this name, if an extension has it.
    pub(super) fn shortcut(&mut self, chord: String) -> Option<Action> {
        self.shortcuts.given.iter().find(|shortcut| shortcut.chord == chord)?;
        self.called.push(Called { text: chord.clone(), since: None });
        Some(Action::PressShortcut(chord))
    }

    /// Each key that an extension has, and what it does.
    pub(super) fn given_keys(&self) -> impl Iterator<Item = (String, String)> {
        self.shortcuts.given.iter().map(|GuestShortcut { guest, chord, description }| {
            let by = format!("extension {guest}");
            let what = description.as_ref().map_or(by.clone(), |description| format!("{description} ({by})"));
            (chord.clone(), what)
        })
    }
}
