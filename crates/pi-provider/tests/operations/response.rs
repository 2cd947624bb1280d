//! Answers that were not streamed, in every dialect, and errors among them.

use std::{sync::OnceLock, time::SystemTime};

use pi_provider::{
    CallError, Dialect, Finish, Manifest, Secret, StreamEvent, Termination, TokenUsage, batch, embeddings, image,
    manifest::contract::ResponseMapping,
    rerank,
    response::{Answers, Reading},
    speech,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::provider::{built_in, target};

const KEY: &str = "sk-planted-0123456789abcdef";

fn read(manifest: &Manifest, dialect: Dialect, body: &str) -> Result<Vec<StreamEvent>, CallError> {
    let reading = Reading { manifest, secret: Some(&Secret::new(KEY)), others: &[], received: SystemTime::UNIX_EPOCH };
    Answers::of(manifest, dialect).expect("its paths can be compiled").read(&reading, body.as_bytes())
}

/// The events of an answer, one on a line; ids that were made up are `?`.
fn shown(events: &[StreamEvent], body: &str) -> Vec<String> {
    let id = |id: &str| if id.split('|').all(|part| body.contains(part)) { id.to_owned() } else { "?".to_owned() };
    let by = |candidate: u32| if candidate == 0 { String::new() } else { format!("{candidate}: ") };
    let signed = |signature: &Option<String>| signature.as_ref().map_or(String::new(), |text| format!(" [{text}]"));
    let ended = |finish: &Option<Finish>| match finish {
        Some(Finish { reason, raw }) => format!("{reason:?} {raw}"),
        None => "unknown".to_owned(),
    };
    let show = |event: &StreamEvent| match event {
        StreamEvent::PartialContentDelta { candidate, content, signature, .. } => {
            format!("{}text {content}{}", by(*candidate), signed(signature))
        }
        StreamEvent::ThinkingDelta { candidate, thinking, signature, redacted, .. } => {
            let kind = if *redacted { "redacted" } else { "thinking" };
            format!("{}{kind} {thinking}{}", by(*candidate), signed(signature))
        }
        StreamEvent::ToolCallStarted { candidate, tool_call_id, tool_name, signature, .. } => {
            format!("{}call {} {tool_name}{}", by(*candidate), id(tool_call_id), signed(signature))
        }
        StreamEvent::PartialToolCall { candidate, tool_call_id, arguments, .. } => {
            format!("{}with {} {arguments}", by(*candidate), id(tool_call_id))
        }
        StreamEvent::ToolCallEnded { candidate, tool_call_id, .. } => {
            format!("{}called {}", by(*candidate), id(tool_call_id))
        }
        StreamEvent::Metadata { usage, response_id, model } => {
            let usage = usage.as_ref().map(numbers).unwrap_or_default();
            let named = [response_id, model].into_iter().flatten().cloned().collect::<Vec<_>>().join(" ");
            format!("meta {named}{usage}")
        }
        StreamEvent::FinalCandidate { candidate, finish } => format!("{}final {}", by(*candidate), ended(finish)),
        StreamEvent::StreamEnd { finish } => format!("end {}", ended(finish)),
        StreamEvent::StreamError { failure } => format!("error {failure}"),
        StreamEvent::Other { name, .. } => format!("other {name}"),
    };
    events.iter().map(show).collect()
}

fn numbers(usage: &TokenUsage) -> String {
    let TokenUsage { prompt, completion, total, reasoning, cache_read, cache_write, cache_write_1h, cost, .. } = usage;
    let counts = [
        ("prompt", prompt),
        ("completion", completion),
        ("total", total),
        ("reasoning", reasoning),
        ("read", cache_read),
        ("written", cache_write),
        ("hour", cache_write_1h),
    ];
    let counts = counts.iter().filter_map(|(name, count)| count.map(|count| format!(" {name}={count}")));
    counts.chain(cost.map(|cost| format!(" cost={cost}"))).collect()
}

#[track_caller]
fn check(provider: &str, dialect: Dialect, body: &Value, expected: &[&str]) {
    check_with(&built_in(provider), dialect, body, expected);
}

#[track_caller]
fn check_with(manifest: &Manifest, dialect: Dialect, body: &Value, expected: &[&str]) {
    let body = body.to_string();
    assert_eq!(shown(&read(manifest, dialect, &body).expect("it is an answer"), &body), expected);
}

#[test]
fn chat_completions_are_read_with_all_that_is_in_them() {
    let call =
        json!({"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{\"at\":\"sky\"}"}});
    check(
        "openai",
        Dialect::OpenaiChat,
        &json!({
            "id": "c1", "object": "chat.completion", "model": "gpt-4o-2024", "choices": [{
                "index": 0,
                "message": {"role": "assistant", "content": "Let me look.", "reasoning_content": "Hm.", "tool_calls": [call]},
                "finish_reason": "tool_calls",
            }],
            "usage": {
                "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15,
                "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 3},
            },
        }),
        &[
            "meta c1 gpt-4o-2024 prompt=10 completion=5 total=15 reasoning=3 read=4",
            "thinking Hm.",
            "text Let me look.",
            "call call_1 look",
            "with call_1 {\"at\":\"sky\"}",
            "called call_1",
            "final ToolUse tool_calls",
            "end ToolUse tool_calls",
        ],
    );
}

