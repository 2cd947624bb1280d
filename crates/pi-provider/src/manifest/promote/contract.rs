//! What the first generation says about requests and answers becomes a contract.

use crate::manifest::{
    diagnostic::Rule,
    load::Report,
    tree::{Member, Node, Tree},
};

pub(super) fn promote(root: &mut Node, report: &mut Report<'_>) {
    let at = root.at;
    let style = root.get("payload_format").and_then(Node::as_str).map(str::to_owned);
    let parameters = root.take("parameter_mappings");
    let paths = root.take("response_paths");
    let tooling = root.take("tooling");
    let mapping = root.get_mut("features").and_then(|features| features.take("response_mapping"));
    // It repeats the format of the request.
    drop(root.take("response_format"));
    if style.is_none() && parameters.is_none() && paths.is_none() && tooling.is_none() && mapping.is_none() {
        return;
    }
    let Some(contract) = root.map_mut("provider_contract", at) else { return };
    if let Some(style) = style.as_deref().and_then(api_style) {
        contract.set_default("api_style", at, Node::text(at, style));
    }
    if let Some(parameters) = parameters
        && let Some(request) = contract.map_mut("request_mapping", parameters.at)
    {
        request.set_default("parameter_aliases", parameters.at, parameters.node);
    }
    if let Some(member) = tooling {
        tools(contract, &member);
    }
    let Some(response) = contract.map_mut("response_mapping", at) else { return };
    if let Some(mapping) = mapping {
        response_mapping(response, &mapping, report);
    }
    if let Some(paths) = paths {
        response_paths(response, &paths);
    }
}

fn api_style(style: &str) -> Option<&'static str> {
    Some(match style {
        "openai_style" => "openai_compatible",
        "anthropic_style" => "anthropic_messages",
        "gemini_style" => "gemini_generate",
        "cohere_v2" | "cohere_style" => "custom",
        _ => return None,
    })
}

fn response_paths(response: &mut Node, paths: &Member) {
    for member in paths.node.as_map().unwrap_or_default() {
        let key = match member.key.as_str() {
            "content" => "content_path",
            "tool_calls" => "tool_calls_path",
            "usage" => "usage_path",
            "finish_reason" | "stop_reason" => "finish_reason_path",
            other => other,
        };
        response.set_default(key, member.at, member.node.clone());
    }
}

/// `features.response_mapping`, which says more about tool calls than the paths do.
fn response_mapping(response: &mut Node, mapping: &Member, report: &mut Report<'_>) {
    if let Some(calls) = mapping.node.get("tool_calls") {
        if let Some(path) = calls.get("path").and_then(Node::as_str) {
            let path = filtered(path, calls.get("filter"), report);
            response.set_default("tool_calls_path", calls.at, Node::text(calls.at, path));
        }
        if let Some(fields) = calls.get("fields") {
            let mut fields = fields.clone();
            // It says again what an id that is no path says.
            drop(fields.take("id_strategy"));
            response.set_default("tool_call_fields", fields.at, fields);
        }
    }
    let Some(error) = mapping.node.get("error") else { return };
    let mut extraction = Node::map(error.at);
    for (key, names) in [
        ("message_path", &["message_path"][..]),
        ("code_path", &["code_path"]),
        ("type_path", &["type_path", "status_path"]),
    ] {
        if let Some(member) = names.iter().find_map(|name| error.member(name)) {
            extraction.set(key, member.at, member.node.clone());
        }
    }
    response.set_default("error_extraction", error.at, extraction);
}

/// The path with its condition in the form that contracts have: `content[?(@.type=='tool_use')]`.
fn filtered(path: &str, filter: Option<&Node>, report: &mut Report<'_>) -> String {
    let Some(node) = filter else { return path.to_owned() };
    let text = node.as_str().unwrap_or_default();
    let exists = text.strip_prefix("exists(").and_then(|rest| rest.strip_suffix(')'));
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "._$".contains(c));
    if let Some(name) = exists.map(str::trim).filter(|name| is_name(name)) {
        return format!("{path}[?(@.{name})]");
    }
    if let Some((name, value)) = text.split_once("==") {
        let (name, value) = (name.trim(), value.trim());
        let is_quoted = value.len() >= 2 && value.starts_with('\'') && value.ends_with('\'');
        if is_name(name) && is_quoted {
            return format!("{path}[?(@.{name}=={value})]");
        }
    }
    report.warning(
        Rule::PromoteFilter,
        node.at,
        "features.response_mapping.tool_calls.filter",
        "the filter is not known",
    );
    path.to_owned()
}

fn tools(contract: &mut Node, tooling: &Member) {
    let at = tooling.at;
    let format = match tooling.node.get("source_model").and_then(Node::as_str) {
        Some("openai_tool_calls") => Some("openai_functions"),
        Some("anthropic_tool_use") => Some("anthropic_tools"),
        Some("gemini_function_call") => Some("gemini_declarations"),
        _ => None,
    };
    if let Some(format) = format
        && let Some(tools) =
            contract.map_mut("capability_contracts", at).and_then(|contracts| contracts.map_mut("tools", at))
    {
        tools.set_default("definition_format", at, Node::text(at, format));
    }
    let Some(call) = tooling.node.get("tool_use") else { return };
    let Some(response) = contract.map_mut("response_mapping", at) else { return };
    let fields: Vec<Member> = [("id", "id_path"), ("name", "name_path"), ("args", "input_path")]
        .into_iter()
        .filter_map(|(key, old)| call.member(old).map(|member| Member { key: key.to_owned(), ..member.clone() }))
        .collect();
    response.set_default("tool_call_fields", call.at, Node { at: call.at, value: Tree::Map(fields) });
}
