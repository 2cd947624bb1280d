//! Pi's `models.json`: providers and models of the user's own, on top of those that there are.

pub(crate) mod compat;

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Ignored, KeySource, Place, Report, endpoint::check_address, ring3::object};
use crate::{
    dialect::Dialect,
    manifest::{
        diagnostic::{Diagnostic, Rule, Severity},
        model::{Modalities, ModelCapabilities, ModelEntry, PriceTier, Pricing},
        tree::{self, Member, Node},
    },
};

/// What Pi assumes of a model that says nothing about them.
const USUAL_CONTEXT_WINDOW: u64 = 128_000;
const USUAL_MAX_TOKENS: u64 = 16_384;

/// Pi's names of the dialects that are spoken here.
const APIS: [&str; 5] =
    ["openai-completions", "openai-responses", "anthropic-messages", "google-generative-ai", "mistral-conversations"];

/// What models take.
const INPUTS: [&str; 8] = ["text", "image", "vision", "audio", "video", "pdf", "document", "file"];

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
    /// `openai-completions`, `openai-responses`, `anthropic-messages`, `google-generative-ai`, `mistral-conversations`.
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
    /// What it says that nobody here knows.
    #[serde(skip)]
    pub ignored: Vec<Ignored>,
}

/// A model. Only its id is needed.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PiModel {
    pub id: String,
    pub name: Option<String>,
    pub api: Option<String>,
    /// In the place of its provider's.
    pub base_url: Option<String>,
    /// Beside its provider's.
    pub headers: IndexMap<String, KeySource>,
    pub reasoning: Option<bool>,
    pub input: Option<Vec<String>>,
    pub cost: Option<PiCost>,
    pub context_window: Option<u64>,
    pub max_tokens: Option<u64>,
    pub compat: Map<String, Value>,
    pub thinking_level_map: Option<IndexMap<String, Value>>,
    /// Where the name of a model that is changed stands in the file.
    #[serde(skip)]
    pub place: Place,
}

/// US dollars for a million tokens. What is not written is what it was, or nobody knows it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PiCost {
    pub input: Option<f64>,
    pub output: Option<f64>,
    pub cache_read: Option<f64>,
    pub cache_write: Option<f64>,
    /// Other prices for long prompts.
    pub tiers: Option<Vec<PiTier>>,
}

/// The prices of a whole request with a prompt that is longer than this.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PiTier {
    pub input_tokens_above: u64,
    #[serde(default)]
    pub input: Option<f64>,
    #[serde(default)]
    pub output: Option<f64>,
    #[serde(default)]
    pub cache_read: Option<f64>,
    #[serde(default)]
    pub cache_write: Option<f64>,
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
    let known = report.ignored.len();
    let mut node = member.node.clone();
    let models = node.take("models");
    let mut provider: PiProvider = report.read(Severity::Error, RULE, &node, &path)?;
    if !is_address(&node, provider.base_url.as_deref(), &path, report) {
        return None;
    }
    provider.place = Place::of(member.at);
    if !is_api(&node, provider.api.as_deref(), &path, report) {
        return None;
    }
    if let Some(key) = provider.api_key.as_ref().zip(node.get("apiKey")) {
        tell_command(key, &format!("{path}.apiKey"), report);
    }
    tell_header_commands(&provider.headers, &node, &path, report);
    compat::check(&node, &path, report);
    if let Some(models) = &models {
        provider.models = list_of_models(&models.node, &format!("{path}.models"), report);
    }
    for (id, over) in &mut provider.model_overrides {
        let Some(item) = node.get("modelOverrides").and_then(|overrides| overrides.member(id)) else { continue };
        over.place = Place::of(item.at);
        let path = format!("{path}.modelOverrides.{id}");
        if !is_address(&item.node, over.base_url.as_deref(), &path, report) {
            over.base_url = None;
        }
        if !is_api(&item.node, over.api.as_deref(), &path, report) {
            over.api = None;
        }
        check_model(over, &item.node, &path, report);
    }
    provider.ignored = report.ignored[known..].to_vec();
    Some(provider)
}

fn list_of_models(node: &Node, path: &str, report: &mut Report<'_>) -> Vec<PiModel> {
    let Some(list) = node.as_list() else {
        report.warning(Rule::PiProvider, node.at, path, format!("a list is expected, not {}", node.kind()));
        return Vec::new();
    };
    let mut models: Vec<PiModel> = Vec::with_capacity(list.len());
    for (index, item) in list.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let Some(model) = model(item, &path, report) else { continue };
        if let Some(first) = models.iter().position(|first| first.id == model.id) {
            let message = format!("the model {:?} stands here for the second time; this one counts", model.id);
            report.warning(Rule::PiProvider, item.at, &path, message);
            models.remove(first);
        }
        models.push(model);
    }
    models
}

fn model(item: &Node, path: &str, report: &mut Report<'_>) -> Option<PiModel> {
    let mut model: PiModel = report.read(Severity::Warning, Rule::PiProvider, item, path)?;
    if model.id.is_empty() {
        report.warning(Rule::PiProvider, item.at, path, "a model without an id is left out");
        return None;
    }
    let is_usable =
        is_address(item, model.base_url.as_deref(), path, report) && is_api(item, model.api.as_deref(), path, report);
    check_model(&mut model, item, path, report);
    is_usable.then_some(model)
}

