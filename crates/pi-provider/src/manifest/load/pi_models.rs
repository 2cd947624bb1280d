//! Pi's `models.json`: providers and models of the user's own, on top of those that there are.

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Ignored, KeySource, Place, Report, endpoint::check_address, ring3::object};
use crate::{
    dialect::Dialect,
    manifest::{
        diagnostic::{Diagnostic, Rule, Severity},
        model::{Modalities, ModelCapabilities, ModelEntry, Pricing},
        names,
        tree::{self, Member, Node},
    },
};

/// What Pi assumes of a model that says nothing about them.
const USUAL_CONTEXT_WINDOW: u64 = 128_000;
const USUAL_MAX_TOKENS: u64 = 16_384;

/// What came of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedPiModels {
    /// By name, in the order of the file. A provider that cannot be read is left out.
    pub providers: IndexMap<String, PiProvider>,
    pub diagnostics: Vec<Diagnostic>,
    pub ignored: Vec<Ignored>,
}

/// A provider, or what is different about one that there is already.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PiProvider {
    pub name: Option<String>,
    pub base_url: Option<String>,
    /// `openai-completions`, `openai-responses`, `anthropic-messages`, `google-generative-ai`.
    pub api: Option<String>,
    pub api_key: Option<KeySource>,
    pub headers: IndexMap<String, KeySource>,
    /// Whether the key is sent as a bearer token whatever the dialect does.
    pub auth_header: bool,
    pub compat: Map<String, Value>,
    pub models: Vec<PiModel>,
    /// By the id of a model that there is already.
    pub model_overrides: IndexMap<String, PiModel>,
    /// Where its name stands in the file.
    #[serde(skip)]
    pub place: Place,
}

/// A model. Only its id is needed.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PiModel {
    pub id: String,
    pub name: Option<String>,
    pub api: Option<String>,
    pub reasoning: Option<bool>,
    pub input: Option<Vec<String>>,
    pub cost: Option<PiCost>,
    pub context_window: Option<u64>,
    pub max_tokens: Option<u64>,
    pub compat: Map<String, Value>,
    pub thinking_level_map: Option<IndexMap<String, Value>>,
}

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PiCost {
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
}

/// Reads Pi's file. Findings never hold what it holds; do not show its lines either, there are keys in it.
pub fn load_pi_models(text: &str, file: &str) -> LoadedPiModels {
    let mut report = Report::new(file);
    match report.object(tree::parse_relaxed(text)) {
        Some(root) => pi_models_of(&root, report),
        None => {
            let (diagnostics, ignored) = report.finish();
            LoadedPiModels { providers: IndexMap::new(), diagnostics, ignored }
        }
    }
}

pub(super) fn pi_models_of(root: &Node, mut report: Report<'_>) -> LoadedPiModels {
    let providers = read(root, &mut report);
    let (diagnostics, ignored) = report.finish();
    LoadedPiModels { providers, diagnostics, ignored }
}

fn read(root: &Node, report: &mut Report<'_>) -> IndexMap<String, PiProvider> {
    let mut providers = IndexMap::new();
    for member in root.as_map().unwrap_or_default() {
        match member.key.as_str() {
            "providers" => {
                let members = object(Rule::PiProviders, &member.node, "providers", report).unwrap_or_default();
                for member in members {
                    if let Some(provider) = provider(member, report) {
                        providers.insert(member.key.clone(), provider);
                    }
                }
            }
            "$schema" => {}
            other => report.ignore_member(member, other, &["providers"]),
        }
    }
    if root.get("providers").is_none() {
        report.warning(Rule::PiProviders, root.at, "providers", "providers is missing");
    }
    providers
}

fn provider(member: &Member, report: &mut Report<'_>) -> Option<PiProvider> {
    const RULE: Rule = Rule::PiProvider;
    let path = format!("providers.{}", member.key);
    let mut node = member.node.clone();
    let models = node.take("models");
    let mut provider: PiProvider = report.read(Severity::Error, RULE, &node, &path)?;
    if let Some(url) = &provider.base_url {
        let at = node.get("baseUrl").map_or(node.at, |url| url.at);
        // The user wrote this file, and Pi takes any address.
        if !check_address(at, url, &format!("{path}.baseUrl"), Severity::Warning, report) {
            return None;
        }
    }
    provider.place = Place::of(member.at);
    if let Some(api) = provider.api.as_deref().filter(|api| Dialect::from_word(api).is_none()) {
        let at = node.get("api").map_or(node.at, |api| api.at);
        report.error(RULE, at, &format!("{path}.api"), format!("the api {api:?} is not known"));
        return None;
    }
    tell_commands(&provider, &node, &path, report);
    let list = models.as_ref().map(|models| models.node.as_list()).unwrap_or_default().unwrap_or_default();
    for (index, item) in list.iter().enumerate() {
        let path = format!("{path}.models[{index}]");
        let Some(model) = report.read::<PiModel>(Severity::Warning, RULE, item, &path) else { continue };
        if model.id.is_empty() {
            report.warning(RULE, item.at, &path, "a model without an id is left out");
        } else {
            provider.models.push(model);
        }
    }
    Some(provider)
}

