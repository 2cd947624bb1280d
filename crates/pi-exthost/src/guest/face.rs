//! What a model is told of a tool, whoever offers it: checked, and without signs that only the model would see.
//!
//! Providers refuse a whole request for one schema that is none, and a model obeys what a person who looks at the tool does
//! not see. Both are judged here, for every tier.

use std::{borrow::Cow, fmt};

use serde_json::{Map, Value};

use pi_extproto::unseen;

use super::registration::{GuestId, LONGEST_TOOL_NAME, ToolOffer, is_tool_name};
use crate::content::written;

/// Of all that is said of one tool, in bytes.
const MOST_WORDS: usize = 64 << 10;
/// How deep a schema may nest: deeper ones are refused by providers, or by what reads JSON.
const DEEPEST: usize = 64;

/// A tool that no model is told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedTool {
    pub guest: GuestId,
    pub tool: String,
    pub fault: ToolFault,
}

/// Why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolFault {
    #[error("providers take letters, digits, _ and -, at most {} of them", LONGEST_TOOL_NAME)]
    Name,
    #[error("it is described in {bytes} bytes, and {} is the limit", MOST_WORDS)]
    TooLong { bytes: usize },
    /// Nobody could fill in its parameters.
    #[error("its parameters are no schema: {place} {problem}")]
    Schema { place: String, problem: &'static str },
}

impl fmt::Display for RefusedTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { guest, tool, fault } = self;
        // A name that nobody takes may be of any length.
        let tool = &tool[..tool.floor_char_boundary(2 * LONGEST_TOOL_NAME)];
        write!(f, "the tool {tool:?} of extension {guest} is not offered: {fault}")
    }
}

/// The tool as a model is told of it, or why none is told of it.
pub fn presentable(offer: &ToolOffer) -> Result<ToolOffer, ToolFault> {
    let mut shown = offer.clone();
    let definition = &mut shown.definition;
    if !is_tool_name(&definition.name) {
        return Err(ToolFault::Name);
    }
    let texts = [Some(&definition.description), definition.label.as_ref(), definition.prompt_snippet.as_ref()];
    let texts = texts.into_iter().flatten().chain(&shown.prompt_guidelines).map(String::len).sum::<usize>();
    let bytes = texts.saturating_add(written(&definition.parameters));
    if bytes > MOST_WORDS {
        return Err(ToolFault::TooLong { bytes });
    }
    let fault = |Lie { place, problem }| ToolFault::Schema { place: place.join("."), problem };
    if definition.parameters.get("type").is_some_and(|kind| kind != "object") {
        return Err(fault(Lie::at("type", "is not object")));
    }
    schema(&mut definition.parameters, DEEPEST).map_err(fault)?;
    let whole = Value::Object(definition.parameters.clone());
    if let Some(lie) = astray(&whole, &whole) {
        return Err(fault(lie));
    }
    show(&mut definition.description);
    definition.label.iter_mut().chain(&mut definition.prompt_snippet).for_each(show);
    shown.prompt_guidelines.iter_mut().for_each(show);
    Ok(shown)
}

/// Something in a schema that is not what its place says.
struct Lie {
    /// From the outside.
    place: Vec<String>,
    problem: &'static str,
}

impl Lie {
    fn at(name: &str, problem: &'static str) -> Self {
        Self { place: vec![name.to_owned()], problem }
    }

    fn inside(mut self, name: &str) -> Self {
        self.place.insert(0, name.to_owned());
        self
    }
}

/// Checks a schema, and takes out of its texts what nobody sees. Keywords that are not named here mean nothing to us and
/// are left to who knows them.
fn schema(members: &mut Map<String, Value>, depth: usize) -> Result<(), Lie> {
    for (name, value) in members.iter_mut() {
        seen(name).map_err(|problem| Lie::at(name, problem))?;
        let checked = match name.as_str() {
            "description" | "title" | "$comment" => match value {
                Value::String(text) => {
                    show(text);
                    Ok(())
                }
                _ => Err(Lie { place: Vec::new(), problem: "is no text" }),
            },
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
                schemas_by_name(value, depth)
            }
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => schemas_in_a_list(value, depth),
            "items" if value.is_array() => schemas_in_a_list(value, depth),
            "items"
            | "additionalItems"
            | "additionalProperties"
            | "contains"
            | "propertyNames"
            | "not"
            | "if"
            | "then"
            | "else"
            | "unevaluatedItems"
            | "unevaluatedProperties" => subschema(value, depth),
            _ => plain_keyword(name, value).map_err(|problem| Lie { place: Vec::new(), problem }),
        };
        checked.map_err(|lie| lie.inside(name))?;
    }
    Ok(())
}

