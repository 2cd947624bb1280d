//! Manifests and contracts: what the loader makes of them.

use pi_provider::manifest::{
    Contract,
    diagnostic::{Diagnostic, Severity},
    load::{self, Format, LoadedContract},
};
use serde_json::{Map, Value, json};

use super::{Answer, Trouble, manifest_text};
use crate::runner::case::{Case, Folder};

/// A way to resolve references that nobody has; a loader that takes it checks nothing.
const NO_RESOLUTION: &str = "whatever_comes";

pub(super) fn load(folder: &Folder, case: &Case) -> Result<Answer, Trouble> {
    if let Some(fragment) = case.input.get("contract_fragment") {
        return Ok(fragment_of_contract(case, fragment));
    }
    if let Some(path) = case.text("contract_path") {
        let text = folder.read(case, path).map_err(Trouble::Case)?;
        let loaded = load::load_contract(&text, path, Format::of_file(path));
        return Ok(answer(loaded.contract.as_ref().map(of_contract), &errors(&loaded), Map::new()));
    }
    let (name, text) = manifest_text(folder, case)?;
    let loaded = load::load(&text, &name, Format::of_file(&name));
    let errors: Vec<String> = loaded.errors().map(ToString::to_string).collect();
    let shown = |one: &load::Ignored| one.path.clone();
    let ignored: Vec<String> = loaded.ignored.iter().map(shown).collect();
    let warnings: Vec<String> = loaded.diagnostics.iter().map(ToString::to_string).collect();
    let extra = Map::from_iter([("ignored".to_owned(), json!(ignored)), ("diagnostic".to_owned(), json!(warnings))]);
    let members = loaded.manifest.as_ref().map(|manifest| {
        // All that was read, so that a case can ask for any of it: availability, metadata of models, regions.
        let mut members = object(serde_json::to_value(manifest).unwrap_or_default());
        members.insert("metadata".to_owned(), json!({"models": manifest.models}));
        members.insert("provider_id".to_owned(), json!(manifest.id));
        members.insert("runtime_deserialize".to_owned(), json!(true));
        members
    });
    Ok(answer(members, &errors, extra))
}

/// Whether it is valid, and all errors as one list in which a case looks for words.
fn answer(members: Option<Map<String, Value>>, errors: &[String], extra: Map<String, Value>) -> Answer {
    let mut all = Map::from_iter([("valid".to_owned(), json!(members.is_some() && errors.is_empty()))]);
    all.extend(members.unwrap_or_default());
    all.extend(extra);
    all.insert("errors".to_owned(), json!(errors));
    Answer(Value::Object(all))
}

fn of_contract((_, contract): &(String, Contract)) -> Map<String, Value> {
    let mut members = object(serde_json::to_value(contract).unwrap_or_default());
    let blocks = &contract.request_mapping.content_block_mapping;
    for (kind, mapping) in blocks {
        members.insert(format!("{kind}_mapping"), json!(mapping));
    }
    members
}

/// A piece of a contract is put into an empty one. Which resolutions are allowed is found by trying them.
fn fragment_of_contract(case: &Case, fragment: &Value) -> Answer {
    let load = |fragment: &Value| {
        let contract = json!({
            "contract_version": "1.0",
            "provider_id": "fragment",
            "api_style": "custom",
            "request_mapping": {"content_block_mapping": fragment},
        });
        load::load_contract(&contract.to_string(), "fragment.json", Format::Json)
    };
    let resolves = |name: &str| {
        let mut changed = fragment.clone();
        for mapping in changed.as_object_mut().into_iter().flatten().filter_map(|(_, mapping)| mapping.as_object_mut())
        {
            mapping.insert("ref_resolution".to_owned(), json!(name));
        }
        load(&changed).contract.is_some()
    };
    let loaded = load(fragment);
    let asked = case.expected.get("ref_resolution_allowed").and_then(Value::as_array);
    let names = asked.into_iter().flatten().filter_map(Value::as_str).chain([NO_RESOLUTION]);
    let allowed: Vec<&str> = names.filter(|name| resolves(name)).collect();
    let extra = Map::from_iter([("ref_resolution_allowed".to_owned(), json!(allowed))]);
    answer(loaded.contract.as_ref().map(of_contract), &errors(&loaded), extra)
}

fn errors(loaded: &LoadedContract) -> Vec<String> {
    let is_error = |one: &&Diagnostic| one.severity == Severity::Error;
    loaded.diagnostics.iter().filter(is_error).map(ToString::to_string).collect()
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
