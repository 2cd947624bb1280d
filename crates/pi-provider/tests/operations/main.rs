//! What can be asked beside a chat: requests as they are sent, answers as they are read, over real sockets and without.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod batch;
mod embeddings;
mod image;
mod named;
mod network;
mod provider;
mod rerank;
mod response;
mod speech;

use std::time::SystemTime;

use pi_provider::{CallError, Manifest, Secret, request::Request, response::Reading};
use serde_json::Value;

const KEY: &str = "sk-planted-0123456789abcdef";

/// Reads an answer of this provider.
fn reading<T>(manifest: &Manifest, read: impl FnOnce(&Reading<'_>) -> T) -> T {
    read(&Reading { manifest, secret: Some(&Secret::new(KEY)), others: &[], received: SystemTime::UNIX_EPOCH })
}

/// A request must go there with this body.
#[track_caller]
fn check_json(request: Result<Request, CallError>, line: &str, body: &Value) {
    let request = request.unwrap();
    assert_eq!(format!("{} {}", request.method, request.address.url), line);
    assert_eq!(serde_json::from_slice::<Value>(&request.body).unwrap(), *body);
    assert_eq!(header(&request, "content-type"), Some("application/json"));
}

fn header<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    request.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// The code and the words of an error.
fn said<T: std::fmt::Debug>(result: Result<T, CallError>) -> String {
    let error = result.unwrap_err();
    format!("{} {error}", error.code().number())
}

/// A server may write into its own words what it was sent.
#[test]
fn credential_is_hidden_in_what_a_server_makes_up() {
    let manifest = provider::built_in("openai");
    let word = format!("x{KEY}y");
    let batch = serde_json::json!({"id": word, "status": word, "output_file_id": word, "errors": {"data": [{"message": word}]}});
    let images = serde_json::json!({"data": [{"url": format!("https://x.example/{KEY}"), "revised_prompt": word}]});
    let heard = serde_json::json!({"text": "Hello.", "language": word});
    let vectors = serde_json::json!({"data": [{"embedding": [1]}], "model": word});
    let shown = reading(&manifest, |reading| {
        [
            format!("{:?}", pi_provider::batch::read_status(reading, batch.to_string().as_bytes()).unwrap()),
            format!("{:?}", pi_provider::image::read(reading, images.to_string().as_bytes()).unwrap()),
            format!("{:?}", pi_provider::speech::read_transcript(reading, None, heard.to_string().as_bytes()).unwrap()),
            format!("{:?}", pi_provider::speech::read_sound(reading, Some(&word), b"sound").unwrap()),
            format!("{:?}", pi_provider::embeddings::read(reading, vectors.to_string().as_bytes(), 1).unwrap()),
        ]
    });
    for shown in shown {
        assert!(!shown.contains(KEY) && shown.contains("***"), "{shown}");
    }
}
