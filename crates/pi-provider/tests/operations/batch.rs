//! Many questions at once.

use pi_envelope::Tool;
use pi_provider::{
    Call, CallError, Manifest, StreamEvent,
    batch::{
        Batch, Counts, Item, Start, State, cancellation, creation, pricing, read_results, read_status, read_upload,
        results, start, status,
    },
    builtin::MANIFESTS,
    manifest::Capability,
    request::{Mode, Request, build, plain},
};
use serde_json::{Map, Value, json};

use crate::{
    check_json, header,
    provider::{built_in, target},
    reading, said,
};

/// A question as it is put to this model.
fn item(manifest: &Manifest, model: &str, id: &str, words: &str) -> Item {
    let plain = plain(&[json!({"role": "user", "content": words})], &Map::new()).unwrap();
    let call = Call { prompt: &plain.prompt, options: &plain.options };
    let request = build(&target(manifest, model), call, Mode::Whole).unwrap();
    Item { id: id.to_owned(), request }
}

fn questions(manifest: &Manifest, model: &str) -> Vec<Item> {
    vec![item(manifest, model, "one", "1 + 1?"), item(manifest, model, "two", "2 + 2?")]
}

fn line(request: &Request) -> String {
    format!("{} {}", request.method, request.address.url)
}

fn described(manifest: &Manifest, body: &Value) -> Batch {
    reading(manifest, |reading| read_status(reading, body.to_string().as_bytes())).unwrap()
}

