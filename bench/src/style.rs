//! What streams of three providers look like.

use bytes::Bytes;
use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Openai,
    Anthropic,
    Gemini,
}

/// Words of an answer, as long as usual; no two neighbours are the same, as in a real one.
const WORDS: [&str; 8] = [" token", " is", " a", " word", " that", " models", " say", ".\n"];

fn word(number: usize) -> &'static str {
    WORDS[number % WORDS.len()]
}

impl Style {
    pub(crate) const ALL: [Self; 3] = [Self::Openai, Self::Anthropic, Self::Gemini];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }

    pub(crate) fn of_path(path: &str) -> Self {
        Self::ALL.into_iter().find(|style| path.starts_with(&format!("/{}/", style.name()))).unwrap_or(Self::Openai)
    }

    /// A whole stream with so many pieces of text, each frame by itself.
    pub(crate) fn frames(self, pieces: usize) -> Vec<Bytes> {
        match self {
            Self::Openai => openai(pieces, word),
            Self::Anthropic => anthropic(pieces),
            Self::Gemini => gemini(pieces),
        }
    }
}

fn data(value: &Value) -> Bytes {
    Bytes::from(format!("data: {value}\n\n"))
}

fn event(value: &Value) -> Bytes {
    Bytes::from(format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap_or_default()))
}

/// A stream of this style, whose pieces are found by their number.
pub(crate) fn openai(pieces: usize, piece: impl Fn(usize) -> &'static str) -> Vec<Bytes> {
    let chunk = |delta: Value, finish: Value| {
        data(&json!({
            "id": "chatcmpl-AbCdEfGhIjKlMnOpQrStUvWxYz123", "object": "chat.completion.chunk", "created": 1794787113,
            "model": "gpt-5.4-mini-2026-03-01", "service_tier": "default", "system_fingerprint": "fp_0123456789",
            "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}], "usage": null,
        }))
    };
    let mut frames = vec![chunk(json!({"role": "assistant", "content": "", "refusal": null}), Value::Null)];
    frames.extend((0..pieces).map(|number| chunk(json!({"content": piece(number)}), Value::Null)));
    frames.push(chunk(json!({}), json!("stop")));
    frames.push(data(&json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1794787113, "model": "gpt-5.4-mini", "choices": [],
        "usage": {"prompt_tokens": 12, "completion_tokens": pieces, "total_tokens": pieces + 12},
    })));
    frames.push(Bytes::from_static(b"data: [DONE]\n\n"));
    frames
}

fn anthropic(pieces: usize) -> Vec<Bytes> {
    let usage =
        json!({"input_tokens": 12, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1});
    let message = json!({"id": "msg_01", "type": "message", "role": "assistant", "model": "claude", "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage});
    let mut frames = vec![
        event(&json!({"type": "message_start", "message": message})),
        event(&json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})),
    ];
    frames.extend((0..pieces).map(|number| {
        let delta = json!({"type": "text_delta", "text": word(number)});
        event(&json!({"type": "content_block_delta", "index": 0, "delta": delta}))
    }));
    frames.push(event(&json!({"type": "content_block_stop", "index": 0})));
    frames.push(event(&json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null}, "usage": {"output_tokens": pieces}})));
    frames.push(event(&json!({"type": "message_stop"})));
    frames
}

fn gemini(pieces: usize) -> Vec<Bytes> {
    let chunk = |text: &str, counted: usize, finish: Option<&str>| {
        let mut candidate = json!({"content": {"parts": [{"text": text}], "role": "model"}, "index": 0});
        if let Some(finish) = finish {
            candidate["finishReason"] = finish.into();
        }
        data(&json!({
            "candidates": [candidate],
            "usageMetadata": {"promptTokenCount": 12, "candidatesTokenCount": counted, "totalTokenCount": counted + 12},
            "modelVersion": "gemini-3-flash", "responseId": "AbCdEfGhIjKlMnOp",
        }))
    };
    let mut frames: Vec<Bytes> = (0..pieces).map(|number| chunk(word(number), number, None)).collect();
    frames.push(chunk("", pieces, Some("STOP")));
    frames
}
