//! Whatever a prompt holds, its request is one that providers accept, and shows nothing that its envelope does not.

use pi_envelope::{Body, Prompt, Purpose, Request as Asked, estimate, project};
use pi_provider::Options;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{MODEL, ask, body, golden::rich, prompt, provider};

const ADAPTERS: [(&str, &str); 5] = [
    ("openai", "openai-completions"),
    ("responses", "openai-responses"),
    ("anthropic", "anthropic-messages"),
    ("gemini", "google-generative-ai"),
    ("cohere_v2", "cohere-v2"),
];

fn words() -> impl Strategy<Value = String> {
    "[a-zé\"\\\\\n ]{0,12}"
}

fn id() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c]", "[a-c|./ü]{0,3}", "[a-z]{50,90}"]
}

fn block() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => words().prop_map(|text| json!({"type": "text", "text": text})),
        1 => Just(json!({"type": "image", "data": "aW1n", "mimeType": "image/png"})),
        1 => Just(json!({"type": "document", "data": "JVBE", "mimeType": "application/pdf"})),
        1 => Just(json!({"type": "audio", "url": "https://a/b.mp3"})),
        1 => words().prop_map(|kind| json!({"type": kind})),
    ]
}

fn spoken() -> impl Strategy<Value = Value> {
    let signature = proptest::option::of("[a-z]{0,4}");
    prop_oneof![
        3 => words().prop_map(|text| json!({"type": "text", "text": text})),
        2 => (words(), signature, any::<bool>()).prop_map(|(thinking, signature, redacted)| {
            let mut block = json!({"type": "thinking", "thinking": thinking, "redacted": redacted});
            if let Some(signature) = signature {
                block["thinkingSignature"] = json!(signature);
            }
            block
        }),
        3 => (id(), words()).prop_map(|(id, path)| {
            json!({"type": "toolCall", "id": id, "name": "read", "arguments": {"path": path}})
        }),
        1 => block(),
    ]
}

fn message() -> impl Strategy<Value = Value> {
    let stop = prop_oneof![4 => Just("stop"), 3 => Just("toolUse"), 1 => Just("error"), 1 => Just("aborted"), 1 => Just("new")];
    let from = prop_oneof![Just(("mock-one", MODEL)), Just(("elsewhere", "other"))];
    let api = prop_oneof![Just("openai-completions"), Just("anthropic-messages"), Just("google-generative-ai")];
    prop_oneof![
        2 => proptest::collection::vec(block(), 0..4).prop_map(|content| json!({"role": "user", "content": content})),
        2 => words().prop_map(|content| json!({"role": "user", "content": content})),
        4 => (proptest::collection::vec(spoken(), 0..5), stop, from, api).prop_map(|(content, stop, (provider, model), api)| {
            json!({"role": "assistant", "content": content, "stopReason": stop, "provider": provider, "model": model, "api": api})
        }),
        4 => (id(), proptest::collection::vec(block(), 0..3), any::<bool>()).prop_map(|(id, content, is_error)| {
            json!({"role": "toolResult", "toolCallId": id, "content": content, "isError": is_error})
        }),
        1 => (words(), any::<bool>()).prop_map(|(output, hidden)| {
            json!({"role": "bashExecution", "command": "ls", "output": output, "excludeFromContext": hidden})
        }),
        1 => words().prop_map(|content| json!({"role": "custom", "content": content})),
        1 => words().prop_map(|summary| json!({"role": "compactionSummary", "summary": summary})),
        1 => (words(), words()).prop_map(|(content, section)| {
            json!({"role": "system", "content": content, "sections": {"a": section, "b": null}})
        }),
        1 => words().prop_map(|content| json!({"role": "weather", "content": content})),
    ]
}

