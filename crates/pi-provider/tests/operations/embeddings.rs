//! Texts as vectors.

use pi_provider::embeddings::{Embed, Embeddings, Purpose, read, request};
use serde_json::{Value, json};

use crate::{
    check_json,
    provider::{built_in, target},
    reading, said,
};

fn embed(texts: &[&str]) -> Embed {
    Embed { texts: texts.iter().map(|&text| text.to_owned()).collect(), dimensions: Some(3), purpose: None }
}

/// What `provider` is sent for `ask`.
fn check_request(provider: &str, model: &str, ask: &Embed, line: &str, body: &Value) {
    let manifest = built_in(provider);
    check_json(request(&target(&manifest, model), ask), line, body);
}

/// What is made of an answer of `provider` to `count` texts.
fn check_answer(provider: &str, answer: &Value, count: usize) -> Embeddings {
    reading(&built_in(provider), |reading| read(reading, answer.to_string().as_bytes(), count)).unwrap()
}

#[test]
fn every_form_asks_in_its_own_words() {
    check_request(
        "openai",
        "text-embedding-3-small",
        &embed(&["a", "b"]),
        "POST https://api.openai.com/v1/embeddings",
        &json!({"model": "text-embedding-3-small", "input": ["a", "b"], "dimensions": 3}),
    );
    check_request(
        "ollama",
        "nomic-embed-text",
        &Embed { dimensions: None, ..embed(&["a"]) },
        "POST http://127.0.0.1:11434/v1/embeddings",
        &json!({"model": "nomic-embed-text", "input": ["a"]}),
    );
    check_request(
        "mistral",
        "codestral-embed",
        &embed(&["a"]),
        "POST https://api.mistral.ai/v1/embeddings",
        &json!({"model": "codestral-embed", "input": ["a"], "output_dimension": 3}),
    );
    check_request(
        "cohere",
        "embed-v4.0",
        &Embed { purpose: Some(Purpose::Query), ..embed(&["a"]) },
        "POST https://api.cohere.com/v2/embed",
        &json!({
            "model": "embed-v4.0",
            "texts": ["a"],
            "input_type": "search_query",
            "embedding_types": ["float"],
            "output_dimension": 3,
        }),
    );
    check_request(
        "gemini",
        "gemini-embedding-001",
        &Embed { purpose: Some(Purpose::Clustering), ..embed(&["a"]) },
        "POST https://generativelanguage.googleapis.com/v1beta/models/gemini-embedding-001:embedContent",
        &json!({"content": {"parts": [{"text": "a"}]}, "taskType": "CLUSTERING", "outputDimensionality": 3}),
    );
    let one = |text: &str| {
        json!({
            "model": "models/gemini-embedding-001",
            "content": {"parts": [{"text": text}]},
            "outputDimensionality": 3,
        })
    };
    check_request(
        "gemini",
        "gemini-embedding-001",
        &embed(&["a", "b"]),
        "POST https://generativelanguage.googleapis.com/v1beta/models/gemini-embedding-001:batchEmbedContents",
        &json!({"requests": [one("a"), one("b")]}),
    );
}

#[test]
fn path_of_a_servers_own_takes_the_usual_words() {
    let mut manifest = built_in("ollama");
    manifest.endpoints["embeddings"].path = "/api/embed".to_owned();
    manifest.endpoints["embeddings"].adapter = None;
    check_json(
        request(&target(&manifest, "all-minilm"), &embed(&["a"])),
        "POST http://127.0.0.1:11434/api/embed",
        &json!({"model": "all-minilm", "input": ["a"], "dimensions": 3}),
    );
}

#[test]
fn what_a_form_has_no_place_for_is_listed() {
    let manifest = built_in("openai");
    let ask = Embed { purpose: Some(Purpose::Query), ..embed(&["a"]) };
    let changes = request(&target(&manifest, "text-embedding-3-small"), &ask).unwrap().changes;
    let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
    assert_eq!(changes, ["dropped purpose: this provider has no place for it"]);
}

