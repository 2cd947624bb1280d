//! What we add to an envelope: where each segment came from, how far it is trusted, and what it cost.
//!
//! All of it stands under the member `meta`, which the format does not name and other readers ignore. Others may use the
//! same name for something else. So nothing here can make a file invalid: a member of `meta` is read if all of it is as
//! we write it, and otherwise kept in `extra` as it is; a `meta` that is no object is kept as [`Meta::Foreign`].

use std::fmt;

use pi_transcript::{
    ModelId, ProviderId, ToolCallId, Usage,
    json::{Digest, Extra},
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use ts_rs::TS;

/// The `meta` of an envelope, a message or a segment.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Meta<T> {
    Ours(T),
    /// No object, so not ours.
    Foreign(Value),
}

/// What we know about a segment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct SegmentMeta {
    /// The same in every envelope in which this segment appears, changed or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheState>,
    /// Of the segment without `meta`, SHA-256 of its canonical JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    #[ts(as = "Option<String>")]
    pub digest: Option<Digest>,
    /// What the segment was before it was put into one of the eleven kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// The tool call that is asked for or answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<ToolCallId>,
    /// Opaque data of the provider that is sent back to it with the segment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// The text sent before, between and after the texts of the segment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<Vec<String>>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// What we know about a message.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct MessageMeta {
    /// The transcript's word for who spoke, where it has more of them than the envelope: `bashExecution`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The extension's own name for a custom message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_type: Option<String>,
    /// The sum over the segments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// What we know about a whole prompt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct EnvelopeMeta {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Request>,
    /// The sum over the segments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// What the provider says the call consumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Tokens that the provider counted as sent, less our sum: markup of the provider, and our error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub residual: Option<i64>,
    /// Of the envelope without `meta`, SHA-256 of its canonical JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    #[ts(as = "Option<String>")]
    pub digest: Option<Digest>,
    /// Somebody sent another payload than the one that this envelope shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<Replacement>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// The model call that a prompt was made for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Request {
    pub id: String,
    pub provider: ProviderId,
    pub model: ModelId,
    /// Milliseconds since 1970.
    #[ts(type = "number")]
    pub time: u64,
    /// What it was asked for; without it, for a turn of the conversation.
    #[serde(default, skip_serializing_if = "Purpose::is_turn")]
    #[ts(as = "Option<Purpose>", optional)]
    pub purpose: Purpose,
}

/// What a model is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// A turn of the conversation.
    #[default]
    Turn,
    Compaction,
    BranchSummary,
    /// An extension asked.
    Extension,
}

impl Purpose {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_turn(&self) -> bool {
        *self == Self::Turn
    }
}

/// Who replaced the payload of a request, and with what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Replacement {
    pub by: Origin,
    /// Of the payload that was sent.
    #[schemars(with = "String")]
    #[ts(type = "string")]
    pub digest: Digest,
}

/// Where a text came from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Origin {
    /// The person at the keyboard.
    User,
    /// Our own words.
    BuiltIn,
    /// A file of the project, or one that the person keeps for all projects.
    File {
        path: String,
    },
    Web {
        url: String,
    },
    /// An MCP server.
    Mcp {
        server: String,
    },
    Extension {
        id: String,
    },
    /// What a command or a built-in tool printed.
    Tool {
        name: String,
    },
    /// What a model said.
    Provider {
        name: String,
    },
}

/// How far the writer of a text is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// The person, or ourselves.
    Trusted,
    /// As far as the project is trusted.
    Project,
    /// A model wrote it, from whatever it was shown.
    Derived,
    /// Anybody may have written it.
    Untrusted,
}

/// A number of tokens, and how it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Tokens {
    #[ts(type = "number")]
    pub count: u64,
    pub how: Counted,
}

/// How a number of tokens is known, the surest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// The provider said so.
    Exact,
    /// A tokenizer of the model's family counted.
    Counted,
    /// Made up from the length.
    Estimated,
}

/// What the provider's cache did with a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum CacheState {
    /// Read from the cache.
    Cached,
    /// Written to the cache.
    Written,
    Uncached,
}

/// What a segment was before it was put into one of the eleven kinds, where the kind alone does not say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Thinking,
    /// Thinking whose text the provider withheld.
    RedactedThinking,
    BashExecution,
    Custom,
    BranchSummary,
    CompactionSummary,
    /// A named part of a system message.
    Section,
    /// Something that we do not know, shown as its JSON.
    Unknown,
    /// There was nothing to show, and the format wants one segment.
    Nothing,
}

impl<T> Meta<T> {
    pub fn ours(&self) -> Option<&T> {
        match self {
            Self::Ours(ours) => Some(ours),
            Self::Foreign(_) => None,
        }
    }

