//! Recorded streams, decoded in one piece and cut everywhere, and the faults that other runtimes have.

#![expect(clippy::needless_pass_by_value, reason = "JSON is written where it is passed")]

use pi_provider::{
    Dialect, Manifest, StreamEvent, Termination,
    manifest::Streaming,
    stream::{Ending, Outcome, Pipeline},
};
use serde_json::{Value, json};

use crate::{manifest::manifest, transcription::transcribe};

const COMPLETE: Ending = Ending { outcome: Outcome::Complete, malformed: 0, unread: 0, late: 0 };

/// A pipeline for a manifest with this stream section.
fn pipeline(dialect: Dialect, streaming: Value) -> Pipeline {
    Pipeline::compile(&plain(streaming), dialect).unwrap()
}

fn plain(streaming: Value) -> Manifest {
    manifest("http://127.0.0.1:1", json!({ "streaming": streaming }))
}

/// The events of a stream that arrives in these pieces. Ids that we make up come out the same every time.
fn decode<'a>(pipeline: &Pipeline, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<StreamEvent>, Ending) {
    let mut decoder = pipeline.start_with(fastrand::Rng::with_seed(7));
    let mut events = Vec::new();
    for piece in pieces {
        decoder.push(piece, &mut events).unwrap();
    }
    let ending = decoder.finish(&mut events).unwrap();
    (events, ending)
}

/// One stream, one expectation; however it is cut, also with other ends of lines.
fn check(pipeline: &Pipeline, stream: &str, expected: &str, ending: Ending) {
    let (events, ended) = decode(pipeline, [stream.as_bytes()]);
    assert_eq!(transcribe(&events), expected);
    assert_eq!(ended, ending);
    let bytes = stream.as_bytes();
    for cut in 0..=bytes.len() {
        let (first, second) = bytes.split_at(cut);
        assert_eq!(decode(pipeline, [first, second]), (events.clone(), ending), "cut at {cut}");
    }
    for text in [stream.to_owned(), stream.replace('\n', "\r\n"), format!("\u{FEFF}{stream}")] {
        assert_eq!(decode(pipeline, text.as_bytes().chunks(1)), (events.clone(), ending), "every byte for itself");
    }
}

fn recorded(stream: &str, dialect: Dialect, decoder: Value, expected: &str) {
    check(&pipeline(dialect, json!({ "decoder": decoder })), stream, expected, COMPLETE);
}

fn sse() -> Value {
    json!({"format": "sse"})
}

#[test]
fn chat_completions_are_decoded() {
    recorded(
        include_str!("../streams/openai.sse"),
        Dialect::OpenaiChat,
        sse(),
        r#"metadata id=chatcmpl-1 model=gpt-x-2026
thinking "Weather… "
content "Grüße \"Welt\" 🌍\n"
call 0 call_a get_weather
arguments 0 call_a "{\"city\":"
arguments 0 call_a "\"Köln\"}"
call 1 call_b get_time
arguments 1 call_b "{}"
called 0 call_a
called 1 call_b
final ToolUse (tool_calls)
metadata prompt=20 completion=15 total=35 reasoning=4 cache_read=8 cost=0.00125
end ToolUse (tool_calls)
"#,
    );
}

/// Fault 1 of the reference: a frame that begins with `event:` was thrown away.
#[test]
fn messages_of_anthropic_are_decoded() {
    recorded(
        include_str!("../streams/anthropic.sse"),
        Dialect::AnthropicMessages,
        json!({"format": "anthropic_sse", "strategy": "anthropic_event_stream"}),
        r#"metadata id=msg_1 model=claude-x prompt=425 completion=1 cache_read=300 cache_write=100 cache_write_1h=40
thinking 0 "Let me think"
thinking 0 "" signed EqQB
thinking 1 "" signed secret== redacted
content 2 "Olá"
call 3 toolu_1 get_weather
arguments 3 toolu_1 "{\"city\": \"Paris\"}"
called 3 toolu_1
metadata prompt=425 completion=89 cache_read=300 cache_write=100 cache_write_1h=40
final ToolUse (tool_use)
end ToolUse (tool_use)
"#,
    );
}

#[test]
fn generated_content_of_gemini_is_decoded() {
    recorded(
        include_str!("../streams/gemini.sse"),
        Dialect::GeminiGenerate,
        json!({"format": "gemini_sse"}),
        r#"metadata id=resp-1 model=gemini-x prompt=10 total=14 reasoning=4
thinking "Planning"
content "One "
call call_c5fc598e707e4291b8f4d74b451e8c20 get_weather signed c2ln
arguments call_c5fc598e707e4291b8f4d74b451e8c20 "{\"city\":\"Paris\",\"days\":2}"
called call_c5fc598e707e4291b8f4d74b451e8c20
content "two"
call fc-2 now
called fc-2
metadata prompt=10 completion=11 total=21 reasoning=4 cache_read=3
content "" signed ZW5k
final ToolUse (STOP)
end ToolUse (STOP)
"#,
    );
}

#[test]
fn an_array_of_gemini_is_decoded() {
    recorded(
        include_str!("../streams/gemini_array.json"),
        Dialect::GeminiGenerate,
        json!({"format": "gemini_json"}),
        r#"content "A \"quoted\" } ] \\ part"
metadata prompt=1 completion=2 total=3
content " é"
final MaxTokens (MAX_TOKENS)
end MaxTokens (MAX_TOKENS)
"#,
    );
}

#[test]
fn chat_of_cohere_is_decoded() {
    recorded(
        include_str!("../streams/cohere.sse"),
        Dialect::CohereV2,
        json!({"format": "sse", "strategy": "cohere_v2"}),
        r#"metadata id=c-1
thinking "I will look it up."
call 0 get_weather_1 get_weather
arguments 0 get_weather_1 "{\"city\":"
arguments 0 get_weather_1 "\"Rome\"}"
called 0 get_weather_1
content 1 "Sunny"
metadata prompt=33 completion=44 cache_read=16
final ToolUse (TOOL_CALL)
end ToolUse (TOOL_CALL)
"#,
    );
}