#[test]
fn several_candidates_and_a_refusal_are_told_apart() {
    check(
        "openai",
        Dialect::OpenaiChat,
        &json!({"id": "c1", "choices": [
            {"index": 0, "message": {"content": "one"}, "finish_reason": "stop"},
            {"index": 1, "message": {"content": null, "refusal": "I will not."}, "finish_reason": "content_filter"},
        ]}),
        &[
            "meta c1",
            "text one",
            "1: text I will not.",
            "final EndTurn stop",
            "1: final Refusal content_filter",
            "end EndTurn stop",
        ],
    );
}

#[test]
fn responses_are_read_with_both_ids_and_what_goes_back() {
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]});
    let thought = format!("thinking Hm. [{reasoning}]");
    check(
        "openai",
        Dialect::OpenaiResponses,
        &json!({
            "id": "resp_1", "object": "response", "status": "completed", "model": "gpt-5.2", "error": null,
            "output": [
                reasoning,
                {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "Yes."}]},
                {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": "{}"},
            ],
            "usage": {
                "input_tokens": 20, "output_tokens": 9, "total_tokens": 29,
                "input_tokens_details": {"cached_tokens": 8}, "output_tokens_details": {"reasoning_tokens": 4},
            },
        }),
        &[
            "meta resp_1 gpt-5.2 prompt=20 completion=9 total=29 reasoning=4 read=8",
            &thought,
            "text Yes. [msg_1]",
            "call call_1|fc_1 look",
            "with call_1|fc_1 {}",
            "called call_1|fc_1",
            "final ToolUse completed",
            "end ToolUse completed",
        ],
    );
    check(
        "openai",
        Dialect::OpenaiResponses,
        &json!({
            "id": "resp_2", "object": "response", "status": "incomplete", "error": null,
            "incomplete_details": {"reason": "max_output_tokens"},
            "output": [{"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "Ye"}]}],
        }),
        &["meta resp_2", "text Ye [msg_1]", "final MaxTokens max_output_tokens", "end MaxTokens max_output_tokens"],
    );
}

#[test]
fn messages_keep_the_order_of_their_blocks() {
    check(
        "anthropic",
        Dialect::AnthropicMessages,
        &json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-4-6",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
                {"type": "redacted_thinking", "data": "opaque"},
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": "sky"}},
                {"type": "text", "text": "Done."},
            ],
            "stop_reason": "tool_use",
            "usage": {
                "input_tokens": 3, "output_tokens": 50, "cache_read_input_tokens": 100,
                "cache_creation_input_tokens": 20, "cache_creation": {"ephemeral_1h_input_tokens": 5},
            },
        }),
        &[
            "meta msg_1 claude-opus-4-6 prompt=123 completion=50 read=100 written=20 hour=5",
            "thinking Hm. [sig]",
            "redacted  [opaque]",
            "text Looking.",
            "call toolu_1 look",
            "with toolu_1 {\"at\":\"sky\"}",
            "called toolu_1",
            "text Done.",
            "final ToolUse tool_use",
            "end ToolUse tool_use",
        ],
    );
}

