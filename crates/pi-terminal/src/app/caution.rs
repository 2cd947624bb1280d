//! When enter takes what stands in the editor: not at once where something else than the keys of a person wrote in it.
//!
//! Extensions write there at any moment, also just before somebody presses enter. What changed by itself is sent only after a
//! while. What does something beyond being said to the model — a command of the shell or of the chat — is sent at a second enter,
//! by whoever has read that they did not write it.

use std::time::Duration;

use pi_session::GuestId;

use crate::{
    draft::Authors,
    hearing::{Hearing, PAUSE},
};

/// What an enter does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Send,
    /// Nobody can have read it yet.
    TooEarly,
    /// It is to be pressed again.
    Again,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Caution {
    authors: Authors,
    /// Whether a change that no key made has been read.
    change: Option<Hearing>,
    /// For which text enter was pressed once, and when.
    asked: Option<(String, Duration)>,
}

impl Caution {
    /// These wrote in it.
    pub(super) fn note(&mut self, by: &Authors) {
        self.authors.add(by);
        // What comes out of the conversation comes when a person wants it.
        if by.has_guests() {
            self.change = Some(Hearing::Unseen);
        }
        self.asked = None;
    }

    /// The editor is shown at `now`.
    pub(super) fn show(&mut self, now: Duration) {
        if let Some(change) = &mut self.change {
            change.show(now);
        }
    }

    /// Nothing is left of what was written.
    pub(super) fn forget_authors(&mut self) {
        self.authors = Authors::default();
        self.asked = None;
    }

    pub(super) fn authors(&self) -> &Authors {
        &self.authors
    }

    /// Who must answer for what is sent.
    pub(super) fn answerable(&self) -> Vec<GuestId> {
        self.authors.answerable()
    }

    /// What an enter at `now` does with this text.
    pub(super) fn judge(&mut self, text: &str, now: Duration) -> Verdict {
        if self.change.is_some_and(|change| change.at(now) != Hearing::Keen) {
            return Verdict::TooEarly;
        }
        if self.authors.is_empty() || !is_call(text) {
            return Verdict::Send;
        }
        match &self.asked {
            Some((asked, at)) if asked == text => {
                if now.saturating_sub(*at) >= PAUSE {
                    Verdict::Send
                } else {
                    Verdict::Again
                }
            }
            Some(_) | None => {
                self.asked = Some((text.to_owned(), now));
                Verdict::Again
            }
        }
    }
}

/// Whether a text does more than being said to the model.
pub(super) fn is_call(text: &str) -> bool {
    let line = text.trim();
    line.starts_with(['!', '/']) || matches!(line, "exit" | "quit")
}
