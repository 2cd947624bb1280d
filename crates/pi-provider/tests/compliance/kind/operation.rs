//! Operations over a real socket: a scripted server answers, the request that arrived is what is asserted.

use std::time::Duration;

use pi_provider::{
    manifest::load::{self, Format},
    request::{self, Target},
    transport::{self, Network, Outgoing, Transport},
};
use pi_testkit::{Reply, Script, Server};
use reqwest::{
    Method,
    header::{CONTENT_TYPE, HeaderMap, HeaderValue},
};
use serde_json::{Value, json};

use super::{Answer, Trouble, member};
use crate::runner::case::{Case, Folder};

/// More than any body of a case.
const LARGEST: usize = 1 << 20;

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
        "core": {"endpoint": {"base_url": server.url(), "endpoints": {&operation: {"path": path, "method": "POST"}}}},
    });
    let manifest = load::load(&manifest.to_string(), "scripted.json", Format::Json).manifest;
    let manifest = manifest.ok_or_else(|| Trouble::Case("the manifest of the server does not load".to_owned()))?;
    let found = manifest.operation(&operation).ok_or_else(|| Trouble::Refused(format!("{operation} is lost")))?;
    let target = Target { manifest: &manifest, model: "", entry: None, base_url: None, lookup: &|_| None };
    let outgoing = Outgoing {
        method: Method::from_bytes(found.method.as_bytes()).map_err(|error| Trouble::Case(error.to_string()))?,
        url: request::join(&target, &found.path, "")?,
        headers: HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]),
        body: asked.to_string().into(),
    };
    let broken = |error: &dyn std::error::Error| Trouble::Refused(error.to_string());
    let transport = Transport::new(&Network::default(), Duration::from_secs(5)).map_err(|error| broken(&error))?;
    let mut response = transport.send(outgoing, None).await.map_err(|error| broken(&error))?;
    let body = transport::read_body(&mut response, LARGEST).await.map_err(|error| broken(&error))?;
    let requests = server.requests();
    let arrived = requests.first().ok_or_else(|| Trouble::Refused("no request arrived".to_owned()))?;
    Ok(Answer::valid(json!({
        "request_assert": arrived.json(),
        "response_assert": serde_json::from_slice::<Value>(&body).unwrap_or_default(),
        "method": arrived.method,
        "path": arrived.target,
        "request_count": requests.len(),
    })))
}
