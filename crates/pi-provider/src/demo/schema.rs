//! A value that fits a JSON Schema, made from what is known and plain defaults.

use serde_json::{Map, Value, json};

/// How deep a schema is followed.
const DEEPEST: usize = 8;
/// How many members an object gets at most.
const WIDEST: usize = 100;

/// Which members of an object are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Members {
    /// Those that are required, and those for which `known` has something.
    Needed,
    All,
}

/// A value for `schema`. `known` is asked first, with the name of the member and its schema; what it gives is taken over as
/// far as the type fits.
pub(super) fn instance(schema: &Value, members: Members, known: &dyn Fn(&str, &Value) -> Option<Value>) -> Value {
    Maker { root: schema, members, known }.make("", schema, 0)
}

struct Maker<'a> {
    root: &'a Value,
    members: Members,
    known: &'a dyn Fn(&str, &Value) -> Option<Value>,
}

impl Maker<'_> {
    fn make(&self, name: &str, schema: &Value, depth: usize) -> Value {
        if depth > DEEPEST {
            return Value::Null;
        }
        if let Some(target) = schema["$ref"].as_str() {
            let target = target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
            return target.map_or(Value::Null, |target| self.make(name, target, depth + 1));
        }
        for word in ["anyOf", "oneOf", "allOf"] {
            if let Some(first) = schema[word].as_array().and_then(|options| options.first()) {
                return self.make(name, first, depth + 1);
            }
        }
        if let Some(value) = self.known(name, schema) {
            return value;
        }
        let given = [&schema["const"], &schema["default"], &schema["enum"][0], &schema["examples"][0]];
        if let Some(value) = given.into_iter().find(|value| !value.is_null()) {
            return value.clone();
        }
        match kind(schema) {
            "object" => Value::Object(self.object(schema, depth)),
            "array" => {
                let count = schema["minItems"].as_u64().unwrap_or(0).min(WIDEST as u64);
                (0..count).map(|_| self.make(name, &schema["items"], depth + 1)).collect()
            }
            "integer" => json!(schema["minimum"].as_i64().unwrap_or(0)),
            "number" => json!(schema["minimum"].as_f64().unwrap_or(0.0)),
            "boolean" => json!(false),
            "string" => json!(""),
            _ => Value::Null,
        }
    }

    fn known(&self, name: &str, schema: &Value) -> Option<Value> {
        let value = (self.known)(name, schema)?;
        let allowed = schema["enum"].as_array();
        let allowed = allowed.is_none_or(|values| values.contains(&value));
        let fits = match kind(schema) {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "boolean" => value.is_boolean(),
            "string" => value.is_string(),
            _ => true,
        };
        (allowed && fits).then_some(value)
    }

    fn object(&self, schema: &Value, depth: usize) -> Map<String, Value> {
        let required =
            |name: &String| schema["required"].as_array().is_some_and(|list| list.iter().any(|item| item == name));
        let mut object = Map::new();
        for (name, member) in schema["properties"].as_object().into_iter().flatten().take(WIDEST) {
            if self.members == Members::All || required(name) {
                object.insert(name.clone(), self.make(name, member, depth + 1));
            } else if let Some(value) = self.known(name, member) {
                object.insert(name.clone(), value);
            }
        }
        object
    }
}

/// The type of a schema; the first that is not `null` where it has several.
pub(super) fn kind(schema: &Value) -> &str {
    match &schema["type"] {
        Value::String(kind) => kind,
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or("null"),
        _ if schema["properties"].is_object() => "object",
        _ if schema["items"].is_object() => "array",
        _ => "",
    }
}
