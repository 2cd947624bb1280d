//! Images, documents, audio and video: what a model can take of them, and how each is written.
//!
//! The transcript knows images. The others are blocks of its open kind (`Block::Other`) with these members:
//! `type` (`document`, `audio`, `video`, or `image` by address), `data` (base64) or `url`, `mimeType`, and optionally
//! `fileName`. AI-Protocol's own spelling is read too: `block_type`, `source_type` (`base64`, `url`, `ref`) with `data`
//! holding the address, `mime_type`, `filename`.

use std::{borrow::Cow, fmt};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use pi_transcript::content::ImageBlock;
use serde_json::{Map, Value, json};

use super::members::place;
use crate::{
    dialect::Dialect,
    error::CallError,
    manifest::{Capability, Contract, Manifest, ModelEntry, contract::BlockMapping, media::Medium},
};

/// Content that is not text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Media<'a> {
    pub(super) kind: MediaKind,
    /// Empty if nobody said.
    pub(super) mime_type: &'a str,
    pub(super) source: Source<'a>,
    pub(super) file_name: Option<&'a str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MediaKind {
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

/// Which kinds of content a model takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Senses {
    image: bool,
    document: bool,
    audio: bool,
    video: bool,
}

impl MediaKind {
    const ALL: [Self; 4] = [Self::Image, Self::Document, Self::Audio, Self::Video];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Document => "document",
            Self::Audio => "audio",
            Self::Video => "video",
        }
    }

    pub(super) const fn capability(self) -> Capability {
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

impl Senses {
    pub(super) fn of(manifest: &Manifest, entry: Option<&ModelEntry>) -> Self {
        let has = |kind| takes(manifest, entry, kind);
        Self {
            image: has(MediaKind::Image),
            document: has(MediaKind::Document),
            audio: has(MediaKind::Audio),
            video: has(MediaKind::Video),
        }
    }

    pub(super) const fn take(self, kind: MediaKind) -> bool {
        match kind {
            MediaKind::Image => self.image,
            MediaKind::Document => self.document,
            MediaKind::Audio => self.audio,
            MediaKind::Video => self.video,
        }
    }
}

/// Whether this model takes this kind: what the contract excludes, what the model says, else what the provider declares.
fn takes(manifest: &Manifest, entry: Option<&ModelEntry>, kind: MediaKind) -> bool {
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

fn medium(manifest: &Manifest, kind: MediaKind) -> Option<&Medium> {
    let input = &manifest.multimodal.as_ref()?.input;
    match kind {
        MediaKind::Image | MediaKind::Document => input.vision.as_ref(),
        MediaKind::Audio => input.audio.as_ref(),
        MediaKind::Video => input.video.as_ref(),
    }
}

/// Whether the provider's declaration excludes this format, or the way in which the content is given.
pub(super) fn is_excluded(manifest: &Manifest, media: &Media<'_>) -> bool {
    let Some(medium) = medium(manifest, media.kind) else { return false };
    let by_way = match media.source {
        Source::Data(_) => !medium.encoding_methods.is_empty() && !names(&medium.encoding_methods, "base64_inline"),
        Source::Url(_) => {
            let ways = &medium.encoding_methods;
            !ways.is_empty() && !names(ways, "url") && !names(ways, "file_uri")
        }
        Source::Reference(_) => true,
    };
    let has_formats = media.kind != MediaKind::Document && !medium.formats.is_empty() && !media.mime_type.is_empty();
    by_way || (has_formats && !names(&medium.formats, format_name(media.mime_type)))
}

fn names(list: &[String], name: &str) -> bool {
    list.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// What manifests call a media type: `jpeg`, `mp3`, `mov`.
fn format_name(mime_type: &str) -> &str {
    match mime_type.rsplit('/').next().unwrap_or_default() {
        "jpg" => "jpeg",
        "mpeg" if mime_type.starts_with("audio/") => "mp3",
        "mp4" | "x-m4a" if mime_type.starts_with("audio/") => "m4a",
        "wav" | "x-wav" | "wave" | "vnd.wave" => "wav",
        "quicktime" => "mov",
        "x-msvideo" => "avi",
        "x-ms-wmv" => "wmv",
        other => other,
    }
}

/// The families of forms in which providers write media.
#[derive(Clone, Copy)]
enum Form {
    Chat,
    /// That of Chat Completions, for images alone.
    Cohere,
    Responses,
    Anthropic,
    Gemini,
}

/// A block as the dialect, or the contract's mapping for its kind, writes it; `None` if neither has a form for it.
pub(super) fn encode(media: &Media<'_>, dialect: Dialect, mapping: Option<&BlockMapping>) -> Option<Value> {
    let form = match mapping.and_then(|mapping| mapping.format.as_deref()) {
        Some("openai_url" | "openai_file") => Form::Chat,
        Some("anthropic_source" | "anthropic_document") => Form::Anthropic,
        Some("gemini_inline_data") => Form::Gemini,
        Some(_) | None => match dialect {
            Dialect::OpenaiChat | Dialect::Demo => Form::Chat,
            Dialect::CohereV2 => Form::Cohere,
            Dialect::OpenaiResponses => Form::Responses,
            Dialect::AnthropicMessages => Form::Anthropic,
            Dialect::GeminiGenerate => Form::Gemini,
        },
    };
    let mime_type = media.mime_type(mapping);
    match form {
        Form::Chat => chat(media, mime_type),
        Form::Cohere if media.kind == MediaKind::Image => chat(media, mime_type),
        Form::Cohere => None,
        Form::Responses => responses(media, mime_type),
        Form::Anthropic => anthropic(media, mime_type, mapping),
        Form::Gemini => gemini(media, mime_type, mapping),
    }
}

fn chat(media: &Media<'_>, mime_type: &str) -> Option<Value> {
    Some(match (media.kind, &media.source) {
        (_, Source::Reference(_)) => return None,
        (MediaKind::Image, _) => json!({"type": "image_url", "image_url": {"url": media.url(mime_type)}}),
        (MediaKind::Video, _) => json!({"type": "video_url", "video_url": {"url": media.url(mime_type)}}),
        (MediaKind::Audio, Source::Data(data)) => {
            json!({"type": "input_audio", "input_audio": {"data": data, "format": format_name(mime_type)}})
        }
        (MediaKind::Document, Source::Data(_)) => {
            let file_name = media.file_name.unwrap_or("document");
            json!({"type": "file", "file": {"filename": file_name, "file_data": media.url(mime_type)}})
        }
        (MediaKind::Audio | MediaKind::Document, Source::Url(_)) => return None,
    })
}

fn responses(media: &Media<'_>, mime_type: &str) -> Option<Value> {
    Some(match (media.kind, &media.source) {
        (_, Source::Reference(_)) | (MediaKind::Video, _) | (MediaKind::Audio, Source::Url(_)) => return None,
        (MediaKind::Image, _) => json!({"type": "input_image", "detail": "auto", "image_url": media.url(mime_type)}),
        (MediaKind::Audio, Source::Data(data)) => {
            json!({"type": "input_audio", "input_audio": {"data": data, "format": format_name(mime_type)}})
        }
        (MediaKind::Document, Source::Url(url)) => json!({"type": "input_file", "file_url": url}),
        (MediaKind::Document, Source::Data(_)) => {
            let file_name = media.file_name.unwrap_or("document");
            json!({"type": "input_file", "filename": file_name, "file_data": media.url(mime_type)})
        }
    })
}

fn anthropic(media: &Media<'_>, mime_type: &str, mapping: Option<&BlockMapping>) -> Option<Value> {
    if matches!(media.kind, MediaKind::Audio | MediaKind::Video) {
        return None;
    }
    let field = |pick: fn(&BlockMapping) -> Option<&String>| mapping.and_then(pick).map(String::as_str);
    let kind = field(|mapping| mapping.type_field.as_ref()).unwrap_or(media.kind.name());
    let mut block = Map::from_iter([("type".to_owned(), json!(kind))]);
    match media.source {
        Source::Data(data) => {
            place(&mut block, "source.type", json!("base64"));
            place(
                &mut block,
                field(|mapping| mapping.mime_type_field.as_ref()).unwrap_or("source.media_type"),
                json!(mime_type),
            );
            place(&mut block, field(|mapping| mapping.base64_field.as_ref()).unwrap_or("source.data"), json!(data));
        }
        Source::Url(url) => {
            place(&mut block, "source.type", json!("url"));
            place(&mut block, field(|mapping| mapping.url_field.as_ref()).unwrap_or("source.url"), json!(url));
        }
        Source::Reference(_) => return None,
    }
    Some(Value::Object(block))
}

fn gemini(media: &Media<'_>, mime_type: &str, mapping: Option<&BlockMapping>) -> Option<Value> {
    let field = |pick: fn(&BlockMapping) -> Option<&String>| mapping.and_then(pick).map(String::as_str);
    let mut part = Map::new();
    match media.source {
        Source::Data(data) => {
            let mime = field(|mapping| mapping.mime_type_field.as_ref()).unwrap_or("inlineData.mimeType");
            place(&mut part, mime, json!(mime_type));
            place(&mut part, field(|mapping| mapping.base64_field.as_ref()).unwrap_or("inlineData.data"), json!(data));
        }
        Source::Url(url) => {
            place(&mut part, "fileData.mimeType", json!(mime_type));
            place(&mut part, field(|mapping| mapping.url_field.as_ref()).unwrap_or("fileData.fileUri"), json!(url));
        }
        Source::Reference(_) => return None,
    }
    Some(Value::Object(part))
}

/// Why a block of the standard's own form cannot be encoded.
fn refuse(option: &str, reason: impl Into<String>) -> CallError {
    CallError::Option { option: option.to_owned(), reason: reason.into() }
}

/// Encodes blocks of AI-Protocol's own form (`block_type` or `type`, `source_type`, `data`, `mime_type`) for an API.
///
/// `contract` brings the mappings of the provider; without one the dialect's own forms are used.
pub fn encode_blocks(
    dialect: Dialect,
    contract: Option<&Contract>,
    blocks: &[Map<String, Value>],
) -> Result<Vec<Value>, CallError> {
    blocks.iter().map(|block| encode_block(dialect, contract, block)).collect()
}

fn encode_block(dialect: Dialect, contract: Option<&Contract>, block: &Map<String, Value>) -> Result<Value, CallError> {
    let text = |name: &str| block.get(name).and_then(Value::as_str);
    let kind = text("block_type").or(text("type")).unwrap_or("text");
    if kind == "text" {
        let text = text("text").ok_or_else(|| refuse("text", "the block has no text"))?;
        return Ok(match dialect {
            Dialect::GeminiGenerate => json!({"text": text}),
            Dialect::OpenaiResponses => json!({"type": "input_text", "text": text}),
            Dialect::OpenaiChat | Dialect::Demo | Dialect::AnthropicMessages | Dialect::CohereV2 => {
                json!({"type": "text", "text": text})
            }
        });
    }
    let media = Media::read(block).ok_or_else(|| refuse(kind, "the block is of no known kind or has no content"))?;
    let mapping = contract.and_then(|contract| contract.request_mapping.content_block_mapping.get(kind));
    if mapping.is_some_and(|mapping| mapping.supported == Some(false)) {
        return Err(refuse(kind, "the contract excludes it"));
    }
    if let Source::Reference(name) = media.source {
        return Err(refuse(kind, format!("{name} must be resolved before it can be encoded")));
    }
    encode(&media, dialect, mapping).ok_or_else(|| refuse(kind, "this API has no form for it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(dialect: Dialect, block: &Value, expected: Result<Value, &str>) {
        let block = block.as_object().cloned().unwrap();
        let encoded = encode_blocks(dialect, None, &[block]);
        let encoded = encoded.map(|blocks| blocks[0].clone()).map_err(|error| error.to_string());
        assert_eq!(encoded, expected.map_err(str::to_owned));
    }

    #[test]
    fn a_document_becomes_the_block_of_each_api() {
        let pdf = json!({"block_type": "document", "source_type": "base64", "data": "JVBE", "filename": "a.pdf"});
        check(
            Dialect::AnthropicMessages,
            &pdf,
            Ok(
                json!({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBE"}}),
            ),
        );
        check(
            Dialect::GeminiGenerate,
            &pdf,
            Ok(json!({"inlineData": {"mimeType": "application/pdf", "data": "JVBE"}})),
        );
        check(
            Dialect::OpenaiChat,
            &pdf,
            Ok(json!({"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBE"}})),
        );
        check(
            Dialect::OpenaiResponses,
            &pdf,
            Ok(json!({"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBE"})),
        );
    }

    #[test]
    fn an_address_is_sent_as_an_address_where_the_api_takes_one() {
        let pdf = json!({"block_type": "document", "source_type": "url", "data": "https://a/b.pdf"});
        check(
            Dialect::AnthropicMessages,
            &pdf,
            Ok(json!({"type": "document", "source": {"type": "url", "url": "https://a/b.pdf"}})),
        );
        check(
            Dialect::GeminiGenerate,
            &pdf,
            Ok(json!({"fileData": {"mimeType": "application/pdf", "fileUri": "https://a/b.pdf"}})),
        );
        check(Dialect::OpenaiChat, &pdf, Err("option document cannot be sent: this API has no form for it"));
    }

    #[test]
    fn a_reference_must_be_resolved_first() {
        check(
            Dialect::AnthropicMessages,
            &json!({"block_type": "document", "source_type": "ref", "data": "stage-1"}),
            Err("option document cannot be sent: stage-1 must be resolved before it can be encoded"),
        );
    }

    #[test]
    fn a_mapping_moves_members_and_fills_in_the_type() {
        let mapping: BlockMapping = serde_json::from_value(json!({
            "format": "anthropic_document", "type_field": "file", "base64_field": "body.bytes",
            "mime_type_field": "body.kind", "default_mime_type": "text/plain",
        }))
        .unwrap();
        let block = json!({"type": "document", "data": "QQ=="}).as_object().cloned().unwrap();
        let media = Media::read(&block).unwrap();
        assert_eq!(
            encode(&media, Dialect::OpenaiChat, Some(&mapping)),
            Some(
                json!({"type": "file", "source": {"type": "base64"}, "body": {"kind": "text/plain", "bytes": "QQ=="}})
            )
        );
    }
}
