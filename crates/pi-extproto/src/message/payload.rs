//! Payloads that have no module of their own: registration, tools, slash commands, events, errors.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use pi_transcript::json::{Extra, present};

use crate::{
    Object,
    capability::{Capability, CapabilityManifest, Declared},
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
}

/// Host → extension: run one of your tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct ToolCall {
    pub call_id: String,
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
    pub call_id: String,
    /// See `ToolOutput` for what a host understands of it.
    pub output: Object,
    pub is_error: bool,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
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
