//! What is asked of a model.

use pi_envelope::{Prompt, Tool};
use pi_transcript::ThinkingLevel;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One question to a model. Which model and where it is reached is decided by whoever makes the call.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    pub prompt: &'a Prompt,
    pub options: &'a Options,
}

/// How the model is to answer. What a provider cannot do is dropped or changed, and reported.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Options {
    pub thinking: ThinkingLevel,
    /// Whether somebody asked for that level. Off is also what stands where nobody asked for anything, and then it is
    /// nothing that could be missed.
    #[serde(default)]
    pub thinking_asked: bool,
    pub tool_choice: ToolChoice,
    /// Whether the model may call several tools at once; `None` leaves it to the provider.
    pub parallel_tools: Option<bool>,
    pub response_format: ResponseFormat,
    pub cache: CacheRetention,
    /// Standard parameters by their standard names: `temperature`, `max_tokens`, `top_p`, `top_k`, `stop`, `seed`,
    /// `frequency_penalty`, `presence_penalty`, `n`, and whatever else the manifest declares.
    pub parameters: Map<String, Value>,
    /// Groups the requests of one conversation where a provider's cache wants that.
    pub session: Option<String>,
    /// Who tries again when the provider fails before a word of the answer has come.
    #[serde(default)]
    pub attempts: Attempts,
}

/// Who tries again. One of them does: where both did, their tries would multiply and their waits add up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attempts {
    /// The client, as the manifest's policy says. Its listener is told of each.
    #[default]
    Client,
    /// The caller, who repeats the whole call: it is sent once. The first attempt is number 1; later ones are let through
    /// to a provider that has meanwhile failed too often, because they were begun before.
    Caller { attempt: u32 },
}

/// Whether the model must call a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    Auto,
    None,
    Required,
    /// This tool.
    Tool(String),
}

/// What the answer must look like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseFormat {
    Text,
    /// Any JSON object.
    Json,
    /// JSON that fits a schema.
    JsonSchema {
        name: String,
        schema: Value,
    },
}

/// How long the provider should keep the beginning of the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheRetention {
    None,
    /// Minutes.
    Short,
    /// An hour or more.
    Long,
}

impl<'a> Call<'a> {
    /// The tools that the answer may call.
    pub fn callable(&self) -> &'a [Tool] {
        match self.options.tool_choice {
            ToolChoice::None => &[],
            ToolChoice::Auto | ToolChoice::Required | ToolChoice::Tool(_) => &self.prompt.tools,
        }
    }
}

impl Options {
    /// A plain question: no thinking, tools as the model likes, text, a short cache, the provider's own parameters.
    pub fn plain() -> Self {
        Self {
            thinking: ThinkingLevel::Off,
            thinking_asked: false,
            tool_choice: ToolChoice::Auto,
            parallel_tools: None,
            response_format: ResponseFormat::Text,
            cache: CacheRetention::Short,
            parameters: Map::new(),
            session: None,
            attempts: Attempts::Client,
        }
    }
}
