//! Payloads that have no module of their own: registration, tools, slash commands, events, errors.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use ts_rs::TS;

use pi_transcript::{
    ToolCallId,
    json::{Extra, Problem, present},
};

use crate::{
    Object,
    capability::{Capability, CapabilityManifest, Declared},
    connector::tool::{CommandDefinition, ToolDefinition, ToolOutput},
    hook::Hook,
};

/// Extension → host: who I am and what I offer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct Register {
    pub name: String,
    pub version: String,
    /// The protocol version that the extension was written for.
    pub api_version: String,
    /// The older, coarse form of a capability manifest; ignored when there is one.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<Capability>>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub capability_manifest: Option<CapabilityManifest>,
    /// Tools; see `ToolDefinition` for what a host understands of each.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Object>>,
    /// Slash commands; see `CommandDefinition` for what a host understands of each.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub slash_commands: Option<Vec<Object>>,
    /// Names of events that the extension wants to hear of.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub event_hooks: Option<Vec<String>>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

impl Register {
    /// What the extension announced that it needs, in either form.
    pub fn declared(&self) -> Declared {
        Declared::new(self.capability_manifest.as_ref(), self.capabilities.as_deref())
    }

    /// The tools as a host understands them, or what it does not understand about which.
    pub fn tool_definitions(&self) -> Result<Vec<ToolDefinition>, Vec<Problem>> {
        typed("tools", self.tools.as_deref().unwrap_or_default())
    }

    /// The slash commands as a host understands them, or what it does not understand about which.
    pub fn command_definitions(&self) -> Result<Vec<CommandDefinition>, Vec<Problem>> {
        typed("slash_commands", self.slash_commands.as_deref().unwrap_or_default())
    }

    /// The events that the extension will hear of, and the names among its wishes that no event has.
    pub fn hooks(&self) -> (BTreeSet<Hook>, Vec<&str>) {
        let (mut hooks, mut unknown) = (BTreeSet::new(), Vec::new());
        for name in self.event_hooks.iter().flatten() {
            match Hook::find(name) {
                Some(hook) => drop(hooks.insert(hook)),
                None => unknown.push(name.as_str()),
            }
        }
        (hooks, unknown)
    }
}

fn typed<T: DeserializeOwned>(list: &str, items: &[Object]) -> Result<Vec<T>, Vec<Problem>> {
    let (mut read, mut problems) = (Vec::with_capacity(items.len()), Vec::new());
    for (index, item) in items.iter().enumerate() {
        match T::deserialize(Value::Object(item.clone())) {
            Ok(item) => read.push(item),
            Err(error) => problems.push(Problem { path: format!("{list}[{index}]"), message: error.to_string() }),
        }
    }
    if problems.is_empty() { Ok(read) } else { Err(problems) }
}

/// Host → extension: run one of your tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct ToolCall {
    pub call_id: ToolCallId,
    pub name: String,
    /// Arguments, as the parameters of the tool describe them.
    pub input: Object,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub context: Option<Object>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// Extension → host: what the tool found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ToolResult {
    pub call_id: ToolCallId,
    /// See `ToolOutput` for what a host understands of it.
    pub output: Object,
    pub is_error: bool,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

impl ToolResult {
    /// The output as a host understands it, or what it does not understand about it.
    pub fn typed(&self) -> Result<ToolOutput, Problem> {
        ToolOutput::deserialize(Value::Object(self.output.clone()))
            .map_err(|error| Problem { path: "output".to_owned(), message: error.to_string() })
    }
}

/// Host → extension: a person typed one of your slash commands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct SlashCommand {
    /// Without the slash.
    pub name: String,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub input: Option<Object>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// Extension → host: what the slash command did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SlashResult {
    pub output: Object,
    pub is_error: bool,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// Host → extension: something happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct EventHook {
    pub event: String,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub data: Option<Object>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// Either way: a message could not be understood or handled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct ErrorReport {
    pub code: String,
    pub message: String,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub details: Option<Object>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn register(offers: &Value) -> Register {
        let mut payload = json!({ "name": "a", "version": "1.0.0", "api_version": "1.0" });
        payload.as_object_mut().expect("an object").extend(offers.as_object().expect("an object").clone());
        serde_json::from_value(payload).expect("a registration")
    }

    #[test]
    fn offers_have_types() {
        let register = register(&json!({
            "tools": [{ "name": "t", "description": "d", "parameters": {}, "label": "T", "icon": "kept elsewhere" }],
            "slash_commands": [{ "name": "c" }],
        }));
        let tools = register.tool_definitions().expect("tools");
        assert_eq!((tools.len(), tools[0].label.as_deref()), (1, Some("T")));
        let commands = register.command_definitions();
        assert_eq!(commands, Ok(vec![CommandDefinition { name: "c".to_owned(), description: None }]));
    }

    #[test]
    fn offers_that_are_not_understood_are_named() {
        let tools = json!([{ "name": "t", "description": "d", "parameters": {} }, { "name": "u" }, {}]);
        let problems = register(&json!({ "tools": tools })).tool_definitions().expect_err("bad tools");
        let found: Vec<_> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(found, ["tools[1]: missing field `description`", "tools[2]: missing field `name`"]);
    }

    #[test]
    fn output_of_a_tool_has_a_type_and_its_failure_stands_beside_it() {
        let result = |output: Value| -> ToolResult {
            serde_json::from_value(json!({ "call_id": "c", "output": output, "is_error": true })).expect("a result")
        };
        let content = json!([{ "type": "text", "text": "no such city" }]);
        let read = result(json!({ "content": content, "details": { "a": 1 }, "extra": "kept in the message" }));
        let output = read.typed().expect("an output");
        assert_eq!(serde_json::to_value(&output).expect("JSON"), json!({ "content": content, "details": { "a": 1 } }));
        assert!(read.is_error);
        let refused = result(json!({ "text": "hi" })).typed().expect_err("no content").to_string();
        assert_eq!(refused, "output: missing field `content`");
    }

    #[test]
    fn unknown_events_are_reported_and_aliases_are_found() {
        let register = register(&json!({ "event_hooks": ["tool_call", "startup", "session_start", "tool_cal"] }));
        assert_eq!(register.hooks(), (BTreeSet::from([Hook::SessionStart, Hook::ToolCall]), vec!["tool_cal"]));
    }
}
