//! Sound in Gemini's chats: what a model is asked about it, and where its answer is.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};

use super::{Sound, Speak, Transcribe, rounded};
use crate::operation::Place;

/// The sound, and what is to be done with it.
pub(super) fn question(place: &Place, transcribe: &Transcribe) -> Map<String, Value> {
    let instruction = place.wording.instruction.clone();
    let language = place.wording.language.as_ref().zip(transcribe.language.as_ref());
    let language = language.map(|(before, language)| format!("{before} {language}"));
    let texts = [instruction, language, transcribe.prompt.clone()].into_iter().flatten();
    let mut parts: Vec<Value> = texts.filter(|text| !text.is_empty()).map(|text| json!({"text": text})).collect();
    let data = STANDARD.encode(&transcribe.audio);
    parts.push(json!({"inlineData": {"mimeType": transcribe.media_type, "data": data}}));
    let mut body = Map::from_iter([("contents".to_owned(), json!([{"role": "user", "parts": parts}]))]);
    if let Some(temperature) = transcribe.temperature {
        body.insert("generationConfig".to_owned(), json!({"temperature": rounded(temperature)}));
    }
    body
}

/// The words, and the voice that is to say them. How they are said stands before them.
pub(super) fn speech(speak: &Speak) -> Map<String, Value> {
    let text = match &speak.instructions {
        Some(instructions) => format!("{instructions}: {}", speak.text),
        None => speak.text.clone(),
    };
    let voice = json!({"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": speak.voice}}});
    Map::from_iter([
        ("contents".to_owned(), json!([{"role": "user", "parts": [{"text": text}]}])),
        ("generationConfig".to_owned(), json!({"responseModalities": ["AUDIO"], "speechConfig": voice})),
    ])
}

/// What the answer says, without what was thought about it.
pub(super) fn text(body: &Value) -> Option<String> {
    let spoken = |part: &&Value| part.get("thought").and_then(Value::as_bool) != Some(true);
    let texts = parts(body)?.iter().filter(spoken).filter_map(|part| part.get("text")?.as_str());
    let text: String = texts.collect();
    (!text.is_empty()).then(|| text.trim().to_owned())
}

/// The first sound in the answer.
pub(super) fn sound(body: &Value) -> Option<Sound> {
    let data = parts(body)?.iter().find_map(|part| part.get("inlineData"))?;
    let media_type = data.get("mimeType").and_then(Value::as_str).unwrap_or("application/octet-stream").to_owned();
    Some(Sound { media_type, bytes: STANDARD.decode(data.get("data")?.as_str()?).ok()? })
}

fn parts(body: &Value) -> Option<&Vec<Value>> {
    body.pointer("/candidates/0/content/parts")?.as_array()
}
