//! Where a server differs from what its dialect does by itself, in the words of Pi's `compat`.
//!
//! Manifests say such things in their contract; this is what `models.json` can say, read once. All of it stays with the
//! model as it was written, so that others can read it too.

use serde_json::{Map, Value, json};

use super::names;

/// What is different. `None` is what is usual.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Quirks {
    /// Whether `reasoning_effort` may be sent.
    pub reasoning_effort: Option<bool>,
    /// Whether a form of thinking that has no effort of its own is sent `reasoning_effort` beside it.
    pub effort_beside: bool,
    /// Whether a model that thinks is given the system text in the role `developer`.
    pub developer_role: Option<bool>,
    /// Whether the server knows `store`.
    pub store: Option<bool>,
    /// Whether a stream can be asked for its usage.
    pub usage_in_streaming: Option<bool>,
    /// The member for the longest answer.
    pub max_tokens_field: Option<String>,
    /// Our name of the form in which a model is told to think.
    pub thinking_format: Option<&'static str>,
    /// Whether results of tools name their tool.
    pub tool_result_name: bool,
    /// Whether the user may speak after a result only if the model did.
    pub assistant_after_result: bool,
    /// Whether what the model thought goes back as text.
    pub thinking_as_text: bool,
    /// Whether parts of the prompt are marked for the cache.
    pub cache_markers: Option<bool>,
    /// Whether the definitions of tools may be marked too.
    pub marked_tools: Option<bool>,
    /// Whether the cache can be asked to keep something for long.
    pub long_cache: Option<bool>,
    /// Members of every request in Chat Completions.
    pub members: Map<String, Value>,
}

/// What kind of value a member of `compat` has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Switch,
    Word,
    Object,
}

/// The members of `compat` that act here, or say what is so anyway.
const KNOWN: [(&str, Kind); 20] = [
    ("supportsStore", Kind::Switch),
    ("supportsDeveloperRole", Kind::Switch),
    ("supportsReasoningEffort", Kind::Switch),
    ("supportsUsageInStreaming", Kind::Switch),
    ("maxTokensField", Kind::Word),
    ("requiresToolResultName", Kind::Switch),
    ("requiresAssistantAfterToolResult", Kind::Switch),
    ("requiresThinkingAsText", Kind::Switch),
    ("thinkingFormat", Kind::Word),
    ("reasoningEffortMap", Kind::Object),
    ("openRouterRouting", Kind::Object),
    ("vercelGatewayRouting", Kind::Object),
    ("cacheControlFormat", Kind::Word),
    ("supportsLongCacheRetention", Kind::Switch),
    ("supportsCacheControlOnTools", Kind::Switch),
    ("forceAdaptiveThinking", Kind::Switch),
    // Nothing of what these allow is ever sent.
    ("supportsStrictMode", Kind::Switch),
    ("supportsStrictTools", Kind::Switch),
    ("supportsEagerToolInputStreaming", Kind::Switch),
    ("supportsOpenAIGrammarTools", Kind::Switch),
];

/// Members that are objects and are merged by theirs; all others are replaced.
const MERGED: [&str; 3] = ["openRouterRouting", "vercelGatewayRouting", "reasoningEffortMap"];

/// The kind of a member that means something here.
pub(crate) fn kind(name: &str) -> Option<Kind> {
    KNOWN.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
}

/// The names of the members that mean something here.
pub(crate) fn known() -> Vec<&'static str> {
    KNOWN.iter().map(|(name, _)| *name).collect()
}

/// Lays one `compat` over another as Pi does.
pub(crate) fn merge(compat: &mut Map<String, Value>, over: &Map<String, Value>) {
    for (name, value) in over {
        match (compat.get_mut(name), value) {
            (Some(Value::Object(known)), Value::Object(more)) if MERGED.contains(&name.as_str()) => {
                known.extend(more.clone());
            }
            (Some(_) | None, _) => {
                compat.insert(name.clone(), value.clone());
            }
        }
    }
}

impl Kind {
    pub(crate) fn is(self, value: &Value) -> bool {
        match self {
            Self::Switch => value.is_boolean(),
            Self::Word => value.is_string(),
            Self::Object => value.is_object(),
        }
    }

    /// What is expected, for messages.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Switch => "a boolean",
            Self::Word => "a text",
            Self::Object => "an object",
        }
    }
}

impl Quirks {
    /// What a `compat` means. Members of another kind than they should be say nothing.
    pub(crate) fn of(compat: &Map<String, Value>) -> Self {
        let switch = |name: &str| compat.get(name).and_then(Value::as_bool);
        let word = |name: &str| compat.get(name).and_then(Value::as_str);
        let reasoning_effort = switch("supportsReasoningEffort");
        let adaptive = switch("forceAdaptiveThinking").filter(|is_so| *is_so).map(|_| "adaptive");
        let effort_beside = match word("thinkingFormat") {
            Some("deepseek" | "together") => reasoning_effort != Some(false),
            Some("qwen" | "zai") => reasoning_effort == Some(true),
            Some(_) | None => false,
        };
        Self {
            reasoning_effort,
            effort_beside,
            developer_role: switch("supportsDeveloperRole"),
            store: switch("supportsStore"),
            usage_in_streaming: switch("supportsUsageInStreaming"),
            max_tokens_field: word("maxTokensField").map(str::to_owned),
            thinking_format: word("thinkingFormat").and_then(names::thinking_format).or(adaptive),
            tool_result_name: switch("requiresToolResultName") == Some(true),
            assistant_after_result: switch("requiresAssistantAfterToolResult") == Some(true),
            thinking_as_text: switch("requiresThinkingAsText") == Some(true),
            cache_markers: (word("cacheControlFormat") == Some("anthropic")).then_some(true),
            marked_tools: switch("supportsCacheControlOnTools"),
            long_cache: switch("supportsLongCacheRetention"),
            members: routing(compat),
        }
    }
}

/// Who may answer, as the two routers that Pi knows are told it.
fn routing(compat: &Map<String, Value>) -> Map<String, Value> {
    let object = |name: &str| compat.get(name).and_then(Value::as_object);
    let mut members = Map::new();
    if let Some(routing) = object("openRouterRouting") {
        members.insert("provider".to_owned(), Value::Object(routing.clone()));
    }
    if let Some(routing) = object("vercelGatewayRouting") {
        let named = routing.iter().filter(|(name, _)| matches!(name.as_str(), "only" | "order"));
        let gateway: Map<String, Value> = named.map(|(name, value)| (name.clone(), value.clone())).collect();
        if !gateway.is_empty() {
            members.insert("providerOptions".to_owned(), json!({ "gateway": gateway }));
        }
    }
    members
}
