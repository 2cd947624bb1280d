//! A manifest back into a file of the current standard, which loads as the same manifest.

use serde_json::{Map, Value, json};

use super::{ErrorClassification, Manifest, endpoint::SecretHeader};

/// Members in which `null` says something.
const MEANT: [&str; 5] = ["thinking_levels", "levels", "request_defaults", "extensions", "metadata"];

/// Members that are written whatever they say.
const ALWAYS: [&str; 3] = ["id", "protocol_version", "endpoint"];

/// The document that [`load`](super::load()) reads as this manifest: what was promoted is written as version 2.0. A
/// `null` inside a section is not written, except where it says something. It is for a file, not for a screen: headers
/// that the manifest's own file spells out are in it.
pub fn to_document(manifest: &Manifest) -> Value {
    let Manifest { id, endpoint, .. } = manifest;
    let mut bare = members(&Manifest::bare(id.clone(), endpoint.clone(), ErrorClassification::default()));
    bare.retain(|key, _| !ALWAYS.contains(&key.as_str()));
    let mut root = members(manifest);
    subtract(&mut root, &bare);
    root.insert("protocol_version".to_owned(), json!("2.0"));
    if let Some(chat) = manifest.endpoints.get("chat")
        && let Some(Value::Object(endpoint)) = root.get_mut("endpoint")
    {
        endpoint.insert("chat".to_owned(), json!(chat.path));
    }
    write_headers(&manifest.endpoint.auth.secret_headers, &mut root);
    if let Some(models) = root.remove("models")
        && let Value::Object(metadata) = root.entry("metadata").or_insert_with(|| json!({}))
    {
        metadata.insert("models".to_owned(), models);
    }
    if let Some(Value::Object(extensions)) = root.remove("extensions") {
        root.extend(extensions);
    }
    Value::Object(root)
}

/// Headers whose values are shown nowhere stand in the file from which they came, and so in the one that is written.
fn write_headers(headers: &[SecretHeader], root: &mut Map<String, Value>) {
    let Some(Value::Object(auth)) = root.get_mut("endpoint").and_then(|endpoint| endpoint.get_mut("auth")) else {
        return;
    };
    if let Value::Array(written) = auth.entry("extra_headers").or_insert_with(|| json!([])) {
        written.extend(
            headers.iter().map(|SecretHeader { name, value }| json!({ "name": name, "value": value.expose() })),
        );
    }
}

/// Leaves out what says what its absence says.
fn subtract(object: &mut Map<String, Value>, bare: &Map<String, Value>) {
    object.retain(|key, value| bare.get(key) != Some(value));
    for (key, value) in object.iter_mut() {
        if let (Value::Object(value), Some(Value::Object(bare))) = (value, bare.get(key)) {
            subtract(value, bare);
        }
    }
}

fn members(manifest: &Manifest) -> Map<String, Value> {
    let Ok(Value::Object(mut root)) = serde_json::to_value(manifest) else {
        unreachable!("a manifest is an object with text keys");
    };
    prune(&mut root);
    root
}

/// The document as YAML.
pub fn to_yaml(manifest: &Manifest) -> String {
    serde_saphyr::to_string(&to_document(manifest)).expect("a document with text keys can be written")
}

fn prune(object: &mut Map<String, Value>) {
    object.retain(|_, value| !value.is_null());
    for (key, value) in object.iter_mut() {
        match value {
            _ if MEANT.contains(&key.as_str()) => {}
            Value::Object(inner) => prune(inner),
            Value::Array(list) => list.iter_mut().filter_map(Value::as_object_mut).for_each(prune),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}
