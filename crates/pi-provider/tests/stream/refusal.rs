//! Answers that are refusals: what they say is text, and the reason for their end says what they are.

use std::time::SystemTime;

use pi_provider::{
    Dialect,
    response::{Answers, Reading},
    stream::Pipeline,
};
use serde_json::{Value, json};

use crate::{manifest::manifest, transcription::transcribe};

/// The events of a stream of these frames.
#[track_caller]
fn streamed(dialect: Dialect, frames: &[Value], expected: &str) {
    let manifest = manifest("http://127.0.0.1:1", json!({ "streaming": { "decoder": { "format": "sse" } } }));
    let mut decoder = Pipeline::compile(&manifest, dialect).unwrap().start();
    let mut events = Vec::new();
    for frame in frames {
        decoder.push(format!("data: {frame}\n\n").as_bytes(), &mut events).unwrap();
    }
    decoder.finish(&mut events).unwrap();
    assert_eq!(transcribe(&events), expected);
}

/// The events of a whole answer, with these additions to the manifest.
#[track_caller]
fn whole_of(dialect: Dialect, additions: Value, body: &Value, expected: &str) {
    let manifest = manifest("http://127.0.0.1:1", additions);
    let reading = Reading { manifest: &manifest, secret: None, others: &[], received: SystemTime::UNIX_EPOCH };
    let answers = Answers::compile(&manifest, dialect).unwrap();
    let events = answers.read(&reading, body.to_string().as_bytes()).unwrap();
    assert_eq!(transcribe(&events), expected);
}

#[track_caller]
fn whole(dialect: Dialect, body: &Value, expected: &str) {
    whole_of(dialect, json!({}), body, expected);
}

#[test]
fn refusals_of_chat_completions_are_told_as_such() {
    let delta = |delta: Value, finish: Value| json!({"choices": [{"delta": delta, "finish_reason": finish}]});
    let said = "content \"I can\"\ncontent \"not.\"\nfinal Refusal (refusal)\nend Refusal (refusal)\n";
    let pieces = [
        delta(json!({"refusal": "I can"}), Value::Null),
        delta(json!({"content": null, "refusal": "not."}), Value::Null),
        delta(json!({}), json!("stop")),
    ];
    streamed(Dialect::OpenaiChat, &pieces, said);
    let message = |message: Value, finish: &str| json!({"choices": [{"message": message, "finish_reason": finish}]});
    let refused = "content \"No.\"\nfinal Refusal (refusal)\nend Refusal (refusal)\n";
    let refusal = message(json!({"content": null, "refusal": "No."}), "stop");
    whole(Dialect::OpenaiChat, &refusal, refused);
    // A contract that finds the word for an ordinary end does not make it one.
    let contract =
        json!({"provider_contract": {"response_mapping": {"finish_reason_path": "choices[0].finish_reason"}}});
    whole_of(Dialect::OpenaiChat, contract, &refusal, refused);
    let filtered = "content \"Ha\"\nfinal Refusal (content_filter)\nend Refusal (content_filter)\n";
    whole(Dialect::OpenaiChat, &message(json!({"content": "Ha"}), "content_filter"), filtered);
    // The member is there in every answer.
    let plain = "content \"Yes\"\nfinal EndTurn (stop)\nend EndTurn (stop)\n";
    whole(Dialect::OpenaiChat, &message(json!({"content": "Yes", "refusal": null}), "stop"), plain);
    whole(Dialect::OpenaiChat, &message(json!({"content": "Yes", "refusal": ""}), "stop"), plain);
}

#[test]
fn refusal_in_one_of_several_answers_is_that_answers_own() {
    let choice = |index: u32, message: Value| json!({"index": index, "message": message, "finish_reason": "stop"});
    let body = json!({"choices": [choice(0, json!({"content": "Yes"})), choice(1, json!({"refusal": "No."}))]});
    let expected = "content \"Yes\"\ncontent of 1 \"No.\"\nfinal EndTurn (stop)\nfinal of 1 Refusal (refusal)\nend EndTurn (stop)\n";
    whole(Dialect::OpenaiChat, &body, expected);
}

