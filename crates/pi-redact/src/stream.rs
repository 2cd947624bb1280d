//! Redaction of text that arrives in pieces, where a secret may be cut in two.
//!
//! The end of what has arrived is held back. The rest is let go at a place where it can be seen to make no difference: the
//! two sides redacted apart are the same as redacted together, with enough text on the right to be sure of it.

use std::ops::Range;

use crate::{MARK, Redactor, text};

/// The least that is held back, whatever was asked for: keys, mail addresses and pairs of keys reach that far.
const LEAST_BOUND: usize = 512;
/// Held back, in bounds, before what is hidden is shortened, and at most, before a cut is forced.
const USUALLY_HELD: usize = 4;
const MOST_HELD: usize = 8;
/// How many places of each kind are tried for a cut.
const TRIES: usize = 4;

/// Redacts a text that arrives in pieces; made by [`Redactor::stream`].
///
/// However the text was cut, the output in one is that of [`Redactor::redact_text`] on the whole, as long as each secret
/// together with its key and what stands between them is shorter than the bound. Of longer ones what goes on behind the
/// bound stays hidden while it is one word, one quoted value or one PEM block; brackets may be closed too early.
///
/// Between two and four times the bound is held back, up to eight where secrets stand so close that no cut is certain, so
/// this is for logs and transcripts and not for text that somebody watches being written. Dropping the stream drops what is
/// held back, unseen.
#[must_use = "what is held back is only given out by `finish`"]
pub struct Stream<'a> {
    redactor: &'a Redactor,
    bound: usize,
    held: String,
    /// The length at which looking for a cut is worth its cost again.
    next_look: usize,
    /// Whether what comes next belongs to a hidden word that was given up, so that nothing of it may be seen.
    inside_hidden_word: bool,
}

impl<'a> Stream<'a> {
    pub(crate) fn new(redactor: &'a Redactor, bound: usize) -> Self {
        let bound = bound.max(LEAST_BOUND).max(redactor.exact.longest());
        Stream { redactor, bound, held: String::new(), next_look: 2 * bound, inside_hidden_word: false }
    }

    /// Takes the next piece and gives out what is certain by now, which is often nothing.
    pub fn push(&mut self, piece: &str) -> String {
        let piece = if self.inside_hidden_word { piece.trim_start_matches(|it| !ends_word(it)) } else { piece };
        self.inside_hidden_word &= piece.is_empty();
        self.held.push_str(piece);
        if self.held.len() < self.next_look {
            return String::new();
        }
        let certain = self.release();
        self.next_look = (self.held.len() + self.bound).max(2 * self.bound);
        certain
    }

    /// What is held back, as it came: not redacted.
    pub fn held(&self) -> &str {
        &self.held
    }

    /// Gives out the rest.
    pub fn finish(self) -> String {
        self.redactor.redact_text(&self.held).into_owned()
    }

    fn release(&mut self) -> String {
        let limit = self.held.floor_char_boundary(self.held.len() - self.bound);
        let hidden: Vec<Range<usize>> = text::spans(self.redactor, &self.held).collect();
        let together = self.redactor.redact_text(&self.held);
        let cut = cuts(&self.held[..limit], &hidden).find(|&cut| {
            let (left, right) = self.held.split_at(cut);
            let left = self.redactor.redact_text(left);
            together.strip_prefix(&*left).is_some_and(|rest| rest == self.redactor.redact_text(right))
        });
        if let Some(cut) = cut {
            return self.take(cut);
        }
        if self.held.len() < USUALLY_HELD * self.bound {
            return String::new();
        }
        if let Some(shorter) = self.shortened(&hidden, &together) {
            self.held = shorter;
            return String::new();
        }
        if self.held.len() < MOST_HELD * self.bound { String::new() } else { self.force(&hidden) }
    }

    /// The text without the middle of what is hidden in it, if that makes no difference: nobody will see the middle, and
    /// the two ends mostly say as much about where it ends. A token with several parts needs more of its beginning.
    fn shortened(&self, hidden: &[Range<usize>], together: &str) -> Option<String> {
        let behind = self.bound / 2;
        [self.bound / 2, self.bound, 2 * self.bound].into_iter().find_map(|before| {
            let mut shorter = self.held.clone();
            for range in hidden.iter().rev().filter(|range| range.len() > before + behind) {
                let from = self.held.ceil_char_boundary(range.start + before);
                let to = self.held.floor_char_boundary(range.end - behind);
                shorter.replace_range(from..to.max(from), "");
            }
            let is_shorter = self.held.len() - shorter.len() >= self.bound / 2;
            (is_shorter && self.redactor.redact_text(&shorter) == together).then_some(shorter)
        })
    }

    /// Cuts where it may make a difference, far enough from the end that a secret which is still arriving keeps its key.
    /// What is hidden around the cut is dropped, so that none of it can be seen.
    fn force(&mut self, hidden: &[Range<usize>]) -> String {
        let cut = self.held.floor_char_boundary(self.held.len() - 2 * self.bound);
        let Some(around) = hidden.iter().find(|range| range.start < cut && cut < range.end) else {
            return self.take(cut);
        };
        let right = self.held.split_off(around.end);
        self.held.truncate(around.start);
        let left = std::mem::replace(&mut self.held, right);
        self.inside_hidden_word = self.held.is_empty();
        self.redactor.redact_text(&left).into_owned() + MARK
    }

    fn take(&mut self, cut: usize) -> String {
        let right = self.held.split_off(cut);
        let left = std::mem::replace(&mut self.held, right);
        self.redactor.redact_text(&left).into_owned()
    }
}

/// Where the text may be cut, best first: behind its last lines, behind its last words, at its end, and in the middle of
/// the longest stretches between what is hidden. Never inside of what is hidden.
fn cuts(text: &str, hidden: &[Range<usize>]) -> impl Iterator<Item = usize> {
    let is_open = |cut: &usize| {
        let begun = hidden.partition_point(|range| range.start < *cut);
        *cut > 0 && hidden[..begun].last().is_none_or(|range| range.end <= *cut)
    };
    let behind = move |mark: char| text.rmatch_indices(mark).map(|(at, _)| at + 1).filter(is_open).take(TRIES);
    let mut gaps = gaps(text, hidden);
    let end = gaps.last().map(|gap| gap.end);
    gaps.sort_by_key(|gap| std::cmp::Reverse(gap.len()));
    let middles = gaps.into_iter().take(TRIES).map(|gap| text.floor_char_boundary(gap.start + gap.len() / 2));
    behind('\n').chain(behind(' ')).chain(end.into_iter().chain(middles).filter(|&cut| cut > 0))
}

/// The stretches of the text before, between and behind what is hidden.
fn gaps(text: &str, hidden: &[Range<usize>]) -> Vec<Range<usize>> {
    let starts = [0].into_iter().chain(hidden.iter().map(|range| range.end));
    let ends = hidden.iter().map(|range| range.start).chain([text.len()]);
    starts.zip(ends).map(|(start, end)| start..end.min(text.len())).filter(|gap| gap.start <= gap.end).collect()
}

fn ends_word(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '"' | '\'' | '`')
}
