//! How each dialect writes images, documents, audio and video.

use serde_json::{Map, Value, json};

use super::{Exclusion, Media, MediaKind, Source, format_name};
use crate::{
    dialect::Dialect,
    error::CallError,
    manifest::{Contract, contract::BlockMapping},
    request::members::place,
};

/// The word of manifests for content that is in the request itself.
const INLINE: &str = "base64_inline";

/// The families of forms in which providers write media.
#[derive(Clone, Copy)]
enum Form {
    Chat,
    /// That of Chat Completions, for images alone.
    ChatImages,
    Responses,
    Anthropic,
    Gemini,
}

/// A block as the dialect, or the contract's mapping for its kind, writes it; `None` if neither has a form for it.
pub(in crate::request) fn encode(media: &Media<'_>, dialect: Dialect, mapping: Option<&BlockMapping>) -> Option<Value> {
    let form = match mapping.and_then(|mapping| mapping.format.as_deref()) {
        Some("openai_url" | "openai_file") => Form::Chat,
        Some("anthropic_source" | "anthropic_document") => Form::Anthropic,
        Some("gemini_inline_data") => Form::Gemini,
        Some(_) | None => match dialect {
            Dialect::OpenaiChat | Dialect::Demo => Form::Chat,
            Dialect::CohereV2 => Form::ChatImages,
            Dialect::OpenaiResponses => Form::Responses,
            Dialect::AnthropicMessages => Form::Anthropic,
            Dialect::GeminiGenerate => Form::Gemini,
        },
    };
    let mime_type = media.mime_type(mapping);
    match form {
        Form::Chat => chat(media, mime_type),
        Form::ChatImages if media.kind == MediaKind::Image => chat(media, mime_type),
        Form::ChatImages => None,
        Form::Responses => responses(media, mime_type),
        Form::Anthropic => anthropic(media, mime_type, mapping),
        Form::Gemini => gemini(media, mime_type, mapping),
    }
}

/// Why there is no form for this, if there is none. Nothing of the content is looked at.
pub(in crate::request) fn formless(
    media: &Media<'_>,
    dialect: Dialect,
    mapping: Option<&BlockMapping>,
) -> Option<Exclusion> {
    let has_form = |source| {
        let empty = Media { kind: media.kind, mime_type: "", source, file_name: None };
        encode(&empty, dialect, mapping).is_some()
    };
    let (source, way) = match media.source {
        Source::Data(_) => (Source::Data(""), INLINE),
        Source::Url(_) => (Source::Url(""), "url"),
        Source::Reference(_) => (Source::Reference(""), "a reference"),
    };
    if has_form(source) {
        return None;
    }
    let is_taken_inline = has_form(Source::Data(""));
    Some(if is_taken_inline { Exclusion::Way { way, taken: vec![INLINE.to_owned()] } } else { Exclusion::Kind })
}

fn chat(media: &Media<'_>, mime_type: &str) -> Option<Value> {
    Some(match (media.kind, &media.source) {
        (_, Source::Reference(_)) => return None,
        (MediaKind::Image, _) => json!({"type": "image_url", "image_url": {"url": media.url(mime_type)}}),
        (MediaKind::Video, _) => json!({"type": "video_url", "video_url": {"url": media.url(mime_type)}}),
        (MediaKind::Audio, Source::Data(data)) => {
            json!({"type": "input_audio", "input_audio": {"data": data, "format": format_name(media.kind, mime_type)}})
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
            json!({"type": "input_audio", "input_audio": {"data": data, "format": format_name(media.kind, mime_type)}})
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
