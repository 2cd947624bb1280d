//! What session commands answer about the context: what a model was given, what fills it, what waits to enter it.

use pi_envelope::{Envelope, Strip, Tokens, meta::Purpose};
use pi_transcript::{EntryId, ModelId, ProviderId, Usage, json::present};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{
    command::StreamingBehavior,
    id::{ContextSourceId, ModelRequestId, QueueItemId},
};

/// To `list_requests`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ModelRequestList {
    pub requests: Vec<ModelRequest>,
    pub has_more: bool,
}

/// A call of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ModelRequest {
    pub request_id: ModelRequestId,
    /// When, in milliseconds since 1970.
    pub time: u64,
    pub provider: ProviderId,
    pub model: ModelId,
    pub purpose: Purpose,
    /// The message that was said last before it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub entry_id: Option<EntryId>,
    /// Tokens of everything that was sent, as counted before the call.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// The messages of its envelope.
    pub message_count: u64,
    /// What the provider says it took.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// To `get_envelope`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct KeptEnvelope {
    pub request_id: ModelRequestId,
    pub envelope: Envelope,
}

/// To `get_strip`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct KeptStrip {
    pub request_id: ModelRequestId,
    pub strip: Strip,
}

/// To `get_queue` and `edit_queue`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct Queue {
    /// Moves with every change.
    pub revision: u64,
    pub items: Vec<QueueItem>,
}

/// A message that waits to be said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct QueueItem {
    pub item_id: QueueItemId,
    pub behavior: StreamingBehavior,
    pub message: String,
    pub image_count: u64,
}

/// To `set_active_tools`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ActiveTools {
    pub tools: Vec<String>,
}

/// To `list_context_sources`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ContextSourceList {
    pub sources: Vec<ContextSource>,
}

/// Something that fills the context beside the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ContextSource {
    pub source_id: ContextSourceId,
    pub kind: ContextSourceKind,
    pub name: String,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub enabled: bool,
    /// What it takes in every turn.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum ContextSourceKind {
    Skill,
    Memory,
    /// A set of tools.
    Tools,
}
