//! Calls that a model writes as text, over a socket.

use pi_envelope::Tool;
use pi_provider::{Attempts, Finish, ToolChoice};
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

/// Only the server knows that the model takes no tools, and it says so when it is asked.
#[tokio::test]
async fn model_that_refuses_tools_is_asked_again_in_words() {
    let refused = || Reply::json(400, &json!({"error": {"message": "registry.example/small does not support tools"}}));
    let native = json!({"native": {"supported": true, "reliability": "full"}, "text_fallback": {}});
    let script = Script::new().then(refused()).then(streamed(WRITTEN, &stop())).then(whole(WRITTEN));
    let fixture = fixture(script, native).await;
    let expected = "Let me look. [read {\"path\":\"a.rs\"}] ToolUse";
    assert_eq!(show(&events(&fixture).await), expected);
    let completion = fixture.complete().await.unwrap();
    assert_eq!(show(&completion.events), expected);
    let is_told = |change: &pi_provider::request::Change| change.option == "tools";
    assert!(completion.facts.changes.iter().any(is_told), "{:?}", completion.facts.changes);
    let asked = fixture.server.requests();
    let are_native: Vec<bool> = asked.iter().map(|request| !request.json()["tools"].is_null()).collect();
    assert_eq!(are_native, [true, false, false], "what it said is remembered");
}

#[tokio::test]
async fn refusal_of_tools_is_final_without_a_form_for_words() {
    let refused = Reply::json(400, &json!({"error": {"message": "small does not support tools"}}));
    let fixture = fixture(Script::new().otherwise(refused), json!({"native": {"supported": true}})).await;
    let error = fixture.stream().await.err().unwrap();
    assert!(error.failure().is_some_and(pi_provider::Failure::refuses_tools), "{error}");
    assert_eq!(fixture.server.requests().len(), 1);
}

/// It is asked again at once, and the refusal is no failure of the server.
#[tokio::test]
async fn refusal_of_tools_by_a_status_of_the_server_is_not_its_failure() {
    let refused =
        json!({"error": {"code": 500, "message": "tools param requires --jinja flag", "type": "server_error"}});
    let native = json!({"native": {"supported": true, "reliability": "full"}, "text_fallback": {}});
    let script = Script::new().then(Reply::json(500, &refused)).then(streamed(WRITTEN, &stop()));
    let fixture = fixture(script, native).await;
    assert_eq!(show(&events(&fixture).await), "Let me look. [read {\"path\":\"a.rs\"}] ToolUse");
    assert_eq!(fixture.server.requests().len(), 2);
    assert_eq!(fixture.client.breakers().snapshots()[0].1.failures, 0);
}

/// A server that answers 200 before it knows better says it in the stream, cut anywhere.
#[tokio::test]
async fn refusal_of_tools_in_the_place_of_an_answer_is_one() {
    let expected = "Let me look. [read {\"path\":\"a.rs\"}] ToolUse";
    let native = || json!({"native": {"supported": true, "reliability": "full"}, "text_fallback": {}});
    let said = |error: Value| format!("data: {}\n\n", json!({"error": error}));
    let plain = said(json!({"message": "small does not support tools"}));
    let headed = said(json!({"type": "api_error", "code": 500, "message": "tools param requires --jinja flag"}));
    let counted = format!("data: {}\n\n", json!({"choices": [], "usage": {"prompt_tokens": 3}}));
    let (begin, end) = headed.split_at(20);
    let whole_refusal = json!({"error": {"type": "api_error", "message": "small does not support tools"}});
    for refused in [
        Reply::events([plain]),
        Reply::events([headed.clone()]),
        Reply::events([counted, headed.clone()]),
        Reply::events([begin.to_owned(), end.to_owned()]),
        Reply::json(200, &whole_refusal),
    ] {
        for attempts in [Attempts::Client, Attempts::Caller { attempt: 1 }] {
            let script = Script::new().then(refused.clone()).then(streamed(WRITTEN, &stop())).then(whole(WRITTEN));
            let mut fixture = fixture(script, native()).await;
            fixture.options.attempts = attempts;
            assert_eq!(show(&events(&fixture).await), expected);
            assert_eq!(show(&fixture.complete().await.unwrap().events), expected);
            let asked = fixture.server.requests();
            let are_native: Vec<bool> = asked.iter().map(|request| !request.json()["tools"].is_null()).collect();
            assert_eq!(are_native, [true, false, false]);
            assert_eq!(fixture.client.breakers().snapshots()[0].1.failures, 0);
        }
    }
}

#[tokio::test]
async fn refusal_of_tools_in_a_stream_is_final_without_a_form_for_words() {
    let error = json!({"error": {"type": "api_error", "message": "small does not support tools"}});
    let refused = Reply::events([format!("data: {error}\n\n")]);
    let fixture = fixture(Script::new().otherwise(refused), json!({"native": {"supported": true}})).await;
    let error = fixture.error().await;
    assert!(error.failure().is_some_and(pi_provider::Failure::refuses_tools), "{error}");
    assert_eq!(fixture.server.requests().len(), 1);
}

#[tokio::test]
async fn only_words_about_tools_refuse_them() {
    let native = || json!({"native": {"supported": true, "reliability": "full"}, "text_fallback": {}});
    for (message, requests) in [
        ("`tool calling` is not supported with this model", 2),
        ("m does not support tools.", 2),
        ("Invalid tools[0].function: schema does not support toolsets", 1),
    ] {
        let refused = Reply::json(400, &json!({"error": {"message": message}}));
        let fixture = fixture(Script::new().then(refused).otherwise(streamed("Hi", &stop())), native()).await;
        assert_eq!(fixture.stream().await.is_ok(), requests == 2, "{message}");
        assert_eq!(fixture.server.requests().len(), requests, "{message}");
    }
}