#[test]
fn responses_of_openai_are_decoded() {
    recorded(
        include_str!("../streams/responses.sse"),
        Dialect::OpenaiResponses,
        sse(),
        r#"metadata id=resp_1 model=gpt-x
thinking 0 "First"
thinking 0 "\n\n"
thinking 0 "Second"
thinking 0 "" signed {"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"First"}],"encrypted_content":"gAAA"}
content 1 "Hej då"
content 1 "" signed msg_1
call 2 call_1|fc_1 get_weather
arguments 2 call_1|fc_1 "{\"city\":\"Oslo\"}"
called 2 call_1|fc_1
call 3 call_2|fc_2 now
arguments 3 call_2|fc_2 "{\"zone\":\"UTC\"}"
called 3 call_2|fc_2
metadata prompt=50 completion=20 total=70 reasoning=5 cache_read=10
final ToolUse (completed)
end ToolUse (completed)
"#,
    );
}

/// Servers that speak Responses and do not stream, as some gateways do.
#[test]
fn responses_that_come_only_as_a_whole_are_read_once() {
    let responses = pipeline(Dialect::OpenaiResponses, json!({"decoder": sse()}));
    let message =
        |text: &str| json!({"type": "message", "id": "m", "content": [{"type": "output_text", "text": text}]});
    let call = json!({"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": "{\"a\":1}"});
    let item =
        |index: u32, item: Value| json!({"type": "response.output_item.done", "output_index": index, "item": item});
    let completed =
        |output: Value| json!({"type": "response.completed", "response": {"status": "completed", "output": output}});
    let end = "final EndTurn (completed)\nend EndTurn (completed)\n";

    let items = [item(0, message("Hel")), item(1, message("lo")), completed(json!([message("Hel"), message("lo")]))];
    let expected =
        format!("content 0 \"Hel\"\ncontent 0 \"\" signed m\ncontent 1 \"lo\"\ncontent 1 \"\" signed m\n{end}");
    check(&responses, &frames(&items), &expected, COMPLETE);

    let answer = [completed(json!([{"type": "search_results"}, message("Hel"), message("lo")]))];
    // Two messages are two, and not one text.
    check(&responses, &frames(&answer), &format!("content \"Hel\" signed m\ncontent \"lo\" signed m\n{end}"), COMPLETE);

    let pieces = json!({"type": "response.output_text.delta", "output_index": 3, "delta": "Hello"});
    let streamed = [pieces, item(0, message("Hello")), completed(json!([message("Hello")]))];
    let expected = format!("content 3 \"Hello\"\ncontent 0 \"\" signed m\n{end}");
    check(&responses, &frames(&streamed), &expected, COMPLETE);

    let called = "call c|fc f\narguments c|fc \"{\\\"a\\\":1}\"\ncalled c|fc\nfinal ToolUse (completed)\nend ToolUse (completed)\n";
    check(&responses, &frames(&[completed(json!([call]))]), called, COMPLETE);
    let called = called.replace("c|fc", "0 c|fc");
    check(&responses, &frames(&[item(0, call.clone()), completed(json!([call]))]), &called, COMPLETE);
}

/// What was thought goes back to the provider, so it is not lost where it comes only with the end.
#[test]
fn thinking_of_responses_that_come_as_a_whole_is_read_once() {
    let responses = pipeline(Dialect::OpenaiResponses, json!({"decoder": sse()}));
    let thought = json!({"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "Hm."}]});
    let sealed = json!({"type": "reasoning", "id": "s", "summary": [], "encrypted_content": "x"});
    let item =
        |index: u32, item: &Value| json!({"type": "response.output_item.done", "output_index": index, "item": item});
    let completed =
        |output: Value| json!({"type": "response.completed", "response": {"status": "completed", "output": output}});
    let end = "final EndTurn (completed)\nend EndTurn (completed)\n";
    let answer = [completed(json!([thought, sealed]))];
    let expected = format!("thinking \"Hm.\" signed {thought}\nthinking \"\" signed {sealed}\n{end}");
    check(&responses, &frames(&answer), &expected, COMPLETE);
    let items = [item(0, &thought), item(1, &sealed), completed(json!([thought, sealed]))];
    let expected = format!("thinking 0 \"Hm.\" signed {thought}\nthinking 1 \"\" signed {sealed}\n{end}");
    check(&responses, &frames(&items), &expected, COMPLETE);
    let piece = json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "Hm."});
    let pieces = [piece, item(0, &thought), completed(json!([thought]))];
    let expected = format!("thinking 0 \"Hm.\"\nthinking 0 \"\" signed {thought}\n{end}");
    check(&responses, &frames(&pieces), &expected, COMPLETE);
}

#[test]
fn cost_of_an_answer_is_the_sum_of_its_parts() {
    let usage = json!({"input_tokens": 3, "output_tokens": 4, "cost": {"input_cost": 0.001, "currency": "USD", "total_cost": 0.006}});
    let stream = frames(&[
        json!({"type": "response.output_text.delta", "output_index": 0, "delta": "So"}),
        json!({"type": "response.completed", "response": {"status": "completed", "usage": usage}}),
    ]);
    let expected = "content 0 \"So\"\nmetadata prompt=3 completion=4 cost=0.006\nfinal EndTurn (completed)\nend EndTurn (completed)\n";
    check(&pipeline(Dialect::OpenaiResponses, json!({"decoder": sse()})), &stream, expected, COMPLETE);
    // What is not in dollars is not known in dollars.
    let (stream, expected) = (stream.replace("USD", "EUR"), expected.replace(" cost=0.006", ""));
    check(&pipeline(Dialect::OpenaiResponses, json!({"decoder": sse()})), &stream, &expected, COMPLETE);
}

#[test]
fn responses_that_are_cancelled_have_not_come_to_an_end() {
    let responses = pipeline(Dialect::OpenaiResponses, json!({"decoder": sse()}));
    let stream = frames(&[
        json!({"type": "response.output_text.delta", "output_index": 0, "delta": "So"}),
        json!({"type": "response.cancelled", "response": {"status": "cancelled"}}),
    ]);
    // The server gave it up: what came is not the whole answer.
    check(&responses, &stream, "content 0 \"So\"\n", Ending { outcome: Outcome::Truncated, ..COMPLETE });
    let failed =
        frames(&[json!({"type": "response.failed", "error": {"code": "rate_limit_exceeded", "message": "slow"}})]);
    let ending = Ending { outcome: Outcome::Failed, ..COMPLETE };
    check(&responses, &failed, "error rate_limited: slow (rate_limit_exceeded)\n", ending);
}

/// Data lines of a stream in Chat Completions.
fn frames(frames: &[Value]) -> String {
    frames.iter().map(|frame| format!("data: {frame}\n\n")).collect()
}

fn delta(delta: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta}]})
}

fn chat(stream: &str, expected: &str, ending: Ending) {
    check(&pipeline(Dialect::OpenaiChat, json!({ "decoder": sse() })), stream, expected, ending);
}

