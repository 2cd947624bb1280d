//! The bus between extensions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

/// Parameters of `events`. Output: empty. What others emit arrives as the event `bus` with [`BusEvent`] as data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum EventsCall {
    Emit { channel: String, data: Value },
    Subscribe { channel: String },
    Unsubscribe { channel: String },
}

/// Something that another extension emitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct BusEvent {
    pub channel: String,
    pub data: Value,
}
