//! The standard's cases about streams, through the path that answers take.

#![expect(clippy::disallowed_methods, clippy::print_stderr, reason = "reads the shared data, and says if it is absent")]

use std::{fs, path::Path};

use pi_provider::{
    Asked, Assembly, Dialect, Manifest, Pipeline, StreamEvent, TokenUsage,
    assembly::End,
    manifest::{
        self, Format,
        streaming::{self, Rule},
    },
    stream::{
        Ending, Outcome,
        framing::{FRAME_LIMIT, Form, Framing},
        rule::Mapping,
    },
    tape::Tape,
};
use serde_json::{Map, Value, json};

use crate::transcription::transcribe;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/ai-protocol");

/// The case of this id, if the data are there.
fn case(file: &str, id: &str) -> Option<Value> {
    let Ok(text) = fs::read_to_string(format!("{DATA}/tests/compliance/cases/{file}")) else {
        eprintln!("SKIPPED: {id}, the shared data are absent");
        return None;
    };
    let documents = text.split("\n---\n").map(|document| serde_saphyr::from_str::<Value>(document).unwrap());
    let found = documents.into_iter().find(|case| case["id"] == id);
    assert!(found.is_some(), "{id} is in {file}");
    found
}

fn load(file: &Path) -> Manifest {
    let text = fs::read_to_string(file).unwrap();
    manifest::load(&text, &file.display().to_string(), Format::Yaml).manifest.unwrap()
}

fn manifest_of(case: &Value) -> Manifest {
    let path = case["setup"]["manifest_path"].as_str().unwrap();
    load(&Path::new(DATA).join("tests/compliance").join(path))
}

fn decode(manifest: &Manifest, dialect: Dialect, stream: &str) -> (Vec<StreamEvent>, Ending) {
    let mut decoder = Pipeline::compile(manifest, dialect).unwrap().start_with(fastrand::Rng::with_seed(7));
    let mut events = Vec::new();
    decoder.push(stream.as_bytes(), &mut events).unwrap();
    let ending = decoder.finish(&mut events).unwrap();
    (events, ending)
}

fn texts(list: &Value, end: &str) -> String {
    list.as_array().unwrap().iter().map(|piece| piece.as_str().unwrap().to_owned() + end).collect()
}

#[test]
fn streams_are_decoded() {
    for id in ["str-001", "str-002"] {
        let Some(case) = case("04-streaming/sse-decode.yaml", id) else { return };
        let stream = texts(&case["input"]["raw_chunks"], "");
        let decoder: streaming::Decoder = serde_json::from_value(case["input"]["decoder_config"].clone()).unwrap();
        let mut framing = Framing::new(&Form::of(&decoder), FRAME_LIMIT);
        let mut frames = 0;
        framing.push(stream.as_bytes(), &mut |_| frames += 1).unwrap();
        framing.finish(&mut |_| frames += 1).unwrap();
        let count = &case["expected"]["frame_count"];
        let range = count["min"].as_u64().unwrap_or(1)..=count["max"].as_u64().unwrap_or(u64::MAX);
        assert!(range.contains(&frames), "{id}: {frames}");

        let mut manifest = manifest_of(&case);
        manifest.streaming.as_mut().unwrap().decoder = decoder;
        let mut decoder = Pipeline::compile(&manifest, Dialect::of(&manifest, None)).unwrap().start();
        let mut events = Vec::new();
        decoder.push(stream.as_bytes(), &mut events).unwrap();
        assert!(decoder.is_done(), "{id}");
        assert!(events.iter().any(|event| matches!(event, StreamEvent::PartialContentDelta { .. })), "{id}");
        assert_eq!(decoder.finish(&mut events).unwrap().outcome, Outcome::Complete, "{id}");
    }
}

#[test]
fn frames_are_mapped() {
    for id in ["str-003", "str-004", "str-005", "str-006"] {
        let Some(case) = case("04-streaming/event-mapping.yaml", id) else { return };
        let rules: Vec<Rule> = serde_json::from_value(case["input"]["event_map"].clone()).unwrap();
        let mapping = Mapping::compile(&rules).unwrap();
        let mut tape = Tape::new();
        let mut events = Vec::new();
        for frame in case["input"]["frames"].as_array().unwrap() {
            let text = frame.to_string();
            for emission in mapping.map(tape.read(&text).unwrap()) {
                let mut event = Map::from_iter([("type".to_owned(), json!(emission.name))]);
                event.extend(emission.fields);
                events.push(Value::Object(event));
            }
        }
        assert_eq!(Value::Array(events), case["expected"]["events"], "{id}");
    }
}

/// Calls as the cases write them, from the events of a stream.
fn calls(events: &[StreamEvent]) -> Vec<Value> {
    let mut calls: Vec<(String, String, String)> = Vec::new();
    for event in events {
        match event {
            StreamEvent::ToolCallStarted { tool_call_id, tool_name, .. } => {
                calls.push((tool_call_id.clone(), tool_name.clone(), String::new()));
            }
            StreamEvent::PartialToolCall { tool_call_id, arguments, .. } => {
                let call = calls.iter_mut().find(|(id, ..)| id == tool_call_id).unwrap();
                call.2.push_str(arguments);
            }
            _ => {}
        }
    }
    let call = |(id, name, arguments)| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    calls.into_iter().map(call).collect()
}

