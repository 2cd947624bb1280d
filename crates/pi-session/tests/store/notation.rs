//! Entries as short lines: `id parent type words…`, with `-` for a root.

use pi_session::tree::{Destination, Tree};
use pi_transcript::{Entry, Message};
use serde_json::{Value, json};

/// The entries of a text, one a line.
pub(crate) fn entries(text: &str) -> Vec<Entry> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(entry).collect()
}

/// The tree of such entries, all of them in memory.
pub(crate) fn tree(text: &str) -> Tree {
    let mut tree = Tree::new(Destination::Memory, fastrand::Rng::with_seed(7));
    entries(text).into_iter().for_each(|entry| {
        tree.add_whole(entry);
    });
    tree.move_leaf(tree.leaf());
    tree
}

/// A message in a word or two.
pub(crate) fn describe(message: &Message) -> String {
    match message {
        Message::User(user) => format!("user {}", user.content.text()),
        Message::Assistant(said) => {
            let words = said.content.iter().map(|block| match block {
                pi_transcript::Block::ToolCall(call) => format!("call:{}", call.id),
                other => other.as_text().unwrap_or("?").to_owned(),
            });
            format!("assistant {}", words.collect::<Vec<_>>().join(" "))
        }
        Message::ToolResult(result) => {
            let text: String = result.content.iter().filter_map(|block| block.as_text()).collect();
            let sign = if result.is_error { "!" } else { "" };
            format!("result{sign} {} {}", result.tool_call_id, text.chars().take(24).collect::<String>())
        }
        Message::Custom(custom) => format!("custom {} {}", custom.custom_type, custom.content.text()),
        Message::BranchSummary(branch) => format!("branch {}", branch.summary),
        Message::CompactionSummary(summary) => format!("summary {}", summary.summary),
        Message::BashExecution(bash) => format!("bash {}", bash.command),
        Message::System(system) => format!("system {}", system.content.text()),
        Message::Other(_) => format!("other {}", message.role()),
    }
}

fn entry(line: &str) -> Entry {
    let mut words = line.split(' ');
    let (id, parent, kind) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
    let rest: Vec<&str> = words.collect();
    let word = |index: usize| rest.get(index).copied().unwrap_or_default();
    let after = |index: usize| rest.get(index..).unwrap_or_default().join(" ");
    let payload = match kind {
        "user" => message(&json!({"role": "user", "content": after(0), "timestamp": 1})),
        "assistant" => message(&answer("stop", &after(0))),
        "failed" => message(&answer("error", &after(0))),
        "aborted" => message(&answer("aborted", &after(0))),
        "result" => message(&json!({
            "role": "toolResult", "toolCallId": word(0), "toolName": "read", "timestamp": 1, "isError": false,
            "content": [{"type": "text", "text": after(1)}],
        })),
        "bash" => message(&json!({
            "role": "bashExecution", "command": after(0), "output": "", "cancelled": false, "truncated": false, "timestamp": 1,
        })),
        "model" => json!({"type": "model_change", "provider": word(0), "modelId": word(1)}),
        "thinking" => json!({"type": "thinking_level_change", "thinkingLevel": word(0)}),
        "offer" => json!({"type": "custom", "customType": "pi.offer", "data": {"tools": {"on": rest, "off": []}}}),
        "compaction" => {
            json!({"type": "compaction", "firstKeptEntryId": word(0), "summary": after(1), "tokensBefore": 9})
        }
        "branch" => json!({"type": "branch_summary", "fromId": word(0), "summary": after(1)}),
        "extension" => {
            json!({"type": "custom_message", "customType": word(0), "content": after(1), "display": true})
        }
        "label" if rest.len() > 1 => json!({"type": "label", "targetId": word(0), "label": after(1)}),
        "label" => json!({"type": "label", "targetId": word(0)}),
        "name" => json!({"type": "session_info", "name": after(0)}),
        "edit" if rest.len() > 1 => json!({"type": "context_edit", "targetId": word(0), "replacement": after(1)}),
        "edit" => json!({"type": "context_edit", "targetId": word(0), "replacement": null}),
        other => json!({"type": other, "anything": after(0)}),
    };
    let mut object = payload.as_object().unwrap().clone();
    object.insert("id".to_owned(), id.into());
    object.insert("parentId".to_owned(), if parent == "-" { Value::Null } else { parent.into() });
    object.insert("timestamp".to_owned(), "2026-11-16T00:00:00.001Z".into());
    serde_json::from_value(Value::Object(object)).unwrap()
}

fn message(message: &Value) -> Value {
    json!({"type": "message", "message": message})
}

/// Words, and calls written as `call:id`.
fn answer(stop: &str, words: &str) -> Value {
    let (calls, text): (Vec<&str>, Vec<&str>) = words.split(' ').partition(|word| word.starts_with("call:"));
    let mut content = vec![json!({"type": "text", "text": text.join(" ")})];
    content.extend(calls.iter().map(
        |call| json!({"type": "toolCall", "id": call.trim_start_matches("call:"), "name": "read", "arguments": {}}),
    ));
    json!({
        "role": "assistant", "content": content, "api": "a", "provider": "p", "model": "m", "stopReason": stop, "timestamp": 1,
        "usage": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}},
    })
}