#[test]
fn contents_are_read_part_by_part() {
    check(
        "gemini",
        Dialect::GeminiGenerate,
        &json!({
            "candidates": [{
                "content": {"role": "model", "parts": [
                    {"text": "Hm.", "thought": true},
                    {"text": "Looking.", "thoughtSignature": "t1"},
                    {"functionCall": {"name": "look", "args": {"at": "sky"}}, "thoughtSignature": "t2"},
                ]},
                "finishReason": "STOP", "index": 0,
            }],
            "usageMetadata": {
                "promptTokenCount": 7, "candidatesTokenCount": 5, "thoughtsTokenCount": 4, "totalTokenCount": 16,
                "cachedContentTokenCount": 2,
            },
            "modelVersion": "gemini-2.5-pro", "responseId": "r1",
        }),
        &[
            "meta r1 gemini-2.5-pro prompt=7 completion=9 total=16 reasoning=4 read=2",
            "thinking Hm.",
            "text Looking. [t1]",
            "call ? look [t2]",
            "with ? {\"at\":\"sky\"}",
            "called ?",
            "final ToolUse STOP",
            "end ToolUse STOP",
        ],
    );
    check(
        "gemini",
        Dialect::GeminiGenerate,
        &json!({"promptFeedback": {"blockReason": "SAFETY"}, "modelVersion": "gemini-2.5-pro"}),
        &["meta gemini-2.5-pro", "final Refusal SAFETY", "end Refusal SAFETY"],
    );
}

#[test]
fn answers_of_cohere_are_read_with_their_plan() {
    let call =
        json!({"id": "look_1", "type": "function", "function": {"name": "look", "arguments": "{\"at\":\"sky\"}"}});
    check(
        "cohere",
        Dialect::CohereV2,
        &json!({
            "id": "co1", "finish_reason": "TOOL_CALL",
            "message": {"role": "assistant", "tool_plan": "I will look.", "tool_calls": [call]},
            "usage": {"billed_units": {"input_tokens": 1, "output_tokens": 2}, "tokens": {"input_tokens": 11.0, "output_tokens": 12.0}},
        }),
        &[
            "meta co1 prompt=11 completion=12",
            "thinking I will look.",
            "call look_1 look",
            "with look_1 {\"at\":\"sky\"}",
            "called look_1",
            "final ToolUse TOOL_CALL",
            "end ToolUse TOOL_CALL",
        ],
    );
}

/// OpenAI's manifest with these paths.
fn mapped(mapping: ResponseMapping) -> Manifest {
    let mut manifest = built_in("openai");
    manifest.contract.response_mapping = mapping;
    manifest
}

#[test]
fn paths_of_the_contract_win() {
    let path = |path: &str| Some(path.to_owned());
    let fields = [("id", "$.ref"), ("name", "tool"), ("args", "@.with")];
    let manifest = mapped(ResponseMapping {
        content_path: path("$.answer.parts[?(@.kind=='say')].words"),
        finish_reason_path: path("answer.why"),
        usage_path: path("spent"),
        tool_calls_path: path("answer.calls"),
        tool_call_fields: fields.map(|(name, path)| (name.to_owned(), path.to_owned())).into_iter().collect(),
        finish_reason_mapping: [("enough".to_owned(), "length".to_owned())].into_iter().collect(),
        ..ResponseMapping::default()
    });
    check_with(
        &manifest,
        Dialect::OpenaiChat,
        &json!({
            "id": "c1",
            "choices": [{"message": {"content": "a decoy"}, "finish_reason": "stop"}],
            "answer": {
                "parts": [{"kind": "say", "words": "one "}, {"kind": "hide", "words": "no"}, {"kind": "say", "words": "two"}],
                "calls": [{"ref": "r1", "tool": "look", "with": {"at": "sky"}}, {"ref": "r2", "tool": "go", "with": {"n": 1}}],
                "why": "enough",
            },
            "spent": {"prompt_tokens": 1, "completion_tokens": 2},
            "usage": {"prompt_tokens": 100},
        }),
        &[
            "meta  prompt=1 completion=2",
            "meta c1",
            "text one ",
            "text two",
            "call r1 look",
            "with r1 {\"at\":\"sky\"}",
            "called r1",
            "call r2 go",
            "with r2 {\"n\":1}",
            "called r2",
            "final MaxTokens enough",
            "end MaxTokens enough",
        ],
    );
}

#[test]
fn paths_that_lead_nowhere_or_to_the_same_words_change_nothing() {
    let body = json!({
        "candidates": [{
            "content": {"parts": [{"text": "Hm.", "thought": true}, {"text": "Yes.", "thoughtSignature": "t1"}]},
            "finishReason": "STOP",
        }],
    });
    let mut manifest = built_in("gemini");
    let expected = ["thinking Hm.", "text Yes. [t1]", "final EndTurn STOP", "end EndTurn STOP"];
    // The standard's contract for Gemini does not tell thoughts from text.
    for path in ["$.candidates[0].content.parts[?(@.text)].text", "$.no.such.place"] {
        manifest.contract.response_mapping.content_path = Some(path.to_owned());
        manifest.contract.response_mapping.finish_reason_path = Some("$.candidates[0].finishReason".to_owned());
        check_with(&manifest, Dialect::GeminiGenerate, &body, &expected);
    }
}

