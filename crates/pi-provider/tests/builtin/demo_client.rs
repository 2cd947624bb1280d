//! The demo model through the client: request builder, decoder and all.

use pi_provider::{
    Call, CallError, ErrorCode, StreamEvent, Target, builtin,
    client::{Client, Settings},
    manifest::load::{Format, load},
    request::plain,
    transport::Network,
};
use pi_transcript::ThinkingLevel;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::transcription::transcribe;

/// The answer to these messages, streamed and as a whole, as lines.
async fn ask(model: &str, messages: Value, tools: Option<Value>) -> Result<(String, String), CallError> {
    let built_in = builtin::find("demo").unwrap();
    let manifest = load(built_in.text, &built_in.path(), Format::Yaml).manifest.unwrap();
    let client = Client::new(Settings::new(Network::default()));
    let parameters: Map<String, Value> = tools.into_iter().map(|tools| ("tools".to_owned(), tools)).collect();
    let mut plain = plain(messages.as_array().unwrap(), &parameters).unwrap();
    plain.options.thinking = ThinkingLevel::Low;
    let call = Call { prompt: &plain.prompt, options: &plain.options };
    let target =
        Target { manifest: &manifest, model, entry: manifest.models.get(model), base_url: None, lookup: &|_| None };
    let cancel = CancellationToken::new();
    let mut answer = client.stream(&target, call, None, &cancel).await?;
    let mut events = Vec::new();
    while let Some(event) = answer.next().await {
        events.push(event?);
    }
    let completion = client.complete(&target, call, None, &cancel).await?;
    Ok((transcribe(&joined(events)), transcribe(&completion.events)))
}

/// Neighbouring pieces of the same text as one.
fn joined(events: Vec<StreamEvent>) -> Vec<StreamEvent> {
    let mut whole: Vec<StreamEvent> = Vec::new();
    for event in events {
        match (whole.last_mut(), event) {
            (
                Some(StreamEvent::PartialContentDelta { content, .. }),
                StreamEvent::PartialContentDelta { content: more, .. },
            ) => content.push_str(&more),
            (Some(StreamEvent::ThinkingDelta { thinking, .. }), StreamEvent::ThinkingDelta { thinking: more, .. }) => {
                thinking.push_str(&more);
            }
            (_, event) => whole.push(event),
        }
    }
    whole
}

#[tokio::test]
async fn a_tool_is_called_and_its_result_told() {
    let tools = json!([{ "type": "function", "function": { "name": "read", "parameters": { "type": "object",
        "properties": { "path": { "type": "string" } }, "required": ["path"] } } }]);
    let question = json!({ "role": "user", "content": "read Cargo.toml" });
    let (call, whole) = ask("demo", json!([question]), Some(tools.clone())).await.unwrap();
    assert!(
        call.contains("call 0 call_demo_1 read\narguments 0 call_demo_1 \"{\\\"path\\\":\\\"Cargo.toml\\\"}\"\n"),
        "{call}"
    );
    assert!(call.contains("thinking \"Step 1 of 1 asks for the tool read.\"\n"), "{call}");
    assert!(whole.contains("read\n") && whole.contains("Cargo.toml"), "{whole}");
    let called = json!({ "role": "assistant", "content": "", "tool_calls": [{ "id": "call_demo_1", "type": "function",
        "function": { "name": "read", "arguments": "{\"path\":\"Cargo.toml\"}" } }] });
    let result = json!({ "role": "tool", "tool_call_id": "call_demo_1", "content": "[workspace]" });
    let (told, _) = ask("demo", json!([question, called, result]), Some(tools)).await.unwrap();
    assert!(told.contains("content \"The tool `read` says: [workspace]\"\n"), "{told}");
    assert!(told.ends_with("end EndTurn (stop)\n"), "{told}");
}

#[tokio::test]
async fn a_question_is_answered_the_same_streamed_and_whole() {
    let (streamed, whole) = ask("demo", json!([{ "role": "user", "content": "what is pi?" }]), None).await.unwrap();
    let content = |text: &str| text.lines().find(|line| line.starts_with("content")).unwrap().to_owned();
    assert!(content(&streamed).contains("I am pi's demo model"), "{streamed}");
    assert_eq!(content(&streamed), content(&whole));
}

#[tokio::test]
async fn a_model_that_does_not_exist_is_an_error_of_the_standard() {
    let error = ask("demo-2", json!([{ "role": "user", "content": "hello" }]), None).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::NotFound);
}
