//! Operations without a type of their own.

use pi_provider::{
    Manifest,
    manifest::load::{Format, load},
    operation::named,
};
use serde_json::json;

use crate::{check_json, provider::target, said};

fn manifest(capabilities: &str) -> Manifest {
    let text = format!(
        "id: a1\nprotocol_version: '2.0'\nendpoint: {{base_url: 'https://a.example/v1', chat: /chat, auth: {{type: bearer}}}}\n\
         error_classification: {{by_http_status: {{'429': rate_limited}}}}\ncapabilities: {{required: [{capabilities}]}}\n\
         endpoints: {{mcp_call_tool: {{path: /mcp/call, method: post}}}}"
    );
    load(&text, "a.yaml", Format::Yaml).manifest.unwrap()
}

#[test]
fn body_goes_as_it_is_to_the_place_that_the_manifest_lists() {
    let (manifest, body) = (manifest("text, mcp_client"), json!({"name": "search", "arguments": {"q": 1}}));
    let request = named::request(&target(&manifest, "m"), "mcp_call_tool", &body);
    check_json(request, "POST https://a.example/v1/mcp/call", &body);
}

#[test]
fn what_is_not_declared_or_not_listed_is_refused() {
    let ask =
        |capabilities: &str, name: &str| said(named::request(&target(&manifest(capabilities), "m"), name, &json!({})));
    assert_eq!(ask("text", "mcp_call_tool"), "E1005 a1 does not declare mcp_client");
    assert_eq!(
        ask("text, mcp_client", "mcp_list_tools"),
        "E1001 option mcp_list_tools cannot be sent: the manifest does not list it"
    );
    assert_eq!(ask("text", "dance"), "E1001 option dance cannot be sent: no capability has this operation");
}
