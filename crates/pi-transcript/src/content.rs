//! What a message is made of.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ts_rs::TS;

use crate::{
    id::ToolCallId,
    json::{Extra, present},
};

/// The content of a message: plain text, or blocks. Both forms are common and each is written as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(untagged)]
pub enum Content {
    Text(String),
    Blocks(Vec<Block>),
}

/// One piece of content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Block {
    Text(TextBlock),
    Thinking(ThinkingBlock),
    Image(ImageBlock),
    ToolCall(ToolCall),
    /// A type that we do not know, or a known one with a member that is missing or of the wrong type.
    #[serde(untagged)]
    #[ts(skip)]
    Other(Map<String, Value>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct TextBlock {
    pub text: String,
    /// Opaque: the provider gets it back as it came.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub text_signature: Option<String>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ThinkingBlock {
    pub thinking: String,
    /// Opaque: the provider gets it back as it came.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub thinking_signature: Option<String>,
    /// The provider withheld the text; only the signature has meaning.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub redacted: Option<bool>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ImageBlock {
    /// Base64.
    pub data: String,
    pub mime_type: String,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ToolCall {
    pub id: ToolCallId,
    pub name: String,
    pub arguments: Map<String, Value>,
    /// Opaque: the provider gets it back as it came.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub thought_signature: Option<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

impl Content {
    /// As blocks, whichever way it is written: text alone is one block.
    pub fn blocks(&self) -> Cow<'_, [Block]> {
        match self {
            Self::Text(text) => Cow::Owned(vec![Block::text(text)]),
            Self::Blocks(blocks) => Cow::Borrowed(blocks),
        }
    }

    /// All text, in order, without separators; thinking is not text.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Blocks(blocks) => blocks.iter().filter_map(Block::as_text).collect(),
        }
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Vec<Block>> for Content {
    fn from(blocks: Vec<Block>) -> Self {
        Self::Blocks(blocks)
    }
}

impl Block {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextBlock { text: text.into(), text_signature: None, extra: Extra::new() })
    }

    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Image(ImageBlock { data: data.into(), mime_type: mime_type.into(), extra: Extra::new() })
    }

    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(block) => Some(&block.text),
            Self::Thinking(_) | Self::Image(_) | Self::ToolCall(_) | Self::Other(_) => None,
        }
    }
}