/// Contracts of the first generation name one part of the list that holds the answer.
#[test]
fn a_path_to_one_part_does_not_lose_the_others() {
    let gemini = json!({
        "candidates": [{
            "content": {"parts": [{"text": "Hm.", "thought": true}, {"text": "One "}, {"text": "two."}]},
            "finishReason": "STOP",
        }],
    });
    let anthropic = json!({
        "type": "message", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "One "}, {"type": "text", "text": "two."}],
    });
    let rows = [
        ("gemini", Dialect::GeminiGenerate, "$.candidates[0].content.parts[0].text", &gemini, "thinking Hm."),
        ("gemini", Dialect::GeminiGenerate, "$.candidates[0].content.parts[1].text", &gemini, "thinking Hm."),
        ("anthropic", Dialect::AnthropicMessages, "content[0].text", &anthropic, ""),
    ];
    for (provider, dialect, path, body, thought) in rows {
        let mut manifest = built_in(provider);
        manifest.contract.response_mapping.content_path = Some(path.to_owned());
        let body = body.to_string();
        let events = shown(&read(&manifest, dialect, &body).unwrap(), &body);
        let said: Vec<&str> =
            events.iter().map(String::as_str).filter(|event| event.starts_with("t") && *event != thought).collect();
        assert_eq!(said, ["text One ", "text two."], "{path}");
        assert_eq!(
            events.iter().filter(|event| event.starts_with("thinking")).count(),
            usize::from(!thought.is_empty())
        );
    }
}

