//! Filters on an answer that comes in pieces, where what is looked for may be cut in two.

use std::ops::Range;

use pi_redact::Stream;
use regex::Regex;

use super::{
    Finding, Findings,
    rule::{Rule, Search, mask_matches, personal_stream},
};
use crate::{
    error::{CallError, Side},
    event::StreamEvent,
    manifest::resilience::FilterAction,
};

/// Held back for patterns, in bytes: what is looked for may be this long, with the space around it.
pub(super) const HELD: usize = 256;
/// A single match is not waited for longer than this.
const MOST_HELD: usize = 4 * HELD;

/// Filters the texts of an answer. Ends of texts come out late, but before the next event of another kind. Thinking that is
/// masked loses its signature, so that it does not go back as what the model thought. The arguments of calls are looked at
/// and never masked, because a tool would do something else; what was found in them is told.
pub struct OutputGuard {
    rules: Vec<Rule>,
    findings: Findings,
    /// One for each candidate that is being written.
    texts: Vec<Text>,
}

/// A text that is being written.
struct Text {
    candidate: u32,
    place: Place,
    filters: Vec<Filter>,
    /// Of thinking: what vouches for it, until all of it was looked at.
    signatures: Vec<String>,
}

/// Which text of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Content { block: Option<u64> },
    Thinking { block: Option<u64> },
    Arguments { index: Option<u64>, tool_call_id: String },
}

/// One filter at work on one text.
enum Filter {
    Personal {
        stream: Stream<'static>,
        /// What went in and did not come out yet; given up when something was masked, because then they differ.
        pending: Option<String>,
    },
    Pattern {
        pattern: Regex,
        held: String,
        found: bool,
        /// What it looks for can be found in a complete text only.
        needs_whole: bool,
    },
    /// Nothing is looked for, or not any more.
    Done,
}

/// What a filter does with what it finds in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Mask,
    /// It would be masked elsewhere.
    Leave,
    Tell,
}

/// What a filter has to do.
#[derive(Clone, Copy)]
struct Work<'r> {
    rule: &'r Rule,
    effect: Effect,
}

impl OutputGuard {
    pub(super) fn new(rules: Vec<Rule>) -> Self {
        Self { rules, findings: Findings::new(Side::Output), texts: Vec::new() }
    }

    /// Takes the next event and gives out what may be seen by now. After an error nothing more may be.
    pub fn push(&mut self, event: StreamEvent, out: &mut Vec<StreamEvent>) -> Result<(), CallError> {
        match event {
            StreamEvent::PartialContentDelta { candidate, block, content, signature } => {
                self.piece(candidate, Place::Content { block }, content, signature, out)?;
            }
            StreamEvent::ThinkingDelta { candidate, block, thinking, signature, redacted: false } => {
                self.piece(candidate, Place::Thinking { block }, thinking, signature, out)?;
            }
            StreamEvent::PartialToolCall { candidate, index, tool_call_id, arguments } => {
                self.piece(candidate, Place::Arguments { index, tool_call_id }, arguments, None, out)?;
            }
            StreamEvent::Metadata { .. } | StreamEvent::Other { .. } => out.push(event),
            StreamEvent::ThinkingDelta { candidate, .. }
            | StreamEvent::ToolCallStarted { candidate, .. }
            | StreamEvent::ToolCallEnded { candidate, .. }
            | StreamEvent::FinalCandidate { candidate, .. } => {
                self.flush(Some(candidate), None, out)?;
                out.push(event);
            }
            StreamEvent::StreamEnd { .. } | StreamEvent::StreamError { .. } => {
                self.flush(None, None, out)?;
                out.push(event);
            }
        }
        Ok(())
    }

    /// Gives out what is held back, at the end of an answer that has no last event.
    pub fn finish(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), CallError> {
        self.flush(None, None, out)
    }

    pub fn findings(&self) -> &[Finding] {
        &self.findings.found
    }

