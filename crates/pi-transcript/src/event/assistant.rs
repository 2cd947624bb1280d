//! How a message of the model grows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ts_rs::TS;

use crate::{
    content::Block,
    id::ToolCallId,
    json::{Open, present},
    message::{Message, StopReason},
};

/// One step of a streamed message.
///
/// `content_index` says which block of the message; blocks need not end in the order in which they started. `partial` is
/// the whole message so far and is left out where deltas alone are sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[ts(optional_fields)]
pub enum AssistantMessageEvent {
    Start {
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        partial: Option<Message>,
    },
    TextStart {
        content_index: u64,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        partial: Option<Message>,
    },
    TextDelta {
        content_index: u64,
        delta: String,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        partial: Option<Message>,
    },
    TextEnd {
        content_index: u64,
        content: String,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        partial: Option<Message>,
    },
    ThinkingStart {
        content_index: u64,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        partial: Option<Message>,
    },
    ThinkingDelta {
        content_index: u64,
        delta: String,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        partial: Option<Message>,
    },
    ThinkingEnd {
        content_index: u64,
        content: String,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        partial: Option<Message>,
    },
    #[serde(rename = "toolcall_start")]
    ToolCallStart {
        content_index: u64,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        id: Option<ToolCallId>,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        tool_name: Option<String>,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        partial: Option<Message>,
    },
    #[serde(rename = "toolcall_delta")]
    ToolCallDelta {
        content_index: u64,
        /// A piece of the arguments as JSON text.
        delta: String,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        partial: Option<Message>,
    },
    #[serde(rename = "toolcall_end")]
    ToolCallEnd {
        content_index: u64,
        /// The finished block, of type `toolCall`.
        tool_call: Block,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        partial: Option<Message>,
    },
    Done {
        reason: Open<StopReason>,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        message: Option<Message>,
    },
    Error {
        reason: Open<StopReason>,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        error: Option<Message>,
    },
    /// A type that we do not know, or a known one with a member that is missing or of the wrong type.
    #[serde(untagged)]
    #[ts(skip)]
    Other(Map<String, Value>),
}
