//! Reads the examples in `golden/`; shared by the test programs.

use serde_json::Value;

pub(crate) struct Example {
    pub(crate) command: Value,
    pub(crate) response: Value,
}

pub(crate) fn commands() -> Vec<Example> {
    lines(include_str!("../golden/commands.jsonl"))
        .map(|line| Example { command: line["command"].clone(), response: line["response"].clone() })
        .collect()
}

pub(crate) fn events() -> Vec<Value> {
    lines(include_str!("../golden/events.jsonl")).collect()
}

fn lines(text: &str) -> impl Iterator<Item = Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("an example is JSON"))
}