fn any_prompt() -> impl Strategy<Value = Prompt> {
    (words(), any::<bool>(), proptest::collection::vec(message(), 0..12)).prop_map(|(system, has_tools, messages)| {
        let tool = json!({"name": "read", "description": "Reads.", "parameters": {"type": "object", "title": "é\"x"}});
        let tools = if has_tools { vec![tool] } else { Vec::new() };
        prompt(&json!({"system": system, "tools": tools, "messages": messages}))
    })
}

fn cases() -> ProptestConfig {
    let cases = std::env::var("PI_TEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(64);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn any_prompt_becomes_a_request_that_providers_accept(prompt in any_prompt()) {
        for (adapter, _) in ADAPTERS {
            let body = body(&ask(&provider(adapter, json!({})), &prompt, &Options::plain()).unwrap());
            match adapter {
                "openai" | "cohere_v2" => answers_follow_calls(&body),
                "anthropic" => takes_turns(&body),
                "gemini" => begins_with_user(&body),
                _ => items_are_paired(&body),
            }
            uncovered(&prompt, &body).map_or(Ok(()), |text| Err(TestCaseError::fail(format!("{adapter}: {text:?}"))))?;
        }
    }
}

#[test]
fn everything_that_a_rich_request_shows_is_in_a_segment() {
    for (adapter, api) in ADAPTERS {
        let prompt = rich(api);
        let body = body(&ask(&provider(adapter, json!({})), &prompt, &Options::plain()).unwrap());
        assert_eq!(uncovered(&prompt, &body), None, "{adapter}");
    }
}

#[test]
fn texts_are_told_apart_although_one_begins_like_another() {
    let texts = ["a\n\n", "a", "\nb"].map(str::to_owned);
    assert!(is_made_of("a\n\nb", &texts));
    assert!(!is_made_of("a\n\nc", &texts));
}

#[test]
fn a_text_that_no_segment_has_is_found() {
    let prompt = rich("openai-completions");
    let mut body = body(&ask(&provider("openai", json!({})), &prompt, &Options::plain()).unwrap());
    body["messages"][1]["content"] = json!("Something else.");
    assert_eq!(uncovered(&prompt, &body).as_deref(), Some("Something else."));
}

/// Each message with calls is followed by exactly one message for each of them; tools speak nowhere else.
fn answers_follow_calls(body: &Value) {
    let mut open: Vec<&str> = Vec::new();
    for message in body["messages"].as_array().unwrap() {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap();
            let place = open.iter().position(|open| *open == id).expect("a result has a call");
            open.remove(place);
            continue;
        }
        assert!(open.is_empty(), "every call has its result before anybody else speaks");
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        open = calls.map(|call| call["id"].as_str().unwrap()).collect();
    }
    assert!(open.is_empty());
}

/// User and assistant take turns, the user begins, each use of a tool is answered in the next message, no text is blank.
fn takes_turns(body: &Value) {
    let mut open: Vec<&str> = Vec::new();
    for (index, message) in body["messages"].as_array().unwrap().iter().enumerate() {
        assert_eq!(message["role"], ["user", "assistant"][index % 2]);
        let blocks = message["content"].as_array().unwrap();
        let ids = |kind: &str, member: &str| -> Vec<&str> {
            let blocks = blocks.iter().filter(|block| block["type"] == kind);
            blocks.map(|block| block[member].as_str().unwrap()).collect()
        };
        assert_eq!(ids("tool_result", "tool_use_id"), open);
        open = ids("tool_use", "id");
        assert!(!blocks.is_empty());
        assert!(blocks.iter().all(|block| block["text"].as_str().is_none_or(|text| !text.trim().is_empty())));
    }
    assert!(open.is_empty());
    assert!(body.to_string().matches("cache_control").count() <= 4);
}

fn begins_with_user(body: &Value) {
    let contents = body["contents"].as_array().unwrap();
    assert!(contents.first().is_none_or(|content| content["role"] == "user"));
    for pair in contents.windows(2) {
        let count = |content: &Value, member: &str| {
            content["parts"].as_array().unwrap().iter().filter(|part| part.get(member).is_some()).count()
        };
        assert!(!(pair[0]["role"] == "model" && pair[1]["role"] == "model"));
        assert_eq!(count(&pair[0], "functionCall"), count(&pair[1], "functionResponse"));
    }
}