#[test]
fn openai_gets_a_file_of_lines_and_then_a_batch() {
    let manifest = built_in("openai");
    let target = target(&manifest, "gpt-4o-mini");
    let items = questions(&manifest, "gpt-4o-mini");
    let Ok(Start::Upload(upload)) = start(&target, &items) else { panic!("a file comes first") };
    assert_eq!(line(&upload), "POST https://api.openai.com/v1/files");
    assert!(header(&upload, "content-type").unwrap().starts_with("multipart/form-data; boundary="));
    let text = String::from_utf8(upload.body).unwrap();
    assert!(text.contains("name=\"purpose\"\r\n\r\nbatch\r\n"), "{text}");
    let lines: Vec<Value> =
        text.lines().filter(|line| line.starts_with('{')).map(|line| serde_json::from_str(line).unwrap()).collect();
    let body = |item: &Item| serde_json::from_slice::<Value>(&item.request.body).unwrap();
    let url = "/v1/chat/completions";
    assert_eq!(
        lines,
        [
            json!({"custom_id": "one", "method": "POST", "url": url, "body": body(&items[0])}),
            json!({"custom_id": "two", "method": "POST", "url": url, "body": body(&items[1])}),
        ]
    );
    assert_eq!(lines[1]["body"]["messages"][0]["content"], json!("2 + 2?"));

    let file = reading(&manifest, |reading| read_upload(reading, br#"{"id": "file-1", "purpose": "batch"}"#)).unwrap();
    check_json(
        creation(&target, &items, &file),
        "POST https://api.openai.com/v1/batches",
        &json!({"input_file_id": "file-1", "endpoint": url, "completion_window": "24h"}),
    );
}

#[test]
fn mistral_is_told_the_same_in_other_words() {
    let manifest = built_in("mistral");
    let target = target(&manifest, "mistral-small-latest");
    let items = questions(&manifest, "mistral-small-latest");
    let Ok(Start::Upload(upload)) = start(&target, &items) else { panic!("a file comes first") };
    assert_eq!(line(&upload), "POST https://api.mistral.ai/v1/files");
    let text = String::from_utf8(upload.body).unwrap();
    let first: Value = serde_json::from_str(text.lines().find(|line| line.starts_with('{')).unwrap()).unwrap();
    let body: Value = serde_json::from_slice(&items[0].request.body).unwrap();
    assert_eq!(first, json!({"custom_id": "one", "body": body}));
    check_json(
        creation(&target, &items, "f1"),
        "POST https://api.mistral.ai/v1/batch/jobs",
        &json!({
            "input_files": ["f1"],
            "model": "mistral-small-latest",
            "endpoint": "/v1/chat/completions",
            "timeout_hours": 24,
        }),
    );
    let batch = described(
        &manifest,
        &json!({
            "id": "j1", "status": "SUCCESS", "output_file": "out", "error_file": null,
            "total_requests": 2, "succeeded_requests": 2, "failed_requests": 0,
        }),
    );
    assert_eq!((batch.state, batch.files.as_slice()), (State::Completed, &["out".to_owned()][..]));
    assert_eq!(batch.counts, Counts { total: Some(2), succeeded: Some(2), failed: Some(0) });
}

#[test]
fn anthropic_gets_the_questions_in_the_request() {
    let manifest = built_in("anthropic");
    let items = questions(&manifest, "claude-haiku-4-5");
    let Ok(Start::Create(request)) = start(&target(&manifest, "claude-haiku-4-5"), &items) else { panic!("no file") };
    assert_eq!(line(&request), "POST https://api.anthropic.com/v1/messages/batches");
    assert_eq!(header(&request, "anthropic-version"), Some("2023-06-01"));
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let params = |item: &Item| serde_json::from_slice::<Value>(&item.request.body).unwrap();
    assert_eq!(
        body,
        json!({"requests": [
            {"custom_id": "one", "params": params(&items[0])},
            {"custom_id": "two", "params": params(&items[1])},
        ]})
    );
}

#[test]
fn gemini_gets_the_questions_with_their_ids_beside_them() {
    let manifest = built_in("gemini");
    let items = questions(&manifest, "gemini-2.5-flash");
    let Ok(Start::Create(request)) = start(&target(&manifest, "gemini-2.5-flash"), &items) else { panic!("no file") };
    let body = |item: &Item| serde_json::from_slice::<Value>(&item.request.body).unwrap();
    check_json(
        Ok(request),
        "POST https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:batchGenerateContent",
        &json!({"batch": {"displayName": "pi", "inputConfig": {"requests": {"requests": [
            {"request": body(&items[0]), "metadata": {"key": "one"}},
            {"request": body(&items[1]), "metadata": {"key": "two"}},
        ]}}}}),
    );
}

#[test]
fn gemini_describes_a_batch_as_an_operation() {
    let manifest = built_in("gemini");
    let operation = |state: &str| {
        json!({
            "name": "batches/b1",
            "metadata": {"state": state, "batchStats": {"requestCount": "3", "successfulRequestCount": "2", "failedRequestCount": "1"}},
        })
    };
    let batch = described(&manifest, &operation("BATCH_STATE_RUNNING"));
    let expected = Batch {
        id: "b1".to_owned(),
        state: State::Running,
        raw_state: "BATCH_STATE_RUNNING".to_owned(),
        counts: Counts { total: Some(3), succeeded: Some(2), failed: Some(1) },
        files: Vec::new(),
        problem: None,
    };
    assert_eq!(batch, expected);
    let mut failed = operation("BATCH_STATE_FAILED");
    failed["error"] = json!({"code": 3, "message": "no such model"});
    let failed = described(&manifest, &failed);
    assert_eq!((failed.state, failed.problem.as_deref()), (State::Failed, Some("no such model")));

    let target = target(&manifest, "gemini-2.5-flash");
    let base = "https://generativelanguage.googleapis.com/v1beta/batches/b1";
    assert_eq!(line(&status(&target, &batch.id).unwrap()), format!("GET {base}"));
    assert_eq!(line(&cancellation(&target, &batch.id).unwrap()), format!("POST {base}:cancel"));
    let fetched: Vec<String> = results(&target, &batch).unwrap().iter().map(line).collect();
    assert_eq!(fetched, [format!("GET {base}")]);
}

#[test]
fn batches_are_looked_at_ended_and_fetched_where_they_are() {
    let openai = built_in("openai");
    let target_openai = target(&openai, "m");
    let base = "https://api.openai.com/v1";
    assert_eq!(line(&status(&target_openai, "batch_1").unwrap()), format!("GET {base}/batches/batch_1"));
    assert_eq!(header(&status(&target_openai, "batch_1").unwrap(), "content-type"), None);
    assert_eq!(line(&cancellation(&target_openai, "batch_1").unwrap()), format!("POST {base}/batches/batch_1/cancel"));
    let batch = described(
        &openai,
        &json!({
            "id": "batch_1",
            "object": "batch",
            "status": "completed",
            "errors": null,
            "output_file_id": "file-out",
            "error_file_id": "file-err",
            "request_counts": {"total": 3, "completed": 2, "failed": 1},
        }),
    );
    let expected = Batch {
        id: "batch_1".to_owned(),
        state: State::Completed,
        raw_state: "completed".to_owned(),
        counts: Counts { total: Some(3), succeeded: Some(2), failed: Some(1) },
        files: vec!["file-out".to_owned(), "file-err".to_owned()],
        problem: None,
    };
    assert_eq!(batch, expected);
    let fetched: Vec<String> = results(&target_openai, &batch).unwrap().iter().map(line).collect();
    let content = |file: &str| format!("GET {base}/files/{file}/content");
    assert_eq!(fetched, [content("file-out"), content("file-err")]);

    let anthropic = built_in("anthropic");
    let batch = described(
        &anthropic,
        &json!({
            "id": "msgbatch_1",
            "type": "message_batch",
            "processing_status": "ended",
            "request_counts": {"processing": 0, "succeeded": 5, "errored": 1, "canceled": 1, "expired": 1},
            "results_url": "https://elsewhere.example/steal",
        }),
    );
    assert_eq!(batch.counts, Counts { total: Some(8), succeeded: Some(5), failed: Some(2) });
    let fetched: Vec<String> = results(&target(&anthropic, "m"), &batch).unwrap().iter().map(line).collect();
    assert_eq!(fetched, ["GET https://api.anthropic.com/v1/messages/batches/msgbatch_1/results"]);
}

#[test]
fn every_word_for_a_state_is_known() {
    let manifest = built_in("openai");
    for (word, state) in [
        ("validating", State::Waiting),
        ("QUEUED", State::Waiting),
        ("in_progress", State::Running),
        ("finalizing", State::Running),
        ("canceling", State::Cancelling),
        ("CANCELLATION_REQUESTED", State::Cancelling),
        ("ended", State::Completed),
        ("SUCCESS", State::Completed),
        ("failed", State::Failed),
        ("TIMEOUT_EXCEEDED", State::Expired),
        ("BATCH_STATE_PENDING", State::Waiting),
        ("BATCH_STATE_SUCCEEDED", State::Completed),
        ("cancelled", State::Cancelled),
    ] {
        let batch = described(&manifest, &json!({"job": {"id": "b", "status": word}}));
        assert_eq!((batch.state, batch.raw_state.as_str()), (state, word));
    }
    let over = [State::Completed, State::Failed, State::Expired, State::Cancelled];
    let all = [State::Waiting, State::Running, State::Cancelling].into_iter().chain(over);
    assert!(all.filter(|state| state.is_over()).eq(over));
}

fn text(answer: &Result<Vec<StreamEvent>, CallError>) -> String {
    match answer {
        Ok(events) => events
            .iter()
            .filter_map(|event| match event {
                StreamEvent::PartialContentDelta { content, .. } => Some(content.as_str()),
                _ => None,
            })
            .collect(),
        Err(error) => format!("{} {error}", error.code().number()),
    }
}

/// Results must be these, by id: the words of an answer, or the code and the words of an error.
#[track_caller]
fn check_results(provider: &str, body: &str, expected: &[(&str, &str)]) {
    let manifest = built_in(provider);
    let outcomes = reading(&manifest, |reading| read_results(reading, &target(&manifest, "m"), &[], body.as_bytes()));
    let read: Vec<_> = outcomes.unwrap().into_iter().map(|outcome| (outcome.id, text(&outcome.answer))).collect();
    let read: Vec<_> = read.iter().map(|(id, text)| (id.as_str(), text.as_str())).collect();
    assert_eq!(read, expected);
}

#[test]
fn results_of_openai_are_in_the_words_of_http() {
    let answer = json!({
        "id": "c1", "object": "chat.completion", "model": "gpt-4o-mini",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "2"}, "finish_reason": "stop"}],
    });
    let error = json!({"error": {"code": "context_length_exceeded", "message": "too long"}});
    let lines = [
        json!({"custom_id": "one", "response": {"status_code": 200, "body": answer}, "error": null}),
        json!({"custom_id": "two", "response": {"status_code": 400, "body": error}, "error": null}),
        json!({"custom_id": "three", "response": null, "error": {"code": "batch_expired", "message": "time was up"}}),
        json!({"custom_id": "four"}),
    ];
    check_results(
        "openai",
        &(lines.map(|line| line.to_string()).join("\r\n") + "\n\n"),
        &[
            ("one", "2"),
            ("two", "E1005 openai answered: 400 request_too_large: too long"),
            ("three", "E9999 openai answered: unknown: time was up"),
            ("four", "E3001 the answer of openai cannot be read: neither an answer nor an error"),
        ],
    );
}

