//! What the answer must look like, in each dialect's members.

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
        Dialect::OpenaiResponses => ("text.format", responses(format)),
        Dialect::AnthropicMessages => ("output_config.format", anthropic(format)),
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

fn anthropic(format: &ResponseFormat) -> Option<Value> {
    match format {
        ResponseFormat::Text | ResponseFormat::Json => None,
        ResponseFormat::JsonSchema { schema, .. } => Some(json!({"type": "json_schema", "schema": schema})),
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
    fn only_a_closed_schema_is_strict() {
        let closed = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
                            "additionalProperties": false});
        assert!(is_strict(&closed));
        assert!(!is_strict(&json!({"type": "object", "properties": {"a": closed, "b": {}}, "required": ["a"],
                                   "additionalProperties": false})));
        assert!(!is_strict(&json!({"type": "array", "items": {"type": "object"}})));
    }
}
