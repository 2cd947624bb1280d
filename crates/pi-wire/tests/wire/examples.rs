//! Reads the examples in `data/`: one command with its answer per line, and one event per line.

use serde_json::Value;

pub(crate) struct Example {
    pub(crate) command: Value,
    pub(crate) response: Value,
}

pub(crate) fn commands() -> Vec<Example> {
    lines(include_str!("data/commands.jsonl"))
        .map(|line| Example { command: line["command"].clone(), response: line["response"].clone() })
        .collect()
}

pub(crate) fn events() -> Vec<Value> {
    lines(include_str!("data/events.jsonl")).collect()
}

fn lines(text: &str) -> impl Iterator<Item = Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("an example is JSON"))
}
