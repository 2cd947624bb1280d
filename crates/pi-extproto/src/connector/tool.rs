//! Tools: what an extension offers, what it is handed and hands back, and how it uses those of others.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use pi_transcript::json::{Problem, present};

use super::BadParams;
use crate::Object;

/// A tool that an extension registers; what a host understands of an item of `register.tools`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct ToolDefinition {
    pub name: String,
    /// The name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What the model reads.
    pub description: String,
    /// A JSON Schema of the input.
    pub parameters: Object,
    /// One line for the tool section of the system prompt; a tool without it is not listed there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_snippet: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_mode: Option<ExecutionMode>,
}

/// Whether calls of a tool may run beside others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionMode {
    Parallel,
    Sequential,
}

/// A slash command that an extension registers; what a host understands of an item of `register.slash_commands`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct CommandDefinition {
    /// Without the slash.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// Parameters of `tool`. Output: [`HostToolOutput`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ToolUse {
    pub name: String,
    pub input: Object,
}

/// What a tool of the host would touch, as its input names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach<'a> {
    File(&'a str),
    /// A folder with everything in it; the project, unless it is named.
    Tree(Option<&'a str>),
    /// Whatever this line makes a shell do.
    Shell(&'a str),
    /// Nobody can tell from the input: it is not a tool of the host.
    Unknown,
}

impl ToolUse {
    /// What the tool would touch. Every tool that needs more specific capabilities than `tool` says it here.
    pub fn reach(&self) -> Result<Reach<'_>, BadParams> {
        match self.name.as_str() {
            "read" | "write" | "edit" => self.text("path").map(Reach::File),
            "grep" | "find" | "ls" if !self.input.contains_key("path") => Ok(Reach::Tree(None)),
            "grep" | "find" | "ls" => self.text("path").map(|path| Reach::Tree(Some(path))),
            "bash" => self.text("command").map(Reach::Shell),
            _ => Ok(Reach::Unknown),
        }
    }

    fn text(&self, name: &str) -> Result<&str, BadParams> {
        let problem = |message: &str| {
            let problem = Problem { path: format!("params.input.{name}"), message: message.to_owned() };
            BadParams { problems: vec![problem] }
        };
        match self.input.get(name) {
            Some(Value::String(text)) => Ok(text),
            Some(_) => Err(problem("expected a string")),
            None => Err(problem("required member is missing")),
        }
    }
}

/// Parameters of `mcp`: a tool of an MCP server, named by server and tool. Output: [`HostToolOutput`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct McpUse {
    pub server: String,
    pub name: String,
    pub input: Object,
}

/// What a tool found; what a host understands of the output of a `tool_result`, where a flag beside it says whether the
/// tool failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct ToolOutput {
    /// What the model reads.
    pub content: Vec<ContentBlock>,
    /// What people and programs may look at.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// What a tool of the host found, and whether it failed: a failed tool is a result, not an error of the call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct HostToolOutput {
    #[serde(flatten)]
    pub output: ToolOutput,
    pub is_error: bool,
}

/// A part of a tool's answer or of a message. The protocol's own type: a transcript may learn further kinds on a day when
/// extensions do not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    Text(TextBlock),
    Image(ImageBlock),
}

/// What a message of an extension says: plain text, or parts. It is kept as it was given, because whoever reads the message again
/// finds it so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(untagged)]
pub enum Content {
    Text(String),
    Blocks(Vec<ContentBlock>),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct TextBlock {
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ImageBlock {
    /// In base64.
    #[schemars(extend("contentEncoding" = "base64"))]
    pub data: String,
    pub mime_type: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::capability::{DERIVATION, Method, Selector};

    #[track_caller]
    fn check(name: &str, input: &Value, expected: Result<Reach<'_>, &str>) {
        let input = input.as_object().expect("an object").clone();
        let tool = ToolUse { name: name.to_owned(), input };
        assert_eq!(tool.reach().map_err(|bad| bad.to_string()), expected.map_err(str::to_owned), "{name}");
    }

    #[test]
    fn reach_stands_in_the_input() {
        for name in ["read", "write", "edit"] {
            check(name, &json!({ "path": "a" }), Ok(Reach::File("a")));
            check(name, &json!({}), Err("params.input.path: required member is missing"));
        }
        for name in ["grep", "find", "ls"] {
            check(name, &json!({ "path": "a" }), Ok(Reach::Tree(Some("a"))));
            check(name, &json!({}), Ok(Reach::Tree(None)));
            check(name, &json!({ "path": null }), Err("params.input.path: expected a string"));
        }
        check("bash", &json!({ "command": "ls", "path": "a" }), Ok(Reach::Shell("ls")));
        check("bash", &json!({ "command": ["ls"] }), Err("params.input.command: expected a string"));
        check("deploy", &json!({ "path": 1 }), Ok(Reach::Unknown));
    }

    #[test]
    fn every_tool_with_a_capability_of_its_own_has_a_reach() {
        let rule = DERIVATION.iter().find(|rule| rule.method == Method::Tool).expect("a line for tools");
        let Selector::Member { words, .. } = &rule.selector else { panic!("tools are derived from their name") };
        for (name, _) in *words {
            let tool = ToolUse { name: (*name).to_owned(), input: Object::new() };
            assert_ne!(tool.reach(), Ok(Reach::Unknown), "{name}");
        }
    }
}
