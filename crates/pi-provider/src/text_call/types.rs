//! Arguments in the types that the tool asks for.
//!
//! A call that is written as text has many of its arguments as text: markup knows nothing else, and models put quotes around
//! numbers. Where the tool's schema takes no text and the text says exactly such a value, it becomes that value. What would
//! lose something, or fits no type that is asked for, stays as it was written.

use serde_json::{Map, Number, Value};

/// References are followed so far; longer chains are circles.
const MOST_REFERENCES: usize = 8;

/// More digits than this are not all kept by a number with a fraction.
const MOST_DIGITS: usize = 17;

/// Gives the arguments of a call the types of its tool's parameters.
pub(super) fn fit(arguments: &mut Map<String, Value>, parameters: &Value) {
    fit_members(arguments, parameters, parameters);
}

fn fit_value(value: &mut Value, schema: &Value, root: &Value) {
    let forms = forms(schema, root);
    if let Value::String(text) = value
        && let Some(meant) = meant(text, &forms)
    {
        *value = meant;
    }
    match value {
        Value::Object(members) => {
            if let Some(form) = forms.iter().find(|form| form.get("properties").is_some()) {
                fit_members(members, form, root);
            }
        }
        Value::Array(items) => {
            if let Some(of_item) = forms.iter().find_map(|form| form.get("items")) {
                items.iter_mut().for_each(|item| fit_value(item, of_item, root));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn fit_members(members: &mut Map<String, Value>, schema: &Value, root: &Value) {
    for (name, value) in members {
        if let Some(of_member) = schema.get("properties").and_then(|properties| properties.get(name)) {
            fit_value(value, of_member, root);
        }
    }
}

/// The schema, or those of which one must fit.
fn forms<'s>(schema: &'s Value, root: &'s Value) -> Vec<&'s Value> {
    let schema = resolved(schema, root);
    match ["anyOf", "oneOf"].iter().find_map(|word| schema.get(word)?.as_array()) {
        Some(forms) => forms.iter().map(|form| resolved(form, root)).collect(),
        None => vec![schema],
    }
}

fn resolved<'s>(mut schema: &'s Value, root: &'s Value) -> &'s Value {
    for _ in 0..MOST_REFERENCES {
        let reference = schema.get("$ref").and_then(Value::as_str).and_then(|place| place.strip_prefix('#'));
        match reference.and_then(|place| root.pointer(place)) {
            Some(meant) => schema = meant,
            None => break,
        }
    }
    schema
}

/// The value that a text stands for; nothing where a text is welcome, or where it is not known what is.
fn meant(text: &str, forms: &[&Value]) -> Option<Value> {
    let mut types = Vec::new();
    for form in forms {
        match form.get("type")? {
            Value::String(name) => types.push(name.as_str()),
            Value::Array(names) => types.extend(names.iter().filter_map(Value::as_str)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
        }
    }
    if types.contains(&"string") {
        return None;
    }
    types.into_iter().find_map(|name| read(text.trim(), name))
}

/// The text as a value of this type, if it is one and nothing of it is lost.
fn read(text: &str, name: &str) -> Option<Value> {
    match name {
        "null" => (text == "null").then_some(Value::Null),
        "boolean" => match text {
            // Python writes them with a capital.
            "true" | "True" => Some(Value::Bool(true)),
            "false" | "False" => Some(Value::Bool(false)),
            _ => None,
        },
        "integer" => number(text).filter(|number| !number.is_f64()).map(Value::Number),
        "number" => number(text).map(Value::Number),
        "array" => serde_json::from_str(text).ok().filter(Value::is_array),
        "object" => serde_json::from_str(text).ok().filter(Value::is_object),
        _ => None,
    }
}

fn number(text: &str) -> Option<Number> {
    let number: Number = serde_json::from_str(text).ok()?;
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    (!number.is_f64() || digits <= MOST_DIGITS).then_some(number)
}
