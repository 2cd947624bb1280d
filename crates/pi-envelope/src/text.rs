//! The texts of a segment, and what was sent for it.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::{
    envelope::{Body, Segment},
    wording::interleave,
};

impl Body {
    /// What the model reads of this segment, in order, without markup around it.
    pub fn texts(&self) -> Vec<Cow<'_, str>> {
        match self {
            Self::Text { content } | Self::SystemPrompt { content, .. } | Self::LongText { content, .. } => {
                vec![content.into()]
            }
            Self::StaticVar { value, .. } => vec![value.into()],
            Self::Memory { items, .. } => {
                items.iter().flat_map(|item| [&item.title, &item.content]).map(Cow::from).collect()
            }
            Self::Skills { items, .. } => {
                items.iter().flat_map(|item| [&item.name, &item.description]).map(Cow::from).collect()
            }
            Self::ToolOverview { items, .. } => items
                .iter()
                .flat_map(|item| {
                    let parameters = item.schema.as_ref().map_or_else(|| (&item.parameters).into(), json);
                    [(&item.name).into(), (&item.description).into(), parameters]
                })
                .collect(),
            Self::ToolCallRequest { tool_name, arguments, .. } => vec![tool_name.into(), json(arguments)],
            Self::ToolCallResult { result, .. } => vec![result.into()],
            Self::Document { snippet, parsed_content, .. } => vec![parsed_content.as_ref().unwrap_or(snippet).into()],
            Self::Media { url, .. } => vec![url.into()],
        }
    }
}

impl Segment {
    /// The text that was sent: the texts of the segment within the markup that `meta.frame` keeps. A frame that does not
    /// fit the segment is not ours and is not used.
    pub fn sent(&self) -> String {
        let texts = self.body.texts();
        let frame = self.ours().and_then(|meta| meta.frame.as_deref());
        let framed = frame.and_then(|frame| interleave(frame, texts.iter().map(Cow::as_ref)));
        framed.unwrap_or_else(|| texts.concat())
    }
}

fn json(members: &Map<String, Value>) -> Cow<'_, str> {
    serde_json::to_string(members).expect("JSON can be written as text").into()
}
