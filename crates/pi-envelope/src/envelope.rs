//! Prompt Envelope 1.0 as Rust types.
//!
//! Members that the format does not name are kept at every level, in `extra`; ours live under `meta` (see [`crate::meta`]).
//! Numbers are kept as they were written, because the format allows any: `-1`, `1.0` and `1e300` included.

use pi_transcript::json::{Digest, Extra, canonical, present};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::{Map, Number, Value};
use ts_rs::TS;

use crate::{
    meta::{EnvelopeMeta, MessageMeta, Meta, SegmentMeta},
    shape::KINDS,
};

/// What a model was shown, message by message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[schemars(title = "Prompt Envelope Protocol")]
#[ts(optional_fields)]
pub struct Envelope {
    pub version: Version,
    /// The model that was asked.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// At least one.
    #[schemars(length(min = 1))]
    pub messages: Vec<Message>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[ts(as = "Option<EnvelopeMeta>")]
    pub meta: Option<Meta<EnvelopeMeta>>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// The version of the format; there is one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub enum Version {
    #[default]
    #[serde(rename = "1.0")]
    V1,
}

/// What one side said, in segments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[schemars(rename = "EnvelopeMessage")]
#[ts(rename = "EnvelopeMessage", optional_fields)]
pub struct Message {
    pub id: String,
    pub role: Role,
    /// At least one.
    #[schemars(length(min = 1))]
    pub segments: Vec<Segment>,
    /// Milliseconds since 1970.
    #[ts(type = "number")]
    pub timestamp: Number,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[ts(as = "Option<MessageMeta>")]
    pub meta: Option<Meta<MessageMeta>>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    System,
    User,
    Assistant,
    Tool,
}

/// A piece of a message that is shown in its own way.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct Segment {
    #[serde(flatten)]
    pub body: Body,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(as = "Option<SegmentMeta>")]
    pub meta: Option<Meta<SegmentMeta>>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// What a segment shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[ts(optional_fields)]
pub enum Body {
    Text {
        content: String,
    },
    /// A template variable and what it became.
    StaticVar {
        name: String,
        value: String,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
    SystemPrompt {
        content: String,
        collapsed: bool,
    },
    Memory {
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        #[schemars(length(min = 1))]
        items: Vec<MemoryItem>,
        collapsed: bool,
    },
    Skills {
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        #[schemars(length(min = 1))]
        items: Vec<SkillItem>,
        collapsed: bool,
    },
    ToolOverview {
        #[schemars(length(min = 1))]
        items: Vec<ToolItem>,
        collapsed: bool,
    },
    ToolCallRequest {
        tool_name: String,
        arguments: Map<String, Value>,
        collapsed: bool,
    },
    ToolCallResult {
        tool_name: String,
        result: String,
        success: bool,
        collapsed: bool,
    },
    Document {
        file_name: String,
        mime_type: String,
        snippet: String,
        #[ts(type = "number")]
        size_bytes: Number,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        parsed_content: Option<String>,
    },
    LongText {
        content: String,
        #[ts(type = "number")]
        char_count: Number,
        collapsed: bool,
    },
    Media {
        media_type: MediaType,
        url: String,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        alt_text: Option<String>,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct MemoryItem {
    pub title: String,
    pub content: String,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SkillItem {
    pub name: String,
    pub description: String,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct ToolItem {
    pub name: String,
    pub description: String,
    /// The parameters in a form that people read.
    pub parameters: String,
    /// The parameters as a JSON Schema.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub schema: Option<Map<String, Value>>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum MediaType {
    Image,
    Audio,
    Video,
}

/// The eleven kinds of segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Text,
    StaticVar,
    SystemPrompt,
    Memory,
    Skills,
    ToolOverview,
    ToolCallRequest,
    ToolCallResult,
    Document,
    LongText,
    Media,
}

impl Envelope {
    /// The digest of all that was shown: of the envelope without anybody's `meta`.
    pub fn digest(&self) -> Digest {
        let mut value = serde_json::to_value(self).expect("an envelope is plain JSON");
        strip(&mut value);
        for message in value["messages"].as_array_mut().into_iter().flatten() {
            strip(message);
            message["segments"].as_array_mut().into_iter().flatten().for_each(strip);
        }
        canonical::digest(&value)
    }

    /// Every segment in prompt order, with the message that it is part of.
    pub fn segments(&self) -> impl Iterator<Item = (&Message, &Segment)> {
        self.messages.iter().flat_map(|message| message.segments.iter().map(move |segment| (message, segment)))
    }

    /// What we wrote about the envelope, if we did.
    pub fn ours(&self) -> Option<&EnvelopeMeta> {
        self.meta.as_ref().and_then(Meta::ours)
    }
}

impl Role {
    pub const ALL: [Self; 4] = [Self::System, Self::User, Self::Assistant, Self::Tool];

    pub const fn as_str(self) -> &'static str {
        crate::shape::ROLES[self as usize]
    }
}

impl Kind {
    pub const ALL: [Self; 11] = [
        Self::Text,
        Self::StaticVar,
        Self::SystemPrompt,
        Self::Memory,
        Self::Skills,
        Self::ToolOverview,
        Self::ToolCallRequest,
        Self::ToolCallResult,
        Self::Document,
        Self::LongText,
        Self::Media,
    ];

    pub const fn as_str(self) -> &'static str {
        KINDS[self as usize].0
    }
}

impl Segment {
    /// The digest of what is shown: of the segment without its `meta`.
    pub fn digest(&self) -> Digest {
        let mut value = serde_json::to_value(self).expect("a segment is plain JSON");
        strip(&mut value);
        canonical::digest(&value)
    }

    /// What we wrote about the segment, if we did.
    pub fn ours(&self) -> Option<&SegmentMeta> {
        self.meta.as_ref().and_then(Meta::ours)
    }
}

impl<'de> Deserialize<'de> for Segment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut extra = Map::deserialize(deserializer)?;
        let meta = extra.shift_remove("meta").map(Meta::from);
        let kind = extra.get("kind").and_then(Value::as_str);
        let members = KINDS.iter().find(|(name, _)| Some(*name) == kind).map_or(&[][..], |(_, members)| members);
        let names = std::iter::once("kind").chain(members.iter().map(|member| member.name));
        let known: Map<_, _> = names.filter_map(|name| extra.shift_remove_entry(name)).collect();
        let body = Body::deserialize(Value::Object(known)).map_err(D::Error::custom)?;
        Ok(Self { body, meta, extra })
    }
}

impl Body {
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Text { .. } => Kind::Text,
            Self::StaticVar { .. } => Kind::StaticVar,
            Self::SystemPrompt { .. } => Kind::SystemPrompt,
            Self::Memory { .. } => Kind::Memory,
            Self::Skills { .. } => Kind::Skills,
            Self::ToolOverview { .. } => Kind::ToolOverview,
            Self::ToolCallRequest { .. } => Kind::ToolCallRequest,
            Self::ToolCallResult { .. } => Kind::ToolCallResult,
            Self::Document { .. } => Kind::Document,
            Self::LongText { .. } => Kind::LongText,
            Self::Media { .. } => Kind::Media,
        }
    }
}

fn strip(value: &mut Value) {
    if let Value::Object(members) = value {
        members.shift_remove("meta");
    }
}