/// Tells what of a model, or of what changes one, is not used.
fn check_model(model: &mut PiModel, item: &Node, path: &str, report: &mut Report<'_>) {
    tell_header_commands(&model.headers, item, path, report);
    compat::check(item, path, report);
    if let Some(input) = &mut model.input {
        check_input(input, item, path, report);
    }
    for (name, price) in model.cost.iter_mut().flat_map(PiCost::prices) {
        if price.is_some_and(|price| price < 0.0) {
            let at = item.find(&format!("cost.{name}")).map_or(item.at, |price| price.at);
            report.warning(Rule::PiProvider, at, &format!("{path}.cost.{name}"), "a price below zero is left out");
            *price = None;
        }
    }
}

/// Leaves out what no model takes. Words are taken by every model here.
fn check_input(input: &mut Vec<String>, item: &Node, path: &str, report: &mut Report<'_>) {
    let before = input.len();
    let written = item.get("input");
    for (index, kind) in input.iter().enumerate().filter(|(_, kind)| !INPUTS.contains(&kind.as_str())) {
        let at = written.and_then(Node::as_list).and_then(|list| list.get(index)).map_or(item.at, |kind| kind.at);
        let message = format!("{kind:?} is nothing that a model takes, and is left out");
        report.warning(Rule::PiProvider, at, &format!("{path}.input[{index}]"), message);
        report.hint(format!("one of {} is known here", INPUTS.join(", ")));
    }
    input.retain(|kind| INPUTS.contains(&kind.as_str()));
    if input.is_empty() && before > 0 {
        input.push("text".to_owned());
    }
}

/// Whether an address may be used, if there is one. The user wrote this file, and Pi takes any address.
fn is_address(node: &Node, url: Option<&str>, path: &str, report: &mut Report<'_>) -> bool {
    let Some(url) = url else { return true };
    let at = node.get("baseUrl").map_or(node.at, |url| url.at);
    check_address(at, url, &format!("{path}.baseUrl"), Severity::Warning, report)
}

/// Whether somebody here speaks the api, if one is named.
fn is_api(node: &Node, api: Option<&str>, path: &str, report: &mut Report<'_>) -> bool {
    let Some(api) = api.filter(|api| Dialect::from_word(api).is_none()) else { return true };
    let at = node.get("api").map_or(node.at, |api| api.at);
    report.error(Rule::PiProvider, at, &format!("{path}.api"), format!("the api {api:?} is not known"));
    report.hint(format!("one of {} is spoken here", APIS.join(", ")));
    false
}

/// Tells of a key or a header that comes from a command; the command itself is not told.
fn tell_command((source, written): (&KeySource, &Node), path: &str, report: &mut Report<'_>) {
    const TOLD: &str = "the shell runs this when it is needed, unless the file comes from a project that nobody trusts";
    if matches!(source, KeySource::Command(_)) {
        report.note(Rule::PiCommand, written.at, path, TOLD);
    }
}

fn tell_header_commands(headers: &IndexMap<String, KeySource>, node: &Node, path: &str, report: &mut Report<'_>) {
    for (name, source) in headers {
        let written = node.get("headers").and_then(|headers| headers.get(name)).unwrap_or(node);
        tell_command((source, written), &format!("{path}.headers"), report);
    }
}

impl PiModel {
    /// The model as a manifest has it; `compat` is its provider's. What is not written is what Pi assumes; where it is
    /// reached is not said, that depends on its provider.
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
        if let Some(levels) = self.thinking_level_map {
            name_levels(entry, levels);
        }
        if let Some(input) = self.input {
            entry.model_capabilities.attachment = Some(input.iter().any(|kind| kind == "image"));
            let output = entry.modalities.take().map(|modalities| modalities.output).unwrap_or_default();
            entry.modalities = Some(Modalities { input, output });
        }
        if let Some(cost) = self.cost {
            cost.apply(entry.pricing.get_or_insert_default());
        }
        entry.headers.extend(self.headers);
        compat::apply(entry, compat);
        compat::apply(entry, &self.compat);
    }
}

impl PiCost {
    /// With the names that they have in the file.
    fn prices(&mut self) -> [(&'static str, &mut Option<f64>); 4] {
        [
            ("input", &mut self.input),
            ("output", &mut self.output),
            ("cacheRead", &mut self.cache_read),
            ("cacheWrite", &mut self.cache_write),
        ]
    }

    /// Changes the prices that it names and leaves the others.
    fn apply(self, pricing: &mut Pricing) {
        pricing.input_per_1m = self.input.or(pricing.input_per_1m);
        pricing.output_per_1m = self.output.or(pricing.output_per_1m);
        pricing.cache_hit_input_per_1m = self.cache_read.or(pricing.cache_hit_input_per_1m);
        pricing.cache_write_per_1m = self.cache_write.or(pricing.cache_write_per_1m);
        if let Some(tiers) = self.tiers {
            pricing.tiers = tiers.into_iter().map(PiTier::into_tier).collect();
            pricing.tiers.sort_by_key(|tier| tier.above_prompt_tokens);
        }
    }
}

impl PiTier {
    fn into_tier(self) -> PriceTier {
        PriceTier {
            above_prompt_tokens: self.input_tokens_above,
            input_per_1m: self.input,
            output_per_1m: self.output,
            cache_hit_input_per_1m: self.cache_read,
            cache_write_per_1m: self.cache_write,
            cache_write_1h_per_1m: None,
        }
    }
}

/// Says what stands for levels, beside what is known of others.
fn name_levels(entry: &mut ModelEntry, levels: IndexMap<String, Value>) {
    match &mut entry.thinking_levels {
        Some(known) => known.extend(levels),
        None => {
            entry.thinking_levels = Some(levels);
            entry.has_usual_levels = true;
        }
    }
}
