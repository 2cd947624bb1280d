//! Parameters of a tool that are a choice of several schemas, as one object: some providers refuse the whole request for a choice
//! at the root, and take it anywhere below.
//!
//! What is sent allows whatever the choice allows, and more: that two members exclude each other is not said any more. The tool
//! still has its own look at what it is called with.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// The members that make a schema one of several, or several at once.
const CHOICES: [&str; 2] = ["anyOf", "oneOf"];
const ALL: &str = "allOf";
/// How deep choices in choices are followed; what is below is left out.
const DEEPEST: usize = 8;

/// The same schema as one object; `None` where it is no choice.
pub(super) fn folded(schema: &Value) -> Option<Value> {
    let Value::Object(members) = schema else { return None };
    is_choice(members).then(|| {
        let mut object = fold(members, schema, DEEPEST);
        object.insert("type".to_owned(), json!("object"));
        Value::Object(object)
    })
}

fn is_choice(members: &Map<String, Value>) -> bool {
    CHOICES.into_iter().chain([ALL]).any(|name| members.contains_key(name))
}

/// An object without choices: what stands beside them stays as it is.
fn fold(members: &Map<String, Value>, whole: &Value, deepest: usize) -> Map<String, Value> {
    let mut object = members.clone();
    let mut required = names(members);
    for name in CHOICES {
        let branches = branches(object.shift_remove(name), whole, deepest);
        let every = branches.iter().map(names).reduce(|one, other| &one & &other).unwrap_or_default();
        required.extend(every);
        merge(&mut object, &branches, "anyOf");
    }
    let branches = branches(object.shift_remove(ALL), whole, deepest);
    required.extend(branches.iter().flat_map(names));
    merge(&mut object, &branches, ALL);
    if !required.is_empty() {
        object.insert("required".to_owned(), json!(required));
    }
    object
}

/// Those that are objects, without choices themselves.
fn branches(choice: Option<Value>, whole: &Value, deepest: usize) -> Vec<Map<String, Value>> {
    let Some(Value::Array(branches)) = choice else { return Vec::new() };
    let Some(deeper) = deepest.checked_sub(1) else { return Vec::new() };
    let object = |branch: &Value| {
        let members = target(branch, whole).as_object().filter(|members| is_object(members))?;
        Some(fold(members, whole, deeper))
    };
    branches.iter().filter_map(object).collect()
}

/// What a reference into the same schema leads to.
fn target<'a>(branch: &'a Value, whole: &'a Value) -> &'a Value {
    let path = branch.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#'));
    path.and_then(|path| whole.pointer(path)).unwrap_or(branch)
}

/// Whether it may be an object. One that does not say what it is adds to one that does.
fn is_object(members: &Map<String, Value>) -> bool {
    match members.get("type") {
        None => true,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        Some(kind) => kind == "object",
    }
}

fn names(members: &Map<String, Value>) -> BTreeSet<String> {
    let names = members.get("required").and_then(Value::as_array).into_iter().flatten();
    names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// Adds the members of branches. One that several describe is what any of them says, or all; what the object says itself counts.
fn merge(object: &mut Map<String, Value>, branches: &[Map<String, Value>], together: &str) {
    let mut found: Map<String, Value> = Map::new();
    for (name, schema) in branches.iter().filter_map(|branch| branch.get("properties")?.as_object()).flatten() {
        match found.get_mut(name).and_then(Value::as_array_mut) {
            Some(schemas) if schemas.contains(schema) => {}
            Some(schemas) => schemas.push(schema.clone()),
            None => drop(found.insert(name.clone(), json!([schema]))),
        }
    }
    if found.is_empty() {
        return;
    }
    let properties = object.entry("properties").or_insert_with(|| json!({}));
    let Some(properties) = properties.as_object_mut() else { return };
    for (name, schemas) in found {
        let schema = match schemas.as_array().map(Vec::as_slice) {
            Some([only]) => only.clone(),
            Some(_) | None => json!({ together: schemas }),
        };
        properties.entry(name).or_insert(schema);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schema: &Value, expected: &Value) {
        assert_eq!(folded(schema).unwrap_or(Value::Null), *expected, "{schema}");
    }

    #[test]
    fn choice_becomes_one_object() {
        check(&json!({ "type": "object", "properties": { "a": { "anyOf": [{}] } } }), &Value::Null);
        // What every branch requires is required.
        check(
            &json!({ "oneOf": [
                { "type": "object", "properties": { "do": { "const": "add" }, "a": {} }, "required": ["do", "a"] },
                { "type": "object", "properties": { "do": { "const": "drop" } }, "required": ["do"] },
                { "type": "string" },
                true,
            ] }),
            &json!({
                "properties": { "do": { "anyOf": [{ "const": "add" }, { "const": "drop" }] }, "a": {} },
                "required": ["do"], "type": "object"
            }),
        );
        // One of two members.
        check(
            &json!({ "type": "object", "properties": { "a": {}, "b": {} }, "required": ["c"],
                "anyOf": [{ "required": ["a"] }, { "required": ["b"] }] }),
            &json!({ "type": "object", "properties": { "a": {}, "b": {} }, "required": ["c"] }),
        );
        check(
            &json!({ "$defs": { "A": { "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] } },
                "allOf": [{ "$ref": "#/$defs/A" }, { "properties": { "b": {} }, "required": ["b"] }] }),
            &json!({ "$defs": { "A": { "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] } },
                "properties": { "a": { "type": "string" }, "b": {} }, "required": ["a", "b"], "type": "object" }),
        );
        // Choices in choices, and nonsense.
        check(
            &json!({ "anyOf": [{ "oneOf": [{ "properties": { "a": {} } }] }, { "properties": { "b": {} } }] }),
            &json!({ "properties": { "a": {}, "b": {} }, "type": "object" }),
        );
        check(&json!({ "anyOf": "x", "properties": 1 }), &json!({ "properties": 1, "type": "object" }));
        check(&json!({ "anyOf": [{ "$ref": "#" }] }), &json!({ "type": "object" }));
    }
}
