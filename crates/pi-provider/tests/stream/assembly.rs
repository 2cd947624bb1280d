//! Events of a stream become the message of a transcript.

use pi_provider::{
    Dialect, ErrorCode, Failure, Finish, Pipeline, StreamEvent, Termination,
    assembly::{Asked, Assembly, CallFault, End, malformed_calls, unfinished_calls},
    manifest::model::Pricing,
};
use pi_transcript::{AssistantMessageEvent, Block, ModelId, ProviderId, ThinkingLevel, message::AssistantMessage};
use serde_json::{Value, json};

use crate::manifest::manifest;

fn asked() -> Asked {
    Asked {
        api: "test-api".to_owned(),
        provider: ProviderId::from("test"),
        model: ModelId::from("claude-x"),
        pricing: Some(Pricing { input_per_1m: Some(2.0), output_per_1m: Some(10.0), ..Pricing::default() }),
        thinking_level: Some(ThinkingLevel::Low),
        timestamp: 5,
    }
}

fn events_of(stream: &str, dialect: Dialect) -> Vec<StreamEvent> {
    let manifest = manifest("http://127.0.0.1:1", json!({"streaming": {"decoder": {"format": "sse"}}}));
    let mut decoder = Pipeline::compile(&manifest, dialect).unwrap().start_with(fastrand::Rng::with_seed(7));
    let mut events = Vec::new();
    decoder.push(stream.as_bytes(), &mut events).unwrap();
    decoder.finish(&mut events).unwrap();
    events
}

/// The message, and how it grew: one line per event, without the message itself.
fn assemble(events: Vec<StreamEvent>, end: End) -> (Value, Vec<String>) {
    let mut assembly = Assembly::new(asked());
    let mut steps = Vec::new();
    events.into_iter().for_each(|event| assembly.push(event, &mut steps));
    let message = assembly.finish(end, &mut steps);
    let lines = steps.iter().map(|step| {
        let step = serde_json::to_value(step).unwrap();
        let part = |name: &str| step.get(name).map(|value| format!(" {value}")).unwrap_or_default();
        let parts = ["contentIndex", "toolName", "delta", "content", "reason"].map(part).concat();
        format!("{}{parts}", step["type"].as_str().unwrap())
    });
    (serde_json::to_value(&message).unwrap(), lines.collect())
}

#[test]
fn a_stream_becomes_a_message() {
    let stream = include_str!("../streams/anthropic.sse");
    let (message, steps) = assemble(events_of(stream, Dialect::AnthropicMessages), End::Proper);
    let expected = json!({
        "content": [
            {"type": "thinking", "thinking": "Let me think", "thinkingSignature": "EqQB"},
            {"type": "thinking", "thinking": "", "thinkingSignature": "secret==", "redacted": true},
            {"type": "text", "text": "Olá"},
            {"type": "toolCall", "id": "toolu_1", "name": "get_weather", "arguments": {"city": "Paris"}},
        ],
        "api": "test-api", "provider": "test", "model": "claude-x",
        "usage": {
            "input": 25, "output": 89, "cacheRead": 300, "cacheWrite": 100, "cacheWrite1h": 40, "totalTokens": 514,
            "cost": {"input": 0.00005, "output": 0.00089, "cacheRead": 0, "cacheWrite": 0.0002, "total": 0.00114, "atLeast": true},
        },
        "stopReason": "toolUse", "timestamp": 5, "responseId": "msg_1", "rawStopReason": "tool_use", "thinkingLevel": "low",
    });
    assert_eq!(message, expected);
    assert_eq!(
        steps,
        [
            "start",
            "thinking_start 0",
            "thinking_delta 0 \"Let me think\"",
            "thinking_end 0 \"Let me think\"",
            "thinking_start 1",
            "thinking_end 1 \"\"",
            "text_start 2",
            "text_delta 2 \"Olá\"",
            "text_end 2 \"Olá\"",
            "toolcall_start 3 \"get_weather\"",
            "toolcall_delta 3 \"{\\\"city\\\": \\\"Paris\\\"}\"",
            "toolcall_end 3",
            "done \"toolUse\"",
        ]
    );
}