/// Tells of keys and headers that come from commands; the commands themselves are not told.
fn tell_commands(provider: &PiProvider, node: &Node, path: &str, report: &mut Report<'_>) {
    const TOLD: &str = "the shell runs this when it is needed, unless the file comes from a project that nobody trusts";
    let is_command = |source: &KeySource| matches!(source, KeySource::Command(_));
    if provider.api_key.as_ref().is_some_and(is_command) {
        let at = node.get("apiKey").map_or(node.at, |key| key.at);
        report.note(Rule::PiCommand, at, &format!("{path}.apiKey"), TOLD);
    }
    for (name, _) in provider.headers.iter().filter(|(_, source)| is_command(source)) {
        let at = node.get("headers").and_then(|headers| headers.get(name)).map_or(node.at, |header| header.at);
        report.note(Rule::PiCommand, at, &format!("{path}.headers"), TOLD);
    }
}

impl PiModel {
    /// The model as a manifest has it; `compat` is its provider's. What is not written is what Pi assumes.
    pub fn into_entry(self, compat: &Map<String, Value>) -> ModelEntry {
        let model_capabilities = ModelCapabilities {
            // Pi knows only models that can call tools.
            tool_call: Some(true),
            reasoning: Some(false),
            attachment: Some(false),
            ..ModelCapabilities::default()
        };
        let mut entry = ModelEntry {
            model_capabilities,
            context_window: Some(USUAL_CONTEXT_WINDOW),
            max_output_tokens: Some(USUAL_MAX_TOKENS),
            modalities: Some(Modalities { input: vec!["text".to_owned()], output: Vec::new() }),
            ..ModelEntry::default()
        };
        self.apply(&mut entry, compat);
        entry
    }

    /// Changes what it says about a model and leaves the rest.
    pub fn apply(self, entry: &mut ModelEntry, compat: &Map<String, Value>) {
        entry.name = self.name.or(entry.name.take());
        entry.api = self.api.or(entry.api.take());
        entry.context_window = self.context_window.filter(|&size| size > 0).or(entry.context_window);
        entry.max_output_tokens = self.max_tokens.filter(|&size| size > 0).or(entry.max_output_tokens);
        entry.model_capabilities.reasoning = self.reasoning.or(entry.model_capabilities.reasoning);
        entry.thinking_levels = self.thinking_level_map.or(entry.thinking_levels.take());
        if let Some(input) = self.input {
            entry.model_capabilities.attachment = Some(input.iter().any(|kind| kind == "image"));
            let output = entry.modalities.take().map(|modalities| modalities.output).unwrap_or_default();
            entry.modalities = Some(Modalities { input, output });
        }
        if let Some(cost) = self.cost {
            entry.pricing = Some(Pricing {
                input_per_1m: Some(cost.input),
                output_per_1m: Some(cost.output),
                cache_hit_input_per_1m: Some(cost.cache_read),
                cache_write_per_1m: Some(cost.cache_write),
                ..Pricing::default()
            });
        }
        let mut merged = compat.clone();
        merged.extend(self.compat);
        apply_compat(entry, merged);
    }
}

/// What Pi calls compatibility, where this program has a place for it; all of it stays with the model.
fn apply_compat(entry: &mut ModelEntry, compat: Map<String, Value>) {
    if compat.is_empty() {
        return;
    }
    if let Some(field) = compat.get("maxTokensField").and_then(Value::as_str) {
        entry.parameter_aliases.insert("max_tokens".to_owned(), field.to_owned());
    }
    if let Some(format) = compat.get("thinkingFormat").and_then(Value::as_str).and_then(names::thinking_format) {
        entry.thinking_format = Some(format.to_owned());
    }
    entry.extra.insert("compat".to_owned(), Value::Object(compat));
}
