//! Every spelling of the path of an operation ends up in `endpoints`.

use super::Generation;
use crate::{
    dialect::{Chat, Dialect},
    manifest::{
        names,
        tree::{Node, Position, Tree},
    },
};

/// Members of `endpoint` that are not paths.
const NOT_PATHS: [&str; 5] = ["base_url", "protocol", "timeout_ms", "auth", "endpoints"];
/// Members of `endpoint` that are paths.
pub(crate) const PATHS: [&str; 9] =
    ["chat", "stream_chat", "embeddings", "images", "stt", "tts", "rerank", "batch", "completions"];

pub(super) fn gather(root: &mut Node, generation: Generation) {
    let payload = root.take("payload_format");
    let style = payload.as_ref().and_then(|member| member.node.as_str()).unwrap_or_default().to_owned();
    if let Some(endpoints) = root.get_mut("endpoints") {
        rename(endpoints);
    }
    flat_paths(root);
    if generation.is_promoted() {
        chat_of(root, &style);
    }
    stream_of(root);
}

/// `endpoints.*`: bare texts become objects, other names become ours. DeepSeek's `chat_openai` stays beside its `chat`.
fn rename(endpoints: &mut Node) {
    let Tree::Map(members) = &mut endpoints.value else { return };
    for member in members.iter_mut() {
        if let Tree::Text(path) = &member.node.value {
            let (path, at) = (path.clone(), member.node.at);
            member.node = operation(at, path);
        }
    }
    let names: Vec<String> = members.iter().map(|member| member.key.clone()).collect();
    for name in names {
        let known = names::operation(&name).to_owned();
        if known != name && endpoints.get(&known).is_none() {
            let Some(member) = endpoints.take(&name) else { continue };
            endpoints.set(&known, member.at, member.node);
        }
    }
}

/// `endpoint.chat` and its neighbours, and `endpoint.endpoints`. A path beside the address beats one further away, and
/// takes over what else is known about the operation.
fn flat_paths(root: &mut Node) {
    let Some(endpoint) = root.get_mut("endpoint") else { return };
    let mut moved: Vec<(String, Position, Node)> = Vec::new();
    if let Some(nested) = endpoint.take("endpoints")
        && let Tree::Map(members) = nested.node.value
    {
        moved.extend(members.into_iter().map(|member| (member.key, member.at, member.node)));
    }
    let names: Vec<String> = endpoint
        .as_map()
        .unwrap_or_default()
        .iter()
        .filter(|member| {
            let is_operation = PATHS.contains(&member.key.as_str()) || names::operation(&member.key) != member.key;
            !NOT_PATHS.contains(&member.key.as_str()) && is_operation
        })
        .map(|member| member.key.clone())
        .collect();
    for name in names {
        moved.extend(endpoint.take(&name).map(|member| (member.key, member.at, member.node)));
    }
    if moved.is_empty() {
        return;
    }
    let at = root.at;
    let Some(endpoints) = root.map_mut("endpoints", at) else { return };
    for (name, at, node) in moved {
        let name = names::operation(&name);
        let node = match node.value {
            Tree::Text(path) => operation(node.at, path),
            value => Node { at: node.at, value },
        };
        match (endpoints.get_mut(name), node.get("path").cloned()) {
            (Some(existing), Some(path)) if existing.as_map().is_some() => existing.set("path", path.at, path),
            (Some(_) | None, _) => endpoints.set(name, at, node),
        }
    }
}

/// The chat of a file that only says which style it speaks.
fn chat_of(root: &mut Node, style: &str) {
    let at = root.at;
    let dialect = Dialect::from_word(style);
    let usual = Chat::of(dialect.unwrap_or(Dialect::OpenaiChat));
    let Some(endpoints) = root.map_mut("endpoints", at) else { return };
    endpoints.set_default("chat", at, operation(at, usual.path.clone()));
    if let (Some(chat), Some(_)) = (endpoints.get_mut("chat"), dialect) {
        chat.set_default("adapter", at, Node::text(at, usual.adapter.as_str()));
    }
}

/// The other path of a dialect that streams from another one.
fn stream_of(root: &mut Node) {
    let Some(endpoints) = root.get_mut("endpoints") else { return };
    if endpoints.get("stream_chat").is_some() {
        return;
    }
    let Some(chat) = endpoints.get("chat").cloned() else { return };
    let Some(path) = chat.get("path") else { return };
    let Some(streamed) = path.as_str().and_then(Chat::stream_beside) else { return };
    let mut stream = chat.clone();
    stream.set("path", path.at, Node::text(path.at, streamed));
    endpoints.set("stream_chat", chat.at, stream);
}

fn operation(at: Position, path: String) -> Node {
    let mut node = Node::map(at);
    node.set("path", at, Node::text(at, path));
    node
}
