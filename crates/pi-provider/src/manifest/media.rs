//! Declarations about media, screens and tool servers. They are shown, and requests are checked against the media; nothing
//! else follows from them.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What can be shown to the provider's models and what they can make.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Multimodal {
    pub input: MediaInput,
    pub output: MediaOutput,
    pub omni_mode: Option<Medium>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MediaInput {
    pub vision: Option<Medium>,
    pub audio: Option<Medium>,
    pub video: Option<Medium>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MediaOutput {
    pub text: Option<bool>,
    pub audio: Option<Medium>,
    pub image: Option<Medium>,
    pub video: Option<Medium>,
}

/// One kind of media. An empty list of formats means that the file does not say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Medium {
    pub supported: bool,
    pub formats: Vec<String>,
    /// `base64_inline`, `url`, `file_uri`.
    pub encoding_methods: Vec<String>,
    /// With a unit: `20MB`.
    pub max_file_size: Option<String>,
    /// `4096x4096`.
    pub max_resolution: Option<String>,
    /// With a unit: `8h`.
    pub max_duration: Option<String>,
    pub document_understanding: Option<bool>,
    /// What only some providers say: `speech_recognition`, `frame_extraction`, `voice_selection`.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// Whether its models can drive a screen.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ComputerUse {
    pub supported: bool,
    pub status: Option<Maturity>,
    pub implementation: Option<ScreenAccess>,
    pub actions: IndexMap<String, ScreenAction>,
    pub safety: ScreenSafety,
    pub environment: ScreenEnvironment,
    pub provider_mapping: ProviderMapping,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Maturity {
    Ga,
    Beta,
    Preview,
    Experimental,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScreenAccess {
    ScreenBased,
    ToolBased,
    Hybrid,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScreenAction {
    pub supported: bool,
    pub formats: Vec<String>,
    pub operations: Vec<String>,
    pub description: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScreenSafety {
    pub confirmation_required: Option<bool>,
    pub sandbox_mode: Option<String>,
    pub action_logging: Option<bool>,
    pub domain_allowlist: Option<bool>,
    pub sensitive_data_protection: Option<bool>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScreenEnvironment {
    pub browser: Option<bool>,
    pub desktop: Option<bool>,
    pub mobile: Option<bool>,
}

/// How a capability is switched on at this provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProviderMapping {
    pub tool_type: Option<String>,
    pub beta_header: Option<String>,
    pub api_endpoint: Option<String>,
    pub model_requirement: Option<String>,
    pub config_method: Option<String>,
}

/// Tool servers that the provider itself connects to, or is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Mcp {
    pub client: Option<McpSide>,
    pub server: Option<McpSide>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct McpSide {
    pub supported: bool,
    /// A date.
    pub protocol_version: Option<String>,
    /// `stdio`, `sse`, `streamable_http`.
    pub transports: Vec<String>,
    pub auth_methods: Vec<String>,
    /// `tools`, `resources`, `prompts`, `sampling`.
    pub capabilities: IndexMap<String, bool>,
    pub tool_filtering: ToolFiltering,
    pub approval_modes: Vec<ApprovalMode>,
    pub provider_mapping: ProviderMapping,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolFiltering {
    pub allowed_tools: Option<bool>,
    pub denied_tools: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMode {
    Never,
    Always,
    Auto,
}
