//! A real language model, small and silly: what it says is its own matter, in which form it says it is ours.

use std::sync::LazyLock;

use pi_provider::{CallError, ErrorCode, StreamEvent};
use pi_testkit::{NoPeer, Peer, peer::MODEL};
use pi_transcript::{StopReason, json::Open};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::asking::{Provider, Told, conversation, question, running};

static PEER: LazyLock<Result<Peer, NoPeer>> = LazyLock::new(Peer::model);

/// The same model over both wires.
fn wires() -> Vec<Provider> {
    let Some(peer) = running(&PEER, "the language model") else { return Vec::new() };
    vec![Provider::new("llamacpp", MODEL, peer, ""), Provider::new("anthropic", MODEL, peer, "/v1")]
}

fn tools() -> Value {
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    json!([{"name": "get_weather", "description": "The weather in a city.", "parameters": parameters}])
}

/// Some text, counted, and ended for one of the two usual reasons.
fn check_answer(wire: &Provider, told: &Told) {
    let (prompt, answer) = told.usage();
    assert!(!told.text().is_empty() && prompt > 5 && (1..=12).contains(&answer), "{}: {told:?}", wire.manifest.id);
    let reason = &told.message.stop_reason;
    assert!(
        matches!(reason, Open::Known(StopReason::Stop | StopReason::Length)),
        "{}: {:?}",
        wire.manifest.id,
        told.message
    );
}

#[tokio::test]
async fn whole_answers_are_counted() {
    for wire in wires() {
        let told = wire.complete(&question("Name a colour.", json!({"max_tokens": 12}))).await.unwrap();
        check_answer(&wire, &told);
    }
}

#[tokio::test]
async fn streams_are_counted_too() {
    for wire in wires() {
        let told = wire.stream(&question("Name a colour.", json!({"max_tokens": 12}))).await.unwrap();
        check_answer(&wire, &told);
        assert!(told.pieces().0 > 1, "{}: {:?}", wire.manifest.id, told.events);
    }
}

#[tokio::test]
async fn forced_tool_call_streams_its_arguments() {
    for wire in wires() {
        let parameters = json!({
            "tools": tools(), "tool_choice": "required", "parallel_tool_calls": false, "max_tokens": 60, "temperature": 0.0,
        });
        let told = wire.stream(&question("What is the weather in Paris?", parameters)).await.unwrap();
        let calls = told.calls();
        assert!(matches!(calls.as_slice(), [("get_weather", arguments)] if arguments["city"].is_string()), "{calls:?}");
        assert!(told.pieces().1 > 1, "{}: {:?}", wire.manifest.id, told.events);
        assert_eq!(told.message.stop_reason, Open::Known(StopReason::ToolUse), "{}", wire.manifest.id);
    }
}

#[tokio::test]
async fn result_of_a_tool_is_taken_back() {
    for wire in wires() {
        let function = json!({"name": "get_weather", "arguments": "{\"city\":\"Paris\"}"});
        let messages = [
            json!({"role": "user", "content": "What is the weather in Paris?"}),
            json!({"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function", "function": function}]}),
            json!({"role": "tool", "tool_call_id": "call_1", "name": "get_weather", "content": "Sunny, 20 degrees"}),
        ];
        let told = wire.complete(&conversation(&messages, json!({"tools": tools(), "max_tokens": 12}))).await.unwrap();
        check_answer(&wire, &told);
    }
}

#[tokio::test]
async fn prompt_that_is_too_long_says_so() {
    for wire in wires() {
        let asked = question(&"one two three four ".repeat(2000), json!({"max_tokens": 12}));
        let error = wire.complete(&asked).await.err().unwrap();
        assert_eq!(error.code(), ErrorCode::RequestTooLarge, "{}: {error:?}", wire.manifest.id);
        let error = wire.stream(&asked).await.err().unwrap();
        assert_eq!(error.code(), ErrorCode::RequestTooLarge, "{}, streamed: {error:?}", wire.manifest.id);
    }
}

#[tokio::test]
async fn answer_fits_the_schema_that_was_asked_for() {
    let Some(wire) = wires().into_iter().next() else { return };
    let schema = json!({
        "type": "object", "properties": {"colour": {"enum": ["red", "blue"]}}, "required": ["colour"], "additionalProperties": false,
    });
    let format = json!({"type": "json_schema", "json_schema": {"name": "colour", "schema": schema}});
    let asked = question("A colour?", json!({"response_format": format, "max_tokens": 30}));
    // Nothing keeps a model from white space between the parts of an object: an answer that was cut in it shows nothing.
    for _ in 0..20 {
        let told = wire.complete(&asked).await.unwrap();
        if told.message.stop_reason == Open::Known(StopReason::Length) {
            continue;
        }
        let answer: Value = serde_json::from_str(&told.text()).unwrap_or_else(|error| panic!("{error}: {told:?}"));
        assert!(answer == json!({"colour": "red"}) || answer == json!({"colour": "blue"}), "{answer}");
        return;
    }
    panic!("no answer came to its end");
}

#[tokio::test]
async fn cancelled_stream_frees_the_server() {
    for wire in wires() {
        let cancel = CancellationToken::new();
        let asked = question("Count to one thousand.", json!({"max_tokens": 3000}));
        let mut answer = wire.begin(&asked, &cancel).await.unwrap();
        while let Some(event) = answer.next().await {
            if matches!(event.unwrap(), StreamEvent::PartialContentDelta { .. }) {
                break;
            }
        }
        cancel.cancel();
        let error = loop {
            match answer.next().await {
                Some(Ok(_)) => {}
                Some(Err(error)) => break error,
                None => panic!("it ended by itself"),
            }
        };
        assert!(matches!(error, CallError::Cancelled), "{error:?}");
        drop(answer);
        // Three thousand tokens would take a minute; an answer in seconds means that nobody makes them any more.
        let told = wire.complete(&question("Name a colour.", json!({"max_tokens": 12}))).await.unwrap();
        check_answer(&wire, &told);
    }
}
