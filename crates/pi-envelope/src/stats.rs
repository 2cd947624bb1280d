//! What an envelope is made of: tokens, characters and bytes by kind, role and origin.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use ts_rs::TS;

use crate::{
    envelope::{Envelope, Segment},
    meta::Counted,
};

/// What an envelope is made of. Names that do not occur are left out.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    pub messages: usize,
    pub total: Tally,
    pub by_kind: BTreeMap<&'static str, Tally>,
    pub by_role: BTreeMap<&'static str, Tally>,
    /// By origin as text (`mcp:github`); segments that do not say where they came from are under `unknown`.
    pub by_origin: BTreeMap<String, Tally>,
    /// Tokens by how they are known.
    #[ts(type = "Record<string, number>")]
    pub by_count: BTreeMap<Counted, u64>,
}

/// A sum over some segments.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema, TS)]
pub struct Tally {
    pub segments: usize,
    #[ts(type = "number")]
    pub tokens: u64,
    /// Of what was sent, markup included.
    pub characters: usize,
    pub bytes: usize,
    /// The part of all tokens, from 0 to 1.
    pub share: f64,
}

/// Sums an envelope up. Segments that nobody counted are estimated.
pub fn stats(envelope: &Envelope) -> Stats {
    let mut stats = Stats {
        messages: envelope.messages.len(),
        total: Tally::default(),
        by_kind: BTreeMap::new(),
        by_role: BTreeMap::new(),
        by_origin: BTreeMap::new(),
        by_count: BTreeMap::new(),
    };
    for (message, segment) in envelope.segments() {
        let origin = segment.ours().and_then(|meta| meta.origin.as_ref());
        let origin = origin.map_or_else(|| "unknown".to_owned(), ToString::to_string);
        let one = Tally::of(segment);
        stats.total.add(&one);
        stats.by_kind.entry(segment.body.kind().as_str()).or_default().add(&one);
        stats.by_role.entry(message.role.as_str()).or_default().add(&one);
        stats.by_origin.entry(origin).or_default().add(&one);
        let counted = stats.by_count.entry(segment.tokens().how).or_default();
        *counted = counted.saturating_add(one.tokens);
    }
    let all = stats.total.tokens;
    let groups = stats.by_kind.values_mut().chain(stats.by_role.values_mut()).chain(stats.by_origin.values_mut());
    for tally in groups.chain([&mut stats.total]) {
        tally.share = if all == 0 { 0.0 } else { tally.tokens as f64 / all as f64 };
    }
    stats
}

impl Tally {
    fn of(segment: &Segment) -> Self {
        let sent = segment.sent();
        Self {
            segments: 1,
            tokens: segment.tokens().count,
            characters: sent.chars().count(),
            bytes: sent.len(),
            share: 0.0,
        }
    }

    fn add(&mut self, other: &Self) {
        self.segments += other.segments;
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.characters += other.characters;
        self.bytes += other.bytes;
    }
}
