//! What the body of a call means: which tool, with which arguments.

use serde_json::{Map, Value};

use super::{
    Grammar, Leniency, TextCall,
    json::{json_value, json_values},
    markup::{CALLS, GROUPS},
    tag::{Tag, children, is_name},
};
use crate::manifest::capability::{FallbackBody, NameLocation};

/// What a call's arguments are called.
const ARGUMENTS: [&str; 5] = ["arguments", "parameters", "params", "args", "input"];

/// An element of markup: a group of calls, or one call.
pub(super) fn read_element(grammar: &Grammar, tag: &Tag, body: &str) -> Option<Vec<TextCall>> {
    let strict = grammar.leniency == Leniency::Strict;
    if !strict && GROUPS.contains(&tag.name.as_str()) {
        let mut calls = Vec::new();
        for (tag, body) in children(body) {
            calls.extend(read_element(grammar, &tag, body)?);
        }
        return if calls.is_empty() { read_json_calls(grammar, body, None) } else { Some(calls) };
    }
    let named = named_in_tag(grammar, tag);
    // Some models write a whole call, tag and all, into the one that they were told to write.
    if !strict && named.is_none() && body.trim_start().starts_with('<') {
        let elements = children(body);
        let inner = elements.iter().filter(|(inner, _)| CALLS.contains(&inner.name.as_str()));
        let calls: Option<Vec<_>> = inner.map(|(inner, body)| read_element(grammar, inner, body)).collect();
        if let Some(calls) = calls.filter(|calls| !calls.is_empty()) {
            return Some(calls.concat());
        }
    }
    if !strict
        && named.is_none()
        && let Some(call) = read_pairs(body)
    {
        return Some(vec![call]);
    }
    let dialect = grammar.tool_of_tag(&tag.name).filter(|_| !strict && tag.name != grammar.fallback.wrapper);
    let name = named.or(dialect).map(str::to_owned);
    let elements = children(body);
    match name {
        Some(name) if is_plain(grammar, &name) => {
            // Without the line breaks that are there for the tags' sake; those of a fence are part of it.
            let text = body.strip_prefix('\n').unwrap_or(body);
            read_calls(grammar, text.strip_suffix('\n').unwrap_or(text), Some(&name))
        }
        Some(name) if !strict && !elements.is_empty() && !body.trim_start().starts_with(['{', '[']) => {
            Some(vec![TextCall { name, arguments: read_parameters(&elements) }])
        }
        Some(name) if dialect.is_some() && json_value(body).is_none() => {
            let arguments = Map::from_iter([("command".to_owned(), Value::from(body.trim()))]);
            Some(vec![TextCall { name, arguments }])
        }
        name => read_calls(grammar, body, name.as_deref()),
    }
}

/// The tool that a tag names, where that counts. A plain body has no other place for it.
pub(super) fn named_in_tag<'t>(grammar: &Grammar, tag: &'t Tag) -> Option<&'t str> {
    match (grammar.leniency, grammar.fallback.name_location, grammar.fallback.body) {
        (Leniency::Strict, NameLocation::JsonField, FallbackBody::Json | FallbackBody::Yaml) => None,
        (Leniency::Strict, NameLocation::Attribute, _) | (_, _, FallbackBody::Plain) | (Leniency::Lenient, ..) => {
            tag.named_tool()
        }
    }
}

/// Whether the body of a call to this tool is an argument as it is.
fn is_plain(grammar: &Grammar, tool: &str) -> bool {
    grammar.fallback.body == FallbackBody::Plain && grammar.plain_arguments.contains_key(tool)
}

/// A call, or several, in the notation of the manifest. `name` comes from the tag.
pub(super) fn read_calls(grammar: &Grammar, body: &str, name: Option<&str>) -> Option<Vec<TextCall>> {
    match (grammar.fallback.body, name) {
        (FallbackBody::Yaml, _) if !body.trim_start().starts_with(['{', '[']) => {
            named_calls(grammar, serde_saphyr::from_str(body).ok()?, name)
        }
        (FallbackBody::Plain, Some(tool)) if is_plain(grammar, tool) => {
            let argument = &grammar.plain_arguments[tool];
            let arguments = match serde_json::from_str::<Map<String, Value>>(body) {
                // With more than the one argument it cannot be plain.
                Ok(arguments) if arguments.contains_key(argument) => arguments,
                Ok(_) | Err(_) => Map::from_iter([(argument.clone(), Value::from(body))]),
            };
            Some(vec![TextCall { name: tool.to_owned(), arguments }])
        }
        (FallbackBody::Json | FallbackBody::Yaml | FallbackBody::Plain, name) => read_json_calls(grammar, body, name),
    }
}

