//! Tools: what an extension offers, what it is handed and hands back, and how it uses those of others.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

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

/// Parameters of `tool`. Output: [`ToolOutput`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ToolUse {
    pub name: String,
    pub input: Object,
}

/// Parameters of `mcp`: a tool of an MCP server, named by server and tool. Output: [`ToolOutput`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct McpUse {
    pub server: String,
    pub name: String,
    pub input: Object,
}

/// What a tool found. Whether it failed is a flag here when the host's tool was asked, and `is_error` of the
/// `tool_result` when the extension's was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct ToolOutput {
    /// What the model reads.
    pub content: Vec<ContentBlock>,
    /// What people and programs may look at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
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
