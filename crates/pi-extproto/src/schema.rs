//! The published forms of the vocabulary, made from the types: JSON Schemas (draft 2020-12), TypeScript, WIT.
//!
//! What `docs/schema` and `docs/wit` hold is what these functions return; a test compares them, and
//! `cargo xtask codegen` writes them anew.

pub mod typescript;

use std::borrow::Cow;

use pi_transcript::json::schema::generator;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::{
    log::LogEntry,
    manifest::ExtensionManifest,
    message::{Message, Payload, VERSION},
};

/// The WIT package `pi:extension`, written by hand and tested against the types.
pub const WIT: &str = include_str!("../wit/extension.wit");

/// The schema of the ten messages.
pub fn protocol() -> Value {
    of::<Message>("Extension protocol 1.0", "The messages between an extension and its host.")
}

/// The schema of `extension.json`.
pub fn manifest() -> Value {
    of::<ExtensionManifest>("Extension manifest", "The file extension.json: what an extension is made of.")
}

/// The schema of a line of an extension log.
pub fn log() -> Value {
    of::<LogEntry>("Extension log entry", "One line of an extension log, pi.ext.log.v1.")
}

fn of<T: JsonSchema>(title: &str, description: &str) -> Value {
    let root = generator().into_root_schema_for::<T>().to_value();
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".to_owned(), json!(title));
    schema.insert("description".to_owned(), json!(description));
    for (name, member) in root.as_object().into_iter().flatten() {
        schema.entry(name).or_insert_with(|| member.clone());
    }
    Value::Object(schema)
}

impl JsonSchema for Message {
    fn schema_name() -> Cow<'static, str> {
        "Message".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let payloads = Payload::schemas(generator).into_iter().map(|(kind, payload)| {
            json!({
                "if": { "properties": { "type": { "const": kind } } },
                "then": { "properties": { "payload": payload } },
            })
        });
        let payloads: Vec<_> = payloads.collect();
        json_schema!({
            "type": "object",
            "required": ["id", "version", "type", "payload"],
            "properties": {
                "id": { "type": "string", "description": "Joins a request with its answer." },
                "version": { "type": "string", "enum": [VERSION] },
                "type": { "type": "string", "enum": Payload::KINDS },
                "payload": { "type": "object", "description": "What the message says; its type decides the shape." },
            },
            "allOf": payloads,
        })
    }
}