fn subschema(value: &mut Value, depth: usize) -> Result<(), Lie> {
    match value {
        Value::Bool(_) => Ok(()),
        Value::Object(_) if depth == 0 => Err(Lie { place: Vec::new(), problem: "nests too deep" }),
        Value::Object(members) => schema(members, depth - 1),
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(Lie { place: Vec::new(), problem: "is no schema" })
        }
    }
}

fn schemas_by_name(value: &mut Value, depth: usize) -> Result<(), Lie> {
    let Value::Object(members) = value else { return Err(Lie { place: Vec::new(), problem: "is no object" }) };
    for (name, value) in members {
        seen(name).map_err(|problem| Lie::at(name, problem))?;
        subschema(value, depth).map_err(|lie| lie.inside(name))?;
    }
    Ok(())
}

fn schemas_in_a_list(value: &mut Value, depth: usize) -> Result<(), Lie> {
    let Value::Array(items) = value else { return Err(Lie { place: Vec::new(), problem: "is no list" }) };
    for (index, value) in items.iter_mut().enumerate() {
        subschema(value, depth).map_err(|lie| lie.inside(&index.to_string()))?;
    }
    Ok(())
}

/// The first reference inside a schema that leads to no place in it. Those that lead elsewhere are left to who can follow
/// them, and what a tool would be given (`default`, `enum` …) refers to nothing.
fn astray(part: &Value, whole: &Value) -> Option<Lie> {
    match part {
        Value::Object(members) => members.iter().find_map(|(name, value)| match (name.as_str(), value) {
            ("$ref", Value::String(place)) => {
                // One with signs that are written by their numbers is left to who reads addresses.
                let is_plain = |pointer: &&str| pointer.starts_with('/') && !pointer.contains('%');
                let pointer = place.strip_prefix('#').filter(is_plain)?;
                whole.pointer(pointer).is_none().then(|| Lie::at(name, "leads nowhere"))
            }
            ("default" | "const" | "enum" | "examples", _) => None,
            (_, value) => astray(value, whole).map(|lie| lie.inside(name)),
        }),
        Value::Array(items) => {
            let mut items = items.iter().enumerate();
            items.find_map(|(index, value)| astray(value, whole).map(|lie| lie.inside(&index.to_string())))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// A keyword that holds no schema.
fn plain_keyword(name: &str, value: &Value) -> Result<(), &'static str> {
    const KINDS: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];
    let is_kind = |kind: &Value| kind.as_str().is_some_and(|kind| KINDS.contains(&kind));
    let must = |holds: bool, problem| if holds { Ok(()) } else { Err(problem) };
    match name {
        "type" => match value {
            Value::Array(kinds) => must(!kinds.is_empty() && kinds.iter().all(is_kind), "is no list of types"),
            kind => must(is_kind(kind), "is no type"),
        },
        "required" => {
            let names = value.as_array().ok_or("is no list")?;
            must(names.iter().all(Value::is_string), "is no list of names")
        }
        "enum" | "examples" => must(value.is_array(), "is no list"),
        "pattern" | "format" | "$ref" | "$id" | "$schema" | "$anchor" => must(value.is_string(), "is no text"),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
            // Older schemas say with a truth whether the bound itself is outside.
            must(value.is_number() || value.is_boolean(), "is no number")
        }
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
            must(value.as_f64().is_some_and(|count| count >= 0.0), "is no count")
        }
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => must(value.is_boolean(), "is no truth"),
        _ => Ok(()),
    }?;
    match has_lure(value) {
        true => Err("has signs that nobody sees"),
        false => Ok(()),
    }
}

fn seen(name: &str) -> Result<(), &'static str> {
    if is_lure(name) { Err("has signs in its name that nobody sees") } else { Ok(()) }
}

