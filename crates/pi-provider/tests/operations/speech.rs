//! Speech to text and text to speech.

use std::time::Duration;

use pi_provider::speech::{
    Detail, Segment, Sound, Speak, Transcribe, Transcript, read_sound, read_transcript, synthesis, transcription,
};
use serde_json::json;

use crate::{
    check_json, header,
    provider::{built_in, target},
    reading, said,
};

fn transcribe() -> Transcribe {
    Transcribe {
        file_name: "talk.wav".to_owned(),
        media_type: "audio/wav".to_owned(),
        audio: b"RIFF\0\xFF\r\n".to_vec(),
        language: Some("en".to_owned()),
        prompt: None,
        temperature: Some(0.2),
        detail: Detail::Segments,
    }
}

fn speak() -> Speak {
    Speak {
        text: "hello".to_owned(),
        voice: "alloy".to_owned(),
        format: Some("wav".to_owned()),
        speed: Some(1.1),
        instructions: None,
    }
}

#[test]
fn sound_goes_up_byte_by_byte_in_a_form() {
    let manifest = built_in("openai");
    let request = transcription(&target(&manifest, "whisper-1"), &transcribe()).unwrap();
    assert_eq!(request.address.url.as_str(), "https://api.openai.com/v1/audio/transcriptions");
    let boundary = "pi-form-boundary-0000000000000000";
    assert_eq!(header(&request, "content-type"), Some(&*format!("multipart/form-data; boundary={boundary}")));
    let field = |name: &str, value: &str| {
        format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n").into_bytes()
    };
    let mut expected = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"talk.wav\"\r\n\
         Content-Type: audio/wav\r\n\r\n"
    )
    .into_bytes();
    expected.extend_from_slice(b"RIFF\0\xFF\r\n\r\n");
    expected.extend(field("model", "whisper-1"));
    expected.extend(field("response_format", "verbose_json"));
    expected.extend(field("language", "en"));
    expected.extend(field("temperature", "0.2"));
    expected.extend(format!("--{boundary}--\r\n").into_bytes());
    assert_eq!(request.body, expected);
}

#[test]
fn transcripts_are_read_with_and_without_times() {
    let manifest = built_in("openai");
    let body = json!({
        "task": "transcribe",
        "language": "english",
        "duration": "2.5",
        "text": "Hello there.",
        "segments": [{"id": 0, "start": 0.0, "end": 2.5, "text": "Hello there."}],
        "usage": {"type": "duration", "seconds": 3},
    });
    let read = |media_type: Option<&str>, body: &str| {
        reading(&manifest, |reading| read_transcript(reading, media_type, body.as_bytes())).unwrap()
    };
    let half = Duration::from_millis(2500);
    let segment = Segment { start: Duration::ZERO, end: half, text: "Hello there.".to_owned() };
    let whole = Transcript {
        text: "Hello there.".to_owned(),
        language: Some("english".to_owned()),
        duration: Some(half),
        segments: vec![segment],
        usage: None,
    };
    assert_eq!(read(Some("application/json"), &body.to_string()), whole);
    let body =
        json!({"text": "Hi", "usage": {"type": "tokens", "input_tokens": 14, "output_tokens": 2, "total_tokens": 16}});
    let tokens = read(None, &body.to_string());
    assert_eq!((tokens.text.as_str(), tokens.usage.unwrap().prompt), ("Hi", Some(14)));
    assert_eq!(read(Some("text/plain; charset=utf-8"), "Hi\n").text, "Hi");
}

#[test]
fn words_go_down_and_sound_comes_back() {
    let manifest = built_in("openai");
    check_json(
        synthesis(&target(&manifest, "gpt-4o-mini-tts"), &speak()),
        "POST https://api.openai.com/v1/audio/speech",
        &json!({"model": "gpt-4o-mini-tts", "input": "hello", "voice": "alloy", "response_format": "wav", "speed": 1.1}),
    );
    let bytes = b"RIFF\0\xFF\xFE\r\n";
    let sound = reading(&manifest, |reading| read_sound(reading, Some("audio/wav"), bytes)).unwrap();
    assert_eq!(sound, Sound { media_type: "audio/wav".to_owned(), bytes: bytes.to_vec() });
    assert_eq!(format!("{sound:?}"), "Sound { media_type: \"audio/wav\", bytes: 9 }");
}

