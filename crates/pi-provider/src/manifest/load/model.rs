//! Models, and the files of models and contracts that stand beside manifests.

use indexmap::IndexMap;
use serde::Deserialize;

use super::{Format, Ignored, Report, activation, price, ring1::is_id, ring3::object, words};
use crate::manifest::{
    contract::Contract,
    diagnostic::{Diagnostic, Rule, Severity},
    model::{KEPT, ModelEntry},
    promote::models as promote_models,
    tree::Node,
};

/// What came of a file of models.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedModels {
    /// Provider to its models, in the order of the file.
    pub models: IndexMap<String, IndexMap<String, ModelEntry>>,
    pub diagnostics: Vec<Diagnostic>,
    pub ignored: Vec<Ignored>,
}

/// What came of a file that holds a contract.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedContract {
    /// The id or alias of the provider that it is about, and the contract. Absent if a diagnostic is an error.
    pub contract: Option<(String, Contract)>,
    pub diagnostics: Vec<Diagnostic>,
    pub ignored: Vec<Ignored>,
}

/// The members of a model that mean something, and those that are kept.
const MEMBERS: [&str; 27] = [
    "name",
    "display_name",
    "model_id",
    "family",
    "context_window",
    "max_output_tokens",
    "release_date",
    "knowledge_cutoff",
    "status",
    "ends_on",
    "successor",
    "pricing",
    "model_capabilities",
    "modalities",
    "thinking_levels",
    "thinking_format",
    "parameter_aliases",
    "unsupported_parameters",
    "missing_signature",
    "cache_markers",
    "request_defaults",
    "api",
    "capabilities",
    "architecture",
    "notes",
    "tags",
    "verification",
];

/// What a model can be said to do.
const ABILITIES: [&str; 4] = ["tool_call", "structured_output", "reasoning", "attachment"];

/// Reads a file of models of the first generation (`v1/models/*.yaml`). A model that cannot be read is left out.
pub fn load_models(text: &str, file: &str, format: Format) -> LoadedModels {
    let mut report = Report::new(file);
    match report.document(text, format) {
        Some(root) => models_of(&root, report),
        None => {
            let (diagnostics, ignored) = report.finish();
            LoadedModels { models: IndexMap::new(), diagnostics, ignored }
        }
    }
}

pub(super) fn models_of(root: &Node, mut report: Report<'_>) -> LoadedModels {
    let mut models = IndexMap::new();
    for member in root.as_map().unwrap_or_default() {
        match member.key.as_str() {
            "$schema" | "protocol_version" => {}
            "models" => read_models(&member.node, &mut models, &mut report),
            other => report.ignore_member(member, other, &["models", "protocol_version"]),
        }
    }
    if root.get("models").is_none() {
        report.error(Rule::ModelFile, root.at, "models", "models is missing");
    }
    let (diagnostics, ignored) = report.finish();
    LoadedModels { models, diagnostics, ignored }
}

fn read_models(node: &Node, models: &mut IndexMap<String, IndexMap<String, ModelEntry>>, report: &mut Report<'_>) {
    for member in object(Rule::ModelFile, node, "models", report).unwrap_or_default() {
        let path = format!("models.{}", member.key);
        let mut node = member.node.clone();
        let Some(provider) = node.take("provider") else {
            report.warning(Rule::ModelProvider, member.node.at, &path, "provider is missing; the model is left out");
            continue;
        };
        let Some(provider) = provider.node.as_str().filter(|name| is_id(name)) else {
            report.warning(Rule::ModelProvider, provider.node.at, &format!("{path}.provider"), "this is not an id");
            continue;
        };
        if let Some(entry) = entry(&node, &path, report) {
            models.entry(provider.to_owned()).or_default().insert(member.key.clone(), entry);
        }
    }
}

/// The models of a manifest.
pub(super) fn models(node: &Node, path: &str, report: &mut Report<'_>) -> IndexMap<String, ModelEntry> {
    let members = object(Rule::Models, node, path, report).unwrap_or_default();
    let read = members.iter().filter_map(|member| {
        let entry = if member.node.is_null() {
            Some(ModelEntry::default())
        } else {
            entry(&member.node, &format!("{path}.{}", member.key), report)
        };
        Some((member.key.clone(), entry?))
    });
    let models = read.collect();
    check_names(node, path, &models, report);
    models
}

