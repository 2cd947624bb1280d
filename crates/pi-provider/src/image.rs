//! Pictures from words.
//!
//! [`request()`] and [`read`] are pure; [`draw`] puts the wire between them. OpenAI's form has an
//! operation of its own; Gemini's models answer a chat with a picture.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};

use crate::{
    error::{CallError, Side},
    event::TokenUsage,
    operation::{self, Answered, Asking, Form, Kind, guard},
    request::{Request, Target},
    response::Reading,
};

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Draw {
    pub prompt: String,
    /// How many; one, if nobody says.
    pub count: Option<u32>,
    /// In the provider's words: `1024x1024`; for Gemini a ratio, `16:9`.
    pub size: Option<String>,
    /// Members of the request as the provider has them: `quality`, `background`, `response_format`.
    pub parameters: Map<String, Value>,
}

/// What comes back.
#[derive(Debug, Clone, PartialEq)]
pub struct Images {
    /// At least one.
    pub images: Vec<Image>,
    pub usage: Option<TokenUsage>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    pub source: ImageSource,
    /// The prompt as the provider rewrote it.
    pub revised_prompt: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageSource {
    Bytes {
        media_type: String,
        bytes: Vec<u8>,
    },
    /// Where it can be fetched, for a while.
    Url(String),
}

/// Makes pictures.
pub async fn draw(asking: &Asking<'_>, draw: &Draw) -> Result<Answered<Images>, CallError> {
    let mut answered = asking.send(request(asking.target, draw)?, |reading, whole| read(reading, &whole.body)).await?;
    let texts = answered.value.images.iter_mut().filter_map(|image| image.revised_prompt.as_mut());
    let findings = guard::filter_texts(asking.target.manifest, Side::Output, texts)?;
    answered.facts.findings.extend(findings);
    Ok(answered)
}

/// The request for these pictures.
pub fn request(target: &Target<'_>, draw: &Draw) -> Result<Request, CallError> {
    let place = operation::find(target.manifest, Kind::ImageGeneration)?;
    if draw.prompt.is_empty() {
        return Err(CallError::Option { option: "prompt".to_owned(), reason: "it is empty".to_owned() });
    }
    let mut body = Map::new();
    match place.form {
        Form::Openai => {
            body.insert("model".to_owned(), operation::wire_model(target).into());
            body.insert("prompt".to_owned(), draw.prompt.as_str().into());
            body.extend(draw.count.map(|count| ("n".to_owned(), count.into())));
            let size = place.wording.size.as_deref().unwrap_or("size");
            body.extend(draw.size.as_deref().map(|wanted| (size.to_owned(), wanted.into())));
            body.extend(place.wording.inline.clone().unwrap_or_default());
        }
        Form::Gemini => {
            body.insert("contents".to_owned(), json!([{"role": "user", "parts": [{"text": draw.prompt}]}]));
            let mut settings = Map::new();
            settings.insert("responseModalities".to_owned(), json!(["TEXT", "IMAGE"]));
            settings.extend(draw.count.map(|count| ("candidateCount".to_owned(), count.into())));
            settings.extend(draw.size.as_deref().map(|size| ("imageConfig".to_owned(), json!({"aspectRatio": size}))));
            body.insert("generationConfig".to_owned(), settings.into());
        }
        Form::Anthropic | Form::Cohere => {
            return Err(operation::unknown_form(target.manifest, Kind::ImageGeneration));
        }
    }
    body.extend(draw.parameters.clone());
    place.json(target, body)
}

/// Reads the answer.
pub fn read(reading: &Reading<'_>, body: &[u8]) -> Result<Images, CallError> {
    let body = reading.json(body)?;
    let images = match body.get("data").and_then(Value::as_array) {
        Some(items) => items.iter().map(|item| openai(reading, item)).collect::<Option<Vec<_>>>(),
        None => gemini(&body),
    };
    let is_other =
        |image: &Image| matches!(&image.source, ImageSource::Bytes { bytes, .. } if kind_of(bytes).is_none());
    match images {
        Some(images) if images.iter().any(is_other) => Err(reading.malformed("what is in it is no picture")),
        Some(images) if !images.is_empty() => Ok(Images { images, usage: reading.usage(&body) }),
        Some(_) | None => Err(reading.malformed("no picture in it")),
    }
}

fn openai(reading: &Reading<'_>, item: &Value) -> Option<Image> {
    let text = |name: &str| item.get(name).and_then(Value::as_str);
    let source = match (text("b64_json"), text("url")) {
        (Some(data), _) => bytes(data, None)?,
        (None, Some(url)) => ImageSource::Url(reading.word(url)),
        (None, None) => return None,
    };
    Some(Image { source, revised_prompt: text("revised_prompt").map(|text| reading.word(text)) })
}

fn gemini(body: &Value) -> Option<Vec<Image>> {
    let candidates = body.get("candidates")?.as_array()?;
    let parts = candidates.iter().filter_map(|candidate| candidate.pointer("/content/parts")?.as_array()).flatten();
    let data = parts.filter_map(|part| part.get("inlineData").or_else(|| part.get("inline_data")));
    data.map(|data| {
        let media_type = data.get("mimeType").or_else(|| data.get("mime_type")).and_then(Value::as_str);
        Some(Image { source: bytes(data.get("data")?.as_str()?, media_type)?, revised_prompt: None })
    })
    .collect()
}

fn bytes(data: &str, media_type: Option<&str>) -> Option<ImageSource> {
    let bytes = STANDARD.decode(data).ok()?;
    let media_type = media_type.or(kind_of(&bytes)).unwrap_or("application/octet-stream").to_owned();
    Some(ImageSource::Bytes { media_type, bytes })
}

/// What the first bytes say; nothing of what is no picture, such as a web page.
fn kind_of(bytes: &[u8]) -> Option<&'static str> {
    Some(match bytes {
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        [0xFF, 0xD8, 0xFF, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', ..] => "image/gif",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        [_, _, _, _, b'f', b't', b'y', b'p', b'a', b'v', b'i', b'f', ..] => "image/avif",
        [_, _, _, _, b'f', b't', b'y', b'p', b'h', b'e', b'i', _, ..] => "image/heic",
        [b'B', b'M', ..] => "image/bmp",
        [b'I', b'I', 0x2A, 0, ..] | [b'M', b'M', 0, 0x2A, ..] => "image/tiff",
        _ if is_drawing(bytes) => "image/svg+xml",
        _ => return None,
    })
}

/// SVG is text, perhaps with a heading before it.
fn is_drawing(bytes: &[u8]) -> bool {
    let beginning = String::from_utf8_lossy(&bytes[..bytes.len().min(1024)]);
    let beginning = beginning.trim_start_matches('\u{feff}').trim_start();
    beginning.starts_with("<svg") || (beginning.starts_with("<?xml") && beginning.contains("<svg"))
}
