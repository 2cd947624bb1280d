//! What a manifest must keep to: the patterns for its schema, and the same rules as code with words for people.
//!
//! Both stand side by side because they must stay equal; a test compares their verdicts.

use serde::Deserialize;
use serde_json::{Value, json};

use pi_transcript::json::{
    Problem,
    shape::{self, Member, Shape, optional, required},
};

use super::{Entry, InsidePath, Tier, tier};
use crate::message::{self, CAPABILITY_MANIFEST};

pub(super) const NAME: &str = r"^(?=.{1,214}$)(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*$";
/// Semantic versioning; the three numbers have at most 15 digits, so that every reader can hold them.
pub(super) const VERSION: &str = concat!(
    r"^(0|[1-9][0-9]{0,14})\.(0|[1-9][0-9]{0,14})\.(0|[1-9][0-9]{0,14})",
    r"(-(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?",
    r"(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$"
);
pub(super) const URL: &str = "^https?://[^/]";

/// As [`NAME`] says.
const LONGEST_NAME: usize = 214;
const SCRIPTS: [&str; 8] = [".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"];
const COMPONENT: &str = ".wasm";

const TEXTS: Shape = Shape::List { items: &Shape::Text, least: 0 };

const MANIFEST: &[Member] = &[
    required("name", Shape::Text),
    required("version", Shape::Text),
    required("api_version", Shape::Text),
    required("entry", Shape::Any),
    optional("engine", Shape::Word(&["wasm", "js", "mcp"])),
    optional("description", Shape::Text),
    optional("license", Shape::Text),
    optional("homepage", Shape::Text),
    optional("capabilities", TEXTS),
    optional("capability_manifest", Shape::Record(CAPABILITY_MANIFEST)),
    optional("assets", TEXTS),
];

/// The tier of a file by the end of its name.
pub(super) fn tier_of_file(file: &str) -> Option<Tier> {
    if file.ends_with(COMPONENT) {
        Some(Tier::Wasm)
    } else {
        SCRIPTS.iter().any(|end| file.ends_with(end)).then_some(Tier::Js)
    }
}

/// What the schema says about entry and engine together.
pub(super) fn conditions() -> Value {
    let ends: Vec<_> = SCRIPTS.iter().chain([&COMPONENT]).map(|end| end.replace('.', r"\.")).collect();
    let engine = |words: &[&str]| json!({ "required": ["engine"], "properties": { "engine": { "enum": words } } });
    json!([
        { "if": engine(&["wasm", "js"]), "then": { "properties": { "entry": { "type": "string" } } } },
        { "if": engine(&["mcp"]), "then": { "properties": { "entry": { "type": "object" } } } },
        {
            "if": { "not": { "required": ["engine"] } },
            "then": { "properties": { "entry": { "pattern": format!("({})$", ends.join("|")) } } },
        },
    ])
}

/// Everything that is wrong with a manifest: faults in its shape first, then broken rules of the members that have one.
pub(super) fn problems(manifest: &Value) -> Vec<Problem> {
    let mut found = shape::problems(&Shape::Record(MANIFEST), manifest);
    let text = |name: &str| manifest.get(name).and_then(Value::as_str);
    let mut report = |path: &str, message: &str| {
        found.push(Problem { path: path.to_owned(), message: message.to_owned() });
    };
    if text("name").is_some_and(|name| !is_name(name)) {
        report(
            "name",
            "expected lower-case letters, digits, '.', '_' and '-', beginning with a letter or digit, \
             with or without a scope (@scope/name), 214 characters at most",
        );
    }
    if text("version").is_some_and(|version| !is_semantic_version(version)) {
        report("version", "expected a semantic version such as 1.2.3 or 1.2.3-beta.1");
    }
    if text("api_version").is_some_and(|version| version != message::VERSION) {
        report("api_version", &format!("expected \"{}\", the version that this host speaks", message::VERSION));
    }
    if let Some(entry) = manifest.get("entry") {
        entry_problems(entry, manifest.get("engine"), &mut report);
    }
    for (index, asset) in manifest.get("assets").and_then(Value::as_array).into_iter().flatten().enumerate() {
        if asset.is_string()
            && let Err(outside) = InsidePath::deserialize(asset)
        {
            report(&format!("assets[{index}]"), &outside.to_string());
        }
    }
    found
}

fn entry_problems(entry: &Value, engine: Option<&Value>, report: &mut impl FnMut(&str, &str)) {
    if entry.get("command").is_some() && entry.get("url").is_some() {
        return report("entry", "expected either \"command\" or \"url\", not both");
    }
    if entry.is_string()
        && let Err(outside) = InsidePath::deserialize(entry)
    {
        return report("entry", &outside.to_string());
    }
    match Entry::deserialize(entry) {
        Err(_) => report(
            "entry",
            "expected a file name, {\"command\": …, \"args\"?: […], \"env\"?: {…}} or {\"url\": …, \"headers\"?: {…}}",
        ),
        Ok(Entry::Process(entry)) if entry.command.is_empty() => report("entry.command", "expected a program"),
        Ok(Entry::Remote(entry)) if !is_url(&entry.url) => {
            report("entry.url", "expected an address that begins with https:// or http://");
        }
        Ok(entry) => {
            // An engine of the wrong shape is reported as such; it says nothing about the entry.
            if let Ok(engine) = engine.map(Tier::deserialize).transpose()
                && let Err(reason) = tier(&entry, engine)
            {
                report("engine", &format!("{reason}: {}", reason.hint()));
            }
        }
    }
}

/// Whether an extension may have this name.
pub fn is_name(name: &str) -> bool {
    let is_part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
            && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte))
    };
    let parts = match name.strip_prefix('@') {
        Some(scoped) => scoped.split_once('/'),
        None => Some(("scope", name)),
    };
    name.len() <= LONGEST_NAME && parts.is_some_and(|(scope, name)| is_part(scope) && is_part(name))
}

fn is_semantic_version(version: &str) -> bool {
    let (version, build) = version.split_once('+').map_or((version, None), |(version, build)| (version, Some(build)));
    let (numbers, pre) = version.split_once('-').map_or((version, None), |(numbers, pre)| (numbers, Some(pre)));
    let is_word =
        |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let is_digits = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = |word: &str| is_digits(word) && (word == "0" || !word.starts_with('0'));
    numbers.split('.').count() == 3
        && numbers.split('.').all(|number| is_number(number) && number.len() <= 15)
        && pre.is_none_or(|pre| pre.split('.').all(|word| is_word(word) && (!is_digits(word) || is_number(word))))
        && build.is_none_or(|build| build.split('.').all(is_word))
}

fn is_url(url: &str) -> bool {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
}