/// The rest of fault 1: lines of every kind, data in several lines, and text outside ASCII.
#[test]
fn events_follow_the_rules_of_browsers() {
    let stream = "id: 7\nretry: 10\nevent:x\n:comment\ndata:{\"choices\":[{\"delta\":\ndata: {\"content\":\"ü\"}\ndata:}]}\n\n\
        data\n\nunknown: field\ndata: {\"choices\":[{\"delta\":{\"content\":\"end\"},\"finish_reason\":\"stop\"}]}";
    chat(stream, "content \"ü\"\ncontent \"end\"\nfinal EndTurn (stop)\nend EndTurn (stop)\n", COMPLETE);
}

#[test]
fn a_lone_return_ends_a_line() {
    let stream = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\r\rdata: [DONE]\r\r";
    let pipeline = pipeline(Dialect::OpenaiChat, json!({ "decoder": sse() }));
    let (events, ending) = decode(&pipeline, [stream.as_bytes()]);
    assert_eq!((transcribe(&events).as_str(), ending), ("content \"a\"\nend unknown\n", COMPLETE));
    assert_eq!(decode(&pipeline, stream.as_bytes().chunks(1)), (events, ending));
}

#[test]
fn malformed_frames_are_reported() {
    let stream = frames(&[delta(json!({"content": "a"}))]) + "data: {\"choices\": [\n\ndata: [DONE]\n\n";
    let expected = "content \"a\"\nerror server_error: the stream cannot be read: a frame is not JSON: EOF while parsing a list at line 1 column 13 (no code)\n";
    chat(&stream, expected, Ending { outcome: Outcome::Failed, malformed: 1, ..COMPLETE });
}

/// A server that counts in UTF-16 cuts characters in two.
#[test]
fn halves_of_a_character_are_put_together() {
    let piece = |text: &str| {
        format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":\"null\"}}]}}\n\n")
    };
    let stream = piece("so \\ud83d") + &piece("\\ude00!") + &piece(" \\ude00") + "data: [DONE]\n\n";
    chat(&stream, "content \"so \"\ncontent \"😀!\"\ncontent \" \u{fffd}\"\nend unknown\n", COMPLETE);
    let lost = piece("so \\ud83d") + "data: [DONE]\n\n";
    chat(&lost, "content \"so \"\nend unknown\n", Ending { unread: 1, ..COMPLETE });
}

