//! The first generation: 1.1 with a bare `base_url`, 1.5 with an `endpoint`, and both with everything else of their own.

use super::{contract, models};
use crate::manifest::{
    capability::Capability,
    diagnostic::Rule,
    load::Report,
    names,
    tree::{Member, Node, Position, Tree},
};

pub(super) fn promote(root: &mut Node, report: &mut Report<'_>) {
    address(root);
    capabilities(root, report);
    hybrid(root, report);
    if let Some(auth) = root.get_mut("endpoint").and_then(|endpoint| endpoint.get_mut("auth")) {
        credentials(auth);
    }
    errors(root);
    contract::promote(root, report);
    streaming(root);
    if let Some(names) = root.take("experimental_features")
        && let Some(experimental) = root.map_mut("experimental", names.at)
    {
        experimental.set_default("names", names.at, names.node);
    }
}

/// Members that moved between the generations and turn up in files of either.
pub(super) fn hybrid(root: &mut Node, report: &mut Report<'_>) {
    if let Some(list) = root.get("capabilities").filter(|section| section.as_list().is_some()) {
        let at = list.at;
        report.note(Rule::PromoteCapabilities, at, "capabilities", "the list is read as what is required");
        capabilities(root, report);
    }
    models::gather(root, report);
    let Some(auth) = root.take("auth") else { return };
    let at = auth.at;
    let Some(endpoint) = root.map_mut("endpoint", at) else { return };
    let Some(used) = endpoint.get("auth") else {
        endpoint.set("auth", auth.at, auth.node);
        return;
    };
    let variable = |node: &Node| node.get("token_env").or_else(|| node.get("key_env"))?.as_str().map(str::to_owned);
    if let Some(shadowed) = variable(&auth.node).filter(|name| variable(used).as_ref() != Some(name)) {
        let message = format!("endpoint.auth is used, so {shadowed} is never looked up");
        report.warning(Rule::ShadowedAuth, at, "auth", message);
        report.hint("remove one of the two");
    }
}

fn address(root: &mut Node) {
    let at = root.at;
    let bare = root.take("base_url");
    let template = root.take("base_url_template");
    let variables = root.take("connection_vars");
    let chat = root.take("chat_path");
    let Some(endpoint) = root.map_mut("endpoint", at) else { return };
    if let Some(url) = bare {
        endpoint.set_default("base_url", url.at, url.node);
    }
    if let Some(url) = template {
        let node = fill(url.node, variables.as_ref());
        endpoint.set_default("base_url", url.at, node);
    }
    if let Some(path) = chat {
        endpoint.set_default("chat", path.at, path.node);
    }
}

/// `https://{resource}.example.com` with `connection_vars: {resource: {env: NAME}}` or `{resource: NAME}`.
fn fill(template: Node, variables: Option<&Member>) -> Node {
    let (Tree::Text(text), Some(variables)) = (&template.value, variables) else { return template };
    let mut text = text.clone();
    for variable in variables.node.as_map().unwrap_or_default() {
        let name = variable.node.as_str().or_else(|| variable.node.get("env").and_then(Node::as_str));
        if let Some(name) = name {
            text = text.replace(&format!("{{{}}}", variable.key), &format!("${{{name}}}"));
        }
    }
    Node::text(template.at, text)
}

fn credentials(auth: &mut Node) {
    for (old, new) in [("header_name", "header"), ("key_env", "token_env")] {
        if let Some(member) = auth.take(old) {
            auth.set_default(new, member.at, member.node);
        }
    }
    let at = auth.at;
    auth.set_default("type", at, Node::text(at, "bearer"));
    if auth.get("type").and_then(Node::as_str) == Some("api_key") {
        auth.set("type", at, Node::text(at, "custom_header"));
    }
    if let Some(Tree::Map(headers)) = auth.get("extra_headers").map(|node| node.value.clone()) {
        let list = headers.into_iter().map(header).collect();
        auth.set("extra_headers", at, Node { at, value: Tree::List(list) });
    }
}

/// `{name: value}` as `{name: …, value: …}`.
fn header(member: Member) -> Node {
    let mut node = Node::map(member.at);
    node.set("name", member.at, Node::text(member.at, member.key));
    node.set("value", member.node.at, member.node);
    node
}