/// Whether a value that must stay as it is has signs with which people are misled. It cannot be shown otherwise: it is
/// what the tool would be given.
fn has_lure(value: &Value) -> bool {
    match value {
        Value::String(text) => is_lure(text),
        Value::Array(items) => items.iter().any(has_lure),
        Value::Object(members) => members.iter().any(|(name, value)| is_lure(name) || has_lure(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Takes out of a text what a person does not see and a model reads.
fn show(text: &mut String) {
    if let Cow::Owned(seen) = unseen::without(text) {
        *text = seen;
    }
}

fn is_lure(text: &str) -> bool {
    unseen::count(text) > 0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn offer(parameters: &Value) -> ToolOffer {
        let definition = json!({ "name": "look", "description": "d", "parameters": parameters });
        ToolOffer::from(
            serde_json::from_value::<pi_extproto::connector::tool::ToolDefinition>(definition).expect("a tool"),
        )
    }

    fn check(parameters: &Value, expected: &str) {
        let told = match presentable(&offer(parameters)) {
            Ok(shown) => Value::Object(shown.definition.parameters).to_string(),
            Err(fault) => fault.to_string(),
        };
        assert_eq!(told, expected);
    }

    #[test]
    fn schemas_that_lie_are_refused_with_the_place() {
        let property = |schema: Value| json!({ "type": "object", "properties": { "a": schema } });
        for (parameters, fault) in [
            (json!({ "type": "array" }), "type is not object"),
            (json!({ "type": ["object", "null"] }), "type is not object"),
            (json!({ "properties": [] }), "properties is no object"),
            (json!({ "required": "a" }), "required is no list"),
            (json!({ "required": [1] }), "required is no list of names"),
            (json!({ "additionalProperties": 1 }), "additionalProperties is no schema"),
            (json!({ "description": 1 }), "description is no text"),
            (property(json!("text")), "properties.a is no schema"),
            (property(json!({ "type": "text" })), "properties.a.type is no type"),
            (property(json!({ "type": [] })), "properties.a.type is no list of types"),
            (property(json!({ "enum": "x" })), "properties.a.enum is no list"),
            (property(json!({ "anyOf": {} })), "properties.a.anyOf is no list"),
            (property(json!({ "items": [{ "type": 1 }] })), "properties.a.items.0.type is no type"),
            (property(json!({ "required": true })), "properties.a.required is no list"),
            (property(json!({ "minLength": -1 })), "properties.a.minLength is no count"),
            (property(json!({ "$ref": "#/$defs/gone" })), "properties.a.$ref leads nowhere"),
            (
                property(json!({ "anyOf": [{}, { "$ref": "#/properties/b" }] })),
                "properties.a.anyOf.1.$ref leads nowhere",
            ),
            (property(json!({ "enum": ["a\u{fe01}b"] })), "properties.a.enum has signs that nobody sees"),
            (property(json!({ "enum": ["a\u{202e}b"] })), "properties.a.enum has signs that nobody sees"),
            (
                json!({ "properties": { "a\u{e0041}": {} } }),
                "properties.a\u{e0041} has signs in its name that nobody sees",
            ),
        ] {
            check(&parameters, &format!("its parameters are no schema: {fault}"));
        }
    }

    #[test]
    fn good_schemas_stay_as_they_are() {
        for parameters in [
            json!({}),
            json!({ "type": "object" }),
            json!({ "type": "object", "properties": { "properties": { "type": ["string", "null"], "default": null } } }),
            json!({ "type": "object", "properties": { "a": { "anyOf": [{ "const": 1 }, true] } }, "required": ["a"] }),
            json!({ "$defs": { "b~/c": {} }, "properties": { "a": { "$ref": "#/$defs/b~0~1c" }, "d": { "$ref": "#" } } }),
            json!({ "properties": { "$ref": { "type": "string", "default": { "$ref": "#/gone" } } } }),
            json!({ "anyOf": [{ "type": "object" }], "x-own": [{ "type": 7 }], "enum": ["👩\u{200d}💻", "❤\u{fe0f}"] }),
        ] {
            check(&parameters, &parameters.to_string());
        }
    }

    #[test]
    fn texts_lose_what_nobody_sees() {
        let mut offer = offer(
            &json!({ "properties": { "a": { "description": "a\u{200b}b\u{e0041}\u{7}\u{e0100}\u{fe00}\u{3164}", "title": "\u{202e}t" } } }),
        );
        offer.definition.description = "reads\u{202e} files\u{e0041}\n".to_owned();
        offer.definition.prompt_snippet = Some("\u{feff}short".to_owned());
        offer.prompt_guidelines = vec!["be\u{2066} kind".to_owned()];
        let shown = presentable(&offer).expect("a tool");
        assert_eq!(shown.definition.description, "reads files\n");
        assert_eq!(shown.definition.prompt_snippet.as_deref(), Some("short"));
        assert_eq!(shown.prompt_guidelines, ["be kind"]);
        let parameters = Value::Object(shown.definition.parameters);
        assert_eq!(parameters, json!({ "properties": { "a": { "description": "ab", "title": "t" } } }));
    }

    #[test]
    fn nesting_and_length_have_an_end() {
        let mut nested = json!({ "type": "object" });
        for _ in 0..70 {
            nested = json!({ "not": nested });
        }
        let Err(ToolFault::Schema { problem, .. }) = presentable(&offer(&nested)) else { panic!("it is refused") };
        assert_eq!(problem, "nests too deep");
        check(&json!({ "description": "a".repeat(70_000) }), "it is described in 70019 bytes, and 65536 is the limit");
    }
}
