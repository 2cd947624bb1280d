//! The forms in which models write calls: tags, fences and markers.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{Grammar, Leniency, TextCall};
use crate::manifest::capability::{FallbackBody, NameLocation};

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

/// So many tags without an end are looked past in the body of a call; a text with more is none.
const MOST_UNCLOSED: usize = 64;

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
    /// Where its body begins, counted from its own beginning.
    body: usize,
}

/// How far the end of a block has been looked for.
#[derive(Debug, Default)]
pub(super) struct Search {
    searched: usize,
    json: JsonSearch,
}

/// What is known of a list or an object whose end was not there yet.
#[derive(Debug, Default)]
struct JsonSearch {
    depth: usize,
    in_string: bool,
    escaped: bool,
}

/// Where a block ends.
pub(super) enum End {
    At(usize),
    NotYet,
    /// It is no block; everything up to this place is text.
    Never(usize),
}

#[derive(Debug)]
enum Kind {
    /// Ends with `</tag>`.
    Tag(Tag),
    /// Ends with a fence on a line of its own. The tag is what stands behind the first one.
    Fence(Tag),
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
pub(super) fn find_opening(grammar: &Grammar, text: &str, mut from: usize) -> Option<Opening> {
    while let Some(at) = text[from..].find(['<', '`', '[']).map(|at| from + at) {
        match opening_at(grammar, &text[at..]) {
            Found::Block(block) => return Some(Opening { start: at, block: Some(block) }),
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
    // A tag that is not complete is looked at again with every piece, so that must cost little.
    let is_complete = text[..text.floor_char_boundary(LONGEST_TAG)].contains('>');
    match is_complete.then(|| Tag::read(text)).flatten() {
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
    let info = &info[..info.floor_char_boundary(LONGEST_TAG)];
    let may_be = || match info.strip_prefix(wanted) {
        Some(rest) => rest.is_empty() || rest.starts_with(char::is_whitespace),
        None => wanted.starts_with(info),
    };
    match info.split_once('\n') {
        Some((line, _)) => match fence_tag(wanted, line.trim()) {
            Some(tag) => Found::Block(Block { kind: Kind::Fence(tag), body: "```".len() + line.len() + 1 }),
            None => Found::Nothing,
        },
        None if info.len() < LONGEST_TAG && may_be() => Found::Maybe,
        None => Found::Nothing,
    }
}

/// What stands behind a fence, as a tag: the word, perhaps with attributes.
fn fence_tag(wanted: &str, line: &str) -> Option<Tag> {
    if line == wanted {
        return Some(Tag { written: String::new(), name: wanted.to_owned(), attributes: Vec::new(), length: 0 });
    }
    Tag::read(&format!("<{line}>")).filter(|tag| tag.name == wanted && tag.length == line.len() + 2)
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
    /// Where the block is over, if it is. `text` begins with it, and has grown since the same search was made before.
    pub(super) fn find_end(&self, text: &str, search: &mut Search) -> End {
        let from = search.searched.max(self.body);
        if let Kind::Marker = self.kind {
            search.searched = text.len();
            return search.json.find_end(text, from, self.body);
        }
        let close = self.close();
        // The end may have been cut in two.
        let from = text.floor_char_boundary(from.saturating_sub(close.len()).max(self.body));
        search.searched = text.len();
        text[from..].find(&close).map_or(End::NotYet, |at| End::At(from + at + close.len()))
    }

    fn close(&self) -> String {
        match &self.kind {
            Kind::Tag(tag) => format!("</{}>", tag.written),
            Kind::Fence(_) => "\n```".to_owned(),
            Kind::Marker => String::new(),
        }
    }

    /// The calls of a whole block; `None` if there are none in it after all.
    pub(super) fn read(&self, grammar: &Grammar, block: &str) -> Option<Vec<TextCall>> {
        let close = self.close();
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
            Kind::Fence(tag) => read_calls(grammar, body, named_in_tag(grammar, tag)),
            Kind::Marker => read_json_calls(grammar, body, None),
        }?;
        (!calls.is_empty()).then_some(calls)
    }
}

impl Tag {
    /// Reads the tag at the beginning of a text; `None` if it is not one, or not complete.
    fn read(text: &str) -> Option<Self> {
        let text = &text[..text.floor_char_boundary(LONGEST_TAG)];
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
    let named = named_in_tag(grammar, tag);
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
fn named_in_tag<'t>(grammar: &Grammar, tag: &'t Tag) -> Option<&'t str> {
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
fn read_calls(grammar: &Grammar, body: &str, name: Option<&str>) -> Option<Vec<TextCall>> {
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
    // A tag whose end is not behind it has none further on.
    let mut unclosed = BTreeSet::new();
    while let Some(at) = rest.find('<').filter(|_| unclosed.len() < MOST_UNCLOSED) {
        let Some(tag) = Tag::read(&rest[at..]) else {
            rest = &rest[at + 1..];
            continue;
        };
        let inside = &rest[at + tag.length..];
        let close = format!("</{}>", tag.written);
        let end = if unclosed.contains(&close) { None } else { inside.find(&close) };
        let Some(end) = end else {
            unclosed.insert(close);
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
    named_calls(grammar, value, name)
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

/// The JSON value at the beginning of a text, with the mistakes that models make.
fn json_value(text: &str) -> Option<Value> {
    let text = text.trim();
    let text = text.strip_prefix("```json").or_else(|| text.strip_prefix("```")).unwrap_or(text).trim_start();
    let end = json_end(text)?;
    serde_json::from_str(&text[..end]).ok().or_else(|| serde_json::from_str(&without_last_commas(&text[..end])).ok())
}

/// Where the object or list at the beginning of a text ends.
fn json_end(text: &str) -> Option<usize> {
    match JsonSearch::default().find_end(text, 0, 0) {
        End::At(end) => Some(end),
        End::NotYet | End::Never(_) => None,
    }
}

impl JsonSearch {
    /// Looks on from `from`. Where neither an object nor a list begins, all before `begin` is text.
    fn find_end(&mut self, text: &str, from: usize, begin: usize) -> End {
        for (at, byte) in text.bytes().enumerate().skip(from) {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'{' | b'[' if !self.in_string => self.depth += 1,
                b' ' | b'\n' | b'\r' | b'\t' if self.depth == 0 => {}
                _ if self.depth == 0 => return End::Never(begin),
                b'"' => self.in_string = !self.in_string,
                b'}' | b']' if !self.in_string => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return End::At(at + 1);
                    }
                }
                _ => {}
            }
        }
        End::NotYet
    }
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