const GEMINI: &str = "https://generativelanguage.googleapis.com/v1beta/models";

#[test]
fn models_that_hear_in_a_chat_are_asked_to_write_it_down() {
    let manifest = built_in("gemini");
    let request = transcription(&target(&manifest, "gemini-2.5-flash"), &transcribe()).unwrap();
    let dropped: Vec<&str> = request.changes.iter().map(|change| change.option.as_str()).collect();
    assert_eq!(dropped, ["detail"]);
    let instruction = "Write down what is said in this recording, word for word. Answer with nothing but the text.";
    let parts = json!([
        {"text": instruction},
        {"text": "The language (ISO 639-1) is: en"},
        {"inlineData": {"mimeType": "audio/wav", "data": "UklGRgD/DQo="}},
    ]);
    check_json(
        Ok(request),
        &format!("POST {GEMINI}/gemini-2.5-flash:generateContent"),
        &json!({"contents": [{"role": "user", "parts": parts}], "generationConfig": {"temperature": 0.2}}),
    );
    let answer = json!({
        "candidates": [{"content": {"parts": [{"text": "hm", "thought": true}, {"text": "Hello "}, {"text": "there.\n"}]}}],
        "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2, "totalTokenCount": 7},
    });
    let read = reading(&manifest, |reading| read_transcript(reading, None, answer.to_string().as_bytes())).unwrap();
    assert_eq!((read.text.as_str(), read.usage.unwrap().total), ("Hello there.", Some(7)));
}

#[test]
fn models_that_speak_in_a_chat_answer_with_sound() {
    let manifest = built_in("gemini");
    let speak = Speak { voice: "Kore".to_owned(), instructions: Some("Say cheerfully".to_owned()), ..speak() };
    let request = synthesis(&target(&manifest, "gemini-2.5-flash-preview-tts"), &speak).unwrap();
    let dropped: Vec<&str> = request.changes.iter().map(|change| change.option.as_str()).collect();
    assert_eq!(dropped, ["format", "speed"]);
    let voice = json!({"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "Kore"}}});
    check_json(
        Ok(request),
        &format!("POST {GEMINI}/gemini-2.5-flash-preview-tts:generateContent"),
        &json!({
            "contents": [{"role": "user", "parts": [{"text": "Say cheerfully: hello"}]}],
            "generationConfig": {"responseModalities": ["AUDIO"], "speechConfig": voice},
        }),
    );
    let data = json!({"mimeType": "audio/L16;codec=pcm;rate=24000", "data": "AAH/"});
    let answer = json!({"candidates": [{"content": {"parts": [{"inlineData": data}]}}]}).to_string();
    let sound = reading(&manifest, |reading| read_sound(reading, Some("application/json"), answer.as_bytes())).unwrap();
    assert_eq!(sound, Sound { media_type: "audio/L16;codec=pcm;rate=24000".to_owned(), bytes: vec![0, 1, 255] });
}

#[test]
fn undeclared_empty_and_json_instead_of_sound_are_errors() {
    let (anthropic, openai) = (built_in("anthropic"), built_in("openai"));
    assert_eq!(said(transcription(&target(&anthropic, "m"), &transcribe())), "E1005 anthropic does not declare stt");
    assert_eq!(said(synthesis(&target(&anthropic, "m"), &speak())), "E1005 anthropic does not declare tts");
    let silent = said(transcription(&target(&openai, "m"), &Transcribe { audio: Vec::new(), ..transcribe() }));
    assert_eq!(silent, "E1001 option audio cannot be sent: it is empty");
    let fault = |body: &str| {
        let json = Some("application/json; charset=utf-8");
        said(reading(&openai, |reading| read_sound(reading, json, body.as_bytes())))
    };
    let quota = r#"{"error": {"code": "insufficient_quota", "message": "no money"}}"#;
    assert_eq!(fault(quota), "E2002 openai answered: quota_exhausted: no money");
    let other = "E3001 the answer of openai cannot be read: application/json; charset=utf-8 instead of sound";
    assert_eq!(fault("{}"), other);
    let wordless = said(reading(&openai, |reading| read_transcript(reading, None, b"{}")));
    assert_eq!(wordless, "E3001 the answer of openai cannot be read: no text in it");
}
