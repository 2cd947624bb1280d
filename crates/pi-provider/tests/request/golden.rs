//! The whole body of one rich conversation in each dialect. Read every snapshot that you accept.

use pi_envelope::Prompt;
use pi_provider::{CacheRetention, Options, ToolChoice};
use pi_transcript::ThinkingLevel;
use serde_json::json;

use crate::{MODEL, ask, body, changes, prompt, provider};

/// Two tools, thinking and calls of this model and of another, images, a summary, a command, an abort and an error.
pub(crate) fn rich(api: &str) -> Prompt {
    let own = |content: serde_json::Value| {
        json!({"role": "assistant", "api": api, "provider": "mock-one", "model": MODEL, "stopReason": "toolUse",
               "content": content})
    };
    prompt(&json!({
        "system": "You are terse.",
        "tools": [
            {"name": "read", "description": "Reads a file.",
             "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}},
            {"name": "look", "description": "Takes a picture.", "parameters": {"type": "object", "properties": {}}},
        ],
        "messages": [
            {"role": "compactionSummary", "summary": "They greeted each other."},
            {"role": "user", "content": [
                {"type": "text", "text": "What is in these?"},
                {"type": "image", "data": "iVBO", "mimeType": "image/png"},
                {"type": "document", "data": "JVBE", "mimeType": "application/pdf", "fileName": "a.pdf"},
            ]},
            {"role": "assistant", "stopReason": "toolUse", "content": [
                {"type": "thinking", "thinking": "Another model thought this.", "thinkingSignature": "foreign"},
                {"type": "toolCall", "id": "call|with/odd.id", "name": "read", "arguments": {"path": "a.txt"}},
            ]},
            {"role": "toolResult", "toolCallId": "call|with/odd.id", "toolName": "read",
             "content": [{"type": "text", "text": "alpha"}]},
            own(json!([
                {"type": "thinking", "thinking": "I need both.", "thinkingSignature": "sig-1"},
                {"type": "text", "text": "I look at both."},
                {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "b.txt"},
                 "thoughtSignature": "sig-2"},
                {"type": "toolCall", "id": "c2", "name": "look", "arguments": {}},
                {"type": "toolCall", "id": "c3", "name": "read", "arguments": {"path": "lost"}},
            ])),
            {"role": "toolResult", "toolCallId": "c2", "toolName": "look",
             "content": [{"type": "image", "data": "R0lG", "mimeType": "image/gif"}]},
            {"role": "toolResult", "toolCallId": "c1", "toolName": "read", "isError": true,
             "content": [{"type": "text", "text": "no such file"}]},
            {"role": "assistant", "stopReason": "aborted", "content": [
                {"type": "thinking", "thinking": "cut"}, {"type": "text", "text": "It seems that"},
            ]},
            {"role": "assistant", "stopReason": "error", "content": [{"type": "text", "text": "overl"}]},
            {"role": "bashExecution", "command": "ls", "output": "a.txt"},
            {"role": "bashExecution", "command": "secret", "output": "kept", "excludeFromContext": true},
            {"role": "custom", "content": "An extension says hello."},
            {"role": "system", "content": "Answer in French from now on."},
            {"role": "user", "content": "Go on."},
        ],
    }))
}

fn check(name: &str, adapter: &str, api: &str) {
    let models = json!({MODEL: {"max_output_tokens": 32000, "model_capabilities": {"reasoning": true}}});
    let manifest = provider(adapter, json!({"models": models}));
    let options = Options {
        thinking: ThinkingLevel::Medium,
        tool_choice: ToolChoice::None,
        parallel_tools: Some(true),
        cache: CacheRetention::Long,
        parameters: crate::object(&json!({"max_tokens": 9000, "stop": ["END"]})),
        session: Some("s-1".to_owned()),
        ..Options::plain()
    };
    let request = ask(&manifest, &rich(api), &options).unwrap();
    let shown = json!({
        "line": format!("{} {}", request.method, request.address.url),
        "headers": request.headers,
        "body": body(&request),
        "changes": changes(&request.changes),
        "provider_thinking": request.provider_thinking,
    });
    insta::with_settings!({prepend_module_to_snapshot => false, omit_expression => true}, {
        insta::assert_json_snapshot!(name, shown);
    });
}

#[test]
fn chat_completions() {
    check("openai_chat", "openai", "openai-completions");
}

#[test]
fn responses() {
    check("openai_responses", "responses", "openai-responses");
}

#[test]
fn messages() {
    check("anthropic_messages", "anthropic", "anthropic-messages");
}

#[test]
fn generate_content() {
    check("gemini_generate", "gemini", "google-generative-ai");
}

#[test]
fn cohere() {
    check("cohere_v2", "cohere_v2", "cohere-v2");
}

#[test]
fn the_demo_speaks_chat_completions() {
    let prompt = rich("pi-demo");
    let (demo, chat) = (provider("demo", json!({})), provider("openai", json!({})));
    let options = Options::plain();
    let demo = body(&ask(&demo, &prompt, &options).unwrap());
    // Thinking of "this" model is told to the other one, since their APIs differ; nothing else does.
    let chat = body(&ask(&chat, &rich("openai-completions"), &options).unwrap());
    assert_eq!(demo, chat);
}
