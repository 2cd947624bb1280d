//! Every manifest of the standard, of every generation, drives a chat and a stream against a server that speaks its style.
//!
//! Which style a provider has is written here and not asked of the crate; the same answer (a text, a tool call, usage)
//! lies in `every_manifest/` in each style, whole and streamed, and must become the same message.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "it reads the shared data, and says if it is absent"
)]

use std::path::{Path, PathBuf};

use pi_provider::{
    Call, Manifest, Secret, StreamEvent, Target,
    assembly::{Asked, Assembly, End},
    client::{Client, Settings},
    credential::Credential,
    manifest::load::{Format, load},
    request,
    transport::Network,
};
use pi_testkit::{Reply, Request, Script, Server};
use pi_transcript::{
    Block, StopReason,
    json::{Loose, Open},
    message::AssistantMessage,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/ai-protocol");
const MODEL: &str = "m-1";
const KEY: &str = "key-4711-planted";

/// How a server of this style is asked and answers.
struct Style {
    whole: &'static str,
    stream: &'static str,
    path: &'static str,
    stream_path: &'static str,
    /// The member that holds the conversation.
    messages: &'static str,
    /// Where the name of the first tool is.
    tool: &'static str,
    /// Whether a member asks for the stream; Gemini has an address for it.
    flag: bool,
}

const OPENAI: Style = Style {
    whole: include_str!("every_manifest/openai.json"),
    stream: include_str!("every_manifest/openai.sse"),
    path: "/base/chat/completions",
    stream_path: "/base/chat/completions",
    messages: "messages",
    tool: "/tools/0/function/name",
    flag: true,
};
const ANTHROPIC: Style = Style {
    whole: include_str!("every_manifest/anthropic.json"),
    stream: include_str!("every_manifest/anthropic.sse"),
    path: "/base/v1/messages",
    stream_path: "/base/v1/messages",
    messages: "messages",
    tool: "/tools/0/name",
    flag: true,
};
const GEMINI: Style = Style {
    whole: include_str!("every_manifest/gemini.json"),
    stream: include_str!("every_manifest/gemini.sse"),
    path: "/base/models/m-1:generateContent",
    stream_path: "/base/models/m-1:streamGenerateContent",
    messages: "contents",
    tool: "/tools/0/functionDeclarations/0/name",
    flag: false,
};
const COHERE: Style = Style {
    whole: include_str!("every_manifest/cohere.json"),
    stream: include_str!("every_manifest/cohere.sse"),
    path: "/base/chat",
    stream_path: "/base/chat",
    messages: "messages",
    tool: "/tools/0/function/name",
    flag: true,
};

fn style(provider: &str) -> &'static Style {
    match provider {
        "anthropic" => &ANTHROPIC,
        "gemini" | "google" => &GEMINI,
        "cohere" => &COHERE,
        _ => &OPENAI,
    }
}

#[tokio::test]
async fn every_manifest_of_the_standard_chats_and_streams() {
    let files: Vec<PathBuf> = ["v1", "v2-alpha", "v2"].into_iter().flat_map(files).collect();
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap();
        let shown = file.strip_prefix(DATA).unwrap().display().to_string();
        let loaded = load(&text, &shown, Format::Yaml);
        let manifest = loaded.manifest.unwrap_or_else(|| panic!("{shown}: {:?}", loaded.diagnostics));
        let provider = file.file_stem().unwrap().to_string_lossy();
        chat(&shown, &manifest, style(&provider)).await;
    }
    assert!(files.is_empty() || files.len() >= 21, "manifests are missing: {files:?}");
}

