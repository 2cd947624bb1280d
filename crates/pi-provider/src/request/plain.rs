//! Plain messages of role and content, as people write them by hand and other programs send them.

use pi_envelope::{Origin, Prompt, Provenance, Said, SystemPart, SystemText, Tool};
use pi_transcript::{
    Block, Content, Message,
    content::ToolCall,
    json::{Extra, Loose, Open},
    message::{AssistantMessage, StopReason, SystemMessage, ToolDefinition, ToolResultMessage, UserMessage},
    usage::Usage,
};
use serde_json::{Map, Value};

use crate::{
    call::{Options, ResponseFormat, ToolChoice},
    error::CallError,
};

/// A prompt and the options that stood beside it.
#[derive(Debug, Clone, PartialEq)]
pub struct Plain {
    pub prompt: Prompt,
    pub options: Options,
    /// What `stream` said, if it said anything.
    pub stream: Option<bool>,
}

/// Reads messages (`role` of `system`, `user`, `assistant`, `tool`; `content` a text or blocks; `metadata`, `tool_calls`,
/// `tool_call_id`) and standard parameters. `tools`, `tool_choice`, `response_format`, `parallel_tool_calls` and `stream`
/// among the parameters become the options that they are; all others stay parameters.
pub fn plain(messages: &[Value], parameters: &Map<String, Value>) -> Result<Plain, CallError> {
    let mut prompt = Prompt::default();
    for (index, message) in messages.iter().enumerate() {
        let fault = |reason: &str| refuse(&format!("messages[{index}]"), reason);
        let members = message.as_object().ok_or_else(|| fault("not an object"))?;
        let role = members.get("role").and_then(Value::as_str).ok_or_else(|| fault("there is no role"))?;
        let content = content(members.get("content")).ok_or_else(|| fault("content is neither text nor blocks"))?;
        if role == "system" && index == 0 {
            prompt.system.push(SystemPart {
                id: "plain".to_owned(),
                provenance: Provenance::usual(Origin::User),
                text: SystemText::Instructions { text: content.text() },
            });
            continue;
        }
        let message = match role {
            "system" | "developer" => system(content),
            "user" => user(content, members),
            "assistant" => assistant(content, members).ok_or_else(|| fault("a tool call has no name"))?,
            "tool" => tool(content, members).ok_or_else(|| fault("there is no tool_call_id"))?,
            _ => return Err(fault("the role is none of system, user, assistant, tool")),
        };
        let id = format!("{index:08x}").as_str().into();
        prompt.messages.push(Said::new(id, message, Provenance::usual(Origin::User)));
    }
    let mut options = Options::plain();
    let mut stream = None;
    for (name, value) in parameters {
        match name.as_str() {
            "stream" => stream = value.as_bool(),
            "tools" => prompt.tools = tools(value).ok_or_else(|| refuse("tools", "not a list of functions"))?,
            "tool_choice" => {
                options.tool_choice = choice(value).ok_or_else(|| refuse("tool_choice", "not a choice"))?;
            }
            "parallel_tool_calls" => options.parallel_tools = value.as_bool(),
            "response_format" => {
                options.response_format =
                    format(value).ok_or_else(|| refuse("response_format", "neither text nor JSON"))?;
            }
            _ => {
                options.parameters.insert(name.clone(), value.clone());
            }
        }
    }
    Ok(Plain { prompt, options, stream })
}

fn refuse(option: &str, reason: &str) -> CallError {
    CallError::Option { option: option.to_owned(), reason: reason.to_owned() }
}

fn content(value: Option<&Value>) -> Option<Content> {
    match value {
        None | Some(Value::Null) => Some(Content::Blocks(Vec::new())),
        Some(Value::String(text)) => Some(Content::Text(text.clone())),
        Some(Value::Array(blocks)) => blocks.iter().map(block).collect::<Option<_>>().map(Content::Blocks),
        Some(Value::Bool(_) | Value::Number(_) | Value::Object(_)) => None,
    }
}

/// A block: text, an image in the form of Chat Completions, or one of the standard's own.
fn block(value: &Value) -> Option<Block> {
    let members = value.as_object()?;
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
    if let Some(text) = text("/text") {
        return Some(Block::text(text));
    }
    if let Some(url) = text("/image_url/url") {
        return Some(match url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")) {
            Some((mime_type, data)) => Block::image(data, mime_type),
            None => Block::Other(Map::from_iter([("type".to_owned(), "image".into()), ("url".to_owned(), url.into())])),
        });
    }
    Some(Block::Other(members.clone()))
}

