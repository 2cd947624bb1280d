//! The protocol for other languages: JSON Schema and TypeScript, made from the registry and the rules.
//!
//! The schema accepts a command exactly if [`parse`](crate::parse) does, but for what a schema cannot say: lengths in
//! UTF-16 units (it counts characters), the limits of a whole frame, members that stand twice, `fromTimestamp` not after
//! `toTimestamp`, and `fileName` being the last part of `sessionPath`.

pub(crate) mod typescript;

use pi_transcript::json::{Open, schema::generator};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

pub use self::typescript::typescript;
use crate::{
    command::{MemberVisitor, Payload, Presence},
    error::ErrorCode,
    event::{PROTOCOL_VERSION, ServerEvent},
    registry::{Kind, Spec, Target},
    rule::{Rule, names},
};

/// JSON Schema 2020-12 of everything that is sent, with a root for each direction: `#/$defs/ClientMessage` and
/// `#/$defs/ServerMessage`.
pub fn json() -> Value {
    let mut generator = generator();
    let mut definitions = Map::new();
    let commands = Kind::all().map(|kind| {
        let name = format!("{kind:?}Command");
        definitions.insert(name.clone(), command(kind.spec(), &mut generator).to_value());
        reference(&name)
    });
    let commands: Vec<_> = commands.collect();
    let responses = Kind::all().map(|kind| {
        let name = format!("{kind:?}Response");
        definitions.insert(name.clone(), success(kind, &mut generator));
        reference(&name)
    });
    let responses: Vec<_> = responses.chain([reference("FailureResponse")]).collect();
    definitions.insert("CommandHead".to_owned(), head(&mut generator));
    definitions.insert("FailureResponse".to_owned(), failure(&mut generator));
    definitions.insert("Response".to_owned(), json!({ "oneOf": responses }));
    definitions.insert("ClientMessage".to_owned(), json!({ "oneOf": commands }));
    let event = generator.subschema_for::<ServerEvent>().to_value();
    definitions.insert("ServerMessage".to_owned(), json!({ "anyOf": [reference("Response"), event] }));
    definitions.extend(generator.take_definitions(true));
    definitions.sort_keys();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("pi server protocol {PROTOCOL_VERSION}"),
        "anyOf": [reference("ClientMessage"), reference("ServerMessage")],
        "$defs": definitions,
    })
}

/// An object with the fields of `T`.
pub(crate) fn object<T: Payload>(generator: &mut SchemaGenerator) -> Schema {
    let mut members = Members { generator, properties: Map::new(), required: Vec::new() };
    T::describe(&mut members);
    let Members { properties, required, .. } = members;
    json_schema!({ "type": "object", "properties": properties, "required": required })
}

struct Members<'g> {
    generator: &'g mut SchemaGenerator,
    properties: Map<String, Value>,
    required: Vec<&'static str>,
}

impl MemberVisitor for Members<'_> {
    fn member<R: Rule>(&mut self, presence: Presence, name: &'static str, doc: &'static str, rule: &R) {
        let mut schema = rule.schema(self.generator);
        if !doc.trim().is_empty() {
            schema.insert("description".to_owned(), doc.trim().into());
        }
        self.properties.insert(name.to_owned(), schema.to_value());
        if presence == Presence::Required {
            self.required.push(name);
        }
    }
}

fn command(spec: &Spec, generator: &mut SchemaGenerator) -> Schema {
    let mut members = Members { generator, properties: Map::new(), required: vec!["type"] };
    members.properties.insert("type".to_owned(), json!({ "const": spec.name }));
    match spec.target {
        Target::Session => members.member(Presence::Required, "sessionId", "", &names::SESSION_ID),
        // It means nothing here, but an object would be a mistake.
        Target::Server => _ = members.properties.insert("sessionId".to_owned(), json!({ "type": "string" })),
    }
    spec.kind.describe(&mut members);
    if !spec.takes_version() {
        members.properties.insert("ifSessionVersion".to_owned(), json!(false));
    }
    let Members { properties, required, .. } = members;
    let mut schema = json_schema!({
        "description": spec.summary,
        "type": "object",
        "allOf": [reference("CommandHead")],
        "properties": properties,
        "required": required,
    });
    if let Value::Object(relations) = spec.kind.relations() {
        schema.ensure_object().extend(relations);
    }
    schema
}

fn head(generator: &mut SchemaGenerator) -> Value {
    json!({
        "description": "What any command may carry beside its payload.",
        "type": "object",
        "properties": {
            "id": names::COMMAND_ID.schema(generator),
            "idempotencyKey": names::IDEMPOTENCY_KEY.schema(generator),
            "dependsOn": names::DEPENDENCIES.schema(generator),
            "ifSessionVersion": names::WHOLE.schema(generator),
        },
        "if": { "properties": { "dependsOn": { "type": "array", "minItems": 1 } }, "required": ["dependsOn"] },
        "then": { "required": ["id"] },
    })
}

fn success(kind: Kind, generator: &mut SchemaGenerator) -> Value {
    let mut properties = response_properties(&json!({ "const": kind.name() }), &json!(true));
    let mut required = vec!["type", "command", "success"];
    match kind.data_schema(generator) {
        Some(data) => {
            properties.insert("data".to_owned(), data.to_value());
            required.push("data");
        }
        None => _ = properties.insert("data".to_owned(), json!(false)),
    }
    json!({ "type": "object", "properties": properties, "required": required })
}

fn failure(generator: &mut SchemaGenerator) -> Value {
    // Of a refused command: its type as it was sent, or `unknown`, and its id whatever it is.
    let mut properties = response_properties(&json!({ "type": "string" }), &json!(false));
    properties.insert("id".to_owned(), json!(true));
    properties.insert("error".to_owned(), json!({ "type": "string" }));
    properties.insert("code".to_owned(), generator.subschema_for::<Open<ErrorCode>>().to_value());
    properties.insert("field".to_owned(), json!({ "type": "string" }));
    properties.insert("hint".to_owned(), json!({ "type": "string" }));
    properties.insert("retryAfterMs".to_owned(), json!({ "type": "integer", "minimum": 0 }));
    properties.insert("timedOut".to_owned(), json!({ "const": true }));
    json!({ "type": "object", "properties": properties, "required": ["type", "command", "success", "error"] })
}

fn response_properties(command: &Value, success: &Value) -> Map<String, Value> {
    let properties = [
        ("type", json!({ "const": "response" })),
        ("id", json!({ "type": "string" })),
        ("command", command.clone()),
        ("success", json!({ "const": success })),
        ("sessionVersion", json!({ "type": "integer", "minimum": 0 })),
        ("replayed", json!({ "const": true })),
    ];
    properties.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect()
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}