fn files(generation: &str) -> Vec<PathBuf> {
    let folder = Path::new(DATA).join(generation).join("providers");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("SKIPPED: manifests {generation} of the shared data are absent");
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

async fn chat(shown: &str, manifest: &Manifest, style: &Style) {
    // Pieces end in the middle of frames, and of letters: nothing may depend on how bytes arrive.
    let pieces = style.stream.as_bytes().chunks(7);
    let script =
        Script::new().then(Reply::whole(200, "application/json", style.whole.as_bytes())).then(Reply::events(pieces));
    let server = Server::start(script).await.unwrap();
    let base = format!("{}/base", server.url());
    let target = Target { manifest, model: MODEL, entry: None, base_url: Some(&base), lookup: &|_| None };
    let asked = request::plain(&messages(), tools().as_object().unwrap()).unwrap();
    let call = Call { prompt: &asked.prompt, options: &asked.options };
    let client = Client::new(Settings::new(Network::default()));
    let credential = Credential::key(Secret::new(KEY));
    let cancel = CancellationToken::new();

    let whole = client.complete(&target, call, Some(&credential), &cancel).await;
    let whole = whole.unwrap_or_else(|error| panic!("{shown}, whole: {error:?}"));
    check_message(&format!("{shown}, whole"), manifest, whole.events);

    let answer = client.stream(&target, call, Some(&credential), &cancel).await;
    let mut answer = answer.unwrap_or_else(|error| panic!("{shown}, stream: {error:?}"));
    let mut events = Vec::new();
    while let Some(event) = answer.next().await {
        events.push(event.unwrap_or_else(|error| panic!("{shown}, stream: {error:?}")));
    }
    check_message(&format!("{shown}, stream"), manifest, events);

    let requests = server.requests();
    assert_eq!(requests.len(), 2, "{shown}");
    check_request(&format!("{shown}, whole"), &requests[0], style, style.path, false);
    check_request(&format!("{shown}, stream"), &requests[1], style, style.stream_path, true);
}

fn messages() -> Vec<Value> {
    vec![json!({"role": "system", "content": "Be short."}), json!({"role": "user", "content": "Weather in Rome?"})]
}

fn tools() -> Value {
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    json!({"max_tokens": 256, "tools": [{"name": "get_weather", "description": "The weather.", "parameters": parameters}]})
}

fn check_message(shown: &str, manifest: &Manifest, events: Vec<StreamEvent>) {
    let asked = Asked {
        api: "test".to_owned(),
        provider: manifest.id.clone(),
        model: MODEL.into(),
        pricing: None,
        thinking_level: None,
        timestamp: 0,
    };
    let (mut assembly, mut out) = (Assembly::new(asked), Vec::new());
    events.into_iter().for_each(|event| assembly.push(event, &mut out));
    assert_eq!(assembly.unusable_calls().count(), 0, "{shown}");
    let message = assembly.finish(End::Proper, &mut out);
    let AssistantMessage { content, usage, stop_reason, error_message, response_id, .. } = &message;
    assert_eq!((error_message, stop_reason), (&None, &Open::Known(StopReason::ToolUse)), "{shown}: {message:?}");
    let shape: Vec<String> = content
        .iter()
        .map(|block| match block {
            Block::Text(block) => block.text.clone(),
            Block::ToolCall(call) => format!("{} {} {}", call.id, call.name, Value::Object(call.arguments.clone())),
            other => format!("{other:?}"),
        })
        .collect();
    let id = shape.get(1).and_then(|call| call.split(' ').next()).unwrap_or_default().to_owned();
    assert_eq!(shape, ["Grüße aus Rom".to_owned(), format!("{id} get_weather {{\"city\":\"Rome\"}}")], "{shown}");
    assert_eq!(id, "call_1", "{shown}");
    assert_eq!(response_id.as_deref(), Some("chatcmpl-1"), "{shown}");
    let Loose::Known(usage) = usage else { panic!("{shown}: {usage:?}") };
    assert_eq!((usage.input, usage.output), (33, 44), "{shown}");
}

fn check_request(shown: &str, request: &Request, style: &Style, path: &str, streams: bool) {
    let body = request.json();
    assert_eq!(request.target.split('?').next(), Some(path), "{shown}");
    let conversation = body[style.messages].as_array().unwrap_or_else(|| panic!("{shown}: {body}"));
    assert!(!conversation.is_empty() && body.to_string().contains("Weather in Rome?"), "{shown}: {body}");
    assert_eq!(body.pointer(style.tool), Some(&json!("get_weather")), "{shown}: {body}");
    assert!(body.to_string().contains("Be short."), "{shown}: {body}");
    if style.flag {
        assert_eq!(body.get("stream").and_then(Value::as_bool).unwrap_or(false), streams, "{shown}: {body}");
    } else {
        assert_eq!(request.target.contains("alt=sse"), streams, "{shown}: {}", request.target);
    }
    // The credential is in exactly one place, and that is not the body.
    let in_headers = request.headers.iter().filter(|(_, value)| value.contains(KEY)).count();
    assert_eq!(in_headers + request.target.matches(KEY).count(), 1, "{shown}: {request:?}");
    assert!(!String::from_utf8_lossy(&request.body).contains(KEY), "{shown}");
}
