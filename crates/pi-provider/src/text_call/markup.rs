//! The forms in which models write calls: tags, fences and markers.

use serde_json::{Map, Value};

use super::{Grammar, Leniency, TextCall};
use crate::manifest::capability::NameLocation;

/// What some models put into every tag.
const DSML: [&str; 2] = ["｜｜DSML｜｜", "｜DSML｜"];

/// Tags around several calls.
const GROUPS: [&str; 3] = ["tool_calls", "function_calls", "tools"];

/// Tags of one call, whose name is in an attribute, after an equals sign, or in the body.
const CALLS: [&str; 4] = ["tool_call", "function_call", "invoke", "function"];

/// Words before a JSON list or object of calls.
const MARKERS: [&str; 2] = ["[TOOL_CALLS]", "<|python_tag|>"];

/// What a call's arguments are called.
const ARGUMENTS: [&str; 5] = ["arguments", "parameters", "params", "args", "input"];

/// The longest beginning that may still become an opening, in bytes: a tag with attributes.
const LONGEST_TAG: usize = 512;

/// Where a call may begin.
pub(super) struct Opening {
    pub(super) start: usize,
    /// Absent as long as the tag itself is not complete.
    pub(super) block: Option<Block>,
}

/// A stretch of text that is a call, or several.
#[derive(Debug)]
pub(super) struct Block {
    kind: Kind,
    /// Where its body begins.
    body: usize,
}

#[derive(Debug)]
enum Kind {
    /// Ends with `</tag>`.
    Tag(Tag),
    /// Ends with a fence on a line of its own.
    Fence,
    /// Ends with the JSON value.
    Marker,
}

#[derive(Debug, Clone, PartialEq)]
struct Tag {
    /// As written, with what stands before the name.
    written: String,
    name: String,
    /// Name and value of each attribute; `<function=x>` is an attribute without a name.
    attributes: Vec<(String, String)>,
    /// The length of the whole tag.
    length: usize,
}

/// The first place where a call begins, or where one may begin once more text has arrived.
pub(super) fn find_opening(grammar: &Grammar, text: &str) -> Option<Opening> {
    let mut from = 0;
    while let Some(at) = text[from..].find(['<', '`', '[']).map(|at| from + at) {
        match opening_at(grammar, &text[at..]) {
            Found::Block(mut block) => {
                block.body += at;
                return Some(Opening { start: at, block: Some(block) });
            }
            Found::Maybe => return Some(Opening { start: at, block: None }),
            Found::Nothing => from = at + 1,
        }
    }
    None
}

enum Found {
    Block(Block),
    /// More text decides.
    Maybe,
    Nothing,
}

fn opening_at(grammar: &Grammar, text: &str) -> Found {
    if grammar.leniency == Leniency::Lenient {
        for marker in MARKERS {
            if text.starts_with(marker) {
                return Found::Block(Block { kind: Kind::Marker, body: marker.len() });
            }
            if marker.starts_with(text) {
                return Found::Maybe;
            }
        }
    }
    if text.starts_with('`') {
        return if grammar.is_fenced() { fence_at(grammar, text) } else { Found::Nothing };
    }
    if !text.starts_with('<') {
        return Found::Nothing;
    }
    match Tag::read(text) {
        Some(tag) if is_call(grammar, &tag) => {
            let body = tag.length;
            Found::Block(Block { kind: Kind::Tag(tag), body })
        }
        Some(_) => Found::Nothing,
        None if text.len() < LONGEST_TAG && may_be_tag(grammar, &text[1..]) => Found::Maybe,
        None => Found::Nothing,
    }
}

/// ```` ```tool_call ```` at the beginning of a block of code.
fn fence_at(grammar: &Grammar, text: &str) -> Found {
    let Some(info) = text.strip_prefix("```") else {
        return if "```".starts_with(text) { Found::Maybe } else { Found::Nothing };
    };
    let wanted = grammar.fallback.wrapper.as_str();
    match info.split_once('\n') {
        Some((word, _)) if word.trim() == wanted => {
            Found::Block(Block { kind: Kind::Fence, body: "```".len() + word.len() + 1 })
        }
        Some(_) => Found::Nothing,
        None if wanted.starts_with(info.trim_end()) => Found::Maybe,
        None => Found::Nothing,
    }
}