#[test]
fn results_of_anthropic_say_what_became_of_a_question() {
    let message = json!({
        "id": "m1", "type": "message", "role": "assistant", "model": "claude-haiku-4-5",
        "content": [{"type": "text", "text": "4"}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 9, "output_tokens": 1},
    });
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}});
    let lines = [
        json!({"custom_id": "two", "result": {"type": "succeeded", "message": message}}),
        json!({"custom_id": "one", "result": {"type": "errored", "error": overloaded}}),
        json!({"custom_id": "three", "result": {"type": "canceled"}}),
        json!({"custom_id": "four", "result": {"type": "expired"}}),
    ];
    check_results(
        "anthropic",
        &lines.map(|line| line.to_string()).join("\n"),
        &[
            ("two", "4"),
            ("one", "E3002 anthropic answered: overloaded: busy"),
            ("three", "E4002 the call was cancelled"),
            ("four", "E3001 the answer of anthropic cannot be read: no answer (expired)"),
        ],
    );
}

#[test]
fn results_of_gemini_are_in_the_operation() {
    let answer =
        json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "2"}]}, "finishReason": "STOP"}]});
    let busy = json!({"code": 503, "status": "UNAVAILABLE", "message": "busy"});
    let body = json!({
        "name": "batches/b1",
        "done": true,
        "metadata": {"state": "BATCH_STATE_SUCCEEDED"},
        "response": {"inlinedResponses": {"inlinedResponses": [
            {"response": answer, "metadata": {"key": "one"}},
            {"error": busy, "metadata": {"key": "two"}},
            {"response": answer},
        ]}},
    });
    check_results(
        "gemini",
        &body.to_string(),
        &[("one", "2"), ("two", "E3002 gemini answered: overloaded: busy"), ("3", "2")],
    );
}

