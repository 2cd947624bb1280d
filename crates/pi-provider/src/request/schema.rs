//! Schemas of tools as every provider takes them: some refuse the whole request for an object that does not say which members
//! it has, or for an array that does not say of what, though both mean that anything may be there.

use serde_json::{Map, Value, json};

/// Members that hold schemas by name, as a list, and one.
const NAMED: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
const LISTED: [&str; 5] = ["anyOf", "allOf", "oneOf", "prefixItems", "items"];
const SINGLE: [&str; 8] = ["items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else"];

/// The same schema with what is left out and means nothing; `None` where nothing is.
pub(super) fn completed(schema: &Value) -> Option<Value> {
    lacks(schema).then(|| {
        let mut schema = schema.clone();
        complete(&mut schema);
        schema
    })
}

fn lacks(schema: &Value) -> bool {
    let Value::Object(schema) = schema else { return false };
    !missing(schema).is_empty()
        || schema.iter().any(|(name, member)| match member {
            Value::Object(members) if NAMED.contains(&name.as_str()) => members.values().any(lacks),
            Value::Object(_) if SINGLE.contains(&name.as_str()) => lacks(member),
            Value::Array(members) if LISTED.contains(&name.as_str()) => members.iter().any(lacks),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                false
            }
        })
}

fn complete(schema: &mut Value) {
    let Value::Object(schema) = schema else { return };
    for name in missing(schema) {
        schema.insert(name.to_owned(), json!({}));
    }
    for (name, member) in schema {
        match member {
            Value::Object(members) if NAMED.contains(&name.as_str()) => members.values_mut().for_each(complete),
            Value::Object(_) if SINGLE.contains(&name.as_str()) => complete(member),
            Value::Array(members) if LISTED.contains(&name.as_str()) => members.iter_mut().for_each(complete),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            }
        }
    }
}

/// The members without which a schema of this type is refused. One that refers to another says there what it is. A schema has
/// few members: comparing their names takes less than a lookup of each that matters.
fn missing(schema: &Map<String, Value>) -> Vec<&'static str> {
    let (mut kind, mut says_members, mut says_items) = (None, false, false);
    for (name, member) in schema {
        match name.as_str() {
            "type" => kind = Some(member),
            "properties" | "$ref" => says_members = true,
            "items" | "prefixItems" => says_items = true,
            _ => {}
        }
    }
    let is = |wanted: &str| match kind {
        Some(Value::String(kind)) => kind == wanted,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == wanted),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => false,
    };
    let mut missing = Vec::new();
    if !says_members && is("object") {
        missing.push("properties");
    }
    if !says_items && is("array") {
        missing.push("items");
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_added_wherever_a_schema_stands() {
        for (given, expected) in [
            (json!({"type": "object"}), json!({"type": "object", "properties": {}})),
            (json!({"type": ["array", "null"]}), json!({"type": ["array", "null"], "items": {}})),
            (
                json!({"type": "object", "properties": {"a": {"type": "array"}, "type": {"type": "object"}}}),
                json!({"type": "object", "properties": {
                    "a": {"type": "array", "items": {}},
                    "type": {"type": "object", "properties": {}},
                }}),
            ),
            (
                json!({"type": "object", "properties": {}, "$defs": {"x": {"anyOf": [{"type": "array"}]}}}),
                json!({"type": "object", "properties": {}, "$defs": {"x": {"anyOf": [{"type": "array", "items": {}}]}}}),
            ),
            (
                json!({"type": "array", "items": {"type": "array", "items": {"type": "object"}}}),
                json!({"type": "array", "items": {"type": "array", "items": {"type": "object", "properties": {}}}}),
            ),
        ] {
            assert_eq!(completed(&given), Some(expected), "{given}");
        }
    }

    #[test]
    fn a_schema_that_says_it_is_left_alone() {
        for schema in [
            json!({"type": "object", "properties": {"a": {"type": "string", "enum": ["object", "array"]}}}),
            json!({"type": "array", "prefixItems": [{"type": "string"}]}),
            json!({"type": "object", "$ref": "#/$defs/a"}),
            json!({"type": "object", "properties": {"a": {"default": {"type": "object"}, "const": {"type": "array"}}}}),
            json!(true),
        ] {
            assert_eq!(completed(&schema), None, "{schema}");
        }
    }
}
