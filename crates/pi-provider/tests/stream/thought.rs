//! Thinking between tags in the text of an answer.

use pi_provider::{Dialect, StreamEvent, stream::Pipeline};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::manifest::manifest;

fn pipeline(tags: &Value) -> Pipeline {
    let mode = json!({"generative": {"reasoning_mode": {"text_tags": tags}}});
    let changes = json!({
        "streaming": {"decoder": {"format": "sse"}},
        "provider_contract": {"capability_contracts": mode},
    });
    Pipeline::compile(&manifest("http://127.0.0.1:1", changes), Dialect::OpenaiChat).unwrap()
}

fn think() -> Value {
    json!([{"open": "<think>", "close": "</think>"}, {"open": "[THINK]", "close": "[/THINK]"}])
}

fn delta(delta: &Value) -> String {
    format!("data: {}\n\n", json!({"choices": [{"delta": delta}]}))
}

const END: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// What was thought and what was said in the events.
fn told(events: &[StreamEvent]) -> (String, String) {
    let (mut thought, mut said) = (String::new(), String::new());
    for event in events {
        match event {
            StreamEvent::ThinkingDelta { thinking, .. } => thought.push_str(thinking),
            StreamEvent::PartialContentDelta { content, .. } => said.push_str(content),
            _ => {}
        }
    }
    (thought, said)
}

/// The same of a stream of these bytes, in these pieces; the end is the last event.
fn decoded<'a>(pipeline: &Pipeline, pieces: impl Iterator<Item = &'a [u8]>) -> (String, String) {
    let mut decoder = pipeline.start();
    let mut events = Vec::new();
    pieces.for_each(|piece| decoder.push(piece, &mut events).unwrap());
    decoder.finish(&mut events).unwrap();
    assert!(matches!(events.last(), Some(StreamEvent::StreamEnd { .. })), "{events:?}");
    told(&events)
}

/// A text that comes letter by letter, as a whole in one frame, and as a whole answer.
#[track_caller]
fn check(text: &str, thought: &str, said: &str) {
    let pipeline = pipeline(&think());
    let letters: Vec<String> = text.chars().map(|letter| delta(&json!({"content": letter}))).collect();
    let stream = format!("{}{END}", letters.concat());
    let expected = (thought.to_owned(), said.to_owned());
    assert_eq!(decoded(&pipeline, [stream.as_bytes()].into_iter()), expected, "by letters");
    let whole = format!("{}{END}", delta(&json!({"content": text})));
    assert_eq!(decoded(&pipeline, [whole.as_bytes()].into_iter()), expected, "in one frame");
    let mut events = Vec::new();
    let body = json!({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}).to_string();
    pipeline.read_whole(&body, &mut events);
    assert_eq!(told(&events), expected, "whole");
}

#[test]
fn text_between_tags_at_the_beginning_is_thinking() {
    check("<think>\nLet me see.\n</think>\n\nYes.", "Let me see.\n", "Yes.");
    check(" \n<think>a</think>b", "a", "b");
    check("[THINK]a[/THINK]b", "a", "b");
    check("<think>\n\n</think>\n\nYes.", "", "Yes.");
    check("<think>a < b </thin k</think>c", "a < b </thin k", "c");
    check("<think>a [/THINK] b</think>c", "a [/THINK] b", "c");
}

#[test]
fn thinking_that_is_never_closed_stays_thinking() {
    check("<think>and so on </thi", "and so on </thi", "");
    check("<think>", "", "");
}

#[test]
fn tags_elsewhere_are_text() {
    check("Write <think>a</think> for it.", "", "Write <think>a</think> for it.");
    check("<think>a</think>b<think>c</think>", "a", "b<think>c</think>");
    check("<thin", "", "<thin");
    check("<thing>a</thing>", "", "<thing>a</thing>");
    check(" \n", "", " \n");
    let lead = " ".repeat(65);
    check(&format!("{lead}<think>a</think>b"), "", &format!("{lead}<think>a</think>b"));
}

#[test]
fn without_tags_in_the_manifest_all_is_text() {
    let text = format!("{}{END}", delta(&json!({"content": "<think>a</think>b"})));
    let expected = (String::new(), "<think>a</think>b".to_owned());
    assert_eq!(decoded(&pipeline(&json!([])), [text.as_bytes()].into_iter()), expected);
}

#[test]
fn whoever_tells_thinking_itself_is_believed() {
    let frames = [json!({"reasoning_content": "hm"}), json!({"content": "<think>a</think>b"})];
    let stream = format!("{}{END}", frames.iter().map(delta).collect::<String>());
    let expected = ("hm".to_owned(), "<think>a</think>b".to_owned());
    assert_eq!(decoded(&pipeline(&think()), [stream.as_bytes()].into_iter()), expected);
}

#[test]
fn call_ends_thinking_that_is_open() {
    let call = json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "ls", "arguments": "{}"}}]});
    let stream = format!("{}{}{END}", delta(&json!({"content": "<think>so</th"})), delta(&call));
    let mut decoder = pipeline(&think()).start();
    let mut events = Vec::new();
    decoder.push(stream.as_bytes(), &mut events).unwrap();
    let kinds: Vec<&str> = events
        .iter()
        .map(|event| match event {
            StreamEvent::ThinkingDelta { thinking, .. } => thinking.as_str(),
            StreamEvent::ToolCallStarted { .. } => "call",
            _ => "",
        })
        .filter(|kind| !kind.is_empty())
        .collect();
    assert_eq!(kinds, ["so", "</th", "call"]);
}

#[test]
fn empty_tag_is_refused() {
    let mode = json!({"text_tags": [{"open": "", "close": "x"}]});
    let read = serde_json::from_value::<pi_provider::manifest::contract::ReasoningMode>(mode);
    assert_eq!(read.unwrap_err().to_string(), "a tag cannot be empty");
}

proptest! {
    #[test]
    fn any_cut_of_any_text_tells_the_same(
        pieces in prop::collection::vec("(<think>|</think>|<|/|think>|[a é\n]){0,3}", 0..8),
        cuts in prop::collection::vec(1_usize..40, 0..12),
    ) {
        let pipeline = pipeline(&think());
        let text = pieces.concat();
        let whole = format!("{}{END}", delta(&json!({"content": text})));
        let expected = decoded(&pipeline, [whole.as_bytes()].into_iter());
        let stream = pieces.iter().map(|piece| delta(&json!({"content": piece}))).collect::<String>() + END;
        let mut rest = stream.as_bytes();
        let mut parts = Vec::new();
        for cut in cuts {
            let (part, after) = rest.split_at(cut.min(rest.len()));
            parts.push(part);
            rest = after;
        }
        parts.push(rest);
        prop_assert_eq!(decoded(&pipeline, parts.into_iter()), expected.clone());
        // Nothing is lost but tags and white space around them.
        let letters = |text: &str| text.chars().filter(|letter| "aé".contains(*letter)).count();
        prop_assert_eq!(letters(&text), letters(&expected.0) + letters(&expected.1));
    }
}
