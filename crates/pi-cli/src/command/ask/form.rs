//! Whether an answer has the form that was asked for: models promise JSON and do not always keep to it.
//!
//! Checked is that it is JSON, and an object where one was asked for. Whether it fits a schema is for whoever reads it.

use pi_provider::ResponseFormat;
use pi_transcript::{Block, message::AssistantMessage};

use crate::refusal;

/// What is wrong with the form of an answer. A call of a tool is no answer yet.
pub(super) fn fault(asked: &ResponseFormat, message: &AssistantMessage) -> Option<String> {
    let is_called = message.content.iter().any(|block| matches!(block, Block::ToolCall(_)));
    let text: String = message.content.iter().filter_map(Block::as_text).collect();
    match asked {
        ResponseFormat::Text => None,
        ResponseFormat::Json | ResponseFormat::JsonSchema { .. } if is_called => None,
        ResponseFormat::Json | ResponseFormat::JsonSchema { .. } => {
            let value = match refusal::parse_any(text.trim().as_bytes()) {
                Ok(value) => value,
                Err(refusal) => return Some(told(&refusal, &text)),
            };
            let wants_object = *asked == ResponseFormat::Json;
            (wants_object && !value.is_object()).then(|| "JSON, but not an object".to_owned())
        }
    }
}

fn told(refusal: &refusal::Refusal, text: &str) -> String {
    let problem = refusal.problems.first().map(|it| it.message.as_str()).unwrap_or_default();
    let fence = if text.trim_start().starts_with("```") { "; it stands in a code fence" } else { "" };
    format!("{problem}{fence}")
}