/// Servers that number every call alike and give no ids tell them apart by their names alone, and by whole arguments.
#[test]
fn calls_of_one_number_without_ids_are_told_apart_by_name() {
    let call = |name: Value, arguments: &str| {
        delta(json!({"tool_calls": [{"index": 0, "function": {"name": name, "arguments": arguments}}]}))
    };
    let called = |pieces: &[Value]| {
        let stream = frames(pieces) + "data: [DONE]\n\n";
        let (events, _) = decode(&pipeline(Dialect::OpenaiChat, json!({ "decoder": sse() })), [stream.as_bytes()]);
        let mut calls: Vec<(String, String)> = Vec::new();
        for event in events {
            match event {
                StreamEvent::ToolCallStarted { tool_name, .. } => calls.push((tool_name, String::new())),
                StreamEvent::PartialToolCall { arguments, .. } => calls.last_mut().unwrap().1 += &arguments,
                _ => {}
            }
        }
        calls.into_iter().map(|(name, arguments)| name + &arguments).collect::<Vec<_>>()
    };
    let two = [call(json!("read"), r#"{"path":"/1"}"#), call(json!("ls"), r#"{"path":"/2"}"#)];
    assert_eq!(called(&two), [r#"read{"path":"/1"}"#, r#"ls{"path":"/2"}"#]);
    let one = [call(json!("read"), r#"{"path":"#), call(json!("read"), r#""/1"}"#), call(Value::Null, " ")];
    assert_eq!(called(&one), [r#"read{"path":"/1"} "#], "a name that is repeated");
    let alike = [call(json!("read"), r#"{"path":"/1"}"#), call(json!("read"), r#"{"path":"/2"}"#)];
    assert_eq!(called(&alike), [r#"read{"path":"/1"}"#, r#"read{"path":"/2"}"#], "whole arguments of one tool");
    let brace = [call(json!("read"), r#"{"path":"}\""#), call(json!("read"), r#"{"}"#), call(json!("read"), "")];
    assert_eq!(called(&brace), [r#"read{"path":"}\"{"}"#], "a brace inside of a text closes nothing");
    let parted = [
        call(json!("read"), ""),
        call(Value::Null, r#"{"path":"/1"}"#),
        call(json!("read"), ""),
        call(Value::Null, r#" {"path":"#),
        call(Value::Null, r#""/2"}"#),
    ];
    assert_eq!(called(&parted), [r#"read{"path":"/1"}"#, r#"read {"path":"/2"}"#], "each behind its name");
}

#[test]
fn text_that_no_rule_reads_is_counted() {
    let stream = format!("data: hello\n\n{}data: [DONE]\n\ndata: {{}}\n\n", frames(&[delta(json!({"content": "a"}))]));
    chat(&stream, "content \"a\"\nend unknown\n", Ending { unread: 1, late: 1, ..COMPLETE });
}

#[test]
fn a_stream_without_an_end_is_truncated() {
    let calls = json!([{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{\"a"}}]);
    let stream = frames(&[delta(json!({"content": "a"})), delta(json!({ "tool_calls": calls }))]);
    let truncated = Ending { outcome: Outcome::Truncated, ..COMPLETE };
    chat(&stream, "content \"a\"\ncall 0 c f\narguments 0 c \"{\\\"a\"\n", truncated);
    let cut_inside = &stream[..stream.len() - 20];
    let pipeline = pipeline(Dialect::OpenaiChat, json!({ "decoder": sse() }));
    let (_, ending) = decode(&pipeline, [cut_inside.as_bytes()]);
    assert_eq!(ending, Ending { unread: 1, ..truncated }, "half a frame is no malformed one");
}

/// Fault 2: rules with `extract` were not read; both words mean the same.
#[test]
fn extract_and_fields_are_read() {
    for word in ["extract", "fields"] {
        let rule = json!({"match": "$.t", "emit": "PartialContentDelta", word: {"content": "$.t"}});
        let own =
            json!({"decoder": {"format": "ndjson", "strategy": "own", "done_signal": "over"}, "event_map": [rule]});
        let pipeline = pipeline(Dialect::OpenaiChat, own);
        check(
            &pipeline,
            "{\"t\":\"a\"}\n\n{\"t\":\"b\"}\nover",
            "content \"a\"\ncontent \"b\"\nend unknown\n",
            COMPLETE,
        );
    }
}

/// Fault 3: a known strategy threw the manifest's rules away. Here one rule is covered by the dialect, which reads all
/// choices and not only the first, one is not, and one has a field that the dialect's rule does not know.
#[test]
fn rules_of_manifest_and_dialect_work_together() {
    let event_map = json!([
        {"match": "$.choices[0].delta.content", "emit": "PartialContentDelta",
         "extract": {"content": "$.choices[0].delta.content"}},
        {"match": "$.citations", "emit": "Citations", "extract": {"list": "$.citations", "kind": "web"}},
        {"match": "$.choices[0].delta.annotation", "emit": "PartialContentDelta",
         "fields": {"content": "$.choices[0].delta.annotation"}},
    ]);
    let own = json!({"decoder": {"strategy": "openai_chat"}, "event_map": event_map,
        "content_path": "choices[0].delta.content", "tool_call_path": "choices[0].delta.tool_calls"});
    let stream = frames(&[json!({"citations": ["u"], "choices": [
        {"index": 0, "delta": {"content": "a", "annotation": "!"}},
        {"index": 1, "delta": {"content": "b"}, "finish_reason": "length"},
    ]})]);
    // What came with a text may not be the last reason, so it is told at the end.
    let expected = "content \"a\"\ncontent of 1 \"b\"\n\
        Citations {\"list\":[\"u\"],\"kind\":\"web\"}\ncontent \"!\"\nfinal of 1 MaxTokens (length)\n";
    let truncated = Ending { outcome: Outcome::Truncated, ..COMPLETE };
    check(&pipeline(Dialect::OpenaiChat, own), &stream, expected, truncated);
}

/// The rest of fault 3: a rule of the manifest that reads the dialect's text under a condition of its own decides when that
/// text counts, whatever the dialect says.
#[test]
fn a_rule_with_a_condition_of_its_own_takes_the_place_of_the_dialects() {
    let text = |condition: &str| json!({"match": condition, "emit": "PartialContentDelta", "extract": {"content": "$.choices[0].delta.content"}});
    let draft = json!({"match": "$.kind == 'draft'", "emit": "ThinkingDelta",
        "extract": {"thinking": "$.choices[0].delta.content"}});
    let usual = "exists($.choices[0].delta.content)";
    let answers = "$.kind == 'answer' && exists($.choices[0].delta.content)";
    let frame =
        |kind: &str, content: &str| json!({"kind": kind, "choices": [{"index": 0, "delta": {"content": content}}]});
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let stream = frames(&[frame("draft", "a"), frame("answer", "b"), end]) + "data: [DONE]\n\n";
    let rest = "final EndTurn (stop)\nend EndTurn (stop)\n";
    for (event_map, expected) in [
        (json!([]), "content \"a\"\ncontent \"b\"\n"),
        (json!([text(usual)]), "content \"a\"\ncontent \"b\"\n"),
        (json!([text(answers)]), "content \"b\"\n"),
        (json!([text(answers), draft]), "thinking \"a\"\ncontent \"b\"\n"),
        // What is said of all frames includes what is said of some.
        (json!([text(answers), text(usual)]), "content \"a\"\ncontent \"b\"\n"),
        (json!([text(usual), text(answers)]), "content \"a\"\ncontent \"b\"\n"),
    ] {
        let own = json!({"decoder": {"strategy": "openai_chat"}, "event_map": event_map});
        let (events, ending) = decode(&pipeline(Dialect::OpenaiChat, own), [stream.as_bytes()]);
        assert_eq!((transcribe(&events), ending), (format!("{expected}{rest}"), COMPLETE), "{event_map}");
    }
}

/// A rule about frames that the dialect does not know is no reason to pass over those that it knows; and where a rule of
/// the manifest stands for one of the dialect it knows what that knew.
#[test]
fn a_rule_about_other_frames_leaves_the_dialects_alone() {
    let rule = |kind: &str, more: &str| {
        json!({"match": format!("$.type == 'content_block_delta' && $.delta.type == '{kind}'{more}"),
            "emit": "PartialContentDelta", "extract": {"content": "$.delta.text"}})
    };
    let frame = |kind: &str, text: &str, index: u32| json!({"type": "content_block_delta", "index": index, "final": true, "delta": {"type": kind, "text": text}});
    let stop = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}});
    let stream = frames(&[frame("text_delta", "a", 0), frame("fancy_delta", "b", 1), stop]);
    for (event_map, expected) in [
        (json!([]), vec![(Some(0), "a")]),
        (json!([rule("fancy_delta", "")]), vec![(Some(0), "a"), (None, "b")]),
        (json!([rule("text_delta", " && $.final")]), vec![(Some(0), "a")]),
        (json!([rule("text_delta", " && $.draft")]), vec![]),
    ] {
        let own = json!({"decoder": {"strategy": "anthropic_event_stream"}, "event_map": event_map});
        let (events, _) = decode(&pipeline(Dialect::AnthropicMessages, own), [stream.as_bytes()]);
        let texts: Vec<(Option<u64>, &str)> = events
            .iter()
            .filter_map(|event| match event {
                StreamEvent::PartialContentDelta { block, content, .. } => Some((*block, content.as_str())),
                _ => None,
            })
            .collect();
        assert_eq!(texts, expected, "{event_map}");
    }
}

/// Fault 4: one frame gave one event, and literals were taken for paths.
#[test]
fn one_frame_gives_every_event() {
    let stream = frames(&[json!({
        "id": "r", "usage": {"prompt_tokens": 1, "completion_tokens": 2},
        "choices": [{"index": 0, "finish_reason": "stop", "delta": {"content": "a", "reasoning": "b",
            "tool_calls": [{"index": 0, "id": "x", "function": {"name": "f", "arguments": "{}"}}]}}],
    })]);
    let expected = "metadata id=r prompt=1 completion=2\nthinking \"b\"\ncontent \"a\"\ncall 0 x f\narguments 0 x \"{}\"\n\
        called 0 x\nfinal ToolUse (stop)\nend ToolUse (stop)\n";
    chat(&stream, expected, COMPLETE);
}

/// The second half of fault 4, with rules of a manifest alone: literals, generated ids, errors, ends of calls.
#[test]
fn literals_stand_for_themselves() {
    let event_map = json!([
        {"match": "exists($.parts[*].call)", "emit": "ToolCallStarted",
         "fields": {"tool_name": "$.parts[*].call.name", "tool_call_id": "_generate_uuid"}},
        {"match": "exists($.parts[*].call.args)", "emit": "PartialToolCall",
         "fields": {"arguments": "$.parts[*].call.args", "tool_call_id": "_generate_uuid"}},
        {"match": "$.kind == 'over'", "emit": "ToolCallEnded", "fields": {}},
        {"match": "$.kind == 'over'", "emit": "StreamEnd", "fields": {"finish_reason": "end_turn"}},
        {"match": "exists($.fault)", "emit": "StreamError", "fields": {"error": "$.fault"}},
    ]);
    let own = json!({"decoder": {"strategy": "own"}, "event_map": event_map});
    let pipeline = pipeline(Dialect::OpenaiChat, own);
    let call = |name: &str| json!({"call": {"name": name, "args": {"n": 1}}});
    let stream = frames(&[json!({"parts": [call("f"), {"text": "x"}, call("g")]}), json!({"kind": "over"})]);
    let (first, second) = ("call_c5fc598e707e4291b8f4d74b451e8c20", "call_b7e1e15867214173bb2b2203a8a4fd91");
    let expected = format!(
        "call {first} f\narguments {first} \"{{\\\"n\\\":1}}\"\ncall {second} g\narguments {second} \"{{\\\"n\\\":1}}\"\n\
         called {second}\ncalled {first}\nfinal ToolUse (end_turn)\nend ToolUse (end_turn)\n"
    );
    check(&pipeline, &stream, &expected, COMPLETE);

    let failing = frames(&[json!({"fault": {"code": "rate_limit_exceeded", "message": "slow down"}})]);
    let failed = Ending { outcome: Outcome::Failed, ..COMPLETE };
    check(&pipeline, &failing, "error rate_limited: slow down (rate_limit_exceeded)\n", failed);
}

/// Fault 5: a path alone counted as true.
#[test]
fn a_path_alone_is_a_condition() {
    let event_map = json!([{"match": "$.wanted", "emit": "PartialContentDelta", "extract": {"content": "$.text"}}]);
    let own = json!({"decoder": {"strategy": "own"}, "event_map": event_map, "stop_condition": "$.over"});
    let stream = frames(&[
        json!({"text": "a"}),
        json!({"text": "b", "wanted": null}),
        json!({"text": "c", "wanted": false}),
        json!({"over": 1}),
    ]);
    check(&pipeline(Dialect::OpenaiChat, own), &stream, "content \"c\"\nend unknown\n", COMPLETE);
}

/// Fault 6: accumulator, fan-out, candidate ids, stop condition and termination mapping had no effect.
#[test]
fn accumulator_candidates_and_ends_have_an_effect() {
    let own = json!({
        "decoder": {"strategy": "own", "done_signal": ""},
        "candidate": {"candidate_id_path": "$.answers[*].number", "fan_out": true},
        "accumulator": {"stateful_tool_parsing": true, "key_path": "$.piece", "flush_on": "$.kind == 'close'"},
        "frame_selector": "$.kind != 'noise'",
        "stop_condition": "$.kind == 'over'",
        "event_map": [
            {"match": "$.answers[*].text", "emit": "PartialContentDelta", "extract": {"content": "$.answers[*].text"}},
            {"match": "$.answers[*].why != null", "emit": "FinalCandidate",
             "extract": {"finish_reason": "$.answers[*].why"}},
        ],
    });
    let manifest = manifest(
        "http://127.0.0.1:1",
        json!({"streaming": own, "termination": {"mapping": {"tired": "max_tokens"}},
            "provider_contract": {"response_mapping": {"finish_reason_mapping": {"blocked": "content_filter"}}}}),
    );
    let pipeline = Pipeline::compile(&manifest, Dialect::OpenaiChat).unwrap();
    let stream = frames(&[
        json!({"answers": [{"number": 1, "text": "b"}, {"number": 0, "text": "a"}, {"number": 2}]}),
        json!({"kind": "noise", "answers": [{"number": 0, "text": "noise"}]}),
        json!({"piece": "{\"a\":"}),
        json!({"piece": "1}"}),
        json!({"kind": "close"}),
        json!({"answers": [{"number": 1, "why": "tired"}, {"number": 2, "why": "blocked"}]}),
        json!({"kind": "over"}),
    ]);
    // Nobody names the call, so it is none; but its pieces were kept together until the rule let them go.
    let expected = "content of 1 \"b\"\ncontent \"a\"\n\
                    ToolCallWithoutName {\"candidate_index\":0,\"index\":null,\"bytes\":7}\n\
                    final of 1 MaxTokens (tired)\nfinal of 2 Refusal (blocked)\nend unknown\n";
    check(&pipeline, &stream, expected, COMPLETE);
}

#[test]
fn names_and_raw_data_of_events_are_visible_to_rules() {
    let event_map = json!([
        {"match": "$.event == 'output'", "emit": "PartialContentDelta", "fields": {"content": "$.data"}},
        {"match": "$.event == 'done'", "emit": "StreamEnd", "fields": {"finish_reason": "end_turn"}},
    ]);
    let own = json!({"decoder": {"format": "sse", "strategy": "replicate"}, "event_map": event_map});
    let stream =
        "event: output\ndata: Hello\n\nevent: output\ndata:  42\n\nevent: logs\ndata: x\n\nevent: done\ndata: {}\n\n";
    let expected = "content \"Hello\"\ncontent \" 42\"\nfinal EndTurn (end_turn)\nend EndTurn (end_turn)\n";
    check(&pipeline(Dialect::OpenaiChat, own), stream, expected, Ending { unread: 1, ..COMPLETE });
}

/// Proxies say it after an answer whose provider does not.
#[test]
fn signal_of_the_end_is_known_after_an_answer_of_any_dialect() {
    let text = |text: &str| json!({"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}]});
    for (dialect, answer) in [
        (
            Dialect::AnthropicMessages,
            frames(&[
                json!({"type": "message_start", "message": {"id": "m", "model": "c", "usage": {"input_tokens": 1}}}),
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}}),
                json!({"type": "content_block_stop", "index": 0}),
                json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}),
                json!({"type": "message_stop"}),
            ]),
        ),
        (Dialect::GeminiGenerate, frames(&[text("a")])),
        (
            Dialect::CohereV2,
            frames(&[
                json!({"type": "content-delta", "delta": {"message": {"content": {"text": "a"}}}}),
                json!({"type": "message-end", "delta": {"finish_reason": "COMPLETE"}}),
            ]),
        ),
    ] {
        let pipeline = pipeline(dialect, json!({"decoder": {"format": "sse", "done_signal": ""}}));
        let (events, ending) = decode(&pipeline, [answer.as_bytes()]);
        assert_eq!(ending, COMPLETE, "{dialect:?}");
        let said = format!("{answer}data: [DONE]\n\n");
        let (again, ending) = decode(&pipeline, [said.as_bytes()]);
        assert_eq!((transcribe(&again), ending), (transcribe(&events), COMPLETE), "{dialect:?}");
    }
}

/// Some servers say an empty reason in every frame, and two calls may be open at a time.
#[test]
fn condition_for_all_calls_does_not_cut_one_that_goes_on() {
    let flushing = |flush_on: &str| json!({"decoder": {"format": "sse"}, "accumulator": {"stateful_tool_parsing": true, "flush_on": flush_on}});
    let piece = |arguments: &str, name: Value| {
        let call = json!({"index": 0, "id": name, "function": {"name": name, "arguments": arguments}});
        json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": ""}]})
    };
    let chat = frames(&[
        piece("", json!("f")),
        piece("{\"a\":1,", Value::Null),
        piece("\"b\":2}", Value::Null),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
    ]) + "data: [DONE]\n\n";
    let expected = "call 0 f f\narguments 0 f \"{\\\"a\\\":1,\"\narguments 0 f \"\\\"b\\\":2}\"\ncalled 0 f\n\
                    final ToolUse (tool_calls)\nend ToolUse (tool_calls)\n";
    let own = flushing("$.choices[*].finish_reason != null");
    check(&pipeline(Dialect::OpenaiChat, own), &chat, expected, COMPLETE);
    let begin = |index: u64, id: &str| json!({"type": "content_block_start", "index": index, "content_block": {"type": "tool_use", "id": id, "name": "f", "input": {}}});
    let goes_on = |index: u64, json: &str| json!({"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": json}});
    let stop = |index: u64| json!({"type": "content_block_stop", "index": index});
    let side_by_side = frames(&[
        begin(0, "x"),
        begin(1, "y"),
        goes_on(0, "{}"),
        goes_on(1, "{\"q\":"),
        stop(0),
        goes_on(1, "1}"),
        stop(1),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
        json!({"type": "message_stop"}),
    ]);
    let expected = "call 0 x f\ncall 1 y f\narguments 0 x \"{}\"\narguments 1 y \"{\\\"q\\\":\"\ncalled 0 x\n\
                    arguments 1 y \"1}\"\ncalled 1 y\nfinal ToolUse (tool_use)\nend ToolUse (tool_use)\n";
    let own = flushing("$.type == 'content_block_stop'");
    check(&pipeline(Dialect::AnthropicMessages, own), &side_by_side, expected, COMPLETE);
}

#[test]
fn lines_may_be_frames() {
    let own = json!({"decoder": {"format": "sse", "delimiter": "\n", "prefix": "data: ", "done_signal": ""}});
    let stream = "event: content-delta\ndata: {\"type\":\"content-delta\",\"delta\":{\"message\":{\"content\":{\"text\":\"a\"}}}}\n\
        : comment\n\n{\"type\":\"message-end\",\"delta\":{\"finish_reason\":\"COMPLETE\"}}\n";
    let expected = "content \"a\"\nfinal EndTurn (COMPLETE)\nend EndTurn (COMPLETE)\n";
    check(&pipeline(Dialect::CohereV2, own), stream, expected, COMPLETE);
}

#[test]
fn a_prefix_and_a_delimiter_may_be_anything() {
    let own = json!({"decoder": {"format": "sse", "delimiter": "||", "prefix": "chunk=", "done_signal": "fin"}});
    let stream =
        format!("chunk={}||chunk={}||chunk=fin||", delta(json!({"content": "a"})), delta(json!({"content": "b"})));
    check(&pipeline(Dialect::OpenaiChat, own), &stream, "content \"a\"\ncontent \"b\"\nend unknown\n", COMPLETE);
}

#[test]
fn whole_calls_in_one_frame_are_calls() {
    let call = |id: &str, n: u64| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": format!("{{\"n\":{n}}}")}});
    let stream = frames(&[json!({"choices": [{"index": 0, "finish_reason": "tool_calls",
        "message": {"role": "assistant", "content": null, "tool_calls": [call("a", 1), call("b", 2)]}}]})])
        + "data: [DONE]\n\n";
    let expected = "call a f\narguments a \"{\\\"n\\\":1}\"\ncalled a\ncall b f\narguments b \"{\\\"n\\\":2}\"\ncalled b\n\
        final ToolUse (tool_calls)\nend ToolUse (tool_calls)\n";
    chat(&stream, expected, COMPLETE);
}

/// As `ai-protocol-mock` sends it, with a last line that is not JSON.
#[test]
fn a_whole_message_of_anthropic_is_read() {
    let message = json!({"id": "m", "type": "message", "role": "assistant", "model": "claude",
        "content": [{"type": "text", "text": "Hi"}, {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}],
        "stop_reason": "tool_use", "usage": {"input_tokens": 3, "output_tokens": 4}});
    let stream = frames(&[message]) + "data: message_stop\n\n";
    let expected = "metadata id=m model=claude prompt=3 completion=4\ncontent \"Hi\"\ncall t f\narguments t \"{\\\"a\\\":1}\"\n\
        called t\nfinal ToolUse (tool_use)\nend ToolUse (tool_use)\n";
    check(&pipeline(Dialect::AnthropicMessages, json!({"decoder": sse()})), &stream, expected, COMPLETE);
}

#[test]
fn answers_that_are_not_streamed_are_read_by_the_same_rules() {
    let whole = |dialect, body: Value| {
        let mut events = Vec::new();
        let ending = pipeline(dialect, json!({"decoder": {}})).read_whole(&body.to_string(), &mut events);
        assert_eq!(ending, COMPLETE);
        transcribe(&events)
    };
    let openai = json!({"id": "r", "model": "m", "choices": [{"index": 0, "finish_reason": "stop", "message": {
        "role": "assistant", "reasoning_content": "hm", "content": "Hi"}}], "usage": {"prompt_tokens": 1, "completion_tokens": 2}});
    assert_eq!(
        whole(Dialect::OpenaiChat, openai),
        "metadata id=r model=m prompt=1 completion=2\nthinking \"hm\"\ncontent \"Hi\"\nfinal EndTurn (stop)\nend EndTurn (stop)\n"
    );
    let responses = json!({"object": "response", "id": "r", "model": "m", "status": "completed", "error": null, "output": [
        {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}]},
        {"type": "message", "id": "msg", "content": [{"type": "output_text", "text": "Hi"}]},
        {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": "{}"},
    ]});
    assert_eq!(
        whole(Dialect::OpenaiResponses, responses),
        "metadata id=r model=m\nthinking \"a\\n\\nb\" signed {\"type\":\"reasoning\",\"id\":\"rs\",\"summary\":[{\"type\":\"summary_text\",\
         \"text\":\"a\"},{\"type\":\"summary_text\",\"text\":\"b\"}]}\ncontent \"Hi\" signed msg\ncall c|fc f\narguments c|fc \"{}\"\n\
         called c|fc\nfinal ToolUse (completed)\nend ToolUse (completed)\n"
    );
    let cohere = json!({"id": "c", "finish_reason": "COMPLETE", "message": {"role": "assistant",
        "content": [{"type": "text", "text": "Hi"}]}, "usage": {"tokens": {"input_tokens": 1, "output_tokens": 2}}});
    assert_eq!(
        whole(Dialect::CohereV2, cohere),
        "metadata id=c prompt=1 completion=2\ncontent \"Hi\"\nfinal EndTurn (COMPLETE)\nend EndTurn (COMPLETE)\n"
    );
}

#[test]
fn errors_inside_a_stream_are_classified() {
    let failed = Ending { outcome: Outcome::Failed, ..COMPLETE };
    let overloaded = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let anthropic =
        pipeline(Dialect::AnthropicMessages, json!({"decoder": sse(), "frame_selector": "$.type == 'ping'"}));
    check(&anthropic, overloaded, "error overloaded: Overloaded (overloaded_error)\n", failed);
    let responses = frames(&[json!({"type": "response.failed", "response": {"status": "failed",
        "error": {"code": "rate_limit_exceeded", "message": "slow"}}})]);
    let expected = "error rate_limited: slow (rate_limit_exceeded)\n";
    check(&pipeline(Dialect::OpenaiResponses, json!({"decoder": sse()})), &responses, expected, failed);
    let own_words = frames(&[json!({"type": "error", "code": "server_error", "message": "oops"})]);
    let expected = "error server_error: oops (server_error)\n";
    check(&pipeline(Dialect::OpenaiResponses, json!({"decoder": sse()})), &own_words, expected, failed);
}

/// Gateways name the event, llama.cpp writes a line of its own, and neither need be JSON.
#[test]
fn what_is_called_an_error_is_one() {
    let failed = Ending { outcome: Outcome::Failed, ..COMPLETE };
    let text = frames(&[delta(json!({"content": "a"}))]);
    let delimited = json!({"format": "sse", "delimiter": "\n\n", "prefix": "data: "});
    for (end, expected) in [
        (
            "event: error\ndata: {\"message\":\"no room\",\"code\":\"overloaded\"}\n\n",
            "overloaded: no room (overloaded)",
        ),
        (
            "event: error\ndata: {\"error\":{\"message\":\"slow down\",\"code\":\"slow_down\"}}\n\n",
            "rate_limited: slow down (slow_down)",
        ),
        ("event: error\ndata: upstream is gone\n\n", "unknown: upstream is gone (no code)"),
        (
            "error: {\"code\":500,\"message\":\"context shift\",\"type\":\"server_error\"}\n\n",
            "server_error: context shift (server_error)",
        ),
        ("error: out of memory\n\n", "unknown: out of memory (no code)"),
    ] {
        let stream = format!("{text}{end}");
        let expected = format!("content \"a\"\nerror {expected}\n");
        chat(&stream, &expected, failed);
        let pipeline = pipeline(Dialect::OpenaiChat, json!({ "decoder": delimited }));
        let (events, ending) = decode(&pipeline, [stream.as_bytes()]);
        assert_eq!((transcribe(&events), ending), (expected, failed));
    }
}

#[test]
fn an_answer_that_failed_in_its_choice_is_a_failure() {
    let failed = Ending { outcome: Outcome::Failed, ..COMPLETE };
    let choice = |end: Value| {
        let mut choice = json!({"index": 0, "delta": {"content": ""}});
        choice.as_object_mut().unwrap().extend(end.as_object().unwrap().clone());
        frames(&[delta(json!({"content": "a"})), json!({ "choices": [choice] })])
    };
    for (end, expected) in [
        (
            json!({"finish_reason": "error", "error": {"code": 503, "message": "no machine"}}),
            "overloaded: no machine (503)",
        ),
        (
            json!({"error": {"code": "rate_limit_exceeded", "message": "slow"}}),
            "rate_limited: slow (rate_limit_exceeded)",
        ),
        (
            json!({"finish_reason": "error"}),
            "server_error: the server ended the answer with an error and did not say which (server_error)",
        ),
        (
            json!({"finish_reason": "insufficient_system_resource"}),
            "overloaded: the server has too few resources to finish the answer (insufficient_system_resource)",
        ),
    ] {
        let pipeline = pipeline(Dialect::OpenaiChat, json!({ "decoder": sse() }));
        let (events, ending) = decode(&pipeline, [choice(end.clone()).as_bytes()]);
        let told = transcribe(&events);
        let error: Vec<&str> = told.lines().filter(|line| line.starts_with("error")).collect();
        assert_eq!((error, ending), (vec![format!("error {expected}").as_str()], failed), "{end}");
    }
}

/// Gemini throws such a call away and says in words what it was.
#[test]
fn call_that_gemini_could_not_read_is_an_error_with_its_words() {
    let end = json!({"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "Malformed function call: print(x)"});
    let pipeline = pipeline(Dialect::GeminiGenerate, json!({ "decoder": sse() }));
    let (events, ending) = decode(&pipeline, [frames(&[json!({ "candidates": [end] })]).as_bytes()]);
    let told = transcribe(&events);
    let error = "error server_error: Malformed function call: print(x) (MALFORMED_FUNCTION_CALL)";
    assert!(told.lines().any(|line| line == error), "{told}");
    assert_eq!(ending.outcome, Outcome::Failed);
}

#[test]
fn calls_are_told_apart_by_id_where_numbers_repeat() {
    let call = |id: &str, name: &str| json!({"tool_calls": [{"index": 0, "id": id, "function": {"name": name, "arguments": "{}"}}]});
    let stream = frames(&[delta(call("a", "f")), delta(call("b", "g"))]) + "data: [DONE]\n\n";
    let expected =
        "call 0 a f\narguments 0 a \"{}\"\ncalled 0 a\ncall 0 b g\narguments 0 b \"{}\"\ncalled 0 b\nend unknown\n";
    chat(&stream, expected, COMPLETE);
}

#[test]
fn name_that_comes_in_pieces_is_joined() {
    let piece = |index: u64, function: Value| delta(json!({"tool_calls": [{"index": index, "function": function}]}));
    let named = |id: &str, name: &str| {
        delta(json!({"tool_calls": [{"index": 0, "id": id, "function": {"name": name, "arguments": ""}}]}))
    };
    let arguments = piece(0, json!({"arguments": "{}"}));
    let joined = "call 0 a get_weather\narguments 0 a \"{}\"\ncalled 0 a\nend unknown\n";
    for names in [
        vec![named("a", "get_"), piece(0, json!({"name": "weather"}))],
        vec![named("a", "get"), named("a", "_weather")],
        // Repeated, as a whole or as far as it came.
        vec![named("a", "get_weather"), named("a", "get_weather")],
        vec![named("a", "get_"), named("a", "get_weather")],
    ] {
        let stream = frames(&[names, vec![arguments.clone()]].concat()) + "data: [DONE]\n\n";
        chat(&stream, joined, COMPLETE);
    }
    let stream = frames(&[named("a", "get_"), piece(0, json!({"name": "time"}))]) + "data: [DONE]\n\n";
    chat(&stream, "call 0 a get_time\ncalled 0 a\nend unknown\n", COMPLETE);
}

/// A call without arguments is told of before whatever comes after it.
#[test]
fn calls_keep_their_order_while_their_names_are_waited_for() {
    let call = |index: u64, id: &str, name: &str, arguments: &str| {
        let function = json!({"name": name, "arguments": arguments});
        delta(json!({"tool_calls": [{"index": index, "id": id, "function": function}]}))
    };
    let first = call(0, "a", "f", "");
    for (next, told) in [
        (call(1, "b", "g", "{}"), "call 1 b g\narguments 1 b \"{}\"\ncalled 0 a\ncalled 1 b\n"),
        (delta(json!({"content": "then"})), "content \"then\"\ncalled 0 a\n"),
        (delta(json!({"reasoning_content": "why"})), "thinking \"why\"\ncalled 0 a\n"),
    ] {
        let stream = frames(&[first.clone(), next]) + "data: [DONE]\n\n";
        chat(&stream, &format!("call 0 a f\n{told}end unknown\n"), COMPLETE);
    }
}

#[test]
fn signatures_of_openrouter_are_kept() {
    let detail = json!({"type": "reasoning.encrypted", "data": "x", "id": "e"});
    let stream = frames(&[
        delta(json!({"reasoning": "why", "reasoning_details": [{"type": "reasoning.text", "text": "why"}]})),
        delta(json!({"reasoning_details": [{"type": "reasoning.text", "signature": "s"}, detail]})),
    ]) + "data: [DONE]\n\n";
    let expected = "thinking \"why\"\nthinking \"\" signed s\n\
        thinking \"\" signed {\"type\":\"reasoning.encrypted\",\"data\":\"x\",\"id\":\"e\"} redacted\nend unknown\n";
    chat(&stream, expected, COMPLETE);
}

#[test]
fn a_frame_beyond_the_limit_is_an_error() {
    for (decoder, stream) in [
        (sse(), "data: 0123456789\ndata: 0123456789\n\n"),
        (sse(), ": a comment that is longer than it may be\n"),
        (json!({"format": "ndjson"}), "{\"text\": \"0123456789\"}\n"),
        (json!({"format": "gemini_json"}), "[{\"text\": \"0123456789\"}]"),
    ] {
        let manifest = plain(json!({ "decoder": decoder }));
        let pipeline = Pipeline::compile_with_limit(&manifest, Dialect::GeminiGenerate, 20).unwrap();
        for size in [1, 7, 100] {
            let mut decoder = pipeline.start();
            let mut events = Vec::new();
            let refused = stream.as_bytes().chunks(size).find_map(|piece| decoder.push(piece, &mut events).err());
            assert_eq!(refused.map(|refused| refused.limit), Some(20), "{stream:?} in pieces of {size}");
        }
    }
}

/// No manifest that was loaded has such an expression; one that somebody makes may.
#[test]
fn expressions_that_cannot_be_read_are_reported() {
    let fault = |change: fn(&mut Streaming)| {
        let rule = json!({"match": "$.a", "emit": "StreamEnd", "extract": {"finish_reason": "$.a"}});
        let mut manifest = plain(json!({"decoder": {}, "event_map": [rule]}));
        change(manifest.streaming.as_mut().unwrap());
        Pipeline::compile(&manifest, Dialect::OpenaiChat).unwrap_err().to_string()
    };
    assert_eq!(
        fault(|streaming| streaming.event_map[0].condition = "$.a ==".to_owned()),
        "rule 1 (StreamEnd), match: a value is expected at column 7 of \"$.a ==\""
    );
    assert_eq!(
        fault(|streaming| streaming.event_map[0].extract["finish_reason"] = json!("$.a[")),
        "rule 1 (StreamEnd), finish_reason: a number, *, a quoted name or a filter is expected at column 5 of \"$.a[\""
    );
    assert_eq!(
        fault(|streaming| streaming.stop_condition = Some("(".to_owned())),
        "stop_condition: a path is expected at column 2 of \"(\""
    );
}

#[test]
fn the_reason_for_the_end_is_read_where_the_manifest_says() {
    let ended = |source_field: &str, frame: Value| {
        let termination = json!({"source_field": source_field, "mapping": {"over": "max_tokens"}});
        let manifest = manifest("http://127.0.0.1:1", json!({"termination": termination}));
        let pipeline = Pipeline::compile(&manifest, Dialect::OpenaiChat).unwrap();
        let (events, ending) = decode(&pipeline, [frames(&[frame]).as_bytes()]);
        let reasons = events.iter().filter_map(|event| match event {
            StreamEvent::FinalCandidate { finish: Some(finish), .. } => Some(finish.reason),
            _ => None,
        });
        (reasons.collect::<Vec<_>>(), ending.outcome)
    };
    let found = (vec![Termination::MaxTokens], Outcome::Complete);
    assert_eq!(ended("$.end.why", json!({"end": {"why": "over"}})), found);
    assert_eq!(ended("why", json!({"why": "over"})), found);
    let usual = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "over"}]});
    for place in ["finish_reason", "$.choices[0].finish_reason", "$.choices[*].finish_reason", "why"] {
        assert_eq!(ended(place, usual.clone()), found, "{place} is in addition, and nothing is said twice");
    }
    assert_eq!(ended("finish_reason", json!({"why": "over"})), (vec![], Outcome::Truncated));
}

#[test]
fn total_of_nothing_is_no_total() {
    let usage = json!({"prompt_tokens": 11, "completion_tokens": 2, "total_tokens": 0});
    let frame = json!({"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}], "usage": usage});
    let expected = "metadata prompt=11 completion=2\ncontent \"a\"\nfinal EndTurn (stop)\nend EndTurn (stop)\n";
    recorded(&format!("data: {frame}\n\ndata: [DONE]\n\n"), Dialect::OpenaiChat, sse(), expected);
}