#[test]
fn tool_calls_are_accumulated() {
    for id in ["str-007", "str-008"] {
        let Some(case) = case("04-streaming/tool-accumulation.yaml", id) else { return };
        let mut manifest = manifest_of(&case);
        let accumulator = serde_json::from_value(case["input"]["accumulator_config"].clone()).unwrap();
        manifest.streaming.as_mut().unwrap().accumulator = Some(accumulator);
        let frame = |piece: &Value| json!({"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]});
        let pieces = case["input"]["partial_chunks"].as_array().unwrap();
        let stream: String = pieces.iter().map(|piece| format!("data: {}\n\n", frame(piece))).collect();
        let (events, ending) = decode(&manifest, Dialect::of(&manifest, None), &(stream + "data: [DONE]\n\n"));
        let mut expected = case["expected"]["assembled_tool_calls"].clone();
        for (call, event) in expected.as_array_mut().unwrap().iter_mut().zip(&events) {
            let StreamEvent::ToolCallStarted { index, .. } = event else { panic!("{id}: {event:?}") };
            assert_eq!(call.as_object_mut().unwrap().remove("index"), Some(json!(index)), "{id}");
        }
        assert_eq!(Value::Array(calls(&events)), expected, "{id}");
        assert_eq!(ending.outcome, Outcome::Complete, "{id}");
    }
}

#[test]
fn streams_of_models_that_use_tools_are_read() {
    let Some(case) = case("08-generative-capabilities/generative-capabilities.yaml", "gen-004") else { return };
    let manifest = manifest_of(&case);
    let (events, _) = decode(&manifest, Dialect::of(&manifest, None), &texts(&case["input"]["events"], "\n\n"));
    assert_eq!(Value::Array(calls(&events)), case["expected"]["accumulated_tool_calls"]);
    let usage = events.iter().find_map(|event| match event {
        StreamEvent::Metadata { usage: Some(usage), .. } => Some(usage.clone()),
        _ => None,
    });
    let TokenUsage { prompt, completion, total, .. } = usage.unwrap();
    let usage = json!({"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total});
    assert_eq!(usage, case["expected"]["usage"]);
}

#[test]
fn streams_of_models_that_think_are_read() {
    let Some(case) = case("08-generative-capabilities/generative-capabilities.yaml", "gen-006") else { return };
    let manifest = manifest_of(&case);
    let (events, _) = decode(&manifest, Dialect::of(&manifest, None), &texts(&case["input"]["events"], "\n\n"));
    let finish = events.iter().find_map(|event| match event {
        StreamEvent::StreamEnd { finish } => finish.clone(),
        _ => None,
    });
    assert_eq!(serde_json::to_value(finish.unwrap().reason).unwrap(), case["expected"]["finish_reason"]);

    let asked = Asked {
        api: String::new(),
        provider: "p".into(),
        model: "m".into(),
        pricing: None,
        thinking_level: None,
        timestamp: 0,
    };
    let mut assembly = Assembly::new(asked);
    let mut steps = Vec::new();
    events.into_iter().for_each(|event| assembly.push(event, &mut steps));
    let message = assembly.finish(End::Proper, &mut steps);
    let content = serde_json::to_value(&message.content).unwrap();
    let expected = case["expected"]["content_blocks"].as_array().unwrap();
    assert_eq!(content.as_array().unwrap().len(), expected.len());
    for (block, expected) in content.as_array().unwrap().iter().zip(expected) {
        assert_eq!(block["type"], expected["type"]);
        let text = block[block["type"].as_str().unwrap()].as_str().unwrap();
        match expected.get("content_contains").and_then(Value::as_str) {
            Some(part) => assert!(text.contains(part), "{text}"),
            None => assert_eq!(text, expected["content"]),
        }
    }
}

/// The rules of every manifest in the data, together with the dialect, say nothing twice and lose nothing.
#[test]
fn manifests_of_the_standard_read_recorded_streams() {
    let mut count = 0;
    for folder in ["v1", "v2", "v2-alpha"] {
        let Ok(entries) = fs::read_dir(format!("{DATA}/{folder}/providers")) else {
            return eprintln!("SKIPPED: the shared data are absent");
        };
        for entry in entries {
            let file = entry.unwrap().path();
            let manifest = load(&file);
            let mut plain = manifest.clone();
            plain.streaming = None;
            for (dialect, stream) in [
                (Dialect::OpenaiChat, include_str!("../streams/openai.sse")),
                (Dialect::AnthropicMessages, include_str!("../streams/anthropic.sse")),
                (Dialect::GeminiGenerate, include_str!("../streams/gemini.sse")),
                (Dialect::CohereV2, include_str!("../streams/cohere.sse")),
            ] {
                if Dialect::of(&manifest, None) == dialect {
                    let decoded = decode(&manifest, dialect, stream);
                    let expected = decode(&plain, dialect, stream);
                    assert_eq!(transcribe(&decoded.0), transcribe(&expected.0), "{}", file.display());
                    assert_eq!(decoded.1, expected.1, "{}", file.display());
                    count += 1;
                }
            }
        }
    }
    assert!(count >= 20, "{count} manifests");
}
