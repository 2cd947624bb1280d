//! What changed from one envelope to another, segment by segment.
//!
//! A segment is the same one in both if it has the same id (ours, in `meta`), or else says the same, or else, where one
//! side has no ids, stands at the same place of the same message. What it says is compared by digest, role and markup.
//! A provider's cache holds a beginning of the prompt, so the first difference is also where the cache breaks.

mod matching;
mod render;

use std::collections::HashMap;

use pi_transcript::json::Digest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use self::matching::{Pairing, pair};
use crate::envelope::{Body, Envelope, Kind, Role, Segment};

pub use self::render::render;

/// What changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Diff {
    /// One for every segment of either envelope, in the order of the second; removed ones stand where they were.
    pub changes: Vec<Change>,
    pub summary: Summary,
    /// How many segments at the beginning are the same.
    pub prefix: usize,
    /// The tokens of these segments.
    #[ts(type = "number")]
    pub prefix_tokens: u64,
    /// Absent if the second envelope only goes on where the first one ended, or ends before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_break: Option<CacheBreak>,
}

/// What happened to a segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Change {
    pub what: What,
    pub kind: Kind,
    pub role: Role,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Place>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Place>,
    /// Tokens in the second envelope less tokens in the first.
    #[ts(type = "number")]
    pub tokens: i64,
    /// What changed inside a segment that lists things.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<Items>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum What {
    Added,
    Removed,
    /// It says something else; it may also have moved.
    Changed,
    /// It says the same, but not in the same order.
    Moved,
    Unchanged,
}

/// Where a segment stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Place {
    pub message: usize,
    pub segment: usize,
}

/// The names of memory files, skills or tools that came, went, or say something else.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Items {
    pub added: Vec<String>,
    pub removed: Vec<String>,
    pub changed: Vec<String>,
}

/// How many segments each thing happened to, and what the two envelopes cost.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    pub added: usize,
    pub removed: usize,
    pub changed: usize,
    pub moved: usize,
    pub unchanged: usize,
    #[ts(type = "number")]
    pub tokens_before: u64,
    #[ts(type = "number")]
    pub tokens_after: u64,
}

/// Where a cache that holds the first envelope stops being of use for the second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct CacheBreak {
    /// How many segments of the second envelope stand before it.
    pub index: usize,
    pub cause: Cause,
    /// Tokens behind the break that say the same as before, and are paid for again.
    #[ts(type = "number")]
    pub tokens_lost: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Cause {
    /// Caches belong to a model.
    Model { before: Option<String>, after: Option<String> },
    /// This happened to the first segment that differs.
    Segment { change: Change },
}

/// A segment with all that the comparison needs.
pub(crate) struct Entry<'a> {
    pub(crate) message: &'a str,
    pub(crate) place: Place,
    pub(crate) role: Role,
    pub(crate) segment: &'a Segment,
    pub(crate) digest: Digest,
}

impl<'a> Entry<'a> {
    pub(crate) fn id(&self) -> Option<&'a str> {
        self.segment.ours()?.id.as_deref()
    }

    /// Whether a model reads the same in both.
    fn says_the_same(&self, other: &Self) -> bool {
        let frame = |entry: &Self| entry.segment.ours().and_then(|meta| meta.frame.clone());
        self.role == other.role && self.digest == other.digest && frame(self) == frame(other)
    }

    fn tokens(&self) -> u64 {
        self.segment.tokens().count
    }
}

/// What changed from `before` to `after`.
pub fn diff(before: &Envelope, after: &Envelope) -> Diff {
    let (old, new) = (entries(before), entries(after));
    let pairing = pair(&old, &new);
    let changes = changes(&old, &new, &pairing);
    let same_model = before.model == after.model;
    let shared = old.iter().zip(&new).take_while(|(old, new)| old.says_the_same(new)).count();
    let prefix = if same_model { shared } else { 0 };
    let cause = if !same_model {
        Some(Cause::Model { before: before.model.clone(), after: after.model.clone() })
    } else {
        first_difference(&old, &new, prefix, &pairing, &changes).map(|change| Cause::Segment { change })
    };
    let lost = |cause| CacheBreak { index: prefix, cause, tokens_lost: tokens_lost(&old, &new, prefix, &pairing) };
    Diff {
        summary: summary(&old, &new, &changes),
        prefix,
        prefix_tokens: new[..prefix].iter().map(Entry::tokens).fold(0, u64::saturating_add),
        cache_break: cause.map(lost),
        changes,
    }
}

fn entries(envelope: &Envelope) -> Vec<Entry<'_>> {
    let mut entries = Vec::new();
    for (index, message) in envelope.messages.iter().enumerate() {
        entries.extend(message.segments.iter().enumerate().map(|(segment_index, segment)| Entry {
            message: &message.id,
            place: Place { message: index, segment: segment_index },
            role: message.role,
            segment,
            // Not the digest that `meta` claims: a file may have been edited by hand.
            digest: segment.digest(),
        }));
    }
    entries
}

