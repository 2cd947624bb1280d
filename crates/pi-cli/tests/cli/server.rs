//! A scripted model server on loopback that lives as long as a test, and a machine on which no other one is found.

use std::future::Future;

use pi_testkit::server::{Reply, Script, Server};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use crate::world::World;

/// The server with the threads that it runs on; `pi` is another process.
pub(crate) struct Running {
    pub(crate) server: Server,
    runtime: Runtime,
}

impl Running {
    pub(crate) fn new(script: Script) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("threads");
        let server = runtime.block_on(Server::start(script)).expect("a port on loopback");
        Running { server, runtime }
    }

    /// The address as `--base-url` takes it.
    pub(crate) fn base_url(&self) -> String {
        format!("{}/v1", self.server.url())
    }

    pub(crate) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// What was printed, with a stable word for the address.
    pub(crate) fn without_address(&self, shown: &str) -> String {
        shown.replace(&self.server.address().to_string(), "HOST")
    }
}

/// A stream of Chat Completions that says these pieces.
pub(crate) fn stream(pieces: &[&str]) -> Reply {
    let delta = |piece: &&str| frame(&json!({"choices": [{"index": 0, "delta": {"content": piece}}]}));
    let end = [
        frame(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})),
        frame(&json!({"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 2, "total_tokens": 13}})),
        "data: [DONE]\n\n".to_owned(),
    ];
    Reply::events(pieces.iter().map(delta).chain(end))
}

/// The same with thinking, text and a tool call.
pub(crate) fn rich_stream() -> Reply {
    let frames = [
        json!({"choices": [{"index": 0, "delta": {"reasoning_content": "Let me look. "}}]}),
        json!({"choices": [{"index": 0, "delta": {"reasoning_content": "Yes."}}]}),
        json!({"choices": [{"index": 0, "delta": {"content": "I ask."}}]}),
        json!({"choices": [{"index": 0, "delta": {"tool_calls": [
            {"index": 0, "id": "call-1", "type": "function", "function": {"name": "get_time", "arguments": ""}}]}}]}),
        json!({"choices": [{"index": 0, "delta": {"tool_calls": [
            {"index": 0, "function": {"arguments": "{\"city\":"}}]}}]}),
        json!({"choices": [{"index": 0, "delta": {"tool_calls": [
            {"index": 0, "function": {"arguments": "\"Paris\"}"}}]}}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
    ];
    Reply::events(frames.iter().map(frame).chain(["data: [DONE]\n\n".to_owned()]))
}

pub(crate) fn frame(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// A refusal as OpenAI words it.
pub(crate) fn refusal(status: u16, kind: &str, message: &str) -> Reply {
    Reply::json(status, &json!({"error": {"message": message, "type": kind, "code": kind}}))
}

/// A world whose agent directory replaces the manifests of local servers by ones that are not looked for, so that what
/// happens to run on this machine does not change what is printed.
pub(crate) fn quiet_world() -> World {
    ["llamacpp", "lmstudio", "ollama", "vllm"].iter().fold(World::new(), |world, id| {
        world.with(&format!("agent/providers/{id}.yaml"), manifest(id, "http://127.0.0.1:9"))
    })
}

/// A small manifest of version 2 with one model that costs something.
pub(crate) fn manifest(id: &str, base_url: &str) -> String {
    let variable = format!("{}_KEY", id.to_uppercase());
    format!(
        "id: {id}
protocol_version: \"2.0\"
endpoint:
  base_url: {base_url}
  chat: /chat/completions
  auth: {{ type: bearer, token_env: {variable} }}
error_classification:
  by_http_status: {{ \"400\": invalid_request, \"401\": authentication, \"429\": rate_limited, \"500\": server_error }}
capabilities:
  required: [text, streaming, tools]
streaming:
  decoder: {{ format: sse, strategy: openai_chat }}
retry_policy: {{ strategy: none }}
metadata:
  models:
    small:
      context_window: 8192
      max_output_tokens: 1024
      pricing: {{ input_per_1m: 1.0, output_per_1m: 2.0 }}
      model_capabilities: {{ tool_call: true, reasoning: false }}
      modalities: {{ input: [text, image], output: [text] }}
"
    )
}
