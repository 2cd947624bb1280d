//! `pi provider promote`: a manifest of an older version in the form of version 2.
//!
//! What is printed is what was understood, so it loads into the same manifest; a test proves it. Comments and members
//! that nobody knows are not in it, and the command says so.

use pi_provider::{
    Manifest,
    manifest::{Severity, load, load::Format},
};
use serde_json::{Map, Value};

use crate::{
    amount::counted,
    arguments::model::{Notation, PromoteArguments},
    console::Console,
    exit::Exit,
    failure::{Failure, ModelFailure},
    input,
};

pub(crate) fn run(arguments: &PromoteArguments, console: &mut Console) -> Result<Exit, Failure> {
    let file = arguments.file.display().to_string();
    let text = input::read_text(&arguments.file)?;
    let loaded = load(&text, &file, Format::of_file(&file));
    let Some(manifest) = &loaded.manifest else {
        let findings = loaded.errors().map(ToString::to_string).collect();
        return Err(ModelFailure::NotAManifest { file, findings }.into());
    };
    for finding in loaded.diagnostics.iter().filter(|it| it.severity != Severity::Error) {
        console.note(&finding.to_string());
    }
    if !loaded.ignored.is_empty() {
        let members: Vec<&str> = loaded.ignored.iter().map(|it| it.path.as_str()).collect();
        console.note(&format!("{} left out: {}", counted(members.len(), "unknown member"), members.join(", ")));
    }
    let document = document(manifest);
    let written = match arguments.format {
        Notation::Json => serde_json::to_string_pretty(&document).expect("a manifest is plain JSON"),
        Notation::Yaml => serde_saphyr::to_string(&document).expect("a manifest is plain YAML"),
    };
    console.line(written.trim_end());
    Ok(Exit::Success)
}

/// The manifest as a file of version 2 says it: models stand under `metadata`, and what is not said is absent.
pub(crate) fn document(manifest: &Manifest) -> Value {
    let Ok(Value::Object(mut members)) = serde_json::to_value(manifest) else {
        unreachable!("a manifest is an object")
    };
    members["protocol_version"] = "2.0".into();
    let models = members.shift_remove("models");
    let mut metadata = match members.shift_remove("metadata") {
        Some(Value::Object(metadata)) => metadata,
        _ => Map::new(),
    };
    metadata.extend(models.map(|models| ("models".to_owned(), models)));
    members.insert("metadata".to_owned(), metadata.into());
    if let Some(Value::Object(extensions)) = members.shift_remove("extensions") {
        members.extend(extensions);
    }
    let mut document = Value::Object(members);
    prune(&mut document);
    document
}

/// Takes away what says nothing: nulls, empty lists and empty objects.
pub(crate) fn prune(value: &mut Value) {
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