    /// Where we may write, made if there is no `meta` yet; `None` if somebody else's stands there.
    pub fn write(meta: &mut Option<Self>) -> Option<&mut T>
    where
        T: Default,
    {
        match meta.get_or_insert_with(|| Self::Ours(T::default())) {
            Self::Ours(ours) => Some(ours),
            Self::Foreign(_) => None,
        }
    }
}

impl<T: From<Map<String, Value>>> From<Value> for Meta<T> {
    fn from(value: Value) -> Self {
        match value {
            Value::Object(members) => Self::Ours(members.into()),
            other => Self::Foreign(other),
        }
    }
}

impl<'de, T: From<Map<String, Value>>> Deserialize<'de> for Meta<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from)
    }
}

impl From<Map<String, Value>> for SegmentMeta {
    fn from(mut members: Map<String, Value>) -> Self {
        Self {
            id: take(&mut members, "id"),
            origin: take(&mut members, "origin"),
            trust: take(&mut members, "trust"),
            tokens: take(&mut members, "tokens"),
            cache: take(&mut members, "cache"),
            digest: take(&mut members, "digest"),
            part: take(&mut members, "part"),
            call: take(&mut members, "call"),
            signature: take(&mut members, "signature"),
            frame: take(&mut members, "frame"),
            extra: members,
        }
    }
}

impl From<Map<String, Value>> for MessageMeta {
    fn from(mut members: Map<String, Value>) -> Self {
        Self {
            role: take(&mut members, "role"),
            custom_type: take(&mut members, "customType"),
            tokens: take(&mut members, "tokens"),
            extra: members,
        }
    }
}

impl From<Map<String, Value>> for EnvelopeMeta {
    fn from(mut members: Map<String, Value>) -> Self {
        Self {
            request: take(&mut members, "request"),
            tokens: take(&mut members, "tokens"),
            usage: take(&mut members, "usage"),
            residual: take(&mut members, "residual"),
            digest: take(&mut members, "digest"),
            replaced: take(&mut members, "replaced"),
            extra: members,
        }
    }
}

impl Origin {
    /// The trust that a text of this origin has when nobody knows better.
    pub const fn usual_trust(&self) -> Trust {
        match self {
            Self::User | Self::BuiltIn => Trust::Trusted,
            Self::File { .. } => Trust::Project,
            Self::Provider { .. } => Trust::Derived,
            Self::Web { .. } | Self::Mcp { .. } | Self::Extension { .. } | Self::Tool { .. } => Trust::Untrusted,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User => f.write_str("user"),
            Self::BuiltIn => f.write_str("built_in"),
            Self::File { path } => write!(f, "file:{path}"),
            Self::Web { url } => write!(f, "web:{url}"),
            Self::Mcp { server } => write!(f, "mcp:{server}"),
            Self::Extension { id } => write!(f, "extension:{id}"),
            Self::Tool { name } => write!(f, "tool:{name}"),
            Self::Provider { name } => write!(f, "provider:{name}"),
        }
    }
}

/// Takes a member out of `members` if writing what was read gives the same again: nothing that we do not understand is
/// lost, and nothing half understood is used.
fn take<T: Serialize + DeserializeOwned>(members: &mut Map<String, Value>, name: &str) -> Option<T> {
    let value = members.get(name)?;
    let read: T = T::deserialize(value).ok()?;
    if serde_json::to_value(&read).ok().as_ref() != Some(value) {
        return None;
    }
    members.shift_remove(name);
    Some(read)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Reads `meta`, writes it, and says which members stayed unread.
    fn check(meta: &Value, unread: &[&str]) {
        let read = SegmentMeta::from(meta.as_object().unwrap().clone());
        assert_eq!(read.extra.keys().map(String::as_str).collect::<Vec<_>>(), unread);
        assert_eq!(serde_json::to_value(&read).unwrap(), *meta);
    }

    #[test]
    fn what_we_write_is_read() {
        check(
            &json!({
                "id": "a/0", "origin": {"from": "mcp", "server": "github"}, "trust": "untrusted",
                "tokens": {"count": 12, "how": "estimated"}, "cache": "written", "digest": "0".repeat(64),
                "part": "thinking", "call": "c1", "signature": "s", "frame": ["", ""],
            }),
            &[],
        );
    }

    #[test]
    fn foreign_members_stay_as_they_are() {
        check(
            &json!({
                "id": 7, "origin": "the moon", "trust": null, "tokens": {"count": 1.0, "how": "exact"}, "cache": [],
                "digest": "abc", "part": "dream", "call": {}, "note": "n", "frame": [1],
            }),
            &["id", "origin", "trust", "tokens", "cache", "digest", "part", "call", "note", "frame"],
        );
    }

    #[test]
    fn a_member_with_an_addition_is_kept_but_not_used() {
        check(&json!({"origin": {"from": "user", "name": "ada"}, "id": "x"}), &["origin"]);
        check(&json!({"tokens": {"count": 1, "how": "exact", "by": "me"}}), &["tokens"]);
    }
}
