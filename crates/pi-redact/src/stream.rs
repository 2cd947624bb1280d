//! Redaction of text that arrives in pieces, where a secret may be cut in two.
//!
//! The end of what has arrived is held back. The rest is let go at a place where it can be seen to make no difference: the
//! two sides redacted apart are the same as redacted together, with enough text on the right to be sure of it.

use crate::{Redactor, text};

/// The least that is held back, whatever was asked for: keys, mail addresses and pairs of keys reach that far.
const LEAST_BOUND: usize = 512;
/// Held back at most, in bounds, before a cut is forced.
const MOST_HELD: usize = 4;
/// How many places of each kind are tried for a cut.
const TRIES: usize = 4;

/// Redacts a text that arrives in pieces; made by [`Redactor::stream`].
///
/// However the text was cut, the output in one is that of [`Redactor::redact_text`] on the whole, as long as each secret
/// together with its key and what stands between them is shorter than the bound. Of longer ones what goes on behind the
/// bound stays hidden while it is one word, one quoted value or one PEM block; brackets may be closed too early.
///
/// Between two and four times the bound is held back, so this is for logs and transcripts and not for text that somebody
/// watches being written. Dropping the stream drops what is held back, unseen.
#[must_use = "what is held back is only given out by `finish`"]
pub struct Stream<'a> {
    redactor: &'a Redactor,
    bound: usize,
    held: String,
    /// The length at which looking for a cut is worth its cost again.
    next_look: usize,
}

impl<'a> Stream<'a> {
    pub(crate) fn new(redactor: &'a Redactor, bound: usize) -> Self {
        let bound = bound.max(LEAST_BOUND).max(redactor.exact.longest());
        Stream { redactor, bound, held: String::new(), next_look: 2 * bound }
    }

    /// Takes the next piece and gives out what is certain by now, which is often nothing.
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        if self.held.len() < self.next_look {
            return String::new();
        }
        let certain = self.release();
        self.next_look = (self.held.len() + self.bound).max(2 * self.bound);
        certain
    }

    /// Gives out the rest.
    pub fn finish(self) -> String {
        self.redactor.redact_text(&self.held).into_owned()
    }

    fn release(&mut self) -> String {
        let limit = self.held.floor_char_boundary(self.held.len() - self.bound);
        let hidden = text::spans(self.redactor, &self.held).find(|range| range.end > limit);
        let hidden = hidden.filter(|range| range.start < limit);
        let latest = hidden.as_ref().map_or(limit, |range| range.start);
        let together = self.redactor.redact_text(&self.held);
        let cut = cuts(&self.held[..latest]).find(|&cut| {
            let (left, right) = self.held.split_at(cut);
            let left = self.redactor.redact_text(left);
            together.strip_prefix(&*left).is_some_and(|rest| rest == self.redactor.redact_text(right))
        });
        if let Some(cut) = cut {
            return self.take(cut);
        }
        if self.held.len() < MOST_HELD * self.bound {
            return String::new();
        }
        match hidden {
            // Nobody will see the middle of what is hidden, and its two ends say as much about where it ends.
            Some(range) if range.len() > 2 * self.bound => {
                let from = self.held.ceil_char_boundary(range.start + self.bound / 2);
                let to = self.held.floor_char_boundary(range.end - self.bound / 2);
                self.held.replace_range(from..to, "");
                String::new()
            }
            Some(_) | None => self.take(limit),
        }
    }

    fn take(&mut self, cut: usize) -> String {
        let right = self.held.split_off(cut);
        let left = std::mem::replace(&mut self.held, right);
        self.redactor.redact_text(&left).into_owned()
    }
}

/// Where the text may be cut, best first: behind its last lines, behind its last words, at its end.
fn cuts(text: &str) -> impl Iterator<Item = usize> {
    let behind = |mark: char| text.rmatch_indices(mark).map(|(at, _)| at + 1).take(TRIES);
    behind('\n').chain(behind(' ')).chain([text.len()]).filter(|&cut| cut > 0)
}
