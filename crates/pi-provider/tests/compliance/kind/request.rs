//! Requests: the bodies that a manifest asks for.

use pi_provider::{
    Call, Dialect,
    manifest::load::{self, Format},
    request::{self, Mode, Target},
};
use serde_json::{Map, Value, json};

use super::{Answer, Trouble, manifest, member, member_or_default};
use crate::runner::case::{Case, Folder};

/// The model of cases that name none.
const MODEL: &str = "compliance-model";

pub(super) fn build(folder: &Folder, case: &Case) -> Result<Answer, Trouble> {
    let manifest = manifest(folder, case)?;
    let messages: Vec<Value> = member(case, "messages")?;
    let mut parameters: Map<String, Value> = member_or_default(case, "parameters")?;
    for name in ["tools", "tool_choice", "response_format", "stream"] {
        if let Some(value) = case.input.get(name) {
            parameters.insert(name.to_owned(), value.clone());
        }
    }
    let plain = request::plain(&messages, &parameters)?;
    let model = case.text("model").unwrap_or(MODEL);
    let target =
        Target { manifest: &manifest, model, entry: manifest.models.get(model), base_url: None, lookup: &|_| None };
    let mode = if plain.stream == Some(true) { Mode::Stream } else { Mode::Whole };
    let call = Call { prompt: &plain.prompt, options: &plain.options };
    let built = request::build(&target, call, mode)?;
    let body: Value = serde_json::from_slice(&built.body)
        .map_err(|error| Trouble::Refused(format!("the body is not JSON: {error}")))?;
    let listed = ["messages", "contents", "input"].iter().find_map(|name| body.get(*name)?.as_array());
    let beside = ["system", "systemInstruction", "system_instruction", "instructions"];
    let system = usize::from(beside.iter().any(|name| body.get(*name).is_some()));
    let changes: Vec<String> = built.changes.iter().map(ToString::to_string).collect();
    Ok(Answer::valid(json!({
        "normalized_body": body,
        "request": body,
        "message_count": listed.map_or(0, Vec::len) + system,
        "url": built.address.url.as_str(),
        "method": built.method,
        "request_headers": built.headers.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
        "changes": changes,
    })))
}

pub(super) fn parameters(folder: &Folder, case: &Case) -> Result<Answer, Trouble> {
    let manifest = manifest(folder, case)?;
    let entry = case.text("model").and_then(|model| manifest.models.get(model));
    let (sent, _) = request::map_parameters(&manifest, entry, &member(case, "standard_params")?)?;
    Ok(Answer::valid(json!({"provider_params": sent})))
}

pub(super) fn encode(folder: &Folder, case: &Case) -> Result<Answer, Trouble> {
    let style = case.text("api_style").unwrap_or_default();
    let dialect = Dialect::from_word(style).ok_or_else(|| Trouble::Case(format!("there is no API style {style}")))?;
    let blocks: Vec<Map<String, Value>> = member(case, "blocks")?;
    let contract = match case.text("contract_path") {
        Some(path) => {
            let text = folder.read(case, path).map_err(Trouble::Case)?;
            let loaded = load::load_contract(&text, path, Format::of_file(path));
            let (_, contract) = loaded.contract.ok_or_else(|| Trouble::Case(format!("{path} does not load")))?;
            Some(contract)
        }
        None if case.text("manifest_path").is_some() => Some(manifest(folder, case)?.contract),
        None => None,
    };
    let encoded = request::encode_blocks(dialect, contract.as_ref(), &blocks)?;
    Ok(Answer::valid(json!({"encoded": encoded})))
}
