//! Whether an answer has the form that was asked for: models promise JSON and do not always keep to it, and some say nothing.
//!
//! Checked is that it is JSON, an object where one was asked for, and that it fits the schema where there is one.

use pi_provider::{ResponseFormat, ToolChoice};
use pi_transcript::{Block, StopReason, json::Open, message::AssistantMessage};
use serde_json::Value;

use crate::refusal::{self, Cause, Refusal};

/// The form that was asked for. Of a schema it is known that answers can be checked against it.
pub(super) enum Form {
    Text,
    Json,
    Schema { schema: Value, validator: Box<jsonschema::Validator> },
}

impl Form {
    /// A schema with which answers can be checked.
    pub(super) fn of_schema(schema: Value) -> Result<Self, Refusal> {
        match jsonschema::validator_for(&schema) {
            Ok(validator) => Ok(Form::Schema { schema, validator: Box::new(validator) }),
            Err(error) => {
                let path = error.instance_path().to_string();
                let problems = vec![pi_transcript::json::Problem { path, message: error.to_string() }];
                Err(Refusal { cause: Cause::Shape, problems })
            }
        }
    }

    /// As the model is told.
    pub(super) fn response_format(&self) -> ResponseFormat {
        match self {
            Form::Text => ResponseFormat::Text,
            Form::Json => ResponseFormat::Json,
            Form::Schema { schema, .. } => {
                ResponseFormat::JsonSchema { name: "answer".to_owned(), schema: schema.clone() }
            }
        }
    }
}

/// What an answer without a word consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::command) enum Lack {
    /// Of nothing at all.
    Everything,
    /// Of thinking that led to no word.
    Words,
}

impl Lack {
    /// In words, with the reason for which the model stopped; `raw` is the provider's word for it.
    pub(in crate::command) fn told(self, reason: &Open<StopReason>, raw: Option<&str>) -> String {
        let what = match self {
            Lack::Everything => "the model said nothing",
            Lack::Words => "the model thought, and said nothing",
        };
        let raw = raw.map(|raw| format!(" (stop reason: {raw})")).unwrap_or_default();
        match reason {
            Open::Known(StopReason::Length) => format!("{what} before it reached its largest length{raw}"),
            Open::Known(
                StopReason::Stop
                | StopReason::ToolUse
                | StopReason::Error
                | StopReason::Aborted
                | StopReason::Pending
                | StopReason::Deferred,
            )
            | Open::Other(_) => format!("{what}{raw}"),
        }
    }
}

/// What an answer lacks that has neither a word nor a call of a tool.
pub(in crate::command) fn lack(message: &AssistantMessage) -> Option<Lack> {
    let says = |block: &Block| match block {
        Block::Text(_) => block.as_text().is_some_and(|text| !text.trim().is_empty()),
        Block::ToolCall(_) | Block::Image(_) | Block::Other(_) => true,
        Block::Thinking(_) => false,
    };
    let thinks = || message.content.iter().any(|block| matches!(block, Block::Thinking(_)));
    if message.content.iter().any(says) { None } else { Some(if thinks() { Lack::Words } else { Lack::Everything }) }
}

/// What is wrong with the form of an answer. A call of a tool is no answer yet.
pub(super) fn fault(asked: &Form, message: &AssistantMessage) -> Option<String> {
    let is_called = message.content.iter().any(|block| matches!(block, Block::ToolCall(_)));
    let text: String = message.content.iter().filter_map(Block::as_text).collect();
    let value = || refusal::parse_any(text.trim().as_bytes()).map_err(|refusal| told(&refusal, &text));
    match asked {
        Form::Text => None,
        Form::Json | Form::Schema { .. } if is_called => None,
        Form::Json => match value() {
            Ok(value) => (!value.is_object()).then(|| "JSON, but not an object".to_owned()),
            Err(told) => Some(told),
        },
        Form::Schema { validator, .. } => match value() {
            Ok(value) => misfit(validator, &value),
            Err(told) => Some(told),
        },
    }
}

/// What of a value does not fit a schema.
fn misfit(validator: &jsonschema::Validator, value: &Value) -> Option<String> {
    let mut errors = validator.iter_errors(value);
    let first = errors.next()?;
    let place = match first.instance_path().to_string() {
        place if place.is_empty() => String::new(),
        place => format!(" at {place}"),
    };
    let more = match errors.count() {
        0 => String::new(),
        count => format!(" (and {count} more)"),
    };
    Some(format!("JSON that does not fit the schema{place}: {}{more}", shortened(&first.to_string())))
}

/// What is wrong quotes the value, which may be long.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 200;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// That a call of a tool was demanded and is not there.
pub(super) fn missing_call(choice: &ToolChoice, message: &AssistantMessage) -> Option<String> {
    let called = |name: Option<&str>| {
        let is_meant = |block: &Block| match block {
            Block::ToolCall(call) => name.is_none_or(|name| call.name == name),
            Block::Text(_) | Block::Thinking(_) | Block::Image(_) | Block::Other(_) => false,
        };
        message.content.iter().any(is_meant)
    };
    match choice {
        ToolChoice::Auto | ToolChoice::None => None,
        ToolChoice::Required => {
            (!called(None)).then(|| "a call of a tool was demanded, and the model made none".to_owned())
        }
        ToolChoice::Tool(name) => {
            (!called(Some(name))).then(|| format!("a call of {name} was demanded, and the model made none"))
        }
    }
}

fn told(refusal: &Refusal, text: &str) -> String {
    let problem = refusal.problems.first().map(|it| it.message.as_str()).unwrap_or_default();
    let fence = if text.trim_start().starts_with("```") { "; it stands in a code fence" } else { "" };
    format!("{problem}{fence}")
}