fn items_are_paired(body: &Value) {
    let ids = |kind: &str| -> Vec<&str> {
        let items = body["input"].as_array().unwrap().iter().filter(|item| item["type"] == kind);
        items.map(|item| item["call_id"].as_str().unwrap()).collect()
    };
    assert_eq!(ids("function_call"), ids("function_call_output"));
}

/// Members that hold words of the wire.
const WIRE: [&str; 10] =
    ["type", "role", "id", "tool_call_id", "call_id", "tool_use_id", "detail", "media_type", "mimeType", "format"];

/// Words that are ours or the wire's; everything else comes from the prompt.
const OURS: [&str; 8] = [
    "No result was recorded for this call.",
    "(the content follows)",
    "(the conversation begins with the assistant)",
    "[image left out: this model cannot take it]",
    "[document left out: this model cannot take it]",
    "[audio left out: this model cannot take it]",
    "[video left out: this model cannot take it]",
    "document",
];

/// The first text in the body that is not made of texts of the envelope's segments.
fn uncovered(prompt: &Prompt, body: &Value) -> Option<String> {
    let asked =
        Asked { id: "r".to_owned(), provider: "mock-one".into(), model: MODEL.into(), time: 0, purpose: Purpose::Turn };
    let envelope = project(prompt, &asked, &estimate);
    let mut texts: Vec<String> = OURS.iter().map(|text| (*text).to_owned()).collect();
    for (_, segment) in envelope.segments() {
        texts.push(segment.sent());
        texts.extend(segment.body.texts().into_iter().map(|text| text.into_owned()));
        let signature = match &segment.meta {
            Some(pi_envelope::Meta::Ours(meta)) => meta.signature.clone(),
            Some(pi_envelope::Meta::Foreign(_)) | None => None,
        };
        texts.extend(signature);
        if let Body::Media { url, .. } = &segment.body {
            texts.push(url.clone());
        }
    }
    texts.retain(|text| !text.trim().is_empty());
    texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
    let conversation = ["messages", "contents", "input", "system", "systemInstruction", "instructions", "tools"];
    conversation.iter().filter_map(|member| body.get(member)).find_map(|part| leaf(part, &texts))
}

fn leaf(value: &Value, texts: &[String]) -> Option<String> {
    match value {
        Value::String(text) => (!is_covered(text, texts)).then(|| text.clone()),
        Value::Array(items) => items.iter().find_map(|item| leaf(item, texts)),
        Value::Object(members) => members
            .iter()
            // Names of blocks, roles, media types and rewritten ids are the wire's.
            .filter(|(name, _)| !WIRE.contains(&name.as_str()))
            .find_map(|(_, member)| leaf(member, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn is_covered(text: &str, texts: &[String]) -> bool {
    let text = text.split_once(";base64,").map_or(text, |(_, data)| data);
    let escaped = serde_json::to_string(text).unwrap();
    let escaped = &escaped[1..escaped.len() - 1];
    if texts.iter().any(|known| known.contains(text) || known.contains(escaped)) {
        return true;
    }
    is_made_of(text, texts)
}

/// Whether a text is known texts one after another, with blanks between. One of them may begin like another, so every way
/// to read it is tried.
fn is_made_of(text: &str, texts: &[String]) -> bool {
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    for (at, letter) in text.char_indices() {
        if !reached[at] {
            continue;
        }
        if letter.is_whitespace() {
            reached[at + letter.len_utf8()] = true;
        }
        for known in texts.iter().filter(|known| text[at..].starts_with(known.as_str())) {
            reached[at + known.len()] = true;
        }
    }
    reached[text.len()]
}
