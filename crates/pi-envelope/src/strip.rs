//! What a bar of a prompt needs, without what was said: the kinds in order, their tokens, what the cache did and where it broke.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{
    diff::{CacheBreak, Cause, Place, diff},
    envelope::{Body, Envelope, Kind, MediaType, Segment},
    meta::{CacheState, Tokens},
    tokens::sum,
};

/// How much of a text tells which one it is.
const WORDS: usize = 60;
/// And of a list of names.
const NAMES: usize = 80;

/// A prompt without its contents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Strip {
    /// Every segment in prompt order: its kind and its tokens.
    #[ts(type = "[Kind, number][]")]
    pub segments: Vec<(Kind, u64)>,
    /// What the cache did with so many segments in turn.
    pub cache: Vec<(StripCache, usize)>,
    /// All of them together.
    pub tokens: Tokens,
    /// Absent where there was no request before it, or the cache held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_break: Option<CacheBreak>,
    /// The segment at which it broke, in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken_at: Option<String>,
}

/// What the cache did with a segment, as far as that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum StripCache {
    Cached,
    Written,
    Uncached,
    Unknown,
}

impl From<Option<CacheState>> for StripCache {
    fn from(state: Option<CacheState>) -> Self {
        match state {
            Some(CacheState::Cached) => Self::Cached,
            Some(CacheState::Written) => Self::Written,
            Some(CacheState::Uncached) => Self::Uncached,
            None => Self::Unknown,
        }
    }
}

/// The strip of an envelope that had none before it.
pub fn strip(envelope: &Envelope) -> Strip {
    let all = || envelope.segments().map(|(_, segment)| segment);
    let mut cache: Vec<(StripCache, usize)> = Vec::new();
    for segment in all() {
        let state = StripCache::from(segment.ours().and_then(|meta| meta.cache));
        match cache.last_mut() {
            Some((last, count)) if *last == state => *count += 1,
            _ => cache.push((state, 1)),
        }
    }
    Strip {
        segments: all().map(|segment| (segment.body.kind(), segment.tokens().count)).collect(),
        cache,
        tokens: sum(all().map(Segment::tokens)),
        cache_break: None,
        broken_at: None,
    }
}

/// The strip of an envelope whose cache may hold what `before` said.
pub fn strip_after(before: &Envelope, envelope: &Envelope) -> Strip {
    let cache_break = diff(before, envelope).cache_break;
    let broken_at = cache_break.as_ref().and_then(|broken| match &broken.cause {
        Cause::Model { .. } => None,
        Cause::Segment { change } => {
            let found = change.after.and_then(|place| at(envelope, place));
            found.or_else(|| change.before.and_then(|place| at(before, place))).map(title)
        }
    });
    Strip { cache_break, broken_at, ..strip(envelope) }
}

fn at(envelope: &Envelope, place: Place) -> Option<&Segment> {
    envelope.messages.get(place.message)?.segments.get(place.segment)
}

/// A segment in a few words.
fn title(segment: &Segment) -> String {
    match &segment.body {
        Body::StaticVar { name, .. } => name.clone(),
        Body::ToolCallRequest { tool_name, .. } | Body::ToolCallResult { tool_name, .. } => tool_name.clone(),
        Body::Document { file_name, .. } => file_name.clone(),
        Body::Media { alt_text: Some(text), .. } => text.clone(),
        Body::Media { media_type, alt_text: None, .. } => match media_type {
            MediaType::Image => "image",
            MediaType::Audio => "audio",
            MediaType::Video => "video",
        }
        .to_owned(),
        Body::Text { content } | Body::SystemPrompt { content, .. } | Body::LongText { content, .. } => {
            begin(content, WORDS)
        }
        Body::Memory { items, .. } => listed(items.iter().map(|item| &*item.title)),
        Body::Skills { items, .. } => listed(items.iter().map(|item| &*item.name)),
        Body::ToolOverview { items, .. } => listed(items.iter().map(|item| &*item.name)),
    }
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    begin(&names.collect::<Vec<_>>().join(", "), NAMES)
}

/// The first words of a text, on one line.
fn begin(text: &str, length: usize) -> String {
    // Of a text of megabytes only the beginning is looked at.
    let head: String = text.chars().take(length * 8).collect();
    let line = head.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= length {
        return line;
    }
    line.chars().take(length - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn envelope(segments: &Value) -> Envelope {
        let message = json!({ "id": "m", "role": "user", "timestamp": 1, "segments": segments });
        serde_json::from_value(json!({ "version": "1.0", "model": "m1", "messages": [message] })).expect("an envelope")
    }

    fn text(content: &str, tokens: u64, cache: Option<&str>) -> Value {
        let mut meta = json!({ "tokens": { "count": tokens, "how": "exact" } });
        if let Some(cache) = cache {
            meta["cache"] = cache.into();
        }
        json!({ "kind": "text", "content": content, "meta": meta })
    }

    #[test]
    fn strip_tells_kinds_tokens_and_cache_and_nothing_that_was_said() {
        let long = "secret ".repeat(1000);
        let one = envelope(&json!([
            text(&long, 900, Some("cached")),
            text("b", 1, Some("cached")),
            { "kind": "static_var", "name": "cwd", "value": "/secret", "meta": { "tokens": { "count": 4, "how": "counted" } } },
        ]));
        let expected = json!({
            "segments": [["text", 900], ["text", 1], ["static_var", 4]],
            "cache": [["cached", 2], ["unknown", 1]],
            "tokens": { "count": 905, "how": "counted" },
        });
        assert_eq!(serde_json::to_value(strip(&one)).expect("JSON"), expected);
    }

    #[test]
    fn strip_says_where_the_cache_broke_and_at_what() {
        let before = envelope(&json!([text("same", 2, None), text("old words", 3, None), text("tail", 5, None)]));
        let after = envelope(&json!([text("same", 2, None), text("new\n words", 3, None), text("tail", 5, None)]));
        let found = strip_after(&before, &after);
        assert_eq!(found.broken_at.as_deref(), Some("new words"));
        let broken = found.cache_break.expect("it broke");
        assert_eq!((broken.index, broken.tokens_lost), (1, 5));
        assert_eq!(strip_after(&after, &after).cache_break, None);
    }

    #[test]
    fn title_is_short_however_long_the_text() {
        assert_eq!(begin(&"a ".repeat(1 << 20), 10), "a a a a a…");
        assert_eq!(begin("  \n ", 10), "");
    }
}
