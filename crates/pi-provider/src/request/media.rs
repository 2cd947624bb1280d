//! Images, documents, audio and video.
//!
//! The transcript knows images. The others are blocks of its open kind (`Block::Other`) with these members:
//! `type` (`document`, `audio`, `video`, or `image` by address), `data` (base64) or `url`, `mimeType`, and optionally
//! `fileName`. AI-Protocol's own spelling is read too: `block_type`, `source_type` (`base64`, `url`, `ref`) with `data`
//! holding the address, `mime_type`, `filename`.

mod encode;
mod exclusion;
mod pixels;
mod senses;

use std::{borrow::Cow, fmt};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use pi_transcript::content::ImageBlock;
use serde_json::{Map, Value};

pub use self::{
    encode::encode_blocks,
    exclusion::{Exclusion, Unsendable, unsendable},
    senses::takes,
};
pub(super) use self::{
    encode::{encode, formless},
    exclusion::{Surplus, exclusion},
    senses::Senses,
};
use crate::manifest::{Capability, contract::BlockMapping};

/// Content that is not text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Media<'a> {
    pub(super) kind: MediaKind,
    /// Empty if nobody said.
    pub(super) mime_type: &'a str,
    pub(super) source: Source<'a>,
    pub(super) file_name: Option<&'a str>,
}

/// What content is that is not text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaKind {
    Image,
    Document,
    Audio,
    Video,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Source<'a> {
    /// Base64.
    Data(&'a str),
    Url(&'a str),
    /// The name of something that somebody else keeps.
    Reference(&'a str),
}

impl MediaKind {
    const ALL: [Self; 4] = [Self::Image, Self::Document, Self::Audio, Self::Video];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Document => "document",
            Self::Audio => "audio",
            Self::Video => "video",
        }
    }

    /// Under which it is declared.
    pub const fn capability(self) -> Capability {
        match self {
            // The standard files documents under vision: `multimodal.input.vision.document_understanding`.
            Self::Image | Self::Document => Capability::Vision,
            Self::Audio => Capability::Audio,
            Self::Video => Capability::Video,
        }
    }

    const fn default_mime_type(self) -> &'static str {
        match self {
            Self::Image => "image/png",
            Self::Document => "application/pdf",
            Self::Audio => "audio/wav",
            Self::Video => "video/mp4",
        }
    }
}

impl fmt::Display for MediaKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl<'a> Media<'a> {
    pub(super) fn image(image: &'a ImageBlock) -> Self {
        Self { kind: MediaKind::Image, mime_type: &image.mime_type, source: Source::Data(&image.data), file_name: None }
    }

    /// Reads an open block; `None` if it is of no kind that we know or has no content.
    pub(super) fn read(block: &'a Map<String, Value>) -> Option<Self> {
        let text = |names: &[&str]| names.iter().find_map(|name| block.get(*name)).and_then(Value::as_str);
        let kind = text(&["type", "block_type"])?;
        let kind = MediaKind::ALL.into_iter().find(|known| known.name() == kind)?;
        let data = text(&["data"]);
        let source = match (text(&["source_type"]), data, text(&["url"])) {
            (Some("url"), Some(url), _) | (_, _, Some(url)) => Source::Url(url),
            (Some("ref"), Some(name), None) => Source::Reference(name),
            (_, Some(data), None) => Source::Data(data),
            (_, None, None) => return None,
        };
        let mime_type = text(&["mimeType", "mime_type"]).unwrap_or_default();
        Some(Self { kind, mime_type, source, file_name: text(&["fileName", "filename", "name"]) })
    }

    /// The text of a document that is nothing but text.
    pub(super) fn as_text(&self) -> Option<String> {
        let is_text = self.mime_type.starts_with("text/") || self.mime_type == "application/json";
        let Source::Data(data) = self.source else { return None };
        if !is_text || self.kind != MediaKind::Document {
            return None;
        }
        String::from_utf8(STANDARD.decode(data).ok()?).ok()
    }

    fn mime_type(&self, mapping: Option<&'a BlockMapping>) -> &'a str {
        let declared = || mapping.and_then(|mapping| mapping.default_mime_type.as_deref());
        match self.mime_type {
            "" => declared().unwrap_or(self.kind.default_mime_type()),
            written => written,
        }
    }

    /// The content as an address, with the content itself in it where there is no other.
    fn url(&self, mime_type: &str) -> Cow<'a, str> {
        match self.source {
            Source::Data(data) => format!("data:{mime_type};base64,{data}").into(),
            Source::Url(url) | Source::Reference(url) => url.into(),
        }
    }
}

/// One word for a format, whatever it is called: `jpeg`, `mp3`, `mov`. Lists in manifests have types in them (`image/jpeg`,
/// `x-wav`) and endings of files (`jpg`, `3gp`).
fn format_name(kind: MediaKind, written: &str) -> String {
    let name = written.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let name = name.strip_prefix("x-").unwrap_or(&name);
    match (name, kind) {
        ("jpg", _) => "jpeg",
        ("tif", _) => "tiff",
        ("mpeg" | "mpga", MediaKind::Audio) => "mp3",
        ("mp4", MediaKind::Audio) => "m4a",
        ("wave" | "vnd.wave", _) => "wav",
        ("aif", _) => "aiff",
        ("oga", _) => "ogg",
        ("mpg", _) => "mpeg",
        ("quicktime", _) => "mov",
        ("msvideo", _) => "avi",
        ("ms-wmv", _) => "wmv",
        ("3gpp", _) => "3gp",
        ("matroska", _) => "mkv",
        (other, _) => other,
    }
    .to_owned()
}
