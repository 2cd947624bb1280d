//! What the demo model is asked, taken out of the body of a Chat Completions request.

use serde_json::{Map, Value};

/// A request as far as the demo model understands it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Request {
    pub messages: Vec<Message>,
    pub tools: Vec<Tool>,
    pub choice: Choice,
    pub format: Format,
    pub thinks: bool,
    pub streams: bool,
    pub tells_usage: bool,
    pub max_tokens: Option<u64>,
    pub stop: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Message {
    pub role: Role,
    pub text: String,
    /// Names of the tools that an assistant called, with their ids.
    pub calls: Vec<(String, String)>,
    /// Of a tool's result.
    pub call_id: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    System,
    User,
    Assistant,
    Tool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tool {
    pub name: String,
    pub parameters: Value,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Choice {
    Auto,
    None,
    Required,
    Named(String),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Format {
    Text,
    Json,
    Schema(Value),
}

/// Why a body is not a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub status: u16,
    pub code: Option<&'static str>,
    /// The member at fault.
    pub member: Option<String>,
    pub message: String,
}

impl Request {
    pub(super) fn read(body: &[u8]) -> Result<Self, Fault> {
        let value: Value =
            serde_json::from_slice(body).map_err(|error| fault("", &format!("the body is not JSON: {error}")))?;
        let Value::Object(body) = value else {
            return Err(fault("", "the body must be an object"));
        };
        match body.get("model") {
            Some(Value::String(model)) if model == "demo" => {}
            Some(Value::String(model)) => return Err(unknown_model(model)),
            _ => return Err(fault("model", "model must be a text")),
        }
        let messages = match body.get("messages") {
            Some(Value::Array(messages)) if !messages.is_empty() => messages,
            _ => return Err(fault("messages", "messages must be a list with something in it")),
        };
        let messages =
            messages.iter().enumerate().map(|(at, message)| Message::read(at, message)).collect::<Result<_, _>>()?;
        let tools = match body.get("tools") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(tools)) => {
                tools.iter().enumerate().map(|(at, tool)| Tool::read(at, tool)).collect::<Result<_, _>>()?
            }
            Some(_) => return Err(fault("tools", "tools must be a list")),
        };
        Ok(Self {
            choice: Choice::read(&body, &tools)?,
            messages,
            tools,
            format: Format::read(&body)?,
            thinks: matches!(body.get("reasoning_effort"), Some(Value::String(effort)) if effort != "none"),
            streams: body.get("stream") == Some(&Value::Bool(true)),
            tells_usage: body.get("stream_options").is_some_and(|options| options["include_usage"] == true),
            max_tokens: limit(&body)?,
            stop: stops(&body)?,
        })
    }

    /// The place of the last message of the user, if there is one.
    pub(super) fn last_question(&self) -> Option<usize> {
        self.messages.iter().rposition(|message| message.role == Role::User)
    }

    /// What the user asked last; empty if nobody asked anything.
    pub(super) fn question(&self) -> &str {
        self.last_question().map_or("", |at| &self.messages[at].text)
    }

    /// What the user asked before that.
    pub(super) fn earlier_questions(&self) -> impl DoubleEndedIterator<Item = &str> {
        let end = self.last_question().unwrap_or(0);
        self.messages[..end].iter().filter(|message| message.role == Role::User).map(|message| message.text.as_str())
    }

    /// Results of tools since the last question, each with the name of its tool.
    pub(super) fn results(&self) -> Vec<(&str, &str)> {
        let start = self.last_question().map_or(0, |at| at + 1);
        let results = self.messages[start..].iter().filter(|message| message.role == Role::Tool);
        results.map(|result| (self.tool_of(result.call_id.as_deref()), result.text.as_str())).collect()
    }

    fn tool_of(&self, call_id: Option<&str>) -> &str {
        let mut calls = self.messages.iter().flat_map(|message| &message.calls);
        calls.rfind(|(id, _)| Some(id.as_str()) == call_id).map_or("a tool", |(_, name)| name)
    }

    /// Whether the model has said nothing yet.
    pub(super) fn is_first(&self) -> bool {
        !self.messages.iter().any(|message| message.role == Role::Assistant)
    }
}