fn is_call(grammar: &Grammar, tag: &Tag) -> bool {
    if grammar.leniency == Leniency::Strict {
        return tag.name == grammar.fallback.wrapper;
    }
    tag.name == grammar.fallback.wrapper
        || GROUPS.contains(&tag.name.as_str())
        || CALLS.contains(&tag.name.as_str())
        || grammar.tool_of_tag(&tag.name).is_some()
}

/// Whether an incomplete tag may become one of ours.
fn may_be_tag(grammar: &Grammar, inside: &str) -> bool {
    let name = DSML.iter().find_map(|prefix| inside.strip_prefix(prefix)).unwrap_or(inside);
    if DSML.iter().any(|prefix| prefix.starts_with(inside)) {
        return true;
    }
    let end = name.find(|c: char| !is_name(c)).unwrap_or(name.len());
    let (word, rest) = name.split_at(end);
    let dialects = grammar.fallback.known_dialects.iter().map(|dialect| dialect.tag.as_str());
    let ours = [grammar.fallback.wrapper.as_str()].into_iter();
    let candidates = ours.chain(GROUPS).chain(CALLS).chain(dialects);
    let mut candidates = candidates.into_iter();
    if rest.is_empty() { candidates.any(|tag| tag.starts_with(word)) } else { candidates.any(|tag| tag == word) }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | ':' | '.')
}

impl Block {
    /// Where the block is over, if it is.
    pub(super) fn find_end(&self, text: &str) -> Option<usize> {
        let body = &text[self.body..];
        match &self.kind {
            Kind::Tag(tag) => {
                let close = format!("</{}>", tag.written);
                body.find(&close).map(|at| self.body + at + close.len())
            }
            Kind::Fence => body.find("\n```").map(|at| self.body + at + "\n```".len()),
            Kind::Marker => json_end(body).map(|end| self.body + end),
        }
    }

    /// The calls of a whole block; `None` if there are none in it after all.
    pub(super) fn read(&self, grammar: &Grammar, block: &str) -> Option<Vec<TextCall>> {
        let close = match &self.kind {
            Kind::Tag(tag) => format!("</{}>", tag.written),
            Kind::Fence => "\n```".to_owned(),
            Kind::Marker => String::new(),
        };
        self.read_body(grammar, block[self.body..].strip_suffix(&close).unwrap_or(&block[self.body..]))
    }

    /// The calls of a block that the model forgot to close, if all that it needs is there.
    pub(super) fn read_open_end(&self, grammar: &Grammar, text: &str) -> Option<Vec<TextCall>> {
        match grammar.leniency {
            Leniency::Strict => None,
            Leniency::Lenient => self.read_body(grammar, &text[self.body..]),
        }
    }

    fn read_body(&self, grammar: &Grammar, body: &str) -> Option<Vec<TextCall>> {
        let calls = match &self.kind {
            Kind::Tag(tag) => read_element(grammar, tag, body),
            Kind::Fence | Kind::Marker => read_json_calls(grammar, body, None),
        }?;
        (!calls.is_empty()).then_some(calls)
    }
}

impl Tag {
    /// Reads the tag at the beginning of a text; `None` if it is not one, or not complete.
    fn read(text: &str) -> Option<Self> {
        let inside = text.strip_prefix('<')?;
        let prefix = DSML.iter().find(|prefix| inside.starts_with(**prefix)).copied().unwrap_or_default();
        let rest = &inside[prefix.len()..];
        let name: String = rest.chars().take_while(|c| is_name(*c)).collect();
        if name.is_empty() {
            return None;
        }
        let mut attributes = Vec::new();
        let mut rest = &rest[name.len()..];
        loop {
            rest = rest.trim_start();
            if let Some(after) = rest.strip_prefix('>') {
                let length = text.len() - after.len();
                return Some(Self { written: format!("{prefix}{name}"), name, attributes, length });
            }
            let key: String = rest.chars().take_while(|c| is_name(*c)).collect();
            let after = rest[key.len()..].trim_start().strip_prefix('=')?;
            let (value, left) = read_attribute(after.trim_start())?;
            attributes.push((key, value));
            rest = left;
        }
    }

    fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The tool's name in the tag: `name="x"` or `<function=x>`.
    fn named_tool(&self) -> Option<&str> {
        self.attribute("name").or_else(|| self.attribute(""))
    }
}

fn read_attribute(text: &str) -> Option<(String, &str)> {
    match text.chars().next()? {
        quote @ ('"' | '\'') => {
            let (value, rest) = text[1..].split_once(quote)?;
            Some((value.to_owned(), rest))
        }
        _ => {
            let end = text.find(|c: char| c.is_whitespace() || c == '>')?;
            Some((text[..end].to_owned(), &text[end..]))
        }
    }
}

/// An element of markup: a group of calls, or one call.
fn read_element(grammar: &Grammar, tag: &Tag, body: &str) -> Option<Vec<TextCall>> {
    let strict = grammar.leniency == Leniency::Strict;
    if !strict && GROUPS.contains(&tag.name.as_str()) {
        let mut calls = Vec::new();
        for (tag, body) in children(body) {
            calls.extend(read_element(grammar, &tag, body)?);
        }
        return if calls.is_empty() { read_json_calls(grammar, body, None) } else { Some(calls) };
    }
    let named = match (strict, grammar.fallback.name_location) {
        (true, NameLocation::JsonField) => None,
        (true, NameLocation::Attribute) | (false, _) => tag.named_tool(),
    };
    let dialect = grammar.tool_of_tag(&tag.name).filter(|_| !strict && tag.name != grammar.fallback.wrapper);
    let name = named.or(dialect).map(str::to_owned);
    let elements = children(body);
    match name {
        Some(name) if !strict && !elements.is_empty() && !body.trim_start().starts_with(['{', '[']) => {
            Some(vec![TextCall { name, arguments: read_parameters(&elements) }])
        }
        Some(name) if dialect.is_some() && json_value(body).is_none() => {
            let arguments = Map::from_iter([("command".to_owned(), Value::from(body.trim()))]);
            Some(vec![TextCall { name, arguments }])
        }
        name => read_json_calls(grammar, body, name.as_deref()),
    }
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

/// The elements directly in a body, with what is in them.
fn children(body: &str) -> Vec<(Tag, &str)> {
    let mut found = Vec::new();
    let mut rest = body;
    while let Some(at) = rest.find('<') {
        let Some(tag) = Tag::read(&rest[at..]) else {
            rest = &rest[at + 1..];
            continue;
        };
        let inside = &rest[at + tag.length..];
        let close = format!("</{}>", tag.written);
        let Some(end) = inside.find(&close) else {
            rest = inside;
            continue;
        };
        rest = &inside[end + close.len()..];
        found.push((tag, &inside[..end]));
    }
    found
}

/// A call, or a list of calls, as JSON. `name` comes from the tag, and then the body may be the arguments alone.
fn read_json_calls(grammar: &Grammar, body: &str, name: Option<&str>) -> Option<Vec<TextCall>> {
    let value = match grammar.leniency {
        Leniency::Strict => serde_json::from_str(body.trim()).ok()?,
        Leniency::Lenient => json_value(body)?,
    };
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

/// The JSON value at the beginning of a text, with the mistakes that models make.
fn json_value(text: &str) -> Option<Value> {
    let text = text.trim();
    let text = text.strip_prefix("```json").or_else(|| text.strip_prefix("```")).unwrap_or(text).trim_start();
    let end = json_end(text)?;
    serde_json::from_str(&text[..end]).ok().or_else(|| serde_json::from_str(&without_last_commas(&text[..end])).ok())
}

/// Where the object or list at the beginning of a text ends.
fn json_end(text: &str) -> Option<usize> {
    let start = text.len() - text.trim_start().len();
    if !text[start..].starts_with(['{', '[']) {
        return None;
    }
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for (at, byte) in text.bytes().enumerate().skip(start) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// The text without commas before a closing bracket.
fn without_last_commas(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    for c in text.chars() {
        if !in_string && matches!(c, '}' | ']') && kept.trim_end().ends_with(',') {
            kept.truncate(kept.trim_end().len() - 1);
        }
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ => {}
        }
        kept.push(c);
    }
    kept
}
