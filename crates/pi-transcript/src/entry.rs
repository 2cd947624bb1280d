//! What a session file holds: the header and the entries.
//!
//! Every entry names its parent, so the entries of a file form a tree. An entry whose type we do not know still has its
//! place in it ([`OtherEntry`]).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use crate::{
    content::Content,
    id::{EntryId, ModelId, ProviderId, SessionId},
    json::{Extra, Loose, Open, nullable, nullable_schema, present},
    message::Message,
    model::ThinkingLevel,
    usage::Usage,
};

/// The version of the session files that we write.
pub const VERSION: u64 = 3;

/// The first line of a session file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename = "SessionHeader", rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Header {
    #[serde(rename = "type")]
    pub kind: HeaderKind,
    /// Absent in files of version 1.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    pub id: SessionId,
    /// ISO 8601.
    pub timestamp: String,
    /// Absent in some old files.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The file that this session was forked from.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// The one type of a header.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum HeaderKind {
    #[default]
    Session,
}

/// What every entry has: its name and its place in the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename = "EntryBase", rename_all = "camelCase")]
pub struct Base {
    pub id: EntryId,
    /// `null` for a root.
    #[serde(deserialize_with = "nullable")]
    #[schemars(schema_with = "nullable_schema::<EntryId>")]
    pub parent_id: Option<EntryId>,
    /// ISO 8601.
    pub timestamp: String,
}

/// One entry of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Entry {
    Message(Box<MessageEntry>),
    ModelChange(ModelChange),
    ThinkingLevelChange(ThinkingLevelChange),
    Compaction(Box<Compaction>),
    BranchSummary(Box<BranchSummary>),
    Custom(CustomEntry),
    CustomMessage(CustomMessageEntry),
    Label(Label),
    SessionInfo(SessionName),
    Usage(Box<UsageEntry>),
    ContextEdit(ContextEdit),
    /// A type that we do not know, or a known one with a member that is missing or of the wrong type.
    #[serde(untagged)]
    #[ts(skip)]
    Other(OtherEntry),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct MessageEntry {
    #[serde(flatten)]
    pub base: Base,
    pub message: Message,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// From here on another model is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ModelChange {
    #[serde(flatten)]
    pub base: Base,
    pub provider: ProviderId,
    pub model_id: ModelId,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// From here on the model thinks harder, or less hard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ThinkingLevelChange {
    #[serde(flatten)]
    pub base: Base,
    pub thinking_level: Open<ThinkingLevel>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// A summary that stands for what came before `first_kept_entry_id`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename = "CompactionEntry", rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Compaction {
    #[serde(flatten)]
    pub base: Base,
    pub summary: String,
    /// The entry's own id: nothing is kept.
    pub first_kept_entry_id: EntryId,
    pub tokens_before: u64,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// An extension wrote the summary.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub from_hook: Option<bool>,
    /// What writing the summary consumed.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[ts(as = "Option<Usage>")]
    pub usage: Option<Loose<Usage>>,
    /// The system message in force at this point.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub system_message: Option<Message>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// A summary of the branch that ends in `from_id` and was left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename = "BranchSummaryEntry", rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct BranchSummary {
    #[serde(flatten)]
    pub base: Base,
    pub from_id: EntryId,
    pub summary: String,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// An extension wrote the summary.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub from_hook: Option<bool>,
    /// What writing the summary consumed.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[ts(as = "Option<Usage>")]
    pub usage: Option<Loose<Usage>>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// Data of an extension; no model sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct CustomEntry {
    #[serde(flatten)]
    pub base: Base,
    pub custom_type: String,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// A message of an extension; the model sees it as the user's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct CustomMessageEntry {
    #[serde(flatten)]
    pub base: Base,
    pub custom_type: String,
    pub content: Content,
    /// Whether people see it.
    pub display: bool,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// A bookmark on another entry; the last one wins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename = "LabelEntry", rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Label {
    #[serde(flatten)]
    pub base: Base,
    pub target_id: EntryId,
    /// Absent: the bookmark is removed.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// The session's name; the last one wins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct SessionName {
    #[serde(flatten)]
    pub base: Base,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// A model call that left no message behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct UsageEntry {
    #[serde(flatten)]
    pub base: Base,
    /// What the call was for.
    pub kind: String,
    pub provider: ProviderId,
    pub model: ModelId,
    pub usage: Usage,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// Changes what the model sees of another entry; the last one wins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ContextEdit {
    #[serde(flatten)]
    pub base: Base,
    pub target_id: EntryId,
    /// `null`: the target is left out.
    #[serde(deserialize_with = "nullable")]
    #[schemars(schema_with = "nullable_schema::<Content>")]
    #[ts(optional = false)]
    pub replacement: Option<Content>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// An entry that we cannot interpret but can keep in its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct OtherEntry {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(flatten)]
    pub base: Base,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

impl Entry {
    pub fn base(&self) -> &Base {
        match self {
            Self::Message(entry) => &entry.base,
            Self::ModelChange(entry) => &entry.base,
            Self::ThinkingLevelChange(entry) => &entry.base,
            Self::Compaction(entry) => &entry.base,
            Self::BranchSummary(entry) => &entry.base,
            Self::Custom(entry) => &entry.base,
            Self::CustomMessage(entry) => &entry.base,
            Self::Label(entry) => &entry.base,
            Self::SessionInfo(entry) => &entry.base,
            Self::Usage(entry) => &entry.base,
            Self::ContextEdit(entry) => &entry.base,
            Self::Other(entry) => &entry.base,
        }
    }

    pub fn id(&self) -> &EntryId {
        &self.base().id
    }

    pub fn parent_id(&self) -> Option<&EntryId> {
        self.base().parent_id.as_ref()
    }

    /// The type as it is written.
    pub fn kind(&self) -> &str {
        match self {
            Self::Message(_) => "message",
            Self::ModelChange(_) => "model_change",
            Self::ThinkingLevelChange(_) => "thinking_level_change",
            Self::Compaction(_) => "compaction",
            Self::BranchSummary(_) => "branch_summary",
            Self::Custom(_) => "custom",
            Self::CustomMessage(_) => "custom_message",
            Self::Label(_) => "label",
            Self::SessionInfo(_) => "session_info",
            Self::Usage(_) => "usage",
            Self::ContextEdit(_) => "context_edit",
            Self::Other(entry) => &entry.kind,
        }
    }
}

impl Header {
    /// The header of a new session file.
    pub fn new(id: SessionId, timestamp: impl Into<String>, cwd: impl Into<String>) -> Self {
        Self {
            kind: HeaderKind::Session,
            version: Some(VERSION),
            id,
            timestamp: timestamp.into(),
            cwd: Some(cwd.into()),
            parent_session: None,
            extra: Extra::new(),
        }
    }
}
