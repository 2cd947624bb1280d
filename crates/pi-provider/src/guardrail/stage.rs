//! One filter at work on one text that comes in pieces.
//!
//! What is looked for may be cut in two, so the end of the text is held back. Places in the text can be marked; a mark comes
//! out as soon as all the text before it is out.

use std::ops::Range;

use pi_redact::Stream;
use regex::Regex;

use super::{
    Findings,
    rule::{Rule, Search, mask_matches, personal_stream},
};
use crate::error::CallError;

/// Held back for patterns, in bytes: what is looked for may be this long, with the space around it.
pub(super) const HELD: usize = 256;
/// A single match is not waited for longer than this.
const MOST_HELD: usize = 4 * HELD;

/// A piece of a text, with marked places in it, in order.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) marks: Vec<usize>,
}

/// What a filter does with what it finds in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    Mask,
    /// It would be masked elsewhere.
    Leave,
    Tell,
}

/// What a filter has to do.
#[derive(Clone, Copy)]
pub(super) struct Work<'r> {
    pub(super) rule: &'r Rule,
    pub(super) effect: Effect,
}

/// A filter and the marks that are held back with its text.
pub(super) struct Stage {
    filter: Filter,
    /// What went in and did not come out yet.
    waiting: String,
    /// Places in that.
    marks: Vec<usize>,
    scope: Scope,
    found: bool,
}

/// Where a filter looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Everywhere,
    /// Where the text is marked. The rest was looked at before, and a mask makes words stand alone that did not.
    AcrossMarks,
}

enum Filter {
    Personal(Stream<'static>),
    Pattern {
        pattern: Regex,
        /// What it looks for can be found in a complete text only.
        needs_whole: bool,
    },
    /// Nothing is looked for any more.
    Done,
}

/// What comes out of a filter, and how much of what is waiting it stands for.
struct Released {
    text: String,
    of: usize,
}

impl Work<'_> {
    fn found(self, findings: &mut Findings) -> Result<(), CallError> {
        match self.effect {
            Effect::Leave => findings.add_left(self.rule),
            Effect::Mask | Effect::Tell => findings.add(self.rule),
        }
    }
}

impl Stage {
    pub(super) fn new(rule: &Rule, scope: Scope) -> Self {
        let filter = match rule.search() {
            Search::Personal => Filter::Personal(personal_stream()),
            Search::Pattern(pattern) => Filter::Pattern { pattern: pattern.clone(), needs_whole: rule.needs_whole() },
        };
        Self { filter, waiting: String::new(), marks: Vec::new(), scope, found: false }
    }

    pub(super) fn has_found(&self) -> bool {
        self.found
    }

    /// Whatever is found from now on is known.
    pub(super) fn tell_nothing(&mut self) {
        self.found = true;
    }

    /// Takes the next piece and gives out what is certain by now.
    pub(super) fn push(&mut self, piece: &Piece, work: Work<'_>, findings: &mut Findings) -> Result<Piece, CallError> {
        self.marks.extend(piece.marks.iter().map(|mark| mark + self.waiting.len()));
        self.waiting.push_str(&piece.text);
        let released = match &mut self.filter {
            Filter::Personal(stream) => {
                let text = stream.push(&piece.text);
                // It may shorten what it holds, where that is all hidden.
                let of = if text.is_empty() { 0 } else { self.waiting.len().saturating_sub(stream.held().len()) };
                Released { text, of: self.waiting.ceil_char_boundary(of) }
            }
            Filter::Pattern { pattern, needs_whole: false } => {
                let of = safe_end(pattern, &self.waiting);
                Released { text: mask_matches(pattern, &self.waiting[..of]).into_owned(), of }
            }
            Filter::Pattern { needs_whole: true, .. } => Released { text: String::new(), of: 0 },
            Filter::Done => Released { text: self.waiting.clone(), of: self.waiting.len() },
        };
        self.release(released, work, findings)
    }

    /// Gives out the rest.
    pub(super) fn finish(&mut self, work: Work<'_>, findings: &mut Findings) -> Result<Piece, CallError> {
        let text = match &mut self.filter {
            Filter::Personal(stream) => std::mem::replace(stream, personal_stream()).finish(),
            Filter::Pattern { pattern, .. } => mask_matches(pattern, &self.waiting).into_owned(),
            Filter::Done => self.waiting.clone(),
        };
        let of = self.waiting.len();
        self.release(Released { text, of }, work, findings)
    }

    fn release(&mut self, released: Released, work: Work<'_>, findings: &mut Findings) -> Result<Piece, CallError> {
        let Released { mut text, mut of } = released;
        let is_marked = || self.marks.iter().any(|&mark| 0 < mark && mark < of);
        if self.scope == Scope::AcrossMarks && !is_marked() {
            text = self.waiting[..of].to_owned();
        }
        if text != self.waiting[..of] {
            if !std::mem::replace(&mut self.found, true) {
                work.found(findings)?;
            }
            if work.effect != Effect::Mask {
                // It is told once, so the rest need not be looked at.
                if matches!(self.filter, Filter::Personal(_)) {
                    self.filter = Filter::Done;
                    of = self.waiting.len();
                }
                text = self.waiting[..of].to_owned();
            }
        }
        let behind = self.marks.partition_point(|&mark| mark <= of);
        let marks = self.marks.drain(..behind).map(|mark| moved(mark, &self.waiting[..of], &text)).collect();
        self.marks.iter_mut().for_each(|mark| *mark -= of);
        self.waiting.drain(..of);
        Ok(Piece { text, marks })
    }
}

/// Where a place of a text is in what was made of it. A place in what was masked is behind the mask.
fn moved(place: usize, before: &str, after: &str) -> usize {
    let same = |(before, after): &(u8, u8)| before == after;
    let begin = before.bytes().zip(after.bytes()).take_while(same).count();
    if place <= begin {
        return after.floor_char_boundary(place);
    }
    let room = before.len().min(after.len()) - begin;
    let end = before.bytes().rev().zip(after.bytes().rev()).take_while(same).count().min(room);
    after.ceil_char_boundary(after.len() - end.min(before.len() - place))
}

/// Where the text can be cut: behind a space, so that no word begins that was none before, and not inside a match. A text
/// without such a place is cut anyhow when it gets too long.
fn safe_end(pattern: &Regex, held: &str) -> usize {
    if held.len() <= HELD {
        return 0;
    }
    let limit = held.floor_char_boundary(held.len() - HELD);
    let found: Vec<Range<usize>> =
        pattern.find_iter(held).map(|found| found.range()).take_while(|range| range.start < limit).collect();
    let is_inside = |cut: usize| found.iter().any(|range| range.start < cut && cut < range.end);
    let spaces = held[..limit].char_indices().rev().filter(|(_, letter)| letter.is_whitespace());
    let cut = spaces.map(|(at, letter)| at + letter.len_utf8()).find(|&cut| !is_inside(cut));
    let behind = |cut| found.iter().find(|range| range.start < cut && cut < range.end).map_or(cut, |range| range.end);
    cut.unwrap_or_else(|| if held.len() > MOST_HELD { behind(limit) } else { 0 })
}