#[test]
fn undeclared_and_empty_are_refused_before_anything_is_sent() {
    let (groq, openai) = (built_in("groq"), built_in("openai"));
    let undeclared = request(&target(&groq, "x"), &embed(&["a"]));
    assert_eq!(said(undeclared), "E1005 groq does not declare embeddings");
    let none = request(&target(&openai, "x"), &embed(&[]));
    assert_eq!(said(none), "E1001 option texts cannot be sent: there is no text");
    let empty = request(&target(&openai, "x"), &embed(&["a", ""]));
    assert_eq!(said(empty), "E1001 option texts cannot be sent: text 2 is empty");
}

#[test]
fn every_form_of_vectors_is_read() {
    let openai = json!({
        "object": "list",
        "model": "text-embedding-3-small",
        "data": [{"index": 1, "embedding": [0.5, -1.0]}, {"index": 0, "embedding": [1, 2.25]}],
        "usage": {"prompt_tokens": 5, "total_tokens": 5},
    });
    let read = check_answer("openai", &openai, 2);
    assert_eq!(read.vectors, [[1.0, 2.25], [0.5, -1.0]]);
    assert_eq!(read.model.as_deref(), Some("text-embedding-3-small"));
    let usage = read.usage.unwrap();
    assert_eq!((usage.prompt, usage.total), (Some(5), Some(5)));

    let base64 = json!({"data": [{"index": 0, "embedding": "AACAPwAAEEA="}]});
    assert_eq!(check_answer("openai", &base64, 1).vectors, [[1.0, 2.25]]);
    let ollama = json!({"model": "m", "embeddings": [[1.0], [2.0]], "prompt_eval_count": 7});
    let read = check_answer("ollama", &ollama, 2);
    assert_eq!((read.vectors, read.usage.unwrap().prompt), (vec![vec![1.0], vec![2.0]], Some(7)));
    let cohere = json!({
        "id": "1",
        "embeddings": {"float": [[1.0, 2.0]]},
        "meta": {"api_version": {"version": "2"}, "billed_units": {"input_tokens": 4}},
    });
    let read = check_answer("cohere", &cohere, 1);
    assert_eq!((read.vectors, read.usage.unwrap().prompt), (vec![vec![1.0, 2.0]], Some(4)));
    let gemini = json!({"embedding": {"values": [0.25]}});
    assert_eq!(check_answer("gemini", &gemini, 1).vectors, [[0.25]]);
    let gemini = json!({"embeddings": [{"values": [0.25]}, {"values": [0.5]}]});
    assert_eq!(check_answer("gemini", &gemini, 2).vectors, [[0.25], [0.5]]);
}

#[test]
fn answers_that_lack_something_are_errors() {
    let manifest = built_in("openai");
    let fault = |body: &str, count| said(reading(&manifest, |reading| read(reading, body.as_bytes(), count)));
    let start = "E3001 the answer of openai cannot be read: ";
    assert_eq!(fault(r#"{"data": [{"embedding": [1]}]}"#, 2), format!("{start}1 vectors for 2 texts"));
    assert_eq!(fault(r#"{"data": [{"embedding": ["x"]}]}"#, 1), format!("{start}no vectors in it"));
    assert_eq!(fault(r#"{"data": [{"index": 9, "embedding": [1]}]}"#, 1), format!("{start}no vectors in it"));
    assert_eq!(fault(r#"{"data": [{"embedding": "AAA="}]}"#, 1), format!("{start}no vectors in it"));
    let repeated = r#"{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [2]}]}"#;
    assert_eq!(fault(repeated, 2), format!("{start}two vectors have the index 0"));
    let uneven = r#"{"data": [{"embedding": [1, 2]}, {"embedding": [2]}]}"#;
    assert_eq!(fault(uneven, 2), format!("{start}a vector has 2 numbers, and another 1"));
    assert_eq!(fault(r#"{"data": [{"embedding": []}]}"#, 1), format!("{start}a vector is empty"));
    assert_eq!(fault("<html>", 1), format!("{start}no JSON: expected value at line 1 column 1"));
}

#[test]
fn error_with_a_good_status_is_an_error_and_quotes_no_key() {
    let body = json!({"error": {"code": "rate_limit_exceeded", "message": format!("slow down, {}", crate::KEY)}});
    let error = reading(&built_in("openai"), |reading| read(reading, body.to_string().as_bytes(), 1)).unwrap_err();
    assert_eq!(error.code().number(), "E2001");
    assert!(error.to_string().contains("slow down") && !error.to_string().contains(crate::KEY), "{error}");
}