#[test]
fn refusals_of_responses_are_told_as_such() {
    let frames = [
        json!({"type": "response.refusal.delta", "output_index": 0, "delta": "I cannot."}),
        json!({"type": "response.completed", "response": {"status": "completed"}}),
    ];
    let expected = "content 0 \"I cannot.\"\nfinal Refusal (refusal)\nend Refusal (refusal)\n";
    streamed(Dialect::OpenaiResponses, &frames, expected);
    let output = json!([{"type": "message", "id": "m", "content": [{"type": "refusal", "refusal": "I cannot."}]}]);
    let frames = [json!({"type": "response.completed", "response": {"status": "completed", "output": output}})];
    let expected = "content \"I cannot.\" signed m\nfinal Refusal (refusal)\nend Refusal (refusal)\n";
    streamed(Dialect::OpenaiResponses, &frames, expected);
    let body = |part: Value| {
        json!({"object": "response", "status": "completed", "output": [
            {"type": "message", "id": "m", "content": [part]}]})
    };
    let refused = "content \"I cannot.\" signed m\nfinal Refusal (refusal)\nend Refusal (refusal)\n";
    whole(Dialect::OpenaiResponses, &body(json!({"type": "refusal", "refusal": "I cannot."})), refused);
    let plain = "content \"Yes\" signed m\nfinal EndTurn (completed)\nend EndTurn (completed)\n";
    whole(Dialect::OpenaiResponses, &body(json!({"type": "output_text", "text": "Yes"})), plain);
}

#[test]
fn refusals_of_anthropic_say_why_if_they_do() {
    let explained =
        json!({"stop_reason": "refusal", "stop_details": {"type": "refusal", "explanation": "It is not done."}});
    let frames = [
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Well"}}),
        json!({"type": "message_delta", "delta": explained}),
        json!({"type": "message_stop"}),
    ];
    let end = "final Refusal (refusal)\nend Refusal (refusal)\n";
    let expected = format!("content 0 \"Well\"\ncontent \"It is not done.\"\n{end}");
    streamed(Dialect::AnthropicMessages, &frames, &expected);
    let mut body = json!({"type": "message", "content": [{"type": "text", "text": "Well"}]});
    body.as_object_mut().unwrap().extend(explained.as_object().unwrap().clone());
    let expected = format!("content \"Well\"\ncontent 1000 \"It is not done.\"\n{end}");
    whole(Dialect::AnthropicMessages, &body, &expected);
    whole(Dialect::AnthropicMessages, &json!({"type": "message", "content": [], "stop_reason": "refusal"}), end);
}

#[test]
fn prompts_and_answers_that_gemini_blocks_are_refusals() {
    let check = |frame: Value, expected: &str| {
        streamed(Dialect::GeminiGenerate, std::slice::from_ref(&frame), expected);
        whole(Dialect::GeminiGenerate, &frame, expected);
    };
    let blocked = |reason: &str| json!({"promptFeedback": {"blockReason": reason}});
    check(blocked("SAFETY"), "final Refusal (SAFETY)\nend Refusal (SAFETY)\n");
    // A reason that nobody knows: of an answer it would be some end, of a prompt it is a refusal.
    check(blocked("OTHER"), "final Refusal (OTHER)\nend Refusal (OTHER)\n");
    let told = json!({"promptFeedback": {"blockReason": "BLOCKLIST", "blockReasonMessage": "A word is on a list."}});
    check(told, "content \"A word is on a list.\"\nfinal Refusal (BLOCKLIST)\nend Refusal (BLOCKLIST)\n");
    let candidate = |reason: &str| json!({"candidates": [{"content": {"parts": [{"text": "So"}]}, "finishReason": reason, "finishMessage": "Why."}]});
    check(candidate("SAFETY"), "content \"So\"\ncontent 1000 \"Why.\"\nfinal Refusal (SAFETY)\nend Refusal (SAFETY)\n");
    check(candidate("STOP"), "content \"So\"\nfinal EndTurn (STOP)\nend EndTurn (STOP)\n");
}