fn user(content: Content, members: &Map<String, Value>) -> Message {
    let mut extra = Extra::new();
    if let Some(metadata) = members.get("metadata") {
        extra.insert("metadata".to_owned(), metadata.clone());
    }
    Message::User(UserMessage { content, timestamp: 0, extra })
}

fn system(content: Content) -> Message {
    Message::System(SystemMessage {
        content,
        sections: None,
        tools_added: None,
        tools_removed: None,
        timestamp: 0,
        extra: Extra::new(),
    })
}

fn blocks(content: Content) -> Vec<Block> {
    match content {
        Content::Text(text) => vec![Block::text(text)],
        Content::Blocks(blocks) => blocks,
    }
}

fn assistant(content: Content, members: &Map<String, Value>) -> Option<Message> {
    let mut content = blocks(content);
    for call in members.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
        let text = |pointer: &str| call.pointer(pointer).and_then(Value::as_str);
        let arguments = text("/function/arguments").unwrap_or("{}");
        content.push(Block::ToolCall(ToolCall {
            id: text("/id").unwrap_or_default().into(),
            name: text("/function/name")?.to_owned(),
            arguments: serde_json::from_str(arguments).unwrap_or_default(),
            thought_signature: None,
            namespace: None,
            extra: Extra::new(),
        }));
    }
    Some(Message::Assistant(Box::new(AssistantMessage {
        content,
        api: String::new(),
        provider: "".into(),
        model: "".into(),
        usage: Loose::Known(Usage::default()),
        stop_reason: Open::Known(StopReason::Stop),
        error_message: None,
        timestamp: 0,
        response_id: None,
        response_model: None,
        raw_stop_reason: None,
        thinking_level: None,
        provider_thinking_level: None,
        diagnostics: None,
        deferred: None,
        end_turn: None,
        extra: Extra::new(),
    })))
}

fn tool(content: Content, members: &Map<String, Value>) -> Option<Message> {
    let text = |name: &str| members.get(name).and_then(Value::as_str);
    Some(Message::ToolResult(Box::new(ToolResultMessage {
        tool_call_id: text("tool_call_id")?.into(),
        tool_name: text("name").unwrap_or_default().to_owned(),
        content: blocks(content),
        details: None,
        is_error: false,
        timestamp: 0,
        usage: None,
        nested_calls: None,
        duration_ms: None,
        denied_by: None,
        extra: Extra::new(),
    })))
}

fn tools(value: &Value) -> Option<Vec<Tool>> {
    let tools = value.as_array()?.iter().map(|tool| {
        let function = tool.get("function").unwrap_or(tool);
        let text = |name: &str| function.get(name).and_then(Value::as_str);
        let parameters = function.get("parameters").or_else(|| function.get("input_schema"));
        Some(Tool {
            definition: ToolDefinition {
                name: text("name")?.to_owned(),
                description: text("description").unwrap_or_default().to_owned(),
                parameters: parameters.cloned().unwrap_or_default(),
                extra: Extra::new(),
            },
            provenance: Provenance::usual(Origin::User),
        })
    });
    tools.collect()
}

fn choice(value: &Value) -> Option<ToolChoice> {
    let name = value.pointer("/function/name").or_else(|| value.get("name")).and_then(Value::as_str);
    match (value.as_str().or_else(|| value.get("type")?.as_str())?, name) {
        ("auto", _) => Some(ToolChoice::Auto),
        ("none", _) => Some(ToolChoice::None),
        ("required" | "any", _) => Some(ToolChoice::Required),
        ("function" | "tool", Some(name)) => Some(ToolChoice::Tool(name.to_owned())),
        _ => None,
    }
}

fn format(value: &Value) -> Option<ResponseFormat> {
    match value.get("type")?.as_str()? {
        "text" => Some(ResponseFormat::Text),
        "json_object" | "json" => Some(ResponseFormat::Json),
        "json_schema" => {
            let inner = value.get("json_schema").unwrap_or(value);
            let name = inner.get("name").and_then(Value::as_str).unwrap_or("answer").to_owned();
            Some(ResponseFormat::JsonSchema { name, schema: inner.get("schema")?.clone() })
        }
        _ => None,
    }
}