#[test]
fn calls_that_are_written_as_text_are_found_in_results() {
    let mut manifest = built_in("openai");
    manifest.capabilities.tool_calling =
        serde_json::from_value(json!({"native": {"supported": false}, "text_fallback": {}})).unwrap();
    let written = "Let me look.\n<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"a.rs\"}}\n</tool_call>";
    let answer = json!({"choices": [{"message": {"role": "assistant", "content": written}, "finish_reason": "stop"}]});
    let body = json!({"custom_id": "one", "response": {"status_code": 200, "body": answer}}).to_string();
    let plain = plain(
        &[json!({"role": "user", "content": "?"})],
        json!({"tools": [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}]})
            .as_object()
            .unwrap(),
    )
    .unwrap();
    let read = |tools: &[Tool]| {
        let target = target(&manifest, "m");
        let outcomes = reading(&manifest, |reading| read_results(reading, &target, tools, body.as_bytes())).unwrap();
        outcomes[0].answer.as_ref().unwrap().iter().filter_map(show).collect::<String>()
    };
    assert_eq!(read(&plain.prompt.tools), "Let me look. [read {\"path\":\"a.rs\"}] ToolUse");
    assert_eq!(read(&[]), format!("{written} EndTurn"));
}

/// Text, calls and the reason for the end.
fn show(event: &StreamEvent) -> Option<String> {
    match event {
        StreamEvent::PartialContentDelta { content, .. } => Some(content.clone()),
        StreamEvent::ToolCallStarted { tool_name, .. } => Some(format!(" [{tool_name} ")),
        StreamEvent::PartialToolCall { arguments, .. } => Some(arguments.clone()),
        StreamEvent::ToolCallEnded { .. } => Some("]".to_owned()),
        StreamEvent::StreamEnd { finish } => finish.as_ref().map(|finish| format!(" {:?}", finish.reason)),
        StreamEvent::ThinkingDelta { .. }
        | StreamEvent::Metadata { .. }
        | StreamEvent::FinalCandidate { .. }
        | StreamEvent::StreamError { .. }
        | StreamEvent::Other { .. } => None,
    }
}

#[test]
fn wrong_batches_are_refused_before_anything_is_sent() {
    let (openai, groq, deepseek) = (built_in("openai"), built_in("groq"), built_in("deepseek"));
    let target_openai = target(&openai, "gpt-4o-mini");
    let items = questions(&openai, "gpt-4o-mini");
    let undeclared = said(start(&target(&deepseek, "m"), &items));
    assert_eq!(undeclared, "E1005 deepseek does not declare batch");
    assert_eq!(said(start(&target_openai, &[])), "E1001 option items cannot be sent: there is no question");
    let twice = [items[0].clone(), items[0].clone()];
    let twice = said(start(&target_openai, &twice));
    assert_eq!(twice, "E1001 option items cannot be sent: the id \"one\" is empty or not unique");
    let elsewhere = [items[0].clone(), item(&groq, "llama-3.1-8b-instant", "two", "2 + 2?")];
    let elsewhere = said(start(&target_openai, &elsewhere));
    assert_eq!(elsewhere, "E1001 option items cannot be sent: \"two\" goes to another address than the others");
    let escape = said(status(&target_openai, "../files"));
    assert_eq!(escape, "E1001 option id cannot be sent: \"../files\" is not an id of this provider");
}

/// Whoever takes batches asks for less than usual, and what a cache takes off then is another question.
#[test]
fn batch_costs_the_part_that_its_provider_asks_for() {
    for known in MANIFESTS {
        let manifest = built_in(known.id);
        let Some((model, entry)) = manifest.models.iter().find(|(_, entry)| entry.pricing.is_some()) else { continue };
        let asked = pricing(&target(&manifest, model));
        assert_eq!(asked.is_some(), manifest.capabilities.has(Capability::Batch), "{}", known.id);
        if let (Some(asked), Some(usual)) = (asked, &entry.pricing) {
            assert_eq!(asked.input_per_1m, usual.input_per_1m.map(|price| price / 2.0), "{}", known.id);
            assert_eq!(asked.cache_hit_input_per_1m, None, "{}", known.id);
        }
    }
}