#[test]
fn error_with_a_good_status_is_an_error_in_every_form() {
    let said = |body: &str| {
        let error = read(&built_in("openai"), Dialect::OpenaiChat, body).unwrap_err();
        assert!(!error.to_string().contains(KEY) && !format!("{error:?}").contains(KEY), "{error:?}");
        format!("{} {error}", error.code().number())
    };
    let quoted = said(&json!({"error": {"code": "invalid_api_key", "message": format!("no {KEY} here")}}).to_string());
    assert!(quoted.starts_with("E1002 openai answered: authentication: no "), "{quoted}");
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}});
    assert_eq!(said(&overloaded.to_string()), "E3002 openai answered: overloaded: busy");
    let empty = json!({"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}, "choices": null});
    assert_eq!(said(&empty.to_string()), "E2002 openai answered: quota_exhausted: insufficient balance");
    let bare = json!({"code": "InvalidApiKey", "message": "Invalid API-key provided.", "request_id": "r"});
    assert_eq!(
        said(&bare.to_string()),
        "E1002 openai answered: authentication: Invalid API-key provided. (request id r)"
    );
    let start = "E3001 the answer of openai cannot be read: ";
    assert_eq!(said("{}"), format!("{start}no answer in it"));
    assert_eq!(said("[]"), format!("{start}no answer in it"));
    assert_eq!(said("<html>"), format!("{start}no JSON: expected value at line 1 column 1"));
    assert_eq!(said("{\"choices\": ["), format!("{start}no JSON: EOF while parsing a list at line 1 column 13"));
    let invalid = Answers::of(&built_in("openai"), Dialect::OpenaiChat).unwrap();
    let manifest = built_in("openai");
    let reading = Reading { manifest: &manifest, secret: None, others: &[], received: SystemTime::UNIX_EPOCH };
    let fault = invalid.read(&reading, b"{\"choices\": \"\xFF\"}").unwrap_err();
    assert_eq!(fault.to_string(), "the answer of openai cannot be read: no UTF-8");
}

#[test]
fn answer_that_failed_in_its_choice_is_refused() {
    for (end, expected) in [
        (json!({"finish_reason": "error", "error": {"code": 503, "message": "no machine"}}), "overloaded: no machine"),
        (
            json!({"finish_reason": "stop", "error": {"code": "rate_limit_exceeded", "message": "slow"}}),
            "rate_limited: slow",
        ),
        (
            json!({"finish_reason": "error"}),
            "server_error: the server ended the answer with an error and did not say which",
        ),
        (
            json!({"finish_reason": "insufficient_system_resource"}),
            "overloaded: the server has too few resources to finish the answer",
        ),
    ] {
        let mut choice = json!({"index": 0, "message": {"content": "Half of"}});
        choice.as_object_mut().unwrap().extend(end.as_object().unwrap().clone());
        let body = json!({"choices": [choice]}).to_string();
        let error = read(&built_in("openai"), Dialect::OpenaiChat, &body).unwrap_err();
        assert_eq!(error.to_string(), format!("openai answered: {expected}"));
    }
}

#[test]
fn call_that_gemini_could_not_read_is_refused_with_its_words() {
    let end = json!({"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "Malformed function call: print(x)"});
    let body = json!({ "candidates": [end] }).to_string();
    let error = read(&built_in("gemini"), Dialect::GeminiGenerate, &body).unwrap_err();
    assert_eq!(error.to_string(), "gemini answered: server_error: Malformed function call: print(x)");
}

#[test]
fn failed_response_is_refused_with_its_reason() {
    let body = json!({
        "id": "r", "object": "response", "status": "failed", "output": [],
        "error": {"code": "rate_limit_exceeded", "message": "slow down"},
    });
    let error = read(&built_in("openai"), Dialect::OpenaiResponses, &body.to_string()).unwrap_err();
    assert_eq!(error.to_string(), "openai answered: rate_limited: slow down");
}

#[test]
fn empty_error_beside_an_answer_is_none() {
    for error in [json!(null), json!(""), json!({}), json!(false)] {
        let body = json!({"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}], "error": error});
        check("vllm", Dialect::OpenaiChat, &body, &["text hi", "final EndTurn stop", "end EndTurn stop"]);
    }
}

#[test]
fn answer_without_a_reason_for_its_end_is_an_answer() {
    let body = json!({"choices": [{"message": {"content": "hi"}}]});
    check("llamacpp", Dialect::OpenaiChat, &body, &["text hi", "end unknown"]);
}

#[test]
fn every_built_in_manifest_has_answers_that_compile() {
    for built_in in pi_provider::builtin::MANIFESTS {
        let manifest = crate::provider::built_in(built_in.id);
        let dialect = Dialect::of(&manifest, target(&manifest, "any").entry);
        assert!(Answers::compile(&manifest, dialect).is_ok(), "{}", built_in.id);
    }
}

#[test]
fn termination_is_the_standard_one() {
    let body = json!({"choices": [{"message": {"content": "x"}, "finish_reason": "length"}]}).to_string();
    let events = read(&built_in("openai"), Dialect::OpenaiChat, &body).unwrap();
    let finish = Finish { reason: Termination::MaxTokens, raw: "length".to_owned() };
    assert_eq!(events.last(), Some(&StreamEvent::StreamEnd { finish: Some(finish) }));
}

/// JSON whose members are words that the rules look for, so that they meet more than nothing.
fn documents() -> impl Strategy<Value = Value> {
    let words = vec![
        "choices",
        "message",
        "content",
        "tool_calls",
        "function",
        "name",
        "arguments",
        "candidates",
        "parts",
        "text",
        "type",
        "output",
        "usage",
        "prompt_tokens",
        "finish_reason",
        "error",
        "id",
        "index",
        "data",
        "embedding",
        "results",
        "relevance_score",
        "embeddings",
        "base_resp",
        "status_code",
        "custom_id",
        "response",
        "result",
    ];
    let word = prop::sample::select(words);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 5, move |inner| {
        let members = prop::collection::hash_map(word.clone(), inner.clone(), 0..5);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::Array),
            members.prop_map(|members| members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_answer_makes_a_reader_panic(document in documents(), cut in any::<prop::sample::Index>()) {
        let body = document.to_string();
        let half = &body.as_bytes()[..cut.index(body.len())];
        let manifest = OPENAI.get_or_init(|| built_in("openai"));
        let reading = Reading { manifest, secret: None, others: &[], received: SystemTime::UNIX_EPOCH };
        for body in [body.as_bytes(), half] {
            for answers in READERS.get_or_init(|| Dialect::ALL.map(|dialect| Answers::of(manifest, dialect).unwrap())) {
                let _ = answers.read(&reading, body);
            }
            let _ = embeddings::read(&reading, body, 1);
            let _ = rerank::read(&reading, body, 1);
            let _ = image::read(&reading, body);
            let _ = speech::read_transcript(&reading, None, body);
            let _ = speech::read_sound(&reading, Some("application/json"), body);
            let _ = batch::read_status(&reading, body);
            let _ = batch::read_results(&reading, &target(manifest, "m"), &[], body);
        }
    }
}

static OPENAI: OnceLock<Manifest> = OnceLock::new();
static READERS: OnceLock<[Answers; 6]> = OnceLock::new();
