//! What stands in an editor, and who wrote in it beside the person.

use std::collections::BTreeSet;

use pi_session::GuestId;
use pi_transcript::question::Asker;

use crate::text::printable;

/// What stands in an editor, to be put into the next one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Draft {
    pub text: String,
    pub authors: Authors,
}

impl Draft {
    /// What the person wrote.
    pub fn typed(text: String) -> Self {
        Self { text, authors: Authors::default() }
    }

    /// What was said in a conversation, by whomever.
    pub fn said(text: String) -> Self {
        Self { text, authors: Authors::conversation() }
    }
}

/// Who wrote in a text beside the person who sends it; usually nobody.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Authors {
    guests: BTreeSet<GuestId>,
    /// Whether something was said before, and came back. An extension may have said it in the person's place.
    is_said: bool,
}

impl Authors {
    /// Who announced a text.
    pub(crate) fn announced(asker: Option<&Asker>) -> Self {
        Self { guests: guest(asker).map(GuestId::from).into_iter().collect(), is_said: false }
    }

    /// Who said what no person typed, as far as it is known.
    pub(crate) fn speaking(guests: BTreeSet<GuestId>) -> Self {
        Self { guests, is_said: true }
    }

    pub(crate) fn conversation() -> Self {
        Self::speaking(BTreeSet::new())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.guests.is_empty() && !self.is_said
    }

    pub(crate) fn has_guests(&self) -> bool {
        !self.guests.is_empty()
    }

    pub(crate) fn add(&mut self, more: &Self) {
        self.guests.extend(more.guests.iter().cloned());
        self.is_said |= more.is_said;
    }

    /// Those who answer for it.
    pub(crate) fn answerable(&self) -> Vec<GuestId> {
        self.guests.iter().cloned().collect()
    }

    /// Who they are, for people.
    pub(crate) fn told(&self) -> String {
        let guests = self.guests.iter().map(|guest| format!("extension {}", printable(guest.as_str())));
        let said = self.is_said.then(|| "the conversation".to_owned());
        guests.chain(said).collect::<Vec<_>>().join(" and ")
    }
}

/// The extension that asks, tells or draws something. Who does not say that the host does is taken for one.
pub(crate) fn guest(asker: Option<&Asker>) -> Option<&str> {
    match asker {
        Some(Asker::Host { .. } | Asker::Pi { .. }) => None,
        Some(Asker::Extension { extension_id }) => Some(extension_id),
        None => Some("unknown"),
    }
}