    fn piece(
        &mut self,
        candidate: u32,
        place: Place,
        piece: String,
        signature: Option<String>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), CallError> {
        self.flush(Some(candidate), Some(&place), out)?;
        let text = self.text(candidate, &place);
        let text = &mut self.texts[text];
        let piece = run(text, &self.rules, &mut self.findings, piece, false)?;
        if let Place::Thinking { block } = place {
            // Without a number, what comes behind a signature is another thought.
            let is_over = block.is_none() && signature.is_some();
            text.signatures.extend(signature);
            emit(candidate, place, piece, None, out);
            return if is_over { self.flush(Some(candidate), None, out) } else { Ok(()) };
        }
        emit(candidate, place, piece, signature, out);
        Ok(())
    }

    /// Ends the texts of a candidate (or of all), but for the one that goes on.
    fn flush(
        &mut self,
        candidate: Option<u32>,
        but: Option<&Place>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), CallError> {
        let ends = |text: &mut Text| candidate.is_none_or(|it| it == text.candidate) && but != Some(&text.place);
        let ended: Vec<Text> = self.texts.extract_if(.., ends).collect();
        for mut text in ended {
            let content = run(&mut text, &self.rules, &mut self.findings, String::new(), true)?;
            if text.is_masked(&self.rules) {
                text.signatures.clear();
            }
            emit(text.candidate, text.place.clone(), content, None, out);
            for signature in text.signatures {
                emit(text.candidate, text.place.clone(), String::new(), Some(signature), out);
            }
        }
        Ok(())
    }

    fn text(&mut self, candidate: u32, place: &Place) -> usize {
        let known = self.texts.iter().position(|text| text.candidate == candidate && text.place == *place);
        known.unwrap_or_else(|| {
            let filters = self.rules.iter().map(Filter::new).collect();
            self.texts.push(Text { candidate, place: place.clone(), filters, signatures: Vec::new() });
            self.texts.len() - 1
        })
    }
}

impl Text {
    /// What was found was taken out of it.
    fn is_masked(&self, rules: &[Rule]) -> bool {
        let mut filters = self.filters.iter().zip(rules);
        filters.any(|(filter, rule)| self.place.effect(rule) == Effect::Mask && filter.has_found())
    }
}

impl Place {
    /// What becomes of a text in which a filter finds something.
    fn effect(&self, rule: &Rule) -> Effect {
        match (rule.action(), self) {
            (FilterAction::Mask, Self::Content { .. } | Self::Thinking { .. }) => Effect::Mask,
            (FilterAction::Mask, Self::Arguments { .. }) => Effect::Leave,
            (FilterAction::Block | FilterAction::Warn | FilterAction::Log, _) => Effect::Tell,
        }
    }
}

fn emit(candidate: u32, place: Place, text: String, signature: Option<String>, out: &mut Vec<StreamEvent>) {
    if text.is_empty() && signature.is_none() {
        return;
    }
    out.push(match place {
        Place::Content { block } => StreamEvent::PartialContentDelta { candidate, block, content: text, signature },
        Place::Thinking { block } => {
            StreamEvent::ThinkingDelta { candidate, block, thinking: text, signature, redacted: false }
        }
        Place::Arguments { index, tool_call_id } => {
            StreamEvent::PartialToolCall { candidate, index, tool_call_id, arguments: text }
        }
    });
}

/// Sends a piece through all filters; at the end each gives out what it held.
fn run(
    text: &mut Text,
    rules: &[Rule],
    findings: &mut Findings,
    mut piece: String,
    is_end: bool,
) -> Result<String, CallError> {
    for (filter, rule) in text.filters.iter_mut().zip(rules) {
        let work = Work { rule, effect: text.place.effect(rule) };
        piece = filter.push(piece, work, findings)?;
        if is_end {
            piece.push_str(&filter.finish(work, findings)?);
        }
    }
    Ok(piece)
}

impl Work<'_> {
    fn found(self, findings: &mut Findings) -> Result<(), CallError> {
        match self.effect {
            Effect::Leave => findings.add_left(self.rule),
            Effect::Mask | Effect::Tell => findings.add(self.rule),
        }
    }
}

