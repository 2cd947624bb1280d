//! Operations over a real socket: a scripted server answers, the request that arrived is what is asserted.

use pi_provider::{
    Target,
    client::{Client, Settings},
    manifest::load::{self, Format},
    operation::{Asking, named},
    transport::Network,
};
use pi_testkit::{Reply, Script, Server};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Answer, Trouble, member};
use crate::runner::case::{Case, Folder};

/// The case has no manifest: one is written that puts the operation on the server.
pub(super) fn call(_: &Folder, case: &Case) -> Result<Answer, Trouble> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Trouble::Case(error.to_string()))?;
    runtime.block_on(call_server(case))
}

async fn call_server(case: &Case) -> Result<Answer, Trouble> {
    let operation: String = member(case, "operation")?;
    let (asked, answered): (Value, Value) = (member(case, "request_body")?, member(case, "response_body")?);
    let path = format!("/operations/{operation}");
    let script = Script::new().once(&path, Reply::json(200, &answered));
    let server = Server::start(script).await.map_err(|error| Trouble::Case(error.to_string()))?;
    let manifest = json!({
        "id": "scripted",
        "protocol_version": "2.0",
        "endpoint": {"base_url": server.url(), "chat": "/chat", "auth": {"type": "none"}},
        "error_classification": {"by_http_status": {"429": "rate_limited"}},
        "capabilities": {"required": ["text"], "optional": pi_provider::manifest::Capability::ALL},
        "endpoints": {&operation: {"path": path, "method": "POST"}},
    });
    let loaded = load::load(&manifest.to_string(), "scripted.json", Format::Json);
    let manifest = loaded.manifest.ok_or_else(|| Trouble::Case(format!("{:?}", loaded.diagnostics)))?;
    let target = Target { manifest: &manifest, model: "", entry: None, base_url: None, lookup: &|_| None };
    let client = Client::new(Settings::new(Network::default()));
    let asking = Asking { client: &client, target: &target, credential: None, cancel: &CancellationToken::new() };
    let response = named::ask(&asking, &operation, &asked).await?;
    let requests = server.requests();
    let arrived = requests.first().ok_or_else(|| Trouble::Refused("no request arrived".to_owned()))?;
    Ok(Answer::valid(json!({
        "request_assert": arrived.json(),
        "response_assert": response.value,
        "method": arrived.method,
        "path": arrived.target,
        "request_count": requests.len(),
        "attempts": response.facts.attempts,
    })))
}
