//! What the answer must look like, in each dialect's members.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{Target, change::Changes};
use crate::{call::ResponseFormat, dialect::Dialect, manifest::Capability};

/// Dotted members for the wanted form of the answer.
///
/// A provider that does not declare structured output is not held to a schema. JSON of any form it is asked for all the
/// same, because the standard wants that (its case gen-003); that nobody declared it is told.
pub(super) fn members(
    target: &Target<'_>,
    dialect: Dialect,
    format: &ResponseFormat,
    changes: &mut Changes,
) -> Map<String, Value> {
    let contract = &target.manifest.contract.capability_contracts.structured_output;
    let flag = target.manifest.capabilities.feature_flags.structured_output;
    let of_model = target.entry.and_then(|entry| entry.model_capabilities.structured_output);
    let says = |mode: Option<bool>| mode.or(of_model).or(flag);
    let declared = target.manifest.capabilities.has(Capability::StructuredOutput);
    let can = |mode: Option<bool>| says(mode).unwrap_or(declared);
    let format = match format {
        ResponseFormat::Text => return Map::new(),
        ResponseFormat::Json if can(contract.json_mode) => format,
        ResponseFormat::Json if says(contract.json_mode).is_none() => {
            changes.kept("response_format", "the provider does not declare it");
            format
        }
        ResponseFormat::JsonSchema { .. } if can(contract.json_schema_mode) => format,
        ResponseFormat::JsonSchema { .. } if contract.json_mode == Some(true) => {
            changes
                .changed("response_format", "the model cannot be held to a schema, so JSON of any form is asked for");
            &ResponseFormat::Json
        }
        ResponseFormat::Json | ResponseFormat::JsonSchema { .. } => {
            let is_denied = matches!(format, ResponseFormat::Json) || says(contract.json_schema_mode).is_some();
            let reason =
                if is_denied { "the model cannot be held to a form" } else { "the provider does not declare it" };
            changes.dropped("response_format", reason);
            return Map::new();
        }
    };
    let (field, value) = match dialect {
        Dialect::OpenaiChat | Dialect::Demo => ("response_format", chat(format)),
        // Under the name that Chat Completions have for it, it has their form.
        Dialect::OpenaiResponses if contract.response_format_field.as_deref() == Some("response_format") => {
            ("response_format", chat(format))
        }
        Dialect::OpenaiResponses => ("text.format", responses(format)),
        Dialect::AnthropicMessages => ("output_config.format", anthropic(format, changes)),
        Dialect::GeminiGenerate => return gemini(format),
        Dialect::CohereV2 => ("response_format", cohere(format)),
    };
    let Some(value) = value else {
        changes.dropped("response_format", "the API can be held to a schema, but not to JSON of any form");
        return Map::new();
    };
    let field = contract.response_format_field.as_deref().unwrap_or(field);
    Map::from_iter([(field.to_owned(), value)])
}

fn chat(format: &ResponseFormat) -> Option<Value> {
    match format {
        ResponseFormat::Text => None,
        ResponseFormat::Json => Some(json!({"type": "json_object"})),
        ResponseFormat::JsonSchema { name, schema } => {
            let inner = json!({"name": name, "schema": schema, "strict": is_strict(schema)});
            Some(json!({"type": "json_schema", "json_schema": inner}))
        }
    }
}

fn responses(format: &ResponseFormat) -> Option<Value> {
    match format {
        ResponseFormat::Text => None,
        ResponseFormat::Json => Some(json!({"type": "json_object"})),
        ResponseFormat::JsonSchema { name, schema } => {
            Some(json!({"type": "json_schema", "name": name, "schema": schema, "strict": is_strict(schema)}))
        }
    }
}

fn anthropic(format: &ResponseFormat, changes: &mut Changes) -> Option<Value> {
    match format {
        ResponseFormat::Text | ResponseFormat::Json => None,
        ResponseFormat::JsonSchema { schema, .. } => {
            let closed = Closed::of(schema);
            if !closed.left_out.is_empty() {
                let words = closed.left_out.iter().copied().collect::<Vec<_>>().join(", ");
                let reason = format!("{words} are told in descriptions, because the API refuses them in a schema");
                changes.changed("response_format", reason);
            }
            if closed.has_closed {
                changes.changed("response_format", "objects are closed (additionalProperties: false), as the API asks");
            }
            Some(json!({"type": "json_schema", "schema": closed.schema}))
        }
    }
}

/// A schema as Anthropic takes it: every object closed, and the limits of numbers, texts and lists in words, which the model
/// reads and nothing enforces.
struct Closed {
    schema: Value,
    has_closed: bool,
    left_out: BTreeSet<&'static str>,
}

/// Limits that Anthropic refuses; of `minItems` it takes 0 and 1.
const REFUSED: [&str; 13] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "patternProperties",
];

impl Closed {
    fn of(schema: &Value) -> Self {
        let mut closed = Self { schema: schema.clone(), has_closed: false, left_out: BTreeSet::new() };
        let mut schema = std::mem::take(&mut closed.schema);
        closed.close(&mut schema);
        Self { schema, ..closed }
    }