/// `name <arg_key>x</arg_key> <arg_value>…</arg_value> …`, as some models write whatever they are told.
fn read_pairs(body: &str) -> Option<TextCall> {
    let (name, rest) = body.split_at(body.find("<arg_key>")?);
    let name = name.trim();
    if name.is_empty() || !name.chars().all(is_name) {
        return None;
    }
    let elements = children(rest);
    let pair = |pair: &[(Tag, &str)]| match pair {
        [(key, name), (value, text)] if key.name == "arg_key" && value.name == "arg_value" => {
            Some((name.trim().to_owned(), Value::from(text.trim_matches('\n'))))
        }
        _ => None,
    };
    let arguments: Map<String, Value> = elements.chunks(2).map(pair).collect::<Option<_>>()?;
    (!arguments.is_empty()).then(|| TextCall { name: name.to_owned(), arguments })
}

/// `<parameter name="x">…</parameter>`, `<parameter=x>…` or `<x>…</x>`.
fn read_parameters(elements: &[(Tag, &str)]) -> Map<String, Value> {
    elements
        .iter()
        .map(|(tag, body)| {
            let name = if tag.name == "parameter" { tag.named_tool().unwrap_or("parameter") } else { &tag.name };
            // Only what says that it is not a string is read as something else; `42` may be meant as text.
            let value = match tag.attribute("string") {
                Some("false") => serde_json::from_str(body.trim()).unwrap_or_else(|_| Value::from(*body)),
                Some(_) => Value::from(*body),
                None => Value::from(body.trim_matches('\n')),
            };
            (name.to_owned(), value)
        })
        .collect()
}

/// A call, or a list of calls, as JSON. `name` comes from the tag, and then the body may be the arguments alone.
pub(super) fn read_json_calls(grammar: &Grammar, body: &str, name: Option<&str>) -> Option<Vec<TextCall>> {
    let mut values = match grammar.leniency {
        Leniency::Strict => vec![serde_json::from_str(body.trim()).ok()?],
        Leniency::Lenient => json_values(body),
    }
    .into_iter();
    let mut calls = named_calls(grammar, values.next()?, name)?;
    // Some models write several calls behind one another. What is none of them is no call of theirs either.
    calls.extend(values.map_while(|value| named_calls(grammar, value, name)).flatten());
    Some(calls)
}

fn named_calls(grammar: &Grammar, value: Value, name: Option<&str>) -> Option<Vec<TextCall>> {
    match value {
        Value::Array(calls) if name.is_none() => {
            calls.into_iter().map(|call| read_json_call(grammar, call, None)).collect()
        }
        value => Some(vec![read_json_call(grammar, value, name)?]),
    }
}

fn read_json_call(grammar: &Grammar, call: Value, name: Option<&str>) -> Option<TextCall> {
    let Value::Object(mut call) = call else { return None };
    let lenient = grammar.leniency == Leniency::Lenient;
    if lenient && let Some(Value::Object(function)) = call.get("function") {
        call = function.clone();
    }
    let key = grammar.fallback.args_key.as_str();
    let aliases = ARGUMENTS.into_iter().filter(|_| lenient);
    let written = std::iter::once(key).chain(aliases).find(|key| call.contains_key(*key)).map(str::to_owned);
    let names = ["name", "tool", "tool_name", "function"];
    let named =
        names.iter().take(if lenient { 4 } else { 1 }).find_map(|key| call.get(*key)?.as_str().map(str::to_owned));
    let arguments = match (&written, name) {
        (Some(key), _) => call.shift_remove(key)?,
        (None, Some(_)) if named.is_none() => Value::Object(call),
        (None, _) if lenient => Value::Object(Map::new()),
        (None, _) => return None,
    };
    let arguments = match arguments {
        Value::Object(arguments) => arguments,
        Value::String(text) if lenient => serde_json::from_str(&text).ok()?,
        Value::Null if lenient => Map::new(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => return None,
    };
    Some(TextCall { name: name.map(str::to_owned).or(named)?, arguments })
}
