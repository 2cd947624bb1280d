//! What the provider did with an envelope: which part its cache held, and how far its count is from ours.

use pi_envelope::{CacheState, Envelope, Stats};
use serde::Serialize;

use super::BAR;
use crate::{
    amount::{counted, grouped},
    console::{Console, Tone},
};

/// Tokens by what the provider's cache did with them.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Cache {
    cached: u64,
    written: u64,
    uncached: u64,
    /// In segments of which nothing was said.
    unknown: u64,
}

/// What the provider counted as sent.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Sent {
    tokens: u64,
    /// Less the sum over the segments: markup of the provider, and our error.
    residual: i128,
}

impl Cache {
    /// Nothing if no segment says what happened to it.
    pub(super) fn of(envelope: &Envelope) -> Option<Self> {
        let mut cache = Cache::default();
        let mut is_known = false;
        for (_, segment) in envelope.segments() {
            let state = segment.ours().and_then(|meta| meta.cache);
            is_known |= state.is_some();
            let part = match state {
                Some(CacheState::Cached) => &mut cache.cached,
                Some(CacheState::Written) => &mut cache.written,
                Some(CacheState::Uncached) => &mut cache.uncached,
                None => &mut cache.unknown,
            };
            *part = part.saturating_add(segment.tokens().count);
        }
        is_known.then_some(cache)
    }

    /// A thin bar under those of the kinds. Each part has its own stroke, so that it can be read without colours.
    pub(super) fn show(&self, console: &mut Console) {
        let parts = self.parts();
        let bar = parts.iter().zip(cells(parts.map(|(_, tokens, ..)| tokens)));
        let bar: String = bar.map(|((.., stroke, tone), cells)| console.paint(*tone, &stroke.repeat(cells))).collect();
        let amounts: Vec<String> = parts
            .iter()
            .filter(|(_, tokens, ..)| *tokens > 0)
            .map(|(name, tokens, stroke, tone)| format!("{} {} {name}", console.paint(*tone, stroke), grouped(*tokens)))
            .collect();
        console.line(&format!("  {:<17} {bar}  {}", "cache", amounts.join(", ")));
    }

    fn parts(&self) -> [(&'static str, u64, &'static str, Tone); 4] {
        [
            ("cached", self.cached, "━", Tone::Good),
            ("written", self.written, "╍", Tone::Warning),
            ("uncached", self.uncached, "┄", Tone::Quiet),
            ("unknown", self.unknown, "·", Tone::Quiet),
        ]
    }
}

impl Sent {
    /// Nothing if the envelope does not say what the provider counted. The residual that it may claim is not used: it
    /// would be wrong after somebody edited the file.
    pub(super) fn of(envelope: &Envelope, stats: &Stats) -> Option<Self> {
        let usage = envelope.ours()?.usage.as_ref()?;
        let tokens = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
        Some(Sent { tokens, residual: i128::from(tokens) - i128::from(stats.total.tokens) })
    }

    pub(super) fn show(&self, console: &mut Console) {
        let difference = match self.residual {
            0 => "as many as the segments have".to_owned(),
            more @ 1.. => format!("{} more than the segments have", grouped(more)),
            less => format!("{} fewer than the segments have", grouped(less.unsigned_abs())),
        };
        let label = console.paint(Tone::Quiet, "provider");
        console.line(&format!("  {label}: {} sent, {difference}", counted(self.tokens, "token")));
    }
}

/// How many cells of a bar each part gets; together they fill it.
fn cells(parts: [u64; 4]) -> [usize; 4] {
    let total: u128 = parts.iter().map(|part| u128::from(*part)).sum();
    let (mut before, mut border) = (0u128, 0usize);
    parts.map(|part| {
        before += u128::from(part);
        let next = (before * 2 * BAR as u128 + total) / (total * 2).max(1);
        let next = usize::try_from(next).expect("no border lies behind the end of the bar");
        let cells = next - border;
        border = next;
        cells
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_fill_the_bar() {
        for (parts, expected) in [
            ([1, 1, 1, 0], [10, 10, 10, 0]),
            ([7, 0, 0, 0], [BAR, 0, 0, 0]),
            ([1, 998, 1, 0], [0, BAR, 0, 0]),
            ([u64::MAX, u64::MAX, 0, 0], [BAR / 2, BAR / 2, 0, 0]),
            ([0, 0, 0, 0], [0, 0, 0, 0]),
        ] {
            assert_eq!(cells(parts), expected);
        }
    }
}
