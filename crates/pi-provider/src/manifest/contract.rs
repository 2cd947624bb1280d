//! How a provider's messages look, where that differs from what its dialect does by itself.

use std::fmt;

use indexmap::IndexMap;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::{Map, Value};

use super::{endpoint, expression};
use crate::secret::HIDDEN;

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
    #[serde(default)]
    pub rate_limit_contract: RateLimitContract,
    #[serde(default)]
    pub authentication_contract: AuthenticationContract,
}

/// What the provider says about its limits. Shown; the headers themselves are named in the manifest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RateLimitContract {
    pub supports_header_parsing: Option<bool>,
    /// `header`, `body` or `none`.
    pub retry_after_source: Option<String>,
    pub quota_tracking: Option<bool>,
}

/// How the provider wants credentials. Shown; what is sent follows the manifest's `endpoint.auth`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AuthenticationContract {
    /// `bearer`, `api_key_header`, `query_param` or `oauth2`.
    pub method: Option<String>,
    pub token_refresh: Option<bool>,
    pub multi_key_support: Option<bool>,
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
    #[serde(default, deserialize_with = "expression::members")]
    pub parameter_aliases: IndexMap<String, String>,
    #[serde(default)]
    pub required_headers: Vec<RequiredHeader>,
    /// Ours: user and assistant must take turns, so neighbours of the same role become one message.
    #[serde(default)]
    pub alternate_roles: Option<bool>,
    /// Ours: what the id of a tool call may look like; ids of other providers are rewritten to fit.
    #[serde(default)]
    pub tool_call_ids: Option<IdRule>,
    /// Ours: standard parameters of which only one can be sent; the first of those that are asked for is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclusive_parameters: Vec<Vec<String>>,
    /// Ours: members that the dialect sends by itself and this provider refuses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omitted_members: Vec<String>,
    /// Ours: what the model said goes back as a plain text, where items of Responses are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plain_assistant_text: Option<bool>,
}

/// What an id may look like.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct IdRule {
    pub max_length: Option<usize>,
    /// Exactly so many characters, letters and digits only.
    pub exact_length: Option<usize>,
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
    pub ref_resolution: Option<RefResolution>,
    pub id_field: Option<String>,
    pub name_field: Option<String>,
    pub arguments_field: Option<String>,
    pub content_field: Option<String>,
}

/// What becomes of a block that only names something which somebody else keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefResolution {
    /// The call is refused.
    ErrorBeforeEncode,
    /// Whoever makes the call resolves it first; a name that is left is refused.
    ResolveAtRuntime,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequiredHeader {
    pub name: String,
    /// May hold `${NAME}` for values of the environment.
    pub value: String,
    /// A capability that must be used in the request for the header to be sent.
    #[serde(default)]
    pub condition: Option<String>,
}

impl RequiredHeader {
    /// Whether its value may be shown.
    pub fn is_harmless(&self) -> bool {
        endpoint::is_harmless(&self.name, &self.value)
    }
}

impl fmt::Debug for RequiredHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = if self.is_harmless() { &self.value } else { HIDDEN };
        let Self { name, condition, .. } = self;
        f.debug_struct("RequiredHeader")
            .field("name", name)
            .field("value", &value)
            .field("condition", condition)
            .finish()
    }
}

