//! Speech to text and text to speech.
//!
//! [`transcribe`] and [`speak`] send; the other functions are pure. In OpenAI's form a file goes up in a multipart form
//! and sound comes back as bytes; Gemini's models hear and speak in a chat.

mod heard;

use std::{borrow::Cow, time::Duration};

use reqwest::header::CONTENT_TYPE;
use serde_json::{Map, Value};

use crate::{
    client::Whole,
    error::{CallError, Side},
    event::TokenUsage,
    guardrail::Finding,
    manifest::Manifest,
    operation::{self, Answered, Asking, Form, Kind, Place, guard, multipart},
    request::{Request, Target},
    response::Reading,
};

/// What is to be written down.
#[derive(Clone, PartialEq)]
pub struct Transcribe {
    /// With its ending: providers tell the format by it.
    pub file_name: String,
    pub media_type: String,
    pub audio: Vec<u8>,
    /// ISO 639-1: `en`.
    pub language: Option<String>,
    /// Words that help: names, the sentence before.
    pub prompt: Option<String>,
    pub temperature: Option<f32>,
    pub detail: Detail,
}

/// How much is wanted beside the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    Text,
    /// Also language, duration and the time of each segment. Not every model has it.
    Segments,
}

/// What was said.
#[derive(Debug, Clone, PartialEq)]
pub struct Transcript {
    pub text: String,
    pub language: Option<String>,
    pub duration: Option<Duration>,
    /// Empty unless asked for.
    pub segments: Vec<Segment>,
    pub usage: Option<TokenUsage>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    pub start: Duration,
    pub end: Duration,
    pub text: String,
}

/// What is to be said.
#[derive(Debug, Clone, PartialEq)]
pub struct Speak {
    pub text: String,
    pub voice: String,
    /// `mp3`, `wav`, `opus`; the provider's own, if nobody says.
    pub format: Option<String>,
    pub speed: Option<f32>,
    /// How it is to be said, for models that can be told.
    pub instructions: Option<String>,
}

/// Sound.
#[derive(Clone, PartialEq, Eq)]
pub struct Sound {
    pub media_type: String,
    pub bytes: Vec<u8>,
}

/// Writes down what is said.
pub async fn transcribe(asking: &Asking<'_>, transcribe: &Transcribe) -> Result<Answered<Transcript>, CallError> {
    let manifest = asking.target.manifest;
    let (transcribe, mut findings) = filtered(manifest, transcribe)?;
    let request = transcription(asking.target, &transcribe)?;
    let read = |reading: &Reading<'_>, whole: &Whole| read_transcript(reading, media_type(whole), &whole.body);
    let mut answered = asking.send(request, read).await?;
    let Transcript { text, segments, .. } = &mut answered.value;
    let texts = std::iter::once(text).chain(segments.iter_mut().map(|segment| &mut segment.text));
    findings.extend(guard::filter_texts(manifest, Side::Output, texts)?);
    answered.facts.findings.extend(findings);
    Ok(answered)
}

/// The same with its texts filtered where they go into a form, in which the filters would not find them any more; a chat
/// is filtered when it is sent.
pub fn filtered<'t>(
    manifest: &Manifest,
    transcribe: &'t Transcribe,
) -> Result<(Cow<'t, Transcribe>, Vec<Finding>), CallError> {
    let place = operation::find(manifest, Kind::SpeechToText)?;
    match place.form {
        Form::Openai if !manifest.guardrails.is_empty() => {
            let mut transcribe = transcribe.clone();
            let Transcribe { prompt, language, .. } = &mut transcribe;
            let findings = guard::filter_texts(manifest, Side::Input, prompt.iter_mut().chain(language))?;
            Ok((Cow::Owned(transcribe), findings))
        }
        Form::Openai | Form::Gemini | Form::Anthropic | Form::Cohere => Ok((Cow::Borrowed(transcribe), Vec::new())),
    }
}

/// Says what is written.
pub async fn speak(asking: &Asking<'_>, speak: &Speak) -> Result<Answered<Sound>, CallError> {
    let request = synthesis(asking.target, speak)?;
    asking.send(request, |reading, whole| read_sound(reading, media_type(whole), &whole.body)).await
}

/// The request for a transcript.
pub fn transcription(target: &Target<'_>, transcribe: &Transcribe) -> Result<Request, CallError> {
    let place = operation::find(target.manifest, Kind::SpeechToText)?;
    if transcribe.audio.is_empty() {
        return Err(CallError::Option { option: "audio".to_owned(), reason: "it is empty".to_owned() });
    }
    match place.form {
        Form::Openai => upload(&place, target, transcribe),
        Form::Gemini => {
            let mut request = place.json(target, heard::question(&place, transcribe))?;
            request.changes.extend(match transcribe.detail {
                Detail::Text => None,
                Detail::Segments => Some(operation::dropped("detail")),
            });
            Ok(request)
        }
        Form::Anthropic | Form::Cohere => Err(operation::unknown_form(target.manifest, Kind::SpeechToText)),
    }
}