#[test]
fn parts_of_gemini_keep_their_order_and_signatures() {
    let (message, _) = assemble(events_of(include_str!("../streams/gemini.sse"), Dialect::GeminiGenerate), End::Proper);
    let expected = json!([
        {"type": "thinking", "thinking": "Planning"},
        {"type": "text", "text": "One "},
        {"type": "toolCall", "id": "call_c5fc598e707e4291b8f4d74b451e8c20", "name": "get_weather",
         "arguments": {"city": "Paris", "days": 2}, "thoughtSignature": "c2ln"},
        {"type": "text", "text": "two"},
        {"type": "toolCall", "id": "fc-2", "name": "now", "arguments": {}},
        {"type": "text", "text": "", "textSignature": "ZW5k"},
    ]);
    assert_eq!(message["content"], expected);
    assert_eq!((&message["stopReason"], &message["responseModel"]), (&json!("toolUse"), &json!("gemini-x")));
}

#[test]
fn items_of_responses_keep_what_goes_back() {
    let (message, _) =
        assemble(events_of(include_str!("../streams/responses.sse"), Dialect::OpenaiResponses), End::Proper);
    let item = r#"{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"First"}],"encrypted_content":"gAAA"}"#;
    let expected = json!([
        {"type": "thinking", "thinking": "First\n\nSecond", "thinkingSignature": item},
        {"type": "text", "text": "Hej då", "textSignature": "msg_1"},
        {"type": "toolCall", "id": "call_1|fc_1", "name": "get_weather", "arguments": {"city": "Oslo"}},
        {"type": "toolCall", "id": "call_2|fc_2", "name": "now", "arguments": {"zone": "UTC"}},
    ]);
    assert_eq!(message["content"], expected);
}

fn call(id: &str) -> StreamEvent {
    let (tool_call_id, tool_name) = (id.to_owned(), "write".to_owned());
    StreamEvent::ToolCallStarted { candidate: 0, index: None, tool_call_id, tool_name, signature: None }
}

fn arguments(id: &str, piece: &str) -> StreamEvent {
    let (tool_call_id, arguments) = (id.to_owned(), piece.to_owned());
    StreamEvent::PartialToolCall { candidate: 0, index: None, tool_call_id, arguments }
}

#[test]
fn arguments_can_be_read_while_they_stream() {
    let mut assembly = Assembly::new(asked());
    let mut steps = Vec::new();
    let mut seen = Vec::new();
    assembly.push(call("a"), &mut steps);
    for piece in ["{\"path\": \"/tmp/", "x\", \"lines\": [1", "0, true", "]}"] {
        assembly.push(arguments("a", piece), &mut steps);
        let Block::ToolCall(call) = &assembly.message().content[0] else { panic!("it is a call") };
        seen.push(Value::Object(call.arguments.clone()));
    }
    let expected = [
        json!({"path": "/tmp/"}),
        json!({"path": "/tmp/x", "lines": [1]}),
        json!({"path": "/tmp/x", "lines": [10, null]}),
        json!({"path": "/tmp/x", "lines": [10, true]}),
    ];
    assert_eq!(seen, expected);
    assert_eq!(assembly.unusable_calls().count(), 0);
}

#[test]
fn calls_may_arrive_side_by_side_and_unfinished_ones_are_known() {
    let mut assembly = Assembly::new(asked());
    let mut steps = Vec::new();
    for event in [call("a"), call("b"), arguments("b", "{\"n\":"), arguments("a", "{\"m\":1}"), arguments("b", "2")] {
        assembly.push(event, &mut steps);
    }
    let unusable: Vec<_> = assembly.unusable_calls().map(|(id, fault)| (id.as_str(), fault)).collect();
    assert_eq!(unusable, [("b", CallFault::Cut)]);
    let message = assembly.finish(End::Broken("the connection was closed".to_owned()), &mut steps);
    assert_eq!(message.error_message.as_deref(), Some("the connection was closed"));
    assert!(matches!(steps.last(), Some(AssistantMessageEvent::Error { .. })));
    let content = serde_json::to_value(&message.content).unwrap();
    assert_eq!((&content[0]["arguments"], &content[1]["arguments"]), (&json!({"m": 1}), &json!({"n": 2})));
}