/// A list of words, or an object of switches; what is on is required, and so is text.
fn capabilities(root: &mut Node, report: &mut Report<'_>) {
    let Some(section) = root.get("capabilities").cloned() else { return };
    let words: Vec<(Position, String)> = match &section.value {
        Tree::List(list) => list.iter().filter_map(|item| Some((item.at, item.as_str()?.to_owned()))).collect(),
        Tree::Map(members) if section.get("required").is_none() && section.get("optional").is_none() => {
            let on = members.iter().filter(|member| member.node.as_bool() == Some(true));
            on.map(|member| (member.at, member.key.clone())).collect()
        }
        Tree::Map(_) | Tree::Null | Tree::Bool(_) | Tree::Number(_) | Tree::Text(_) => return,
    };
    let mut required = vec![Node::text(section.at, "text")];
    for (at, word) in words {
        match Capability::from_name(&word).or_else(|| names::capability_alias(&word)) {
            Some(Capability::Text) => {}
            Some(capability) => required.push(Node::text(at, capability.name())),
            None => {
                let path = format!("capabilities.{word}");
                report.note(Rule::UnknownCapability, at, &path, format!("{word:?} is not known and ignored"));
                report.ignore(at, path);
            }
        }
    }
    let mut promoted = Node::map(section.at);
    promoted.set("required", section.at, Node { at: section.at, value: Tree::List(required) });
    for key in ["tool_calling", "feature_flags"] {
        if let Some(member) = section.member(key) {
            promoted.set(key, member.at, member.node.clone());
        }
    }
    root.set("capabilities", section.at, promoted);
}

fn errors(root: &mut Node) {
    if let Some(section) = root.get_mut("error_classification") {
        if let Some(old) = section.take("by_error_status") {
            section.set_default("by_error_code", old.at, old.node);
        }
        if let Some(old) = section.take("by_message_contains") {
            section.set_default("by_error_message", old.at, messages(&old.node));
        }
    }
    if let Some(policy) = root.get_mut("retry_policy")
        && let Some(old) = policy.take("retry_on_error_status")
    {
        policy.set_default("retry_on_error_code", old.at, old.node);
    }
}

/// Words to names, as an object or as a list of pairs, become patterns.
fn messages(node: &Node) -> Node {
    let pattern = |at: Position, words: &str, name: Node| {
        let mut entry = Node::map(at);
        entry.set("pattern", at, Node::text(at, regex::escape(words)));
        entry.set("maps_to", name.at, name);
        entry
    };
    let list = match &node.value {
        Tree::Map(members) => {
            members.iter().map(|member| pattern(member.at, &member.key, member.node.clone())).collect()
        }
        Tree::List(items) => items
            .iter()
            .map(|item| {
                let words = ["contains", "pattern", "message"].iter().find_map(|key| item.get(key));
                let name = ["maps_to", "class", "error_class"].iter().find_map(|key| item.get(key));
                match (words.and_then(Node::as_str), name) {
                    (Some(words), Some(name)) => pattern(item.at, words, name.clone()),
                    (_, None) | (None, _) => item.clone(),
                }
            })
            .collect(),
        Tree::Null | Tree::Bool(_) | Tree::Number(_) | Tree::Text(_) => return node.clone(),
    };
    Node { at: node.at, value: Tree::List(list) }
}

/// A stream without a decoder is described by the name of its format alone.
fn streaming(root: &mut Node) {
    let Some(section) = root.get_mut("streaming") else { return };
    let at = section.at;
    let format = section.take("event_format");
    let Some(decoder) = section.map_mut("decoder", at) else { return };
    let word = format.as_ref().and_then(|member| member.node.as_str()).unwrap_or_default();
    let known = match word {
        "anthropic_sse" | "gemini_sse" | "openai_sse" | "ndjson" | "jsonl" | "gemini_json" | "cohere_native" => word,
        _ => "sse",
    };
    decoder.set_default("format", at, Node::text(format.as_ref().map_or(at, |member| member.node.at), known));
}