fn upload(place: &Place, target: &Target<'_>, transcribe: &Transcribe) -> Result<Request, CallError> {
    let temperature = transcribe.temperature.map(|temperature| temperature.to_string());
    let mut form = multipart::Form::default();
    form.file("file", &transcribe.file_name, &transcribe.media_type, &transcribe.audio);
    form.text("model", operation::wire_model(target));
    form.text(
        "response_format",
        match transcribe.detail {
            Detail::Text => "json",
            Detail::Segments => "verbose_json",
        },
    );
    let optional = [("language", &transcribe.language), ("prompt", &transcribe.prompt), ("temperature", &temperature)];
    for (name, value) in optional {
        if let Some(value) = value {
            form.text(name, value);
        }
    }
    place.multipart(target, &form)
}

/// Reads a transcript: JSON, or from servers that ignore what was asked for, the bare text.
pub fn read_transcript(reading: &Reading<'_>, media_type: Option<&str>, body: &[u8]) -> Result<Transcript, CallError> {
    if media_type.is_some_and(|media_type| media_type.starts_with("text/plain")) {
        let text = std::str::from_utf8(body).map_err(|_| reading.malformed("the text is not UTF-8"))?;
        let text = text.trim_end().to_owned();
        return Ok(Transcript { text, language: None, duration: None, segments: Vec::new(), usage: None });
    }
    let body = reading.json(body)?;
    let text = body.get("text").and_then(Value::as_str).map(str::to_owned).or_else(|| heard::text(&body));
    let text = text.ok_or_else(|| reading.malformed("no text in it"))?;
    let segments = body.get("segments").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let segments = segments.iter().filter_map(|item| {
        let text = item.get("text")?.as_str()?.to_owned();
        Some(Segment { start: seconds(item.get("start")?)?, end: seconds(item.get("end")?)?, text })
    });
    Ok(Transcript {
        text,
        language: body.get("language").and_then(Value::as_str).map(|word| reading.word(word)),
        duration: body.get("duration").or_else(|| body.pointer("/usage/seconds")).and_then(seconds),
        segments: segments.collect(),
        usage: reading.usage(&body),
    })
}

/// The request for sound.
pub fn synthesis(target: &Target<'_>, speak: &Speak) -> Result<Request, CallError> {
    let place = operation::find(target.manifest, Kind::TextToSpeech)?;
    if speak.text.is_empty() {
        return Err(CallError::Option { option: "text".to_owned(), reason: "it is empty".to_owned() });
    }
    match place.form {
        Form::Openai => place.json(target, openai(target, speak)),
        Form::Gemini => {
            let mut request = place.json(target, heard::speech(speak))?;
            request.changes.extend(speak.format.as_ref().map(|_| operation::dropped("format")));
            request.changes.extend(speak.speed.map(|_| operation::dropped("speed")));
            Ok(request)
        }
        Form::Anthropic | Form::Cohere => Err(operation::unknown_form(target.manifest, Kind::TextToSpeech)),
    }
}

fn openai(target: &Target<'_>, speak: &Speak) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("model".to_owned(), operation::wire_model(target).into());
    body.insert("input".to_owned(), speak.text.as_str().into());
    body.insert("voice".to_owned(), speak.voice.as_str().into());
    body.extend(speak.format.as_deref().map(|format| ("response_format".to_owned(), format.into())));
    body.extend(speak.speed.map(|speed| ("speed".to_owned(), rounded(speed))));
    body.extend(speak.instructions.as_deref().map(|words| ("instructions".to_owned(), words.into())));
    body
}

/// Reads sound: bytes, or a chat's answer with sound in it. Other JSON is an error that came with a good status, or no
/// sound at all.
pub fn read_sound(reading: &Reading<'_>, media_type: Option<&str>, body: &[u8]) -> Result<Sound, CallError> {
    let media_type = media_type.unwrap_or("application/octet-stream");
    if media_type.starts_with("application/json") || media_type.starts_with("text/") {
        let body = reading.json(body)?;
        if let Some(sound) = heard::sound(&body) {
            return Ok(sound);
        }
        return Err(reading.malformed(&format!("{} instead of sound", reading.word(media_type))));
    }
    if body.is_empty() {
        return Err(reading.malformed("no sound in it"));
    }
    Ok(Sound { media_type: reading.word(media_type), bytes: body.to_vec() })
}

fn media_type(whole: &Whole) -> Option<&str> {
    whole.facts.headers.get(CONTENT_TYPE)?.to_str().ok()
}

fn seconds(value: &Value) -> Option<Duration> {
    // Some servers write the duration as a text.
    let seconds = value.as_f64().or_else(|| value.as_str()?.parse().ok())?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// 1.1 as people write it, not as the nearest number of 64 bits.
fn rounded(number: f32) -> Value {
    number.to_string().parse::<f64>().ok().and_then(serde_json::Number::from_f64).map_or(Value::Null, Value::Number)
}

impl std::fmt::Debug for Transcribe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transcribe")
            .field("file_name", &self.file_name)
            .field("media_type", &self.media_type)
            .field("bytes", &self.audio.len())
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Sound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sound").field("media_type", &self.media_type).field("bytes", &self.bytes.len()).finish()
    }
}