/// Where the parts of an answer that was not streamed are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResponseMapping {
    #[serde(deserialize_with = "expression::optional_path")]
    pub content_path: Option<String>,
    #[serde(deserialize_with = "expression::optional_path")]
    pub finish_reason_path: Option<String>,
    #[serde(deserialize_with = "expression::optional_path")]
    pub usage_path: Option<String>,
    #[serde(deserialize_with = "expression::optional_path")]
    pub tool_calls_path: Option<String>,
    /// Inside one tool call: `id`, `name`, `args` (`arguments`) to their paths.
    #[serde(deserialize_with = "expression::call_parts")]
    pub tool_call_fields: IndexMap<String, String>,
    pub finish_reason_mapping: IndexMap<String, String>,
    pub error_extraction: ErrorExtraction,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ErrorExtraction {
    #[serde(deserialize_with = "expression::optional_plain_path")]
    pub type_path: Option<String>,
    #[serde(deserialize_with = "expression::optional_plain_path")]
    pub message_path: Option<String>,
    #[serde(deserialize_with = "expression::optional_plain_path")]
    pub code_path: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CapabilityContracts {
    pub streaming: StreamingContract,
    pub tools: ToolsContract,
    pub structured_output: StructuredOutputContract,
    pub mcp: McpContract,
    pub computer_use: ComputerUseContract,
    pub generative: GenerativeContract,
    /// Ours.
    pub caching: CachingContract,
}

/// Ours: how a provider is told what to keep of a prompt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CachingContract {
    /// Parts of the prompt are marked (`cache_control`). Absent: as the dialect has it.
    pub markers: Option<bool>,
    /// What a marker says for a long time: `1h`. Absent: a long time is as a short one.
    pub long_ttl: Option<String>,
    /// The dotted member that holds the name of the conversation: `prompt_cache_key`.
    #[serde(deserialize_with = "expression::optional_member")]
    pub key_field: Option<String>,
    /// Dotted members that ask for a long time: `prompt_cache_retention: 24h`.
    #[serde(deserialize_with = "expression::filled_members")]
    pub long_members: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StreamingContract {
    pub protocol: Option<String>,
    pub supports_usage_in_stream: Option<bool>,
    pub supports_tool_streaming: Option<bool>,
    pub done_signal: Option<String>,
    /// Ours: the dotted member that is set to true so that a stream ends with its usage. Absent: as the dialect has it
    /// (`stream_options.include_usage`), where usage in streams is declared. Empty: none is needed.
    #[serde(deserialize_with = "expression::optional_member_or_none")]
    pub usage_option: Option<String>,
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
    #[serde(deserialize_with = "expression::optional_member")]
    pub response_format_field: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct McpContract {
    pub integration_method: Option<String>,
    pub tool_injection_format: Option<String>,
    pub requires_beta_header: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ComputerUseContract {
    pub integration_method: Option<String>,
    pub action_format: Option<String>,
    pub requires_beta_header: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GenerativeContract {
    pub token_usage_format: Option<String>,
    /// Standard count to its path inside the usage.
    #[serde(deserialize_with = "expression::counts")]
    pub token_usage_fields: IndexMap<String, String>,
    pub reasoning_mode: ReasoningMode,
    pub context_window_contract: ContextWindowContract,
}

/// How the provider says that a prompt is too long.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContextWindowContract {
    pub max_context_tokens_field: Option<String>,
    pub overflow_error_code: Option<String>,
    pub overflow_ai_protocol_code: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReasoningMode {
    pub supported: Option<bool>,
    pub activation_method: Option<String>,
    pub activation_field: Option<String>,
    pub thinking_block_format: Option<String>,
    pub supports_streaming_thinking: Option<bool>,
    /// Ours: the forms in which a model is told how hard to think, by name. A model names one in `thinking_format`;
    /// otherwise the one called `default` is used, and without one the dialect's own.
    pub formats: IndexMap<String, ThinkingFormat>,
    /// Ours: the member of an assistant message in which the same model gets its own thinking back, where messages have
    /// no blocks for it: `reasoning_content`.
    pub replay_field: Option<String>,
    /// Ours: the member of an assistant message in which the same model gets back what signs its thinking, and what of
    /// it is encrypted: `reasoning_details`.
    pub details_field: Option<String>,
    /// Ours: what stands around thinking that a model writes as text at the beginning of its answer, because whoever
    /// serves it does not tell the two apart: `{open: <think>, close: </think>}`.
    #[serde(deserialize_with = "text_tags")]
    pub text_tags: Vec<TextTags>,
    /// Ours: what stands for the signature of a tool call that another model made, where a call without one is refused.
    pub missing_signature: Option<String>,
}

/// Ours: two tags around thinking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextTags {
    pub open: String,
    pub close: String,
}

/// A tag of nothing would be found everywhere.
fn text_tags<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<TextTags>, D::Error> {
    let tags = Vec::<TextTags>::deserialize(deserializer)?;
    let is_empty = |tag: &String| tag.trim().is_empty();
    match tags.iter().find(|tags| is_empty(&tags.open) || is_empty(&tags.close)) {
        Some(_) => Err(D::Error::custom("a tag cannot be empty")),
        None => Ok(tags),
    }
}

/// Ours: one form in which a model is told how hard to think.
///
/// Members are dotted paths in the request; the text `$level` as a value stands for the level's own.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ThinkingFormat {
    /// Sent for any level but `off`.
    #[serde(deserialize_with = "expression::filled_members")]
    pub on: Map<String, Value>,
    /// Sent for `off`; without it, and with a value for `off` in `levels`, `on` is sent with that value.
    #[serde(deserialize_with = "expression::filled_members")]
    pub off: Map<String, Value>,
    /// A model that is told nothing does not think, so `off` needs no word.
    pub silence_is_off: bool,
    /// Level to what stands for it; `null` for a level that does not exist. A model's `thinking_levels` come first. A
    /// level that neither names stands for itself; where one names some levels, the others do not exist.
    pub levels: IndexMap<String, Value>,
    /// The level's value is a number of tokens that must be smaller than the answer's `max_tokens`.
    pub below_max_tokens: bool,
    /// Standard parameters that cannot be sent while the model thinks.
    pub forbids: Vec<String>,
    /// Standard parameters that can be sent while the model thinks only from this value on.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub at_least: IndexMap<String, f64>,
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
