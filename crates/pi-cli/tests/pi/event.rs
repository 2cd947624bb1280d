//! Events as they are compared: what differs from run to run by its name, each with a label that says what it is about.

use serde_json::Value;

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    /// Its type and what it is about: `tool_execution_end read call_0`, `message_update text_delta 0`.
    pub(crate) label: String,
    pub(crate) value: Value,
}

/// Members whose values are made up anew in every run, and what stands for them.
const MADE_UP: [(&str, &str); 6] = [
    ("timestamp", "$TIME"),
    ("id", "$ID"),
    ("parentId", "$ID"),
    ("firstKeptEntryId", "$ID"),
    ("durationMs", "$DURATION"),
    ("fullOutputPath", "$LOG"),
];

/// The events of a run in the folder `root`.
pub(crate) fn parse(stdout: &str, root: &str) -> Vec<Event> {
    let event = |line: &str| {
        let mut value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        generalise(&mut value, root);
        Event { label: label(&value), value }
    };
    let mut events: Vec<Event> = stdout.lines().map(event).collect();
    // Of two calls that run at once nobody knows which tells something first, or ends.
    for events in events.chunk_by_mut(|one, other| one.is_of_running_call() && other.is_of_running_call()) {
        events.sort_by(|one, other| one.call().cmp(other.call()));
    }
    events
}

impl Event {
    fn is_of_running_call(&self) -> bool {
        ["tool_execution_update ", "tool_execution_end "].iter().any(|kind| self.label.starts_with(kind))
    }

    /// `call_0` of `tool_execution_end read call_0`.
    fn call(&self) -> &str {
        self.label.split(' ').nth(2).unwrap_or_default()
    }
}

fn generalise(value: &mut Value, root: &str) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match MADE_UP.iter().find(|(made_up, _)| made_up == name) {
                    // Ids of calls and of answers are the model's.
                    Some(_) if value.as_str().is_some_and(|id| id.starts_with("call_")) => {}
                    Some((_, stands_for)) => *value = (*stands_for).into(),
                    None => generalise(value, root),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| generalise(item, root)),
        Value::String(text) => *text = without_log(&text.replace(root, "$ROOT")),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The name of the file that a long output is kept in is made up as well.
fn without_log(text: &str) -> String {
    let Some((before, rest)) = text.split_once("Full output: ") else { return text.to_owned() };
    let (_, after) = rest.split_once(']').expect("the notice ends");
    format!("{before}Full output: $LOG]{after}")
}

fn label(event: &Value) -> String {
    let kind = event["type"].as_str().unwrap_or("?");
    let update = &event["assistantMessageEvent"];
    let message = if kind == "turn_end" { &Value::Null } else { &event["message"] };
    let about: [&Value; 6] = [
        &update["type"],
        &update["contentIndex"],
        if update.is_null() { &message["role"] } else { &Value::Null },
        if update.is_null() { &message["toolCallId"] } else { &Value::Null },
        &event["toolName"],
        &event["toolCallId"],
    ];
    let words = about.into_iter().filter_map(|value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    });
    let mut label = words.fold(kind.to_owned(), |label, word| format!("{label} {word}"));
    if update["delta"] == "" || event["partialResult"]["content"].as_array().is_some_and(Vec::is_empty) {
        label.push_str(" (empty)");
    }
    label
}
