//! What a model can take of images, documents, audio and video.

use super::{Media, MediaKind, Source, formless};
use crate::{
    dialect::Dialect,
    manifest::{Manifest, ModelEntry, media::Medium},
};

/// Which kinds of content a model takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::request) struct Senses {
    image: bool,
    document: bool,
    audio: bool,
    video: bool,
}

impl Senses {
    pub(in crate::request) fn of(manifest: &Manifest, entry: Option<&ModelEntry>) -> Self {
        // What the wire has no form for is found where it would be written: most requests have nothing of the kind.
        let has = |kind| declares(manifest, entry, kind);
        Self {
            image: has(MediaKind::Image),
            document: has(MediaKind::Document),
            audio: has(MediaKind::Audio),
            video: has(MediaKind::Video),
        }
    }

    pub(in crate::request) const fn take(self, kind: MediaKind) -> bool {
        match kind {
            MediaKind::Image => self.image,
            MediaKind::Document => self.document,
            MediaKind::Audio => self.audio,
            MediaKind::Video => self.video,
        }
    }
}

/// Whether this model takes this kind, and the wire on which it is asked has a form for it.
pub fn takes(manifest: &Manifest, entry: Option<&ModelEntry>, kind: MediaKind) -> bool {
    let mapping = manifest.contract.request_mapping.content_block_mapping.get(kind.name());
    let example = Media { kind, mime_type: "", source: Source::Data(""), file_name: None };
    declares(manifest, entry, kind) && formless(&example, Dialect::of(manifest, entry), mapping).is_none()
}

/// What the contract excludes, what the model says, else what the provider declares.
fn declares(manifest: &Manifest, entry: Option<&ModelEntry>, kind: MediaKind) -> bool {
    let mapping = manifest.contract.request_mapping.content_block_mapping.get(kind.name());
    if mapping.is_some_and(|mapping| mapping.supported == Some(false)) {
        return false;
    }
    if let Some(modalities) = entry.and_then(|entry| entry.modalities.as_ref()) {
        let names: &[&str] = match kind {
            MediaKind::Image => &["image", "vision"],
            MediaKind::Document => &["pdf", "document", "file"],
            MediaKind::Audio => &["audio"],
            MediaKind::Video => &["video"],
        };
        return modalities.input.iter().any(|input| names.contains(&input.as_str()));
    }
    let medium = medium(manifest, kind);
    let understands = || medium.is_some_and(|medium| medium.document_understanding == Some(true));
    match kind {
        MediaKind::Document => mapping.is_some() || understands(),
        MediaKind::Image | MediaKind::Audio | MediaKind::Video => manifest.capabilities.has(kind.capability()),
    }
}

/// What the provider declares about the kind.
pub(super) fn medium(manifest: &Manifest, kind: MediaKind) -> Option<&Medium> {
    let input = &manifest.multimodal.as_ref()?.input;
    match kind {
        MediaKind::Image | MediaKind::Document => input.vision.as_ref(),
        MediaKind::Audio => input.audio.as_ref(),
        MediaKind::Video => input.video.as_ref(),
    }
}
