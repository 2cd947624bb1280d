//! Requests: what is sent for a prompt, by dialect and by rule.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod address;
mod conversation;
mod every_manifest;
mod golden;
#[path = "../support/manifest.rs"]
mod manifest;
mod media;
mod options;
mod parameters;
mod pi_models;
mod plain;
mod properties;
mod thinking;

use pi_envelope::Prompt;
use pi_provider::{
    Call, CallError, Manifest, Mode, Options, Request, Target,
    request::{Change, build},
};
use serde_json::{Map, Value, json};

/// The model that tests ask.
pub(crate) const MODEL: &str = "model-one";

/// A prompt from short JSON: `system` is a text, `tools` are definitions, messages lack what does not matter.
pub(crate) fn prompt(value: &Value) -> Prompt {
    let provenance = json!({"origin": {"from": "user"}, "trust": "trusted"});
    let system = value
        .get("system")
        .map(|text| json!({"id": "instructions", "provenance": provenance, "type": "instructions", "text": text}));
    let tools = value["tools"].as_array().cloned().unwrap_or_default();
    let tools: Vec<Value> =
        tools.into_iter().map(|tool| json!({"definition": tool, "provenance": provenance})).collect();
    let messages = value["messages"].as_array().cloned().unwrap_or_default();
    let messages: Vec<Value> = messages
        .into_iter()
        .enumerate()
        .map(|(index, message)| json!({"id": format!("e{index}"), "message": whole(message), "provenance": provenance}))
        .collect();
    let value = json!({"system": system.into_iter().collect::<Vec<_>>(), "tools": tools, "messages": messages});
    serde_json::from_value(value).unwrap()
}

/// The message with everything that its role needs.
fn whole(mut message: Value) -> Value {
    let members = message.as_object_mut().unwrap();
    let cost = json!({"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0});
    let defaults = match members["role"].as_str().unwrap() {
        "assistant" => json!({
            "api": "openai-completions", "provider": "elsewhere", "model": "another", "stopReason": "stop",
            "usage": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "cost": cost},
        }),
        "toolResult" => json!({"isError": false, "toolName": "read"}),
        "bashExecution" => json!({"cancelled": false, "truncated": false, "exitCode": 0}),
        "custom" => json!({"customType": "note", "display": true}),
        "compactionSummary" => json!({"tokensBefore": 1}),
        "branchSummary" => json!({"fromId": "e0"}),
        _ => json!({}),
    };
    for (name, value) in defaults.as_object().unwrap() {
        members.entry(name).or_insert(value.clone());
    }
    members.entry("timestamp").or_insert(json!(0));
    message
}

/// A manifest that declares everything, in the dialect of this `adapter`; `changes` are merged into it.
pub(crate) fn provider(adapter: &str, changes: Value) -> Manifest {
    let chat = match adapter {
        "anthropic" => "/messages",
        "gemini" => "/models/{model}:generateContent",
        "responses" => "/responses",
        "cohere_v2" => "/chat",
        _ => "/chat/completions",
    };
    let mut whole = json!({
        "endpoints": {"chat": {"path": chat, "adapter": adapter}},
        "capabilities": {
            "required": ["text", "streaming", "tools", "vision", "audio", "video", "parallel_tools", "reasoning",
                         "structured_output"],
            "feature_flags": {"streaming_usage": true},
        },
        "provider_contract": {"request_mapping": {"content_block_mapping": {"document": {}}}},
    });
    manifest::merge(&mut whole, changes);
    manifest::manifest("https://api.example/v1", whole)
}

/// Builds the request of a stream for [`MODEL`].
pub(crate) fn ask(manifest: &Manifest, prompt: &Prompt, options: &Options) -> Result<Request, CallError> {
    ask_in(manifest, prompt, options, Mode::Stream)
}

pub(crate) fn ask_in(
    manifest: &Manifest,
    prompt: &Prompt,
    options: &Options,
    mode: Mode,
) -> Result<Request, CallError> {
    let (model, entry) = manifest.models.get_key_value(MODEL).map_or((MODEL, None), |(id, entry)| (id, Some(entry)));
    let target = Target { manifest, model, entry, base_url: None, lookup: &|_| None };
    build(&target, Call { prompt, options }, mode)
}

pub(crate) fn body(request: &Request) -> Value {
    serde_json::from_slice(&request.body).unwrap()
}

pub(crate) fn changes(changes: &[Change]) -> Vec<String> {
    changes.iter().map(Change::to_string).collect()
}

pub(crate) fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

/// One short question.
pub(crate) fn question() -> Prompt {
    prompt(&json!({"messages": [{"role": "user", "content": "Hello"}]}))
}
