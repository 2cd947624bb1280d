//! What the dialects do by themselves, read from `dialects.yaml`.

use std::sync::LazyLock;

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    dialect::Dialect,
    manifest::contract::{IdRule, SystemHandling, ThinkingFormat},
};

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    serde_saphyr::from_str(include_str!("dialects.yaml")).expect("dialects.yaml is checked by a test")
});

/// The rules of one dialect; `dialects.yaml` says what each member means.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rules {
    #[serde(default)]
    pub(super) headers: IndexMap<String, String>,
    #[serde(default)]
    pub(super) members: Map<String, Value>,
    #[serde(default)]
    pub(super) streamed: Map<String, Value>,
    #[serde(default)]
    pub(super) usage_option: Option<String>,
    #[serde(default)]
    pub(super) parameters: IndexMap<String, String>,
    #[serde(default)]
    pub(super) unsupported: Vec<String>,
    #[serde(default)]
    pub(super) lists: Vec<String>,
    #[serde(default)]
    pub(super) home: Option<String>,
    #[serde(default)]
    pub(super) outside: Vec<String>,
    #[serde(default)]
    pub(super) max_tokens: bool,
    pub(super) tool_call_ids: IdRule,
    pub(super) system: SystemHandling,
    #[serde(default)]
    pub(super) alternate: bool,
    #[serde(default)]
    pub(super) parameters_one_object: bool,
    #[serde(default)]
    pub(super) tools_for_calls: bool,
    #[serde(default)]
    pub(super) result_media: bool,
    #[serde(default)]
    pub(super) cache_markers: bool,
    pub(super) thinking: String,
    #[serde(default)]
    pub(super) call_signature: Option<String>,
    #[serde(default)]
    pub(super) thinks: Map<String, Value>,
    pub(super) reserved: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    dialects: Dialects,
    thinking_formats: IndexMap<String, ThinkingFormat>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Dialects {
    openai_chat: Rules,
    openai_responses: Rules,
    anthropic_messages: Rules,
    gemini_generate: Rules,
    cohere_v2: Rules,
}

impl Rules {
    pub(super) fn of(dialect: Dialect) -> &'static Self {
        let dialects = &TABLE.dialects;
        match dialect {
            Dialect::OpenaiChat | Dialect::Demo => &dialects.openai_chat,
            Dialect::OpenaiResponses => &dialects.openai_responses,
            Dialect::AnthropicMessages => &dialects.anthropic_messages,
            Dialect::GeminiGenerate => &dialects.gemini_generate,
            Dialect::CohereV2 => &dialects.cohere_v2,
        }
    }
}

/// A form of thinking that every manifest may name.
pub(super) fn thinking_format(name: &str) -> Option<&'static ThinkingFormat> {
    TABLE.thinking_formats.get(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dialect_has_rules_and_a_known_form_of_thinking() {
        for dialect in Dialect::ALL {
            let rules = Rules::of(dialect);
            assert!(thinking_format(&rules.thinking).is_some(), "{dialect:?}");
        }
    }
}
