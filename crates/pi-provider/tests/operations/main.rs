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
