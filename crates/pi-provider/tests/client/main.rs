//! Calls over real loopback sockets, from the prompt to the last event.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers;
mod breaker;
mod cancel;
mod classify;
mod credential;
mod endings;
mod every_manifest;
mod local;
mod network;
mod packed;
mod retry;
mod seams;
mod secrecy;
#[path = "../support/manifest.rs"]
mod support;
mod text_calls;
mod timeouts;

use std::time::Duration;

use pi_envelope::{
    Prompt,
    meta::Origin,
    prompt::{Provenance, Said},
};
use pi_provider::{
    Call, CallError, Manifest, Options, Secret, StreamEvent, Target,
    client::{Answer, Client, Completion, Settings, Timeouts},
    credential::Credential,
    transport::Network,
};
use pi_testkit::{Reply, Script, Server};
use pi_transcript::Message;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const PLANTED: &str = "sk-planted-9f27c41b6e";

/// A server with a script, and a client that talks to it.
struct Fixture {
    server: Server,
    manifest: Manifest,
    client: Client,
    cancel: CancellationToken,
    prompt: Prompt,
    options: Options,
}

impl Fixture {
    async fn new(script: Script) -> Self {
        Self::with(script, json!({})).await
    }

    async fn with(script: Script, changes: Value) -> Self {
        let server = Server::start(script).await.unwrap();
        let manifest = manifest(&server.url(), changes);
        Self::of(server, manifest, settings())
    }

    fn of(server: Server, manifest: Manifest, settings: Settings) -> Self {
        let client = Client::new(settings);
        let cancel = CancellationToken::new();
        Self { server, manifest, client, cancel, prompt: prompt("Hello, ada@example.com"), options: Options::plain() }
    }

    fn target(&self) -> Target<'_> {
        Target { manifest: &self.manifest, model: "small", entry: None, base_url: None, lookup: &|_| None }
    }

    fn call(&self) -> Call<'_> {
        Call { prompt: &self.prompt, options: &self.options }
    }

    async fn stream(&self) -> Result<Answer, CallError> {
        let credential = Credential::key(Secret::new(PLANTED));
        self.client.stream(&self.target(), self.call(), Some(&credential), &self.cancel).await
    }

    async fn complete(&self) -> Result<Completion, CallError> {
        let credential = Credential::key(Secret::new(PLANTED));
        self.client.complete(&self.target(), self.call(), Some(&credential), &self.cancel).await
    }

    /// The text of a streamed answer, or the error that ended it.
    async fn text(&self) -> Result<String, CallError> {
        text(&mut self.stream().await?).await
    }

    async fn error(&self) -> CallError {
        self.text().await.unwrap_err()
    }
}

fn manifest(base_url: &str, changes: Value) -> Manifest {
    let mut all = json!({"capabilities": {"required": ["text", "streaming"]}});
    support::merge(&mut all, changes);
    support::manifest(base_url, all)
}

/// No proxies and no chance: delays are the shortest.
fn settings() -> Settings {
    Settings { chance: || 0.0, timeouts: Timeouts::default(), ..Settings::new(Network::default()) }
}

fn prompt(text: &str) -> Prompt {
    let message: Message = serde_json::from_value(json!({"role": "user", "content": text, "timestamp": 0})).unwrap();
    let said = Said::new("1".into(), message, Provenance::usual(Origin::User));
    Prompt { messages: vec![said], ..Prompt::default() }
}

async fn text(answer: &mut Answer) -> Result<String, CallError> {
    let mut text = String::new();
    while let Some(event) = answer.next().await {
        if let StreamEvent::PartialContentDelta { content, .. } = event? {
            text.push_str(&content);
        }
    }
    Ok(text)
}

fn delta(content: &str) -> String {
    format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"content": content}}]}))
}

fn stop() -> String {
    format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}))
}

/// `Hello, world` and the end.
fn hello() -> Reply {
    Reply::events([delta("Hello, "), delta("world"), stop(), "data: [DONE]\n\n".to_owned()])
}

fn whole(content: &str) -> Reply {
    let choice = json!({"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"});
    Reply::json(200, &json!({"id": "r1", "model": "small", "choices": [choice]}))
}

fn failing(status: u16) -> Reply {
    Reply::json(status, &json!({"error": {"message": "no"}}))
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
