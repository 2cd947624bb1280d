//! Single parts of a prompt as the bodies of segments.

use pi_transcript::{ToolDefinition, content::ImageBlock, json::Extra};
use serde_json::{Map, Value};

use crate::{
    envelope::{Body, MediaType, MemoryItem, SkillItem, ToolItem},
    prompt::SystemText,
    wording::Words,
};

/// A text with more characters than this is a `long_text`.
pub const LONG_TEXT: usize = 2000;
/// A document's snippet has at most this many characters.
pub const SNIPPET: usize = 200;

pub(super) fn prose(text: &str) -> Body {
    let characters = text.chars().count();
    let content = text.to_owned();
    if characters > LONG_TEXT {
        Body::LongText { content, char_count: characters.into(), collapsed: true }
    } else {
        Body::Text { content }
    }
}

pub(super) fn document(file_name: &str, mime_type: &str, text: &str) -> Body {
    Body::Document {
        file_name: file_name.to_owned(),
        mime_type: mime_type.to_owned(),
        snippet: text.chars().take(SNIPPET).collect(),
        size_bytes: text.len().into(),
        parsed_content: Some(text.to_owned()),
    }
}

pub(super) fn media(image: &ImageBlock) -> Body {
    Body::Media {
        media_type: MediaType::Image,
        url: format!("data:{};base64,{}", image.mime_type, image.data),
        alt_text: None,
    }
}

/// The body of a system part and the markup around its texts; `None` for a part that is not sent.
pub(super) fn system_part(text: &SystemText) -> Option<(Body, Option<Vec<String>>)> {
    let body = match text {
        SystemText::Instructions { text } => Body::SystemPrompt { content: text.clone(), collapsed: true },
        SystemText::Memory { title, content } => {
            let item = MemoryItem { title: title.clone(), content: content.clone(), extra: Extra::new() };
            Body::Memory { description: None, items: vec![item], collapsed: true }
        }
        SystemText::Skills { skills } if skills.is_empty() => return None,
        SystemText::Skills { skills } => {
            let item = |skill: &crate::Skill| SkillItem {
                name: skill.name.clone(),
                description: skill.description.clone(),
                extra: Extra::new(),
            };
            Body::Skills { description: None, items: skills.iter().map(item).collect(), collapsed: true }
        }
        SystemText::Variable { name, value, label } => {
            Body::StaticVar { name: name.clone(), value: value.clone(), description: Some(label.clone()) }
        }
    };
    Some((body, Words::of(text).into_frame()))
}

pub(super) fn tool_overview<'a>(tools: impl Iterator<Item = &'a ToolDefinition>) -> Body {
    let item = |tool: &ToolDefinition| ToolItem {
        name: tool.name.clone(),
        description: tool.description.clone(),
        parameters: parameters(&tool.parameters),
        schema: tool.parameters.as_object().cloned(),
        extra: Extra::new(),
    };
    Body::ToolOverview { items: tools.map(item).collect(), collapsed: true }
}

pub(super) fn json_text(members: &Map<String, Value>) -> String {
    serde_json::to_string(members).expect("JSON can be written as text")
}

/// Parameters as people read them: `path: string, limit?: integer`. A schema that is not one of an object is its JSON.
fn parameters(schema: &Value) -> String {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return if schema.is_object() { String::new() } else { schema.to_string() };
    };
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|required| required == name));
    let list = properties.iter().map(|(name, property)| {
        let mark = if is_required(name) { "" } else { "?" };
        format!("{name}{mark}: {}", type_name(property))
    });
    list.collect::<Vec<_>>().join(", ")
}

fn type_name(property: &Value) -> String {
    match property.get("type") {
        Some(Value::String(name)) if name == "array" => {
            format!("{}[]", property.get("items").map_or_else(|| "any".to_owned(), type_name))
        }
        Some(Value::String(name)) => name.clone(),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" | "),
        _ => "any".to_owned(),
    }
}
