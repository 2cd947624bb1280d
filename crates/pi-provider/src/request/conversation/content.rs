//! Content as parts that the model can take; what it cannot take is degraded as the contract wants.

use std::{borrow::Cow, collections::BTreeSet};

use pi_transcript::{Block, Content};
use serde_json::Value;

use super::Manner;
use crate::{
    error::CallError,
    manifest::Capability,
    request::{
        change::Changes,
        media::{self, Exclusion, Media, MediaKind, Surplus},
        turn::Part,
    },
};

/// Makes parts of content. What it leaves out or changes is listed, and so are the capabilities that parts need.
pub(super) struct Contents<'r, 'm> {
    pub(super) manner: &'r Manner<'m>,
    pub(super) changes: &'r mut Changes,
    pub(super) used: &'r mut BTreeSet<Capability>,
    pub(super) surplus: Surplus,
}

impl Contents<'_, '_> {
    /// What somebody said who is not the model.
    pub(super) fn parts<'a>(&mut self, content: &'a Content) -> Result<Vec<Part<'a>>, CallError> {
        match content {
            Content::Text(words) if is_blank(words) => Ok(Vec::new()),
            Content::Text(words) => Ok(vec![text(words)]),
            Content::Blocks(blocks) => {
                let mut parts = Vec::with_capacity(blocks.len());
                for block in blocks {
                    self.block(block, &mut parts)?;
                }
                Ok(parts)
            }
        }
    }

    /// A block of somebody who is not the model.
    pub(super) fn block<'a>(&mut self, block: &'a Block, parts: &mut Vec<Part<'a>>) -> Result<(), CallError> {
        match block {
            Block::Text(block) if is_blank(&block.text) => {}
            Block::Text(block) => parts.push(text(&block.text)),
            Block::Image(image) => parts.extend(self.media(&Media::image(image))?),
            Block::Other(members) => match Media::read(members) {
                Some(media) => parts.extend(self.media(&media)?),
                None => {
                    let kind = members.get("type").and_then(Value::as_str).unwrap_or_default();
                    self.changes.dropped("content", format!("no provider knows blocks of type {kind:?}"));
                }
            },
            Block::Thinking(_) | Block::ToolCall(_) => {
                self.changes.dropped("content", "only the model thinks and calls tools");
            }
        }
        Ok(())
    }

    /// The part that stands for media; none if it is left out.
    fn media<'a>(&mut self, media: &Media<'a>) -> Result<Option<Part<'a>>, CallError> {
        if let Some(words) = media.as_text() {
            let words = match media.file_name {
                Some(name) => format!("<document name=\"{name}\">\n{words}\n</document>"),
                None => words,
            };
            return Ok(Some(Part::Text { text: words.into(), signature: None }));
        }
        if !self.manner.senses.take(media.kind) {
            return self.degrade(media.kind, &Exclusion::Kind);
        }
        let excess = self.surplus.take(media.kind);
        if let Some(why) = excess.or_else(|| media::exclusion(self.manner.manifest, media)) {
            return self.degrade(media.kind, &why);
        }
        let dialect = self.manner.dialect;
        let mapping = self.manner.manifest.contract.request_mapping.content_block_mapping.get(media.kind.name());
        match media::encode(media, dialect, mapping) {
            Some(block) => {
                self.used.insert(media.kind.capability());
                Ok(Some(Part::Media(block)))
            }
            None => {
                let why = media::formless(media, dialect, mapping).unwrap_or(Exclusion::Kind);
                self.degrade(media.kind, &why)
            }
        }
    }

    /// What the contract wants instead of content that the model cannot take; without a word from it, a note.
    fn degrade<'a>(&mut self, kind: MediaKind, why: &Exclusion) -> Result<Option<Part<'a>>, CallError> {
        let manifest = self.manner.manifest;
        let degradation = &manifest.contract.degradation;
        let is_about = |capability: &str| capability == kind.name() || capability == kind.capability().name();
        let rule = degradation.rules.iter().find(|rule| is_about(&rule.capability));
        let action = rule.map(|rule| rule.action.as_str()).or(match degradation.strategy.as_deref() {
            Some("error") => Some("error"),
            Some("silent_skip") => Some("strip_content"),
            Some(_) | None => None,
        });
        match action {
            Some("error") => {
                Err(CallError::Undeclared { provider: manifest.id.clone(), capability: kind.capability() })
            }
            Some("strip_content") => {
                self.changes.dropped(kind.name(), why.to_string());
                Ok(None)
            }
            Some(_) | None => {
                let reason = match why {
                    Exclusion::Kind => format!("{why} and reads a note instead"),
                    Exclusion::Format { .. }
                    | Exclusion::Way { .. }
                    | Exclusion::Size { .. }
                    | Exclusion::Resolution { .. }
                    | Exclusion::Count { .. } => format!("{why}; the model reads a note instead"),
                };
                self.changes.changed(kind.name(), reason);
                let note = rule.and_then(|rule| rule.message.clone());
                let note = note.unwrap_or_else(|| format!("[{kind} left out: this model cannot take it]"));
                Ok(Some(Part::Text { text: note.into(), signature: None }))
            }
        }
    }
}

/// Texts, one below the other.
#[derive(Default)]
pub(super) struct Words<'a>(pub(super) Cow<'a, str>);

impl<'a> Words<'a> {
    pub(super) fn add(&mut self, text: Cow<'a, str>) {
        if self.0.is_empty() {
            self.0 = text;
        } else if !text.is_empty() {
            let whole = self.0.to_mut();
            whole.push('\n');
            whole.push_str(&text);
        }
    }
}

pub(super) fn text(words: &str) -> Part<'_> {
    Part::Text { text: words.into(), signature: None }
}

/// Some providers refuse a text without a visible character.
pub(super) fn is_blank(words: &str) -> bool {
    words.trim_start().is_empty()
}
