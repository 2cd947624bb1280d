//! Calls that a model writes as text, over a socket.

use pi_envelope::Tool;
use pi_provider::{Finish, ToolChoice};
use pi_transcript::ToolDefinition;
use serde_json::Map;

use super::*;

const WRITTEN: &str =
    "Let me look.\n<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"a.rs\"}}\n</tool_call>";

async fn fixture(script: Script, tool_calling: Value) -> Fixture {
    let changes = json!({"capabilities": {"tool_calling": tool_calling}});
    let mut fixture = Fixture::with(script, changes).await;
    let definition = ToolDefinition {
        name: "read".to_owned(),
        description: "Reads a file".to_owned(),
        parameters: json!({"type": "object"}),
        extra: Map::new(),
    };
    fixture.prompt.tools = vec![Tool { definition, provenance: Provenance::usual(Origin::BuiltIn) }];
    fixture
}

/// The text as the server would stream it, three letters at a time.
fn streamed(text: &str, last: &str) -> Reply {
    let letters: Vec<char> = text.chars().collect();
    let pieces = letters.chunks(3).map(|piece| delta(&piece.iter().collect::<String>()));
    Reply::events(pieces.chain([last.to_owned(), "data: [DONE]\n\n".to_owned()]).collect::<Vec<_>>())
}

/// Text, calls and the reason for the end, in one line.
fn show(events: &[StreamEvent]) -> String {
    let mut shown = String::new();
    for event in events {
        match event {
            StreamEvent::PartialContentDelta { content, .. } => shown.push_str(content),
            StreamEvent::ToolCallStarted { tool_name, .. } => shown.push_str(&format!(" [{tool_name} ")),
            StreamEvent::PartialToolCall { arguments, .. } => shown.push_str(arguments),
            StreamEvent::ToolCallEnded { .. } => shown.push(']'),
            StreamEvent::StreamEnd { finish: Some(Finish { reason, .. }) } => shown.push_str(&format!(" {reason:?}")),
            _ => {}
        }
    }
    shown
}

async fn events(fixture: &Fixture) -> Vec<StreamEvent> {
    let mut answer = fixture.stream().await.unwrap();
    let mut events = Vec::new();
    while let Some(event) = answer.next().await {
        events.push(event.unwrap());
    }
    events
}

fn unsupported() -> Value {
    json!({"native": {"supported": false}, "text_fallback": {}})
}

#[tokio::test]
async fn call_that_is_written_as_text_becomes_a_call() {
    let expected = "Let me look. [read {\"path\":\"a.rs\"}] ToolUse";
    let partial = json!({"native": {"supported": true, "reliability": "partial"}, "text_fallback": {}});
    for calling in [unsupported(), partial] {
        let script = Script::new().then(streamed(WRITTEN, &stop())).then(whole(WRITTEN));
        let fixture = fixture(script, calling).await;
        assert_eq!(show(&events(&fixture).await), expected);
        assert_eq!(show(&fixture.complete().await.unwrap().events), expected);
    }
}

#[tokio::test]
async fn text_is_left_alone_where_nobody_asked_for_calls_in_it() {
    let plain = format!("{WRITTEN} EndTurn");
    let declared = json!({"native": {"supported": true}});
    let reliable = json!({"native": {"supported": true, "reliability": "full"}, "text_fallback": {}});
    for calling in [declared, reliable] {
        let fixture = fixture(Script::new().then(streamed(WRITTEN, &stop())), calling).await;
        assert_eq!(show(&events(&fixture).await), plain);
    }
    let mut without_tools = fixture(Script::new().then(streamed(WRITTEN, &stop())), unsupported()).await;
    without_tools.prompt.tools.clear();
    assert_eq!(show(&events(&without_tools).await), plain);
}

#[tokio::test]
async fn what_looks_like_a_call_is_text_where_none_may_be_made() {
    let script = Script::new().then(streamed(WRITTEN, &stop())).then(whole(WRITTEN));
    let mut fixture = fixture(script, unsupported()).await;
    fixture.options.tool_choice = ToolChoice::None;
    let plain = format!("{WRITTEN} EndTurn");
    assert_eq!(show(&events(&fixture).await), plain);
    assert_eq!(show(&fixture.complete().await.unwrap().events), plain);
}

#[tokio::test]
async fn proper_call_wins_over_one_in_the_text() {
    let call = json!({"index": 0, "id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}});
    let partial = json!({"native": {"supported": true, "reliability": "partial"}, "text_fallback": {}});
    let begun = format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}));
    let message = json!({"role": "assistant", "content": WRITTEN, "tool_calls": [call]});
    let body = json!({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]});
    let stream = Reply::events([begun, delta(WRITTEN), stop(), "data: [DONE]\n\n".to_owned()]);
    let fixture = fixture(Script::new().then(stream).then(Reply::json(200, &body)), partial).await;
    let events = events(&fixture).await;
    assert!(show(&events).contains(WRITTEN), "{}", show(&events));
    assert_eq!(show(&fixture.complete().await.unwrap().events), format!("{WRITTEN} [read {{}}] ToolUse"));
}

#[tokio::test]
async fn unclosed_call_is_decided_when_the_stream_breaks_off() {
    let fixture = fixture(Script::new().then(Reply::events([delta("See <tool_call>{\"na")])), unsupported()).await;
    let mut answer = fixture.stream().await.unwrap();
    let mut seen = Vec::new();
    let error = loop {
        match answer.next().await.unwrap() {
            Ok(event) => seen.push(event),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, CallError::Truncated { .. }), "{error}");
    assert_eq!(show(&seen), "See <tool_call>{\"na");
}
