//! `pi provider show`: everything that a provider's manifest says, as it was understood.
//!
//! People read it as an outline, a machine as one object; both come from the same value. A credential is not in a
//! manifest, and of headers whose values may be secret only the names are shown.

use std::path::Path;

use pi_provider::{
    Dialect, Manifest, builtin,
    catalog::{Entry, Finding, Origin},
    manifest::{diagnostic::masked, modules},
};
use serde_json::{Map, Value, json};

use crate::{
    arguments::model::ShowArguments,
    console::{Console, Tone, printable},
    env::Environment,
    exit::Exit,
    failure::{Failure, ModelFailure},
    input,
    providers::{Providers, Shown},
};

pub(crate) fn run(
    arguments: &ShowArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let providers = Providers::load(&arguments.sources, environment, console)?;
    let entry = providers.get(&arguments.id)?;
    if arguments.source {
        console.line(source(entry)?.trim_end());
        return Ok(Exit::Success);
    }
    let credential = Shown::of(&providers.credential(entry, None));
    let findings = providers.catalog.findings().iter().filter(|it| it.diagnostic.file == entry.file);
    let value = described(entry, &credential, findings);
    if arguments.json {
        console.line(&value.to_string());
    } else {
        outline(&value, 0, console);
    }
    Ok(Exit::Success)
}

/// The text of the file, to be copied. A key does not belong into it; should there be one, it is not shown.
fn source(entry: &Entry) -> Result<String, Failure> {
    let (id, file) = (&entry.manifest.id, entry.file.clone());
    let text = match (entry.origin, builtin::find(id.as_str())) {
        (Origin::BuiltIn, Some(manifest)) => return Ok(manifest.text.to_owned()),
        (Origin::PiModels, _) => return Err(ModelFailure::HiddenSource { provider: id.to_string(), file }.into()),
        (Origin::BuiltIn | Origin::User | Origin::Project | Origin::CommandLine, _) => {
            input::read_text(Path::new(&file))?
        }
    };
    Ok(masked(&text))
}

/// The manifest with what is known about it beside.
fn described<'a>(entry: &Entry, credential: &Shown, findings: impl Iterator<Item = &'a Finding>) -> Value {
    let manifest: &Manifest = &entry.manifest.shown();
    let Ok(Value::Object(mut members)) = serde_json::to_value(manifest) else {
        unreachable!("a manifest is an object")
    };
    let rules = manifest.streaming.as_ref().map(|it| it.event_map.len());
    if let Some(Value::Object(streaming)) = members.get_mut("streaming") {
        streaming.insert("rules".to_owned(), rules.into());
    }
    if let Some(families) = members.get_mut("api_families") {
        name_families(families);
    }
    let served: Map<String, Value> = manifest
        .capabilities
        .required
        .union(&manifest.capabilities.optional)
        .filter_map(|capability| {
            let module = modules().get(capability)?;
            let served = module.served_by.as_deref().unwrap_or("declared only");
            Some((capability.name().to_owned(), format!("{} ({served})", module.module).into()))
        })
        .collect();
    let about = json!({
        "source": entry.origin.to_string(),
        "file": entry.file,
        "promoted_from": entry.promoted_from,
        "trusted": entry.is_trusted(),
        "dialect": Dialect::of(manifest, None).api(),
        "credential": credential,
        "hidden_headers": entry.headers.keys().collect::<Vec<_>>(),
        "modules": served,
        "ignored": entry.ignored.iter().map(|it| &it.path).collect::<Vec<_>>(),
        "diagnostics": findings.map(|it| it.diagnostic.to_string()).collect::<Vec<_>>(),
    });
    let mut models = members.shift_remove("models");
    for (id, model) in manifest.models.iter().filter(|(_, model)| !model.headers.is_empty()) {
        if let Some(Value::Object(members)) = models.as_mut().and_then(|models| models.get_mut(id)) {
            members.insert("hidden_headers".to_owned(), model.headers.keys().cloned().collect());
        }
    }
    let Value::Object(mut all) = about else { unreachable!("an object was written") };
    all.extend(members);
    all.extend(models.map(|models| ("models".to_owned(), models)));
    let mut value = Value::Object(all);
    prune(&mut value);
    value
}

/// Families of which nothing but the name is written are a list of names: nothing else of them would be shown.
fn name_families(families: &mut Value) {
    let Value::Object(named) = families else { return };
    let is_bare = |family: &Value| family.as_object().is_none_or(|members| members.values().all(Value::is_null));
    if named.values().all(is_bare) {
        *families = named.keys().cloned().collect();
    }
}

/// Members as an outline: names in colour, simple lists and small objects on one line.
fn outline(value: &Value, depth: usize, console: &mut Console) {
    let Value::Object(members) = value else { return };
    for (name, value) in members {
        let name = console.paint(if depth == 0 { Tone::Strong } else { Tone::Accent }, &printable(&on_one_line(name)));
        let indent = "  ".repeat(depth);
        match short(value) {
            Some(text) => console.line(&format!("{indent}{name}: {}", printable(&text))),
            None => {
                console.line(&format!("{indent}{name}:"));
                nested(value, depth + 1, console);
            }
        }
    }
}

fn nested(value: &Value, depth: usize, console: &mut Console) {
    let Value::Array(items) = value else { return outline(value, depth, console) };
    for item in items {
        let indent = "  ".repeat(depth);
        match short(item) {
            Some(text) => console.line(&format!("{indent}- {}", printable(&text))),
            None => {
                console.line(&format!("{indent}-"));
                outline(item, depth + 1, console);
            }
        }
    }
}

/// What fits on one line: a simple value, a list of those, or a small object of those.
fn short(value: &Value) -> Option<String> {
    const LONGEST: usize = 100;
    let plain = |value: &Value| match value {
        Value::String(text) => Some(on_one_line(text)),
        Value::Number(number) => Some(plain_number(number)),
        Value::Null | Value::Bool(_) => Some(value.to_string()),
        Value::Array(_) | Value::Object(_) => None,
    };
    match value {
        Value::Array(items) => {
            let texts: Vec<String> = items.iter().map(plain).collect::<Option<_>>()?;
            Some(texts.join(", ")).filter(|text| text.len() <= LONGEST)
        }
        Value::Object(members) => {
            let text =
                |(name, value): (&String, &Value)| plain(value).map(|value| format!("{}: {value}", on_one_line(name)));
            let texts: Vec<String> = members.iter().map(text).collect::<Option<_>>()?;
            Some(format!("{{ {} }}", texts.join(", "))).filter(|text| text.len() <= LONGEST && members.len() > 1)
        }
        simple => plain(simple),
    }
}

/// A text as it is; one with control characters as JSON writes it, or it would look like something else.
fn on_one_line(text: &str) -> String {
    if text.chars().any(char::is_control) { Value::from(text).to_string() } else { text.to_owned() }
}

/// A whole number as such, also where the type has fractions.
fn plain_number(number: &serde_json::Number) -> String {
    match number.as_f64().filter(|_| number.is_f64()) {
        // Displayed without a fraction if there is none.
        Some(value) => value.to_string(),
        None => number.to_string(),
    }
}

/// Takes away what says nothing: nulls, empty lists and empty objects.
fn prune(value: &mut Value) {
    let is_nothing = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    };
    match value {
        Value::Object(members) => {
            members.values_mut().for_each(prune);
            members.retain(|_, value| !is_nothing(value));
        }
        Value::Array(items) => items.iter_mut().for_each(prune),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
