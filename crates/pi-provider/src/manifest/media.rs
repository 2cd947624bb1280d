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
    /// How many one request may have. Ours; `max_images` and `max_count` are read too.
    #[serde(alias = "max_images", alias = "max_count", skip_serializing_if = "Option::is_none")]
    pub max_files: Option<u64>,
    /// `4096x4096`.
    pub max_resolution: Option<String>,
    /// With a unit: `8h`.
    pub max_duration: Option<String>,
    pub document_understanding: Option<bool>,
    /// What only some providers say: `speech_recognition`, `frame_extraction`, `voice_selection`.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

impl Medium {
    /// The largest file in bytes, as far as that is said in words that are known.
    pub fn most_bytes(&self) -> Option<u64> {
        self.max_file_size.as_deref().and_then(bytes)
    }

    /// Width and height of the largest picture.
    pub fn most_pixels(&self) -> Option<(u32, u32)> {
        self.max_resolution.as_deref().and_then(pixels)
    }
}

/// `20MB`, `1.5 GiB`, `500 kb`, `4096`. A thousand is taken for 1024: whoever measures otherwise takes a little less, and
/// says so.
pub(crate) fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(text.len()));
    let unit: u64 = match unit.trim().to_ascii_lowercase().trim_end_matches("ib").trim_end_matches('b') {
        "" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        _ => return None,
    };
    let number: f64 = number.parse().ok()?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "sizes of files are far from the ends of numbers"
    )]
    let bytes = (number * unit as f64) as u64;
    (number > 0.0).then_some(bytes)
}

/// `4096x2048`.
pub(crate) fn pixels(text: &str) -> Option<(u32, u32)> {
    let (width, height) = text.split_once(['x', 'X', '\u{d7}'])?;
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|it| *it > 0);
    Some((number(width)?, number(height)?))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, expected) in [
            ("20MB", Some(20 << 20)),
            ("20 MiB", Some(20 << 20)),
            ("1.5gb", Some(3 << 29)),
            ("500k", Some(500 << 10)),
            ("4096", Some(4096)),
            ("4096 bytes", None),
            ("a lot", None),
            ("0", None),
            ("", None),
        ] {
            assert_eq!(bytes(text), expected, "{text}");
        }
    }

    #[test]
    fn resolutions_are_two_numbers() {
        for (text, expected) in
            [("4096x2048", Some((4096, 2048))), ("8 X 9", Some((8, 9))), ("4096", None), ("0x1", None), ("wide", None)]
        {
            assert_eq!(pixels(text), expected, "{text}");
        }
    }
}