impl Message {
    fn read(at: usize, message: &Value) -> Result<Self, Fault> {
        let member = |name: &str| format!("messages[{at}].{name}");
        let role = match message["role"].as_str() {
            Some("system" | "developer") => Role::System,
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("tool" | "function") => Role::Tool,
            _ => return Err(fault(&member("role"), "role must be system, developer, user, assistant or tool")),
        };
        let text = match &message["content"] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            Value::Array(parts) => parts.iter().map(part_text).collect::<Vec<_>>().join("\n"),
            _ => return Err(fault(&member("content"), "content must be a text or a list of parts")),
        };
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        let name = |call: &Value, path: &Value| Some((call["id"].as_str()?.to_owned(), path.as_str()?.to_owned()));
        let calls = calls.filter_map(|call| name(call, &call["function"]["name"])).collect();
        Ok(Self { role, text, calls, call_id: message["tool_call_id"].as_str().map(str::to_owned) })
    }
}

/// What a part says; of anything but text only that it is there.
fn part_text(part: &Value) -> &str {
    match (&part["text"], part["type"].as_str()) {
        (Value::String(text), _) => text,
        (_, Some("image_url")) => "[a picture]",
        (_, Some("input_audio")) => "[a recording]",
        _ => "[an attachment]",
    }
}

impl Tool {
    fn read(at: usize, tool: &Value) -> Result<Self, Fault> {
        let function = &tool["function"];
        match function["name"].as_str() {
            Some(name) if !name.is_empty() => {
                Ok(Self { name: name.to_owned(), parameters: function["parameters"].clone() })
            }
            _ => Err(fault(&format!("tools[{at}].function.name"), "a tool needs a name")),
        }
    }
}

impl Choice {
    fn read(body: &Map<String, Value>, tools: &[Tool]) -> Result<Self, Fault> {
        let choice = match body.get("tool_choice") {
            None | Some(Value::Null) => Self::Auto,
            Some(Value::String(word)) => match word.as_str() {
                "auto" => Self::Auto,
                "none" => Self::None,
                "required" | "any" => Self::Required,
                _ => return Err(fault("tool_choice", "tool_choice must be auto, none, required or a tool")),
            },
            Some(tool) => match tool["function"]["name"].as_str() {
                Some(name) => Self::Named(name.to_owned()),
                None => return Err(fault("tool_choice", "tool_choice must be auto, none, required or a tool")),
            },
        };
        match &choice {
            Self::Named(name) if !tools.iter().any(|tool| tool.name == *name) => {
                Err(fault("tool_choice", &format!("there is no tool {name:?}")))
            }
            Self::Required if tools.is_empty() => Err(fault("tool_choice", "a tool is required, but there are none")),
            Self::Auto | Self::None | Self::Required | Self::Named(_) => Ok(choice),
        }
    }
}

impl Format {
    fn read(body: &Map<String, Value>) -> Result<Self, Fault> {
        let Some(format) = body.get("response_format").filter(|format| !format.is_null()) else {
            return Ok(Self::Text);
        };
        match format["type"].as_str() {
            Some("text") => Ok(Self::Text),
            Some("json_object") => Ok(Self::Json),
            Some("json_schema") if format["json_schema"]["schema"].is_object() => {
                Ok(Self::Schema(format["json_schema"]["schema"].clone()))
            }
            _ => {
                Err(fault("response_format", "response_format must be text, json_object or json_schema with a schema"))
            }
        }
    }
}

fn limit(body: &Map<String, Value>) -> Result<Option<u64>, Fault> {
    for name in ["max_completion_tokens", "max_tokens"] {
        match body.get(name) {
            None | Some(Value::Null) => {}
            Some(value) => match value.as_u64() {
                Some(limit) if limit > 0 => return Ok(Some(limit)),
                _ => return Err(fault(name, &format!("{name} must be a whole number above zero"))),
            },
        }
    }
    Ok(None)
}

fn stops(body: &Map<String, Value>) -> Result<Vec<String>, Fault> {
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let stops = match body.get("stop") {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(Value::Array(stops)) => stops.iter().map(text).collect(),
        Some(stop) => text(stop).map(|stop| vec![stop]),
    };
    stops.ok_or_else(|| fault("stop", "stop must be a text or a list of texts"))
}

fn fault(member: &str, message: &str) -> Fault {
    let member = (!member.is_empty()).then(|| member.to_owned());
    Fault { status: 400, code: None, member, message: message.to_owned() }
}

fn unknown_model(model: &str) -> Fault {
    Fault {
        status: 404,
        code: Some("model_not_found"),
        member: Some("model".to_owned()),
        message: format!("there is no model {model:?}; the demo provider has only \"demo\""),
    }
}