/// Some servers give all calls of an answer one id, or number their only answer from one.
#[test]
fn calls_of_one_id_are_told_apart_by_their_numbers() {
    let candidate = 1;
    let started = |index: u64| StreamEvent::ToolCallStarted {
        candidate,
        index: Some(index),
        tool_call_id: "x".to_owned(),
        tool_name: "write".to_owned(),
        signature: None,
    };
    let piece = |index: u64, arguments: &str| StreamEvent::PartialToolCall {
        candidate,
        index: Some(index),
        tool_call_id: "x".to_owned(),
        arguments: arguments.to_owned(),
    };
    let ended = |index: u64| StreamEvent::ToolCallEnded { candidate, index: Some(index), tool_call_id: "x".to_owned() };
    let events = [
        started(0),
        started(1),
        piece(0, "{\"n\":"),
        piece(1, "{\"n\":"),
        piece(0, "1}"),
        piece(1, "2}"),
        ended(0),
        ended(1),
    ];
    let (message, steps) = assemble(events.to_vec(), End::Proper);
    let call = |n: u64| json!({"type": "toolCall", "id": "x", "name": "write", "arguments": {"n": n}});
    assert_eq!(message["content"], json!([call(1), call(2)]));
    let ends: Vec<&String> = steps.iter().filter(|step| step.starts_with("toolcall_end")).collect();
    assert_eq!(ends, ["toolcall_end 0", "toolcall_end 1"]);
}

/// Whoever gets the message alone must not run it either.
#[test]
fn cut_calls_are_told_in_the_message_of_a_proper_end() {
    let events = || {
        let end = Some(Finish { reason: Termination::ToolUse, raw: "tool_calls".to_owned() });
        vec![
            call("a"),
            arguments("a", "{\"m\":1}"),
            call("b"),
            arguments("b", "{\"text\": \"half"),
            StreamEvent::FinalCandidate { candidate: 0, finish: end },
        ]
    };
    let (message, _) = assemble(events(), End::Proper);
    let expected = json!([{"type": "unfinished_tool_call", "timestamp": 5, "details": {"toolCallId": "b"}}]);
    assert_eq!((&message["stopReason"], &message["diagnostics"]), (&json!("toolUse"), &expected));
    let read: AssistantMessage = serde_json::from_value(message).unwrap();
    assert_eq!(unfinished_calls(&read), ["b".into()]);
    let (aborted, _) = assemble(events(), End::Aborted);
    assert_eq!(aborted.get("diagnostics"), None, "nobody runs calls of an answer that was stopped");
}

#[test]
fn malformed_calls_are_told_with_what_is_wrong_and_what_was_written() {
    let fenced = "```json\n{}\n```";
    let events =
        vec![call("a"), arguments("a", "null"), call("b"), arguments("b", "```json"), arguments("b", &fenced[7..])];
    let (message, _) = assemble(events, End::Proper);
    let details = json!({"toolCallId": "b", "reason": "they do not begin with a brace", "written": fenced});
    assert_eq!(message["diagnostics"], json!([{"type": "malformed_tool_call", "timestamp": 5, "details": details}]));
    assert_eq!(message["content"][0]["arguments"], json!({}), "null stands for no arguments");
    let read: AssistantMessage = serde_json::from_value(message).unwrap();
    assert_eq!(malformed_calls(&read), [("b".into(), "they do not begin with a brace".to_owned())]);
    assert_eq!(unfinished_calls(&read), []);
}

