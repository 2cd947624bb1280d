//! How our JSON Schemas say what may be `null`.
//!
//! The generator takes every `Option` for something that may be `null`. Here an optional member is absent or has its type
//! ([`present`](super::present)), so one transform takes that `null` back everywhere; the few members that are read with
//! [`nullable`](super::nullable) carry a mark that protects theirs.

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::{Value, json};

/// Stands in the schema of a nullable member until the transform has seen it; no schema is published with it.
const MARK: &str = "x-nullable";

/// A generator of schemas (draft 2020-12) by the rules of this module.
pub fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().with_transform(RecursiveTransform(forbid_null)).into_generator()
}

/// The schema of a member that is read with [`nullable`](super::nullable); for schemas that [`generator`] makes.
pub fn nullable_schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = generator.subschema_for::<Option<T>>();
    schema.insert(MARK.to_owned(), Value::Bool(true));
    schema
}

fn forbid_null(schema: &mut Schema) {
    if schema.remove(MARK).is_some() {
        return;
    }
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|word| word != "null");
        if let [single] = types.as_mut_slice() {
            let single = single.take();
            schema.insert("type".to_owned(), single);
        }
    }
    if let Some(Value::Array(words)) = schema.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf")
        && let [Value::Object(kept), null] = choices.as_mut_slice()
        && *null == json!({ "type": "null" })
    {
        let kept = std::mem::take(kept);
        let members = schema.ensure_object();
        members.shift_remove("anyOf");
        // What the member says about itself comes before what its type says.
        for (name, member) in kept {
            members.entry(name).or_insert(member);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct Sample {
        word: Option<String>,
        listed: Option<Vec<Option<u8>>>,
        /// Of the member.
        inline: Option<Inline>,
        choice: Option<Choice>,
        known: Option<Known>,
        #[schemars(schema_with = "nullable_schema::<String>")]
        nullable_word: Option<String>,
        #[schemars(schema_with = "nullable_schema::<Known>")]
        nullable_known: Option<Known>,
        #[schemars(schema_with = "nullable_schema::<Choice>")]
        nullable_choice: Option<Choice>,
        anything: Option<Value>,
    }

    /// Of the type.
    #[derive(JsonSchema)]
    #[schemars(inline, untagged)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    enum Inline {
        Text(String),
        Number(u8),
    }

    #[derive(JsonSchema)]
    #[schemars(inline)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    enum Choice {
        #[schemars(rename = "one")]
        One,
        #[schemars(rename = "two")]
        Two,
    }

    #[derive(JsonSchema)]
    struct Known {}

    #[test]
    fn only_marked_members_may_be_null() {
        let schema = generator().into_root_schema_for::<Sample>().to_value();
        let expected = json!({
            "word": { "type": "string" },
            "listed": { "type": "array", "items": { "type": "integer", "format": "uint8", "minimum": 0, "maximum": 255 } },
            "inline": {
                "description": "Of the member.",
                "anyOf": [
                    { "type": "string" }, { "type": "integer", "format": "uint8", "minimum": 0, "maximum": 255 }
                ]
            },
            "choice": { "type": "string", "enum": ["one", "two"] },
            "known": { "$ref": "#/$defs/Known" },
            "nullable_word": { "type": ["string", "null"] },
            "nullable_known": { "anyOf": [{ "$ref": "#/$defs/Known" }, { "type": "null" }] },
            "nullable_choice": { "type": ["string", "null"], "enum": ["one", "two", null] },
            "anything": true
        });
        assert_eq!(schema["properties"], expected);
    }
}