fn changes(old: &[Entry<'_>], new: &[Entry<'_>], pairing: &Pairing) -> Vec<Change> {
    let mut removed = old.iter().enumerate().filter(|(index, _)| pairing.after[*index].is_none()).peekable();
    let mut changes = Vec::with_capacity(old.len().max(new.len()));
    for (index, entry) in new.iter().enumerate() {
        let partner = pairing.before[index];
        // A segment that kept its order shows how far the first envelope has been passed.
        if let Some(partner) = partner.filter(|_| pairing.kept_order[index]) {
            while let Some((_, gone)) = removed.next_if(|(index, _)| *index < partner) {
                changes.push(change(Some(gone), None, true));
            }
        }
        changes.push(change(partner.map(|partner| &old[partner]), Some(entry), pairing.kept_order[index]));
    }
    changes.extend(removed.map(|(_, gone)| change(Some(gone), None, true)));
    changes
}

fn change(before: Option<&Entry<'_>>, after: Option<&Entry<'_>>, kept_order: bool) -> Change {
    let what = match (before, after) {
        (None, _) => What::Added,
        (_, None) => What::Removed,
        (Some(before), Some(after)) if !before.says_the_same(after) => What::Changed,
        (Some(_), Some(_)) if !kept_order => What::Moved,
        (Some(_), Some(_)) => What::Unchanged,
    };
    let shown = after.or(before).expect("a change is of a segment");
    let tokens = |entry: Option<&Entry<'_>>| entry.map_or(0, |entry| i64::try_from(entry.tokens()).unwrap_or(i64::MAX));
    Change {
        what,
        kind: shown.segment.body.kind(),
        role: shown.role,
        id: shown.id().map(str::to_owned),
        before: before.map(|entry| entry.place),
        after: after.map(|entry| entry.place),
        tokens: tokens(after) - tokens(before),
        items: before.zip(after).and_then(|(before, after)| items(&before.segment.body, &after.segment.body)),
    }
}

/// What changed among the things that two segments list; `None` if they list none or the same. Of things with one name
/// the first is meant.
fn items(before: &Body, after: &Body) -> Option<Items> {
    let (before, after) = (listed(before)?, listed(after)?);
    let (old, new) = (by_name(&before), by_name(&after));
    let mut items = Items::default();
    for (name, item) in &after {
        match old.get(name) {
            None => items.added.push((*name).to_owned()),
            Some(old) if *old != item => items.changed.push((*name).to_owned()),
            Some(_) => {}
        }
    }
    let gone = before.iter().filter(|(name, _)| !new.contains_key(name));
    items.removed.extend(gone.map(|(name, _)| (*name).to_owned()));
    (items != Items::default()).then_some(items)
}

type Listed<'a> = Vec<(&'a str, serde_json::Value)>;

fn by_name<'a, 'b>(listed: &'b Listed<'a>) -> HashMap<&'a str, &'b serde_json::Value> {
    // Backwards, so that the first of equal names is the one that stays.
    listed.iter().rev().map(|(name, item)| (*name, item)).collect()
}

fn listed(body: &Body) -> Option<Listed<'_>> {
    fn value(item: &impl Serialize) -> serde_json::Value {
        serde_json::to_value(item).expect("an item is plain JSON")
    }
    match body {
        Body::Memory { items, .. } => Some(items.iter().map(|item| (item.title.as_str(), value(item))).collect()),
        Body::Skills { items, .. } => Some(items.iter().map(|item| (item.name.as_str(), value(item))).collect()),
        Body::ToolOverview { items, .. } => Some(items.iter().map(|item| (item.name.as_str(), value(item))).collect()),
        Body::Text { .. }
        | Body::StaticVar { .. }
        | Body::SystemPrompt { .. }
        | Body::ToolCallRequest { .. }
        | Body::ToolCallResult { .. }
        | Body::Document { .. }
        | Body::LongText { .. }
        | Body::Media { .. } => None,
    }
}

/// What happened where the envelopes first differ; `None` if one is the beginning of the other.
fn first_difference(
    old: &[Entry<'_>],
    new: &[Entry<'_>],
    prefix: usize,
    pairing: &Pairing,
    changes: &[Change],
) -> Option<Change> {
    let (before, after) = (old.get(prefix)?, new.get(prefix)?);
    let removed = pairing.after[prefix].is_none() && pairing.before[prefix] != Some(prefix);
    let found = changes
        .iter()
        .find(|change| if removed { change.before == Some(before.place) } else { change.after == Some(after.place) })?;
    // The order that was kept may be that of the others: here, seen from the beginning, this one is out of place.
    let what = if found.what == What::Unchanged { What::Moved } else { found.what };
    Some(Change { what, ..found.clone() })
}

fn tokens_lost(old: &[Entry<'_>], new: &[Entry<'_>], prefix: usize, pairing: &Pairing) -> u64 {
    let behind = new.iter().enumerate().skip(prefix);
    let same = behind
        .filter(|(index, entry)| pairing.before[*index].is_some_and(|old_index| entry.says_the_same(&old[old_index])));
    same.map(|(_, entry)| entry.tokens()).fold(0, u64::saturating_add)
}

fn summary(old: &[Entry<'_>], new: &[Entry<'_>], changes: &[Change]) -> Summary {
    let count = |what| changes.iter().filter(|change| change.what == what).count();
    let tokens = |entries: &[Entry<'_>]| entries.iter().map(Entry::tokens).fold(0, u64::saturating_add);
    Summary {
        added: count(What::Added),
        removed: count(What::Removed),
        changed: count(What::Changed),
        moved: count(What::Moved),
        unchanged: count(What::Unchanged),
        tokens_before: tokens(old),
        tokens_after: tokens(new),
    }
}
