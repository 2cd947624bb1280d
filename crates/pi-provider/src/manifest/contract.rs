//! How a provider's messages look, where that differs from what its dialect does by itself.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// All members are optional: what is absent is as the dialect has it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Contract {
    #[serde(default)]
    pub api_style: Option<ApiStyle>,
    #[serde(default)]
    pub api_version: Option<String>,
    #[serde(default)]
    pub request_mapping: RequestMapping,
    #[serde(default)]
    pub response_mapping: ResponseMapping,
    #[serde(default)]
    pub capability_contracts: CapabilityContracts,
    #[serde(default)]
    pub degradation: Degradation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApiStyle {
    OpenaiCompatible,
    AnthropicMessages,
    GeminiGenerate,
    Custom,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestMapping {
    #[serde(default)]
    pub message_format: Option<String>,
    /// Standard role (`system`, `user`, `assistant`, `tool`) to the provider's.
    #[serde(default)]
    pub role_mapping: IndexMap<String, String>,
    #[serde(default)]
    pub system_message_handling: Option<SystemHandling>,
    /// Kind of block (`text`, `image`, `document`, `tool_use`, …) to its form.
    #[serde(default)]
    pub content_block_mapping: IndexMap<String, BlockMapping>,
    /// Standard parameter to the dotted path in the request.
    #[serde(default)]
    pub parameter_aliases: IndexMap<String, String>,
    #[serde(default)]
    pub required_headers: Vec<RequiredHeader>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemHandling {
    Inline,
    TopLevelField,
    PrependToUser,
    NotSupported,
}

/// The form of one kind of block. Which members count depends on the kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BlockMapping {
    pub format: Option<String>,
    pub supported: Option<bool>,
    pub field: Option<String>,
    pub wrapper: Option<String>,
    pub source_wrapper: Option<String>,
    pub base64_field: Option<String>,
    pub url_field: Option<String>,
    pub mime_type_field: Option<String>,
    pub type_field: Option<String>,
    pub default_mime_type: Option<String>,
    pub ref_resolution: Option<String>,
    pub id_field: Option<String>,
    pub name_field: Option<String>,
    pub arguments_field: Option<String>,
    pub content_field: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequiredHeader {
    pub name: String,
    pub value: String,
    /// A capability that must be used in the request for the header to be sent.
    #[serde(default)]
    pub condition: Option<String>,
}

/// Where the parts of an answer that was not streamed are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResponseMapping {
    pub content_path: Option<String>,
    pub finish_reason_path: Option<String>,
    pub usage_path: Option<String>,
    pub tool_calls_path: Option<String>,
    /// Inside one tool call: `id`, `name`, `args` (`arguments`) to their paths.
    pub tool_call_fields: IndexMap<String, String>,
    pub finish_reason_mapping: IndexMap<String, String>,
    pub error_extraction: ErrorExtraction,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ErrorExtraction {
    pub type_path: Option<String>,
    pub message_path: Option<String>,
    pub code_path: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CapabilityContracts {
    pub streaming: StreamingContract,
    pub tools: ToolsContract,
    pub structured_output: StructuredOutputContract,
    pub mcp: McpContract,
    pub generative: GenerativeContract,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StreamingContract {
    pub protocol: Option<String>,
    pub supports_usage_in_stream: Option<bool>,
    pub supports_tool_streaming: Option<bool>,
    pub done_signal: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolsContract {
    pub definition_format: Option<String>,
    pub supports_parallel: Option<bool>,
    pub supports_forced_tool: Option<bool>,
    pub max_tools: Option<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StructuredOutputContract {
    pub json_mode: Option<bool>,
    pub json_schema_mode: Option<bool>,
    pub response_format_field: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct McpContract {
    pub integration_method: Option<String>,
    pub tool_injection_format: Option<String>,
    pub requires_beta_header: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GenerativeContract {
    pub token_usage_format: Option<String>,
    /// Standard count to its path inside the usage.
    pub token_usage_fields: IndexMap<String, String>,
    pub reasoning_mode: ReasoningMode,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReasoningMode {
    pub supported: Option<bool>,
    pub activation_method: Option<String>,
    pub activation_field: Option<String>,
    pub thinking_block_format: Option<String>,
}

/// What happens to content that the provider cannot take.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Degradation {
    pub strategy: Option<String>,
    pub rules: Vec<DegradationRule>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DegradationRule {
    pub capability: String,
    pub action: String,
    #[serde(default)]
    pub message: Option<String>,
}
