//! Bodies that are written as data, with places for what is known only when they are sent.
//!
//! A text that is nothing but a name in braces (`"{file}"`) is such a place; every other value stands for itself.

use serde_json::{Map, Value};

/// The template with every place filled. What nobody has a value for is left out of objects and lists.
pub(crate) fn fill(template: &Value, values: &Map<String, Value>) -> Value {
    match template {
        Value::String(text) => match place(text) {
            Some(name) => values.get(name).cloned().unwrap_or_default(),
            None => template.clone(),
        },
        Value::Array(items) => {
            items.iter().filter(|item| is_known(item, values)).map(|item| fill(item, values)).collect()
        }
        Value::Object(members) => {
            let known = members.iter().filter(|(_, member)| is_known(member, values));
            Value::Object(known.map(|(name, member)| (name.clone(), fill(member, values))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => template.clone(),
    }
}

/// Whether the template has a place of this name.
pub(crate) fn has_place(template: &Value, name: &str) -> bool {
    match template {
        Value::String(text) => place(text) == Some(name),
        Value::Array(items) => items.iter().any(|item| has_place(item, name)),
        Value::Object(members) => members.values().any(|member| has_place(member, name)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn is_known(template: &Value, values: &Map<String, Value>) -> bool {
    template.as_str().and_then(place).is_none_or(|name| values.contains_key(name))
}

fn place(text: &str) -> Option<&str> {
    text.strip_prefix('{')?.strip_suffix('}')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn places_are_filled_with_whole_values() {
        let template = json!({"a": "{list}", "b": ["{word}", 1], "c": {"d": "{absent}", "e": "x {word}"}, "f": null});
        let values = json!({"list": [1, 2], "word": "w"});
        let filled = fill(&template, values.as_object().unwrap());
        assert_eq!(filled, json!({"a": [1, 2], "b": ["w", 1], "c": {"e": "x {word}"}, "f": null}));
        assert!(has_place(&template, "absent") && !has_place(&template, "x {word"));
    }
}