#[test]
fn the_end_has_a_reason() {
    let text =
        || StreamEvent::PartialContentDelta { candidate: 0, block: None, content: "a".to_owned(), signature: None };
    let finish = |reason, raw: &str| Some(Finish { reason, raw: raw.to_owned() });
    let failure = Failure {
        code: ErrorCode::Overloaded,
        status: None,
        provider_code: None,
        message: "busy".to_owned(),
        retry_after: None,
        request_id: None,
        limits: None,
        is_anonymous: false,
    };
    let final_ = |reason, raw| StreamEvent::FinalCandidate { candidate: 0, finish: finish(reason, raw) };
    let broken = || End::Broken("gone".to_owned());
    for (events, end, reason, error) in [
        (vec![text(), final_(Termination::EndTurn, "stop")], End::Proper, "stop", Value::Null),
        (vec![text(), final_(Termination::MaxTokens, "length")], End::Proper, "length", Value::Null),
        (vec![text(), final_(Termination::PauseTurn, "pause_turn")], End::Proper, "stop", Value::Null),
        (
            vec![text(), final_(Termination::Refusal, "safety")],
            End::Proper,
            "error",
            json!("the provider refused to answer (safety)"),
        ),
        (vec![call("a"), final_(Termination::EndTurn, "stop")], End::Proper, "toolUse", Value::Null),
        (vec![text()], End::Aborted, "aborted", Value::Null),
        (vec![text()], broken(), "error", json!("gone")),
        (vec![text(), StreamEvent::StreamError { failure }], broken(), "error", json!("overloaded: busy")),
        (vec![], End::Proper, "stop", Value::Null),
    ] {
        let (message, steps) = assemble(events, end);
        let expected = (reason, &error);
        assert_eq!((message["stopReason"].as_str().unwrap(), &message["errorMessage"]), expected);
        let kind = if matches!(reason, "error" | "aborted") { "error" } else { "done" };
        assert_eq!(steps.last().unwrap(), &format!("{kind} \"{reason}\""));
    }
}

/// The provider wants to go on when it is asked to; whoever reads the answer as its end should know.
#[test]
fn a_paused_turn_is_told() {
    let text = StreamEvent::PartialContentDelta { candidate: 0, block: None, content: "a".to_owned(), signature: None };
    let finish = Some(Finish { reason: Termination::PauseTurn, raw: "pause_turn".to_owned() });
    let (message, _) = assemble(vec![text, StreamEvent::FinalCandidate { candidate: 0, finish }], End::Proper);
    assert_eq!(message["stopReason"], "stop");
    assert_eq!(message["diagnostics"][0]["type"], "paused_turn");
    assert_eq!(message["diagnostics"][0]["details"], json!({"stopReason": "pause_turn"}));
    let message = serde_json::from_value(message).unwrap();
    assert_eq!(pi_provider::assembly::paused(&message), Some("pause_turn"));
}

#[test]
fn other_candidates_are_no_part_of_the_message() {
    let of = |candidate, content: &str| {
        let content = content.to_owned();
        StreamEvent::PartialContentDelta { candidate, block: None, content, signature: None }
    };
    let (message, _) = assemble(vec![of(0, "a"), of(1, "x"), of(0, "b")], End::Proper);
    assert_eq!(message["content"], json!([{"type": "text", "text": "ab"}]));
}

/// What a manifest with these rules reads in these frames.
fn read(rules: &Value, frames: &[Value]) -> Vec<StreamEvent> {
    let streaming = json!({"decoder": {"format": "sse", "strategy": "own"}, "event_map": rules});
    let manifest = manifest("http://127.0.0.1:1", json!({"streaming": streaming}));
    let stream: String = frames.iter().map(|frame| format!("data: {frame}\n\n")).collect();
    let mut decoder = Pipeline::compile(&manifest, Dialect::OpenaiChat).unwrap().start();
    let mut events = Vec::new();
    decoder.push(stream.as_bytes(), &mut events).unwrap();
    decoder.finish(&mut events).unwrap();
    events
}

