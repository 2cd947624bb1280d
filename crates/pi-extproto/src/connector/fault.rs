//! Says what is wrong with parameters, and where: the talkative twin of the typed parser.
//!
//! It reads the schema of the type that refused them, so it knows every connector and cannot fall behind one. Unlike the
//! shapes of messages it also names members that the type does not have.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use pi_transcript::json::{
    Problem,
    schema::generator,
    shape::{self, LIMIT, Shape},
};

use super::data::Data;

/// What in `params` does not fit `T`, each with its path below `params`.
pub(super) fn problems<T: JsonSchema>(params: &Value) -> Vec<Problem> {
    let root = generator().into_root_schema_for::<T>().to_value();
    let mut walk = Walk { types: &root["$defs"], found: Vec::new() };
    walk.value("params", &root, params);
    walk.found.truncate(LIMIT);
    walk.found
}

struct Walk<'a> {
    types: &'a Value,
    found: Vec<Problem>,
}

impl Walk<'_> {
    fn value(&mut self, path: &str, schema: &Value, value: &Value) {
        if let Some(word) = schema["$ref"].as_str().and_then(|place| place.strip_prefix("#/$defs/")) {
            return match word {
                "Data" => self.data(path, value),
                name => self.value(path, &with_members(&self.types[name], schema), value),
            };
        }
        if let Some(choices) = schema["oneOf"].as_array() {
            return match tag_of(choices) {
                Some(tag) => self.tagged(path, tag, choices, value),
                None => self.words(path, &words_of(choices), value),
            };
        }
        if let Some(words) = schema["enum"].as_array() {
            return self.words(path, &words.iter().filter_map(Value::as_str).collect::<Vec<_>>(), value);
        }
        match schema["type"].as_str() {
            Some("object") => self.object(path, schema, value),
            Some("array") => match value.as_array() {
                Some(items) => {
                    for (index, item) in items.iter().enumerate() {
                        self.value(&format!("{path}[{index}]"), &schema["items"], item);
                    }
                }
                None => self.expect(path, &Shape::List { items: &Shape::Any, least: 0 }, value),
            },
            Some("string") => self.expect(path, &Shape::Text, value),
            Some("boolean") => self.expect(path, &Shape::Flag, value),
            Some("integer") => self.expect(path, &Shape::Count, value),
            Some(_) | None => {}
        }
    }

    fn object(&mut self, path: &str, schema: &Value, value: &Value) {
        let Some(members) = value.as_object() else {
            return self.expect(path, &Shape::Record(&[]), value);
        };
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !members.contains_key(name) {
                self.report(&format!("{path}.{name}"), "required member is missing");
            }
        }
        let known = schema["properties"].as_object();
        for (name, member) in members {
            let path = format!("{path}.{name}");
            match (known.and_then(|known| known.get(name)), &schema["additionalProperties"]) {
                (Some(shape), _) => self.value(&path, shape, member),
                (None, shape @ Value::Object(_)) => self.value(&path, shape, member),
                (None, _) if known.is_some() => self.report(&path, "there is no such member"),
                (None, _) => {}
            }
        }
    }

    fn tagged(&mut self, path: &str, tag: &str, choices: &[Value], value: &Value) {
        let chosen = choices.iter().find(|choice| choice["properties"][tag]["const"] == value[tag]);
        match (chosen, value.get(tag)) {
            (Some(choice), Some(_)) => self.value(path, choice, value),
            (_, None) if value.is_object() => self.report(&format!("{path}.{tag}"), "required member is missing"),
            (_, None) => self.expect(path, &Shape::Record(&[]), value),
            (None, Some(found)) => {
                let words: Vec<_> = choices.iter().map(|choice| &choice["properties"][tag]).collect();
                let words: Vec<_> = words.into_iter().filter_map(|word| word["const"].as_str()).collect();
                self.words(&format!("{path}.{tag}"), &words, found);
            }
        }
    }

    fn words(&mut self, path: &str, words: &[&str], value: &Value) {
        if !value.as_str().is_some_and(|word| words.contains(&word)) {
            let words: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
            self.report(path, &format!("expected one of {}", words.join(", ")));
        }
    }

    fn data(&mut self, path: &str, value: &Value) {
        match (Data::deserialize(value), value.get("base64")) {
            (Ok(_), _) => {}
            (Err(fault), Some(Value::String(_))) => self.report(path, &fault.to_string()),
            (Err(_), _) => self.report(path, "expected {\"text\": …} or {\"base64\": …}"),
        }
    }

    fn expect(&mut self, path: &str, shape: &Shape, value: &Value) {
        for problem in shape::problems(shape, value) {
            self.report(path, &problem.message);
        }
    }

    fn report(&mut self, path: &str, message: &str) {
        self.found.push(Problem { path: path.to_owned(), message: message.to_owned() });
    }
}

/// The type with the members that stand beside a reference to it: a variant that holds a struct has the members of both.
fn with_members(definition: &Value, reference: &Value) -> Value {
    let mut whole = definition.clone();
    for (name, member) in reference["properties"].as_object().into_iter().flatten() {
        whole["properties"][name] = member.clone();
    }
    whole
}

/// The member that tells the choices apart, if they are objects.
fn tag_of(choices: &[Value]) -> Option<&str> {
    let members = choices.first()?["properties"].as_object()?;
    members.iter().find(|(_, member)| member.get("const").is_some()).map(|(name, _)| name.as_str())
}

/// The words of choices that are words: each on its own, or a list of those without a description.
fn words_of(choices: &[Value]) -> Vec<&str> {
    let listed = choices.iter().flat_map(|choice| choice["enum"].as_array().into_iter().flatten());
    let single = choices.iter().filter_map(|choice| choice.get("const"));
    listed.chain(single).filter_map(Value::as_str).collect()
}
