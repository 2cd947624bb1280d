//! What a provider can do.

use std::{collections::BTreeSet, fmt};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// What is declared. Names that are not standard are ignored on loading and listed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Capabilities {
    #[serde(default)]
    pub required: BTreeSet<Capability>,
    #[serde(default)]
    pub optional: BTreeSet<Capability>,
    #[serde(default)]
    pub feature_flags: FeatureFlags,
    #[serde(default)]
    pub tool_calling: ToolCalling,
}

/// A standard capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    Text,
    Streaming,
    Vision,
    Audio,
    Video,
    Tools,
    ParallelTools,
    Agentic,
    Reasoning,
    Embeddings,
    StructuredOutput,
    Batch,
    ImageGeneration,
    ComputerUse,
    McpClient,
    McpServer,
    Stt,
    Tts,
    Rerank,
}

/// Switches inside capabilities. `None` means that the file does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeatureFlags {
    #[serde(default)]
    pub structured_output: Option<bool>,
    #[serde(default)]
    pub parallel_tool_calls: Option<bool>,
    #[serde(default)]
    pub extended_thinking: Option<bool>,
    #[serde(default)]
    pub streaming_usage: Option<bool>,
    /// The system role exists unless this is false.
    #[serde(default)]
    pub system_messages: Option<bool>,
    #[serde(default)]
    pub image_generation: Option<bool>,
    #[serde(flatten)]
    pub others: IndexMap<String, bool>,
}

/// How tools are called.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCalling {
    #[serde(default)]
    pub native: Option<NativeTools>,
    #[serde(default)]
    pub text_fallback: Option<TextFallback>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NativeTools {
    #[serde(default = "yes")]
    pub supported: bool,
    #[serde(default)]
    pub reliability: Reliability,
    #[serde(default)]
    pub parallel: Option<bool>,
    #[serde(default)]
    pub streaming: Option<bool>,
    #[serde(default)]
    pub notes: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reliability {
    #[default]
    Full,
    Partial,
    Unreliable,
}

/// How a model without tools of its own is told to write a call as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextFallback {
    #[serde(default)]
    pub format: FallbackFormat,
    /// The tag or the language of the fence.
    #[serde(default = "tool_call")]
    pub wrapper: String,
    #[serde(default)]
    pub body: FallbackBody,
    #[serde(default)]
    pub name_location: NameLocation,
    #[serde(default = "arguments")]
    pub args_key: String,
    #[serde(default)]
    pub known_dialects: Vec<KnownDialect>,
    /// How much the model must be told: `L1` little, `L3` everything.
    #[serde(default)]
    pub prompt_level: PromptLevel,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FallbackFormat {
    #[default]
    XmlJson,
    MarkdownFence,
    Custom,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FallbackBody {
    #[default]
    Json,
    Yaml,
    Plain,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NameLocation {
    Attribute,
    #[default]
    JsonField,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PromptLevel {
    L1,
    #[default]
    L2,
    L3,
}

/// A tag that models use on their own; `map_to` is the tool, empty where the body names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownDialect {
    pub tag: String,
    pub map_to: String,
}

impl Default for TextFallback {
    fn default() -> Self {
        Self {
            format: FallbackFormat::default(),
            wrapper: tool_call(),
            body: FallbackBody::default(),
            name_location: NameLocation::default(),
            args_key: arguments(),
            known_dialects: Vec::new(),
            prompt_level: PromptLevel::default(),
        }
    }
}

impl Capability {
    pub const ALL: [Self; 19] = [
        Self::Text,
        Self::Streaming,
        Self::Vision,
        Self::Audio,
        Self::Video,
        Self::Tools,
        Self::ParallelTools,
        Self::Agentic,
        Self::Reasoning,
        Self::Embeddings,
        Self::StructuredOutput,
        Self::Batch,
        Self::ImageGeneration,
        Self::ComputerUse,
        Self::McpClient,
        Self::McpServer,
        Self::Stt,
        Self::Tts,
        Self::Rerank,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Streaming => "streaming",
            Self::Vision => "vision",
            Self::Audio => "audio",
            Self::Video => "video",
            Self::Tools => "tools",
            Self::ParallelTools => "parallel_tools",
            Self::Agentic => "agentic",
            Self::Reasoning => "reasoning",
            Self::Embeddings => "embeddings",
            Self::StructuredOutput => "structured_output",
            Self::Batch => "batch",
            Self::ImageGeneration => "image_generation",
            Self::ComputerUse => "computer_use",
            Self::McpClient => "mcp_client",
            Self::McpServer => "mcp_server",
            Self::Stt => "stt",
            Self::Tts => "tts",
            Self::Rerank => "rerank",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|capability| capability.name() == name)
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Capabilities {
    pub fn has(&self, capability: Capability) -> bool {
        self.required.contains(&capability) || self.optional.contains(&capability)
    }
}

fn yes() -> bool {
    true
}

fn tool_call() -> String {
    "tool_call".to_owned()
}

fn arguments() -> String {
    "arguments".to_owned()
}
