//! `pi provider promote`: a manifest of an older version in the form of version 2.
//!
//! What is printed is what was understood, so it loads into the same manifest; a test proves it. Comments are
//! not in it. Of members that nobody knows those of the document itself are, and the command says which are not.

use pi_provider::{
    Manifest,
    manifest::{
        Severity, load,
        load::{Document, Format, load_any},
        to_document,
    },
};
use serde_json::Value;

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
    if let Some(kind) = beside(&load_any(&text, &file, Format::of_file(&file))) {
        return Err(ModelFailure::BesideManifests { file, kind }.into());
    }
    let loaded = load(&text, &file, Format::of_file(&file));
    let Some(manifest) = &loaded.manifest else {
        let findings = loaded.errors().map(ToString::to_string).collect();
        return Err(ModelFailure::NotAManifest { file, findings }.into());
    };
    for finding in loaded.diagnostics.iter().filter(|it| it.severity != Severity::Error) {
        console.note(&finding.to_string());
    }
    let unknown = loaded.ignored.iter().map(|it| it.path.as_str());
    let (kept, lost): (Vec<&str>, Vec<&str>) = unknown.partition(|path| manifest.extensions.contains_key(*path));
    for (members, fate) in [(kept, "kept as written"), (lost, "left out")] {
        if !members.is_empty() {
            console.note(&format!("{} {fate}: {}", counted(members.len(), "unknown member"), members.join(", ")));
        }
    }
    let document = document(manifest);
    let written = match arguments.format {
        Notation::Json => serde_json::to_string_pretty(&document).expect("a manifest is plain JSON"),
        Notation::Yaml => serde_saphyr::to_string(&document).expect("a manifest is plain YAML"),
    };
    console.line(written.trim_end());
    Ok(Exit::Success)
}

/// What a file is that stands beside manifests.
const fn beside(document: &Document) -> Option<&'static str> {
    match document {
        Document::Manifest(_) => None,
        Document::Contract(_) => Some("a contract"),
        Document::Models(_) => Some("a list of models"),
        Document::PiModels(_) => Some("a models.json"),
    }
}

/// The manifest as a file of version 2, without lists and sections in which nothing stands. A model or a family of which
/// nothing is known stays, and so does whatever nobody here knows the meaning of.
fn document(manifest: &Manifest) -> Value {
    let mut document = to_document(manifest);
    let Value::Object(members) = &mut document else { return document };
    for (name, value) in members.iter_mut().filter(|(name, _)| !manifest.extensions.contains_key(*name)) {
        match (name.as_str(), value) {
            ("metadata", Value::Object(metadata)) => {
                let models = metadata.get_mut("models").and_then(Value::as_object_mut);
                models.into_iter().flat_map(|models| models.values_mut()).for_each(clear);
            }
            ("api_families", _) => {}
            (_, value) => clear(value),
        }
    }
    document
}

/// Takes away empty lists and empty sections; what is sent as it is written stays as it is written.
fn clear(value: &mut Value) {
    let is_empty = |value: &Value| {
        value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(serde_json::Map::is_empty)
    };
    let Value::Object(members) = value else { return };
    members.iter_mut().filter(|(name, _)| *name != "request_defaults").for_each(|(_, value)| clear(value));
    members.retain(|_, value| !is_empty(value));
}