/// A message that begins a block of this type with pieces of a call in it, and then says "Found.".
fn called_and_found(block: &str) -> (Value, Vec<String>) {
    let stream = [
        json!({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 3}}}),
        json!({"type": "content_block_start", "index": 0,
               "content_block": {"type": block, "id": "srvtoolu_1", "name": "web_search", "input": {}}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{\"q\":"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "1}"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Found."}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}}),
        json!({"type": "message_stop"}),
    ];
    let stream: String = stream.iter().map(|frame| format!("data: {frame}\n\n")).collect();
    let (message, steps) = assemble(events_of(&stream, Dialect::AnthropicMessages), End::Proper);
    assert_eq!(message["content"], json!([{"type": "text", "text": "Found."}]));
    assert_eq!((&message["stopReason"], &message["rawStopReason"]), (&json!("stop"), &json!("end_turn")));
    (message, steps)
}

#[test]
fn call_that_the_provider_runs_itself_is_not_missed() {
    for block in ["server_tool_use", "mcp_tool_use"] {
        let (message, steps) = called_and_found(block);
        assert_eq!(message["diagnostics"], Value::Null, "{block}");
        assert!(steps.iter().all(|step| !step.starts_with("toolcall")), "{steps:?}");
    }
}

#[test]
fn pieces_of_a_call_without_a_name_are_dropped_and_told() {
    let (message, steps) = called_and_found("unknown_tool_use");
    let details = json!({"candidate_index": 0, "index": 0, "bytes": 7});
    assert_eq!(message["diagnostics"], json!([{"type": "nameless_tool_call", "timestamp": 5, "details": details}]));
    assert!(steps.iter().all(|step| !step.starts_with("toolcall")), "{steps:?}");
}

#[test]
fn a_manifest_without_a_rule_for_the_name_makes_no_calls() {
    let rules = json!([
        {"match": "exists($.piece)", "emit": "PartialToolCall", "extract": {"arguments": "$.piece", "index": "$.at"}},
        {"match": "exists($.why)", "emit": "FinalCandidate", "extract": {"finish_reason": "$.why"}},
    ]);
    let frames = [json!({"piece": "{}", "at": 0}), json!({"piece": "[]", "at": 1}), json!({"why": "stop"})];
    let (message, _) = assemble(read(&rules, &frames), End::Proper);
    assert_eq!((&message["content"], &message["stopReason"]), (&json!([]), &json!("stop")));
    let told: Vec<&Value> =
        message["diagnostics"].as_array().unwrap().iter().map(|it| &it["details"]["index"]).collect();
    assert_eq!(told, [&json!(0), &json!(1)]);
}

#[test]
fn arguments_wait_for_their_name() {
    let rules = json!([
        {"match": "exists($.piece)", "emit": "PartialToolCall",
         "extract": {"arguments": "$.piece", "index": "$.at", "tool_name": "$.name"}},
        {"match": "exists($.why)", "emit": "FinalCandidate", "extract": {"finish_reason": "$.why"}},
    ]);
    let frames = [
        json!({"piece": "{\"a\":", "at": 0}),
        json!({"piece": "1", "at": 0, "name": "read"}),
        json!({"piece": "}", "at": 0}),
        json!({"why": "stop"}),
    ];
    let (message, steps) = assemble(read(&rules, &frames), End::Proper);
    assert_eq!(
        (&message["content"][0]["name"], &message["content"][0]["arguments"]),
        (&json!("read"), &json!({"a": 1}))
    );
    assert_eq!((&message["stopReason"], &message["diagnostics"]), (&json!("toolUse"), &Value::Null));
    assert_eq!(
        steps[1..4],
        ["toolcall_start 0 \"read\"", "toolcall_delta 0 \"{\\\"a\\\":\"", "toolcall_delta 0 \"1\""]
    );
}

#[test]
fn a_usage_of_which_nothing_is_known_is_told_once() {
    let rules = json!([{"match": "exists($.counted)", "emit": "Metadata", "extract": {"usage": "$.counted"}}]);
    let told = |frames: &[Value]| assemble(read(&rules, frames), End::Proper).0["diagnostics"].clone();
    let strange = json!({"counted": {"sparks": 7}});
    let expected = json!([{"type": "unknown_usage", "timestamp": 5, "details": {"usage": {"sparks": 7}}}]);
    assert_eq!(told(&[strange.clone(), strange.clone()]), expected);
    assert_eq!(told(&[json!({"counted": {"input_tokens": 1}}), strange]), Value::Null);
    assert_eq!(told(&[json!({"counted": {}}), json!({"counted": null})]), Value::Null);
}
