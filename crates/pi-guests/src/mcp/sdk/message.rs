//! Reads messages of servers as types of the SDK, and keeps what those have no place for.
//!
//! A tool that can only be called as a task says so in a member that the SDK does not know; nobody behind it would hear of
//! that. It is put where the SDK keeps what it does not know.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::mcp::reading::TASKS;

/// How the member is called in which a tool says it.
const MEMBER: &[u8] = b"\"taskSupport\"";

/// A message, in any of the SDK's types.
pub(super) fn read<T: DeserializeOwned>(written: &[u8]) -> serde_json::Result<T> {
    match marked(written) {
        Some(marked) => serde_json::from_value(marked),
        None => serde_json::from_slice(written),
    }
}

/// The message with what its tools say of tasks in another place; nothing if they say nothing.
pub(super) fn marked(written: &[u8]) -> Option<Value> {
    if !written.windows(MEMBER.len()).any(|part| part == MEMBER) {
        return None;
    }
    let mut message: Value = serde_json::from_slice(written).ok()?;
    for tool in message.pointer_mut("/result/tools").and_then(Value::as_array_mut)? {
        let Some(said) = tool.pointer("/execution/taskSupport").cloned() else { continue };
        let meta = tool.as_object_mut().map(|tool| tool.entry("_meta").or_insert_with(|| json!({})));
        if let Some(Value::Object(meta)) = meta {
            meta.insert(TASKS.to_owned(), said);
        }
    }
    Some(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tools_say_of_tasks_is_kept() {
        let required =
            r#"{"id":1,"result":{"tools":[{"name":"a","execution":{"taskSupport":"required"}},{"name":"b"}]}}"#;
        let read: Value = read(required.as_bytes()).expect("JSON");
        assert_eq!(read["result"]["tools"][0]["_meta"], json!({ TASKS: "required" }));
        assert_eq!(read["result"]["tools"][1], json!({ "name": "b" }));
        let own = r#"{"result":{"tools":[5,{"_meta":{"x":1},"execution":{"taskSupport":"optional"}},{"_meta":7,"execution":{"taskSupport":1}}]}}"#;
        let marked = marked(own.as_bytes()).expect("it speaks of tasks");
        assert_eq!(marked["result"]["tools"][1]["_meta"], json!({ "x": 1, TASKS: "optional" }));
        assert_eq!(marked["result"]["tools"][2]["_meta"], json!(7));
    }

    #[test]
    fn other_messages_stay_as_they_are() {
        for other in
            [r#"{"result":{"tools":[]}}"#, r#"{"result":{"text":"\"taskSupport\""}}"#, r#"{"taskSupport":1}"#, "junk"]
        {
            assert_eq!(marked(other.as_bytes()), None, "{other}");
        }
    }
}
