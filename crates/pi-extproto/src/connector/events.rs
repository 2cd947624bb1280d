//! The bus between extensions, and news of the tools that an extension runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use pi_transcript::{ToolCallId, json::present};

use super::tool::ContentBlock;

/// Parameters of `events`. Output: empty. What others emit arrives as the event `bus` with [`BusEvent`] as data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "op", rename_all = "snake_case")]
#[ts(optional_fields)]
pub enum EventsCall {
    Emit {
        channel: String,
        data: Value,
    },
    Subscribe {
        channel: String,
    },
    Unsubscribe {
        channel: String,
    },
    /// What a tool of the extension has found so far, all of it and not the difference; whether it failed is not known
    /// before its end. Clients may see only the newest of several. It is an `invalid_request` unless the call was handed
    /// to this extension and has not ended.
    ///
    /// It stands here because its listeners are those of `tool_execution_update`, and because `tool` is derived from
    /// the name of a tool that is asked for.
    ToolUpdate {
        call_id: ToolCallId,
        content: Vec<ContentBlock>,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
    },
}

/// Something that another extension emitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct BusEvent {
    pub channel: String,
    pub data: Value,
}
