//! What a manifest may leave out, and what a contract may not say.

use pi_provider::manifest::{self, Format, load::load_contract};

fn check(endpoint: &str, capabilities: &str, expected: &[&str]) {
    let text = format!(
        "id: ranker\nprotocol_version: \"2.0\"\nendpoint: {{base_url: \"https://a.example\", {endpoint}auth: {{type: bearer}}}}\n\
         error_classification: {{by_http_status: {{\"429\": rate_limited}}}}\n{capabilities}"
    );
    let loaded = manifest::load(&text, "a.yaml", Format::Yaml);
    let rules: Vec<&str> = loaded.errors().map(|error| error.rule.name()).collect();
    assert_eq!(rules, expected, "{:?}", loaded.diagnostics);
}

#[test]
fn provider_without_text_needs_no_chat() {
    check("rerank: /rerank, ", "capabilities: {required: [rerank]}", &[]);
    check("chat: /chat, ", "capabilities: {required: [rerank]}", &["ring2.text"]);
    check("", "capabilities: {required: [text]}", &["ring1.chat"]);
    check("", "", &["ring1.chat"]);
    check("", "capabilities: {optional: [telepathy]}", &["ring1.chat"]);
}

#[test]
fn contract_resolves_references_in_a_known_way_or_not_at_all() {
    let load = |resolution: &str| {
        let text = format!(
            "provider_id: a1\nrequest_mapping: {{content_block_mapping: {{document: {{ref_resolution: {resolution}}}}}}}"
        );
        load_contract(&text, "a.yaml", Format::Yaml).contract.is_some()
    };
    assert_eq!(["error_before_encode", "resolve_at_runtime", "pass_through"].map(load), [true, true, false]);
}
