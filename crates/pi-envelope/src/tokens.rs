//! How many tokens a segment costs, and how that compares with what the provider counted.
//!
//! Whoever projects a prompt passes the counter. This crate has one of its own, [`estimate`], which knows no model.

use pi_transcript::Usage;

use crate::{
    envelope::{Body, Envelope, Segment},
    meta::{CacheState, Counted, Meta, Tokens},
};

/// Counts the tokens of a text. Two kinds exist: [`estimate`], and tokenizers that callers bring.
pub type Counter<'a> = dyn Fn(&str) -> Tokens + 'a;

/// What an image costs when nobody counted it.
pub const IMAGE_TOKENS: u64 = 1200;

/// Four characters are a token, more or less; of those that stand for a syllable or a word, ten are seven. The page of envelopes
/// counts the same (`web/src/envelope/model/count.ts`).
pub fn estimate(text: &str) -> Tokens {
    let twentieths: u64 = text.chars().map(|letter| if is_wide(letter) { 14 } else { 5 }).sum();
    Tokens { count: twentieths.div_ceil(20), how: Counted::Estimated }
}

/// Chinese, Japanese and Korean letters, and the signs that are written among them.
const fn is_wide(letter: char) -> bool {
    matches!(letter,
        '\u{3000}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

/// The sum, known as surely as its least sure part. Nothing at all is known exactly.
pub fn sum(parts: impl IntoIterator<Item = Tokens>) -> Tokens {
    parts.into_iter().fold(Tokens { count: 0, how: Counted::Exact }, |sum, part| Tokens {
        count: sum.count.saturating_add(part.count),
        how: sum.how.max(part.how),
    })
}

impl Segment {
    /// What the segment costs: as it was counted, or else as the estimate says.
    pub fn tokens(&self) -> Tokens {
        self.ours().and_then(|meta| meta.tokens).unwrap_or_else(|| self.count(&estimate))
    }

    pub(crate) fn count(&self, counter: &Counter<'_>) -> Tokens {
        match self.body {
            Body::Media { .. } => Tokens { count: IMAGE_TOKENS, how: Counted::Estimated },
            Body::Text { .. }
            | Body::StaticVar { .. }
            | Body::SystemPrompt { .. }
            | Body::Memory { .. }
            | Body::Skills { .. }
            | Body::ToolOverview { .. }
            | Body::ToolCallRequest { .. }
            | Body::ToolCallResult { .. }
            | Body::Document { .. }
            | Body::LongText { .. } => counter(&self.sent()),
        }
    }
}

/// Writes down what the provider counted, and by how much that differs from our sum.
///
/// If the provider says that its cache took part, each segment is marked by where it lies: a cache holds a beginning of
/// the prompt, so the first segments were read from it, the next ones written to it. The provider gives only totals, so
/// a segment on a border gets the state of its middle. A `meta` that is not ours is left alone.
pub fn reconcile(envelope: &mut Envelope, usage: &Usage) {
    let counted = sum(envelope.segments().map(|(_, segment)| segment.tokens()));
    let sent = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
    if usage.cache_read > 0 || usage.cache_write > 0 {
        mark_cached(envelope, usage, counted.count, sent);
    }
    let residual = i128::from(sent) - i128::from(counted.count);
    if let Some(meta) = Meta::write(&mut envelope.meta) {
        meta.tokens = Some(counted);
        meta.usage = Some(usage.clone());
        meta.residual = Some(i64::try_from(residual).unwrap_or(if residual < 0 { i64::MIN } else { i64::MAX }));
    }
}

fn mark_cached(envelope: &mut Envelope, usage: &Usage, counted: u64, sent: u64) {
    let read = u128::from(usage.cache_read);
    let written = read + u128::from(usage.cache_write);
    let mut before = 0u64;
    for segment in envelope.messages.iter_mut().flat_map(|message| &mut message.segments) {
        let tokens = segment.tokens().count;
        // The middle of the segment, in the provider's tokens: ours are scaled to its total.
        let middle =
            (u128::from(before) * 2 + u128::from(tokens)) * u128::from(sent) / (u128::from(counted.max(1)) * 2);
        before = before.saturating_add(tokens);
        let state = match middle {
            middle if middle < read => CacheState::Cached,
            middle if middle < written => CacheState::Written,
            _ => CacheState::Uncached,
        };
        if let Some(meta) = Meta::write(&mut segment.meta) {
            meta.cache = Some(state);
        }
    }
}
