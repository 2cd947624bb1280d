//! What the model is given: a prompt as data, and the view of it that anybody may look into.
//!
//! A [`Prompt`] is what the session hands to a provider: system parts, tools and messages, each with its origin. An
//! [`Envelope`] is the same prompt as Prompt Envelope 1.0, a format that other tools read: [`project`](project()) makes
//! one, [`parse`](parse()) and [`validate`](validate()) read one, [`diff`](diff()) compares two, [`stats`](stats()) sums one up.
//!
//! Deliberately not here: talking to a provider, tokenizers (callers pass a [`Counter`]), files, clocks, colours.
//! Start with [`Envelope`], then [`Prompt`]; `docs/envelope.md` shows how one becomes the other.

mod album;
pub mod diff;
pub mod envelope;
pub mod meta;
mod parse;
mod project;
pub mod prompt;
pub mod schema;
pub mod shape;
pub mod stats;
pub mod strip;
mod text;
pub mod tokens;
mod validate;
pub mod wording;

pub use self::{
    album::Album,
    diff::{Diff, diff},
    envelope::{Body, Envelope, Kind, MediaType, MemoryItem, Message, Role, Segment, SkillItem, ToolItem, Version},
    meta::{
        CacheState, Counted, EnvelopeMeta, MessageMeta, Meta, Origin, Part, Purpose, Replacement, Request, SegmentMeta,
        Tokens, Trust,
    },
    parse::parse,
    project::{LONG_TEXT, SNIPPET, project},
    prompt::{Prompt, Provenance, Said, Skill, Span, SpanError, SpanSource, SystemPart, SystemText, Tool},
    stats::{Stats, Tally, stats},
    strip::{Strip, StripCache, strip, strip_after},
    tokens::{Counter, estimate, reconcile},
    validate::{is_valid, validate},
};

/// How many cases a property test runs: `default`, or `PI_TEST_CASES` where somebody wants more.
#[cfg(test)]
pub(crate) fn cases(default: u32) -> u32 {
    std::env::var("PI_TEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