    /// Names of properties are no keywords, so only places where a schema stands are looked into.
    fn close(&mut self, schema: &mut Value) {
        let Value::Object(members) = schema else { return };
        let is_taken = |name: &str, value: &Value| name == "minItems" && value.as_u64().is_some_and(|least| least < 2);
        let mut limits = Vec::new();
        for name in REFUSED {
            if members.get(name).is_some_and(|value| !is_taken(name, value)) {
                limits.extend(members.shift_remove(name).map(|value| format!("{name}: {value}")));
                self.left_out.insert(name);
            }
        }
        if !limits.is_empty() {
            let limits = format!("({})", limits.join(", "));
            let described = match members.get("description").and_then(Value::as_str) {
                Some(text) if !text.is_empty() => format!("{text} {limits}"),
                Some(_) | None => limits,
            };
            members.insert("description".to_owned(), described.into());
        }
        let is_object = match members.get("type") {
            Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
            Some(kind) => kind == "object",
            None => members.contains_key("properties"),
        };
        if is_object && members.get("additionalProperties") != Some(&Value::Bool(false)) {
            members.insert("additionalProperties".to_owned(), Value::Bool(false));
            self.has_closed = true;
        }
        for (name, member) in members.iter_mut() {
            match (name.as_str(), member) {
                ("properties" | "$defs" | "definitions", Value::Object(named)) => {
                    named.values_mut().for_each(|schema| self.close(schema));
                }
                ("anyOf" | "allOf" | "oneOf" | "prefixItems" | "items", Value::Array(list)) => {
                    list.iter_mut().for_each(|schema| self.close(schema));
                }
                ("items" | "not" | "if" | "then" | "else", inner) => self.close(inner),
                _ => {}
            }
        }
    }
}

fn cohere(format: &ResponseFormat) -> Option<Value> {
    match format {
        ResponseFormat::Text => None,
        ResponseFormat::Json => Some(json!({"type": "json_object"})),
        ResponseFormat::JsonSchema { schema, .. } => Some(json!({"type": "json_object", "json_schema": schema})),
    }
}

fn gemini(format: &ResponseFormat) -> Map<String, Value> {
    let mime_type = ("generationConfig.responseMimeType".to_owned(), json!("application/json"));
    match format {
        ResponseFormat::Text => Map::new(),
        ResponseFormat::Json => Map::from_iter([mime_type]),
        ResponseFormat::JsonSchema { schema, .. } => {
            Map::from_iter([mime_type, ("generationConfig.responseJsonSchema".to_owned(), schema.clone())])
        }
    }
}

/// Whether a schema says all that strict checking asks for: every object closed, every property required.
fn is_strict(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => {
            let is_closed = match members.get("properties").and_then(Value::as_object) {
                Some(properties) => {
                    let required = members.get("required").and_then(Value::as_array);
                    let is_required =
                        |name: &String| required.is_some_and(|names| names.iter().any(|known| known == name));
                    members.get("additionalProperties") == Some(&Value::Bool(false))
                        && properties.keys().all(is_required)
                }
                None => members.get("type") != Some(&json!("object")),
            };
            is_closed && members.values().all(is_strict)
        }
        Value::Array(items) => items.iter().all(is_strict),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_for_anthropic_is_closed_and_without_limits() {
        let schema = json!({"type": "object", "required": ["minimum"], "properties": {
            "minimum": {"type": "integer", "minimum": 1, "maximum": 9, "description": "How many."},
            "names": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "string", "minLength": 2}},
            "more": {"anyOf": [{"type": "null"}, {"type": ["object", "null"], "properties": {"a": {"type": "string"}}}]},
        }});
        let mut changes = Changes::default();
        let format = ResponseFormat::JsonSchema { name: "answer".to_owned(), schema };
        assert_eq!(
            anthropic(&format, &mut changes).unwrap()["schema"],
            json!({"type": "object", "required": ["minimum"], "additionalProperties": false, "properties": {
                "minimum": {"type": "integer", "description": "How many. (minimum: 1, maximum: 9)"},
                "names": {"type": "array", "minItems": 1, "description": "(maxItems: 3)",
                          "items": {"type": "string", "description": "(minLength: 2)"}},
                "more": {"anyOf": [{"type": "null"}, {"type": ["object", "null"], "additionalProperties": false,
                                                     "properties": {"a": {"type": "string"}}}]},
            }})
        );
        let told: Vec<String> = changes.into_vec().iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "changed response_format: maxItems, maximum, minLength, minimum are told in descriptions, because the API refuses them in a schema",
                "changed response_format: objects are closed (additionalProperties: false), as the API asks",
            ]
        );
        let closed = json!({"type": "object", "properties": {}, "additionalProperties": false});
        let mut changes = Changes::default();
        let format = ResponseFormat::JsonSchema { name: "answer".to_owned(), schema: closed.clone() };
        assert_eq!(anthropic(&format, &mut changes).unwrap()["schema"], closed);
        assert!(changes.into_vec().is_empty());
    }

    #[test]
    fn only_a_closed_schema_is_strict() {
        let closed = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
                            "additionalProperties": false});
        assert!(is_strict(&closed));
        assert!(!is_strict(&json!({"type": "object", "properties": {"a": closed, "b": {}}, "required": ["a"],
                                   "additionalProperties": false})));
        assert!(!is_strict(&json!({"type": "array", "items": {"type": "object"}})));
    }
}