/// A model is found under its name on the wire too, so that must not be the name of another one.
fn check_names(node: &Node, path: &str, models: &IndexMap<String, ModelEntry>, report: &mut Report<'_>) {
    for (place, (id, entry)) in models.iter().enumerate() {
        let Some(wire) = entry.model_id.as_deref().filter(|wire| wire != id) else { continue };
        let earlier = models.iter().take(place).find(|(_, earlier)| earlier.model_id.as_deref() == Some(wire));
        let Some(other) = models.get_key_value(wire).map(|(other, _)| other).or(earlier.map(|(other, _)| other)) else {
            continue;
        };
        let at = node.get(id).and_then(|model| model.get("model_id")).map_or(node.at, |name| name.at);
        let message = format!("{wire:?} names {other} too, which is found under it; {id} is found as {id} only");
        report.warning(Rule::ModelName, at, &format!("{path}.{id}.model_id"), message);
    }
}

fn entry(node: &Node, path: &str, report: &mut Report<'_>) -> Option<ModelEntry> {
    let mut node = node.clone();
    promote_models::model(&mut node);
    let mut entry: ModelEntry = report.read(Severity::Warning, Rule::Models, &node, path)?;
    entry.extra.retain(|name, _| {
        let is_kept = KEPT.contains(&name.as_str());
        if let Some(member) = node.member(name).filter(|_| !is_kept) {
            report.ignore_member(member, format!("{path}.{name}"), &MEMBERS);
        }
        is_kept
    });
    check_abilities(&node, path, report);
    if let Some(pricing) = &mut entry.pricing {
        price::check(pricing, &node, path, report);
    }
    // A size of nothing is a size that nobody knows.
    entry.context_window = entry.context_window.filter(|&size| size > 0);
    entry.max_output_tokens = entry.max_output_tokens.filter(|&size| size > 0);
    Some(entry)
}

/// Others may say more of a model than has a meaning here; what is nearly a known name was meant as that.
fn check_abilities(node: &Node, path: &str, report: &mut Report<'_>) {
    let said = node.get("model_capabilities").and_then(Node::as_map).unwrap_or_default();
    for member in said.iter().filter(|member| !ABILITIES.contains(&member.key.as_str())) {
        if words::slip(&member.key, &ABILITIES).is_some() {
            let path = format!("{path}.model_capabilities.{}", member.key);
            let message = format!("{:?} is not known and says nothing", member.key);
            report.warning(Rule::Models, member.at, &path, message);
            report.hint(words::advice(&member.key, &ABILITIES));
        }
    }
}

/// Whom a contract is about.
#[derive(Deserialize)]
struct Heading {
    #[serde(default)]
    contract_version: Option<String>,
    provider_id: String,
}

/// Reads a contract that stands beside a manifest (`v2/contracts/*.contract.yaml`).
pub fn load_contract(text: &str, file: &str, format: Format) -> LoadedContract {
    let mut report = Report::new(file);
    match report.document(text, format) {
        Some(root) => contract_of(root, report),
        None => {
            let (diagnostics, ignored) = report.finish();
            LoadedContract { contract: None, diagnostics, ignored }
        }
    }
}

pub(super) fn contract_of(root: Node, mut report: Report<'_>) -> LoadedContract {
    let contract = read_contract(root, &mut report);
    let contract = contract.filter(|_| !report.has_errors());
    let (diagnostics, ignored) = report.finish();
    LoadedContract { contract, diagnostics, ignored }
}

fn read_contract(mut root: Node, report: &mut Report<'_>) -> Option<(String, Contract)> {
    let mut heading = Node::map(root.at);
    for key in ["contract_version", "provider_id"] {
        if let Some(member) = root.take(key) {
            heading.set(key, member.at, member.node);
        }
    }
    drop(root.take("$schema"));
    let written: Heading = report.read(Severity::Error, Rule::ContractHeading, &heading, "")?;
    if let Some(version) = written.contract_version.as_ref().filter(|version| *version != "1.0") {
        let at = heading.get("contract_version").map_or(root.at, |node| node.at);
        report.error(Rule::ContractVersion, at, "contract_version", format!("version {version:?} is not known"));
    }
    if !is_id(&written.provider_id) {
        let at = heading.get("provider_id").map_or(root.at, |node| node.at);
        report.error(Rule::ContractProvider, at, "provider_id", format!("{:?} is not an id", written.provider_id));
    }
    let mut contract = report.read(Severity::Error, Rule::ContractFile, &root, "")?;
    words::contract(&root, "", Rule::ContractFile, report);
    activation::check(&mut contract, &root, "", Severity::Error, report);
    Some((written.provider_id, contract))
}