impl Filter {
    fn new(rule: &Rule) -> Self {
        match rule.search() {
            Search::Personal => Self::Personal { stream: personal_stream(), pending: Some(String::new()) },
            Search::Pattern(pattern) => {
                let (pattern, needs_whole) = (pattern.clone(), rule.needs_whole());
                Self::Pattern { pattern, held: String::new(), found: false, needs_whole }
            }
        }
    }

    fn has_found(&self) -> bool {
        match self {
            Self::Personal { pending, .. } => pending.is_none(),
            Self::Pattern { found, .. } => *found,
            Self::Done => false,
        }
    }

    fn push(&mut self, piece: String, work: Work<'_>, findings: &mut Findings) -> Result<String, CallError> {
        match self {
            Self::Personal { stream, pending } => {
                if let Some(pending) = pending {
                    pending.push_str(&piece);
                }
                let masked = stream.push(&piece);
                self.settle(masked, work, findings)
            }
            Self::Pattern { held, .. } => {
                held.push_str(&piece);
                let end = self.safe_end();
                self.release(end, work, findings)
            }
            Self::Done => Ok(piece),
        }
    }

    fn finish(&mut self, work: Work<'_>, findings: &mut Findings) -> Result<String, CallError> {
        match self {
            Self::Personal { stream, .. } => {
                let masked = std::mem::replace(stream, personal_stream()).finish();
                self.settle(masked, work, findings)
            }
            Self::Pattern { held, .. } => {
                let end = held.len();
                self.release(end, work, findings)
            }
            Self::Done => Ok(String::new()),
        }
    }

    /// Compares what comes out of the redactor with what went in.
    fn settle(&mut self, masked: String, work: Work<'_>, findings: &mut Findings) -> Result<String, CallError> {
        let Self::Personal { pending, .. } = self else { return Ok(masked) };
        let Some(raw) = pending else { return Ok(masked) };
        if raw.starts_with(&masked) {
            raw.drain(..masked.len());
            return Ok(masked);
        }
        let raw = pending.take().unwrap_or_default();
        work.found(findings)?;
        match work.effect {
            Effect::Mask => Ok(masked),
            Effect::Leave | Effect::Tell => {
                *self = Self::Done;
                Ok(raw)
            }
        }
    }

    /// Where the text can be cut: behind a space, so that no word begins that was none before, and not inside a match. A
    /// text without such a place is cut anyhow when it gets too long.
    fn safe_end(&self) -> usize {
        let Self::Pattern { pattern, held, needs_whole, .. } = self else { return 0 };
        if held.len() <= HELD || *needs_whole {
            return 0;
        }
        let limit = held.floor_char_boundary(held.len() - HELD);
        let found: Vec<Range<usize>> =
            pattern.find_iter(held).map(|found| found.range()).take_while(|range| range.start < limit).collect();
        let is_inside = |cut: usize| found.iter().any(|range| range.start < cut && cut < range.end);
        let spaces = held[..limit].char_indices().rev().filter(|(_, letter)| letter.is_whitespace());
        let cut = spaces.map(|(at, letter)| at + letter.len_utf8()).find(|&cut| !is_inside(cut));
        let behind =
            |cut| found.iter().find(|range| range.start < cut && cut < range.end).map_or(cut, |range| range.end);
        cut.unwrap_or_else(|| if held.len() > MOST_HELD { behind(limit) } else { 0 })
    }

    fn release(&mut self, end: usize, work: Work<'_>, findings: &mut Findings) -> Result<String, CallError> {
        let Self::Pattern { pattern, held, found, .. } = self else { return Ok(String::new()) };
        let rest = held.split_off(end);
        let text = std::mem::replace(held, rest);
        let masked = mask_matches(pattern, &text);
        if matches!(masked, std::borrow::Cow::Borrowed(_)) {
            return Ok(text);
        }
        let masked = masked.into_owned();
        if !std::mem::replace(found, true) {
            work.found(findings)?;
        }
        Ok(if work.effect == Effect::Mask { masked } else { text })
    }
}
