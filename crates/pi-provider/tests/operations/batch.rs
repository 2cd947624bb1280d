//! Many questions at once.

use pi_provider::{
    Call, CallError, Manifest, StreamEvent,
    batch::{
        Batch, Counts, Item, Start, State, cancellation, creation, read_results, read_status, read_upload, results,
        start, status,
    },
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
    format!("{} {}", request.method, request.url)
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

#[test]
fn results_are_answers_or_errors_by_id() {
    let openai = built_in("openai");
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
    let body = lines.map(|line| line.to_string()).join("\r\n") + "\n\n";
    let read = |manifest: &Manifest, body: &str| -> Vec<(String, String)> {
        let outcomes = reading(manifest, |reading| read_results(reading, &target(manifest, "m"), body.as_bytes()));
        outcomes.unwrap().into_iter().map(|outcome| (outcome.id, text(&outcome.answer))).collect()
    };
    let pair = |id: &str, text: &str| (id.to_owned(), text.to_owned());
    assert_eq!(
        read(&openai, &body),
        [
            pair("one", "2"),
            pair("two", "E1005 openai answered: 400 request_too_large: too long"),
            pair("three", "E9999 openai answered: unknown: time was up"),
            pair("four", "E3001 the answer of openai cannot be read: neither an answer nor an error"),
        ]
    );

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
    let body = lines.map(|line| line.to_string()).join("\n");
    assert_eq!(
        read(&built_in("anthropic"), &body),
        [
            pair("two", "4"),
            pair("one", "E3002 anthropic answered: overloaded: busy"),
            pair("three", "E4002 the call was cancelled"),
            pair("four", "E3001 the answer of anthropic cannot be read: no answer (expired)"),
        ]
    );
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
