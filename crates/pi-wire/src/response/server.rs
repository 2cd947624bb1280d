//! What server commands answer.

use pi_transcript::{
    SessionId, SessionInfo, StoredSessionInfo,
    json::{Amount, present},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{command::Lifecycle, id::Epoch};

/// To `list_sessions`, in the order in which they were made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionList {
    pub sessions: Vec<ListedSession>,
}

/// A loaded session in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ListedSession {
    #[serde(flatten)]
    pub info: SessionInfo,
    /// Where its agent works.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// US dollars so far.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub cost: Option<Amount>,
    /// `true` if the price of some tokens is not known, and `cost` is what they cost at least. Not told of others.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub cost_at_least: Option<bool>,
    /// When something was said last, ISO 8601.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
    /// The beginning of what was said first, in one line and without the files that were attached to it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub first_message: Option<String>,
    /// `false` if its file was there and is gone. Not told of others.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub file_exists: Option<bool>,
}

/// To `list_stored_sessions`, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct StoredSessionList {
    pub sessions: Vec<ListedStoredSession>,
    /// The `cursor` of the next page; absent on the last.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A session on disk in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ListedStoredSession {
    #[serde(flatten)]
    pub info: StoredSessionInfo,
    /// The beginning of what was said first, in one line and without the files that were attached to it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub first_message: Option<String>,
    /// `true` if its folder is none that the server may work in: it is loaded only with another `cwd`. Not told of others.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub outside_roots: Option<bool>,
    /// US dollars so far.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub cost: Option<Amount>,
    /// `true` if the price of some tokens is not known, and `cost` is what they cost at least. Not told of others.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub cost_at_least: Option<bool>,
    /// When something was said last, ISO 8601.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
}

/// To `create_session` and `load_session`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct OpenedSession {
    pub session_id: SessionId,
    pub session_info: SessionInfo,
}

/// To `delete_session`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct DeletedSession {
    /// Always `true`.
    pub deleted: bool,
}

/// To `switch_session`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct SwitchedSession {
    pub session_info: SessionInfo,
}

/// To `subscribe`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct Subscription {
    pub session_info: SessionInfo,
    /// The numbering in force.
    pub epoch: Epoch,
    /// The number of the session's last event.
    pub seq: u64,
    pub resume: Resume,
}

/// How a subscription begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Resume {
    /// Nothing was missed, or nothing was asked for: only new events come.
    Live,
    /// The events after `afterSeq` come first.
    Replay,
    /// Too much was missed, or numbers started anew: a `session_snapshot` comes first.
    Snapshot,
}

/// To `unsubscribe`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct Unsubscribed {
    /// Whether there was a subscription.
    pub unsubscribed: bool,
}

/// To `set_lifecycle`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ChosenLifecycle {
    pub lifecycle: Lifecycle,
}

/// To `delete_stored_session`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct DeletedStoredSession {
    /// Always `true`.
    pub deleted: bool,
    pub session_path: String,
}

/// To `health_check`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    pub healthy: bool,
    /// In words, one for each thing that is not as it should be.
    pub issues: Vec<String>,
    pub has_open_circuit: bool,
    pub has_open_bash_circuit: bool,
}
