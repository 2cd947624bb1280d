//! What a manifest must keep to: the patterns for its schema, and the same rules as code with words for people.
//!
//! Both stand side by side because they must stay equal; a test compares their verdicts.

use serde_json::{Value, json};

use pi_transcript::json::{
    Problem,
    shape::{self, Member, Shape, optional, required},
};

use super::{Entry, ExtensionManifest, ProcessEntry, RemoteEntry, Tier};
use crate::message::{self, CAPABILITY_MANIFEST};

pub(super) const NAME: &str = r"^(?=.{1,214}$)(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*$";
pub(super) const VERSION: &str = concat!(
    r"^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)",
    r"(-(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?",
    r"(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$"
);
/// A path that stays inside the folder of the manifest.
pub(super) const INSIDE: &str = r"^(?!/)(?!.*(^|/)\.\.(/|$))[^\\:\u0000-\u001f]+$";
pub(super) const URL: &str = "^https?://[^/]";

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

/// Every fault in the shape of a manifest, of its entry as well.
pub(super) fn problems(value: &Value) -> Vec<Problem> {
    let mut found = shape::problems(&Shape::Record(MANIFEST), value);
    let entry = value.get("entry");
    let fits = match entry {
        None => true,
        Some(entry) => serde_json::from_value::<Entry>(entry.clone()).is_ok(),
    };
    if !fits {
        found.push(Problem {
            path: "entry".to_owned(),
            message: "expected a file name, {\"command\": …, \"args\"?: […], \"env\"?: {…}} or {\"url\": …, \"headers\"?: {…}}"
                .to_owned(),
        });
    }
    found
}

/// Every rule that a well-formed manifest breaks.
pub(super) fn breaches(manifest: &ExtensionManifest) -> Vec<Problem> {
    let mut found = Vec::new();
    let mut report = |path: &str, message: String| found.push(Problem { path: path.to_owned(), message });
    if !is_name(&manifest.name) {
        report(
            "name",
            "expected lower-case letters, digits, '.', '_' and '-', beginning with a letter or digit, \
             with or without a scope (@scope/name), 214 characters at most"
                .to_owned(),
        );
    }
    if !is_semantic_version(&manifest.version) {
        report("version", "expected a semantic version such as 1.2.3 or 1.2.3-beta.1".to_owned());
    }
    if manifest.api_version != message::VERSION {
        report("api_version", format!("expected \"{}\", the version that this host speaks", message::VERSION));
    }
    let outside = "expected a path inside the extension's folder: relative, with '/', without '..'";
    let both = "expected either \"command\" or \"url\", not both";
    match &manifest.entry {
        Entry::Process(ProcessEntry { extra, .. }) if extra.contains_key("url") => report("entry", both.to_owned()),
        Entry::Remote(RemoteEntry { extra, .. }) if extra.contains_key("command") => report("entry", both.to_owned()),
        Entry::File(file) if !is_inside(file) => report("entry", outside.to_owned()),
        Entry::Process(entry) if entry.command.is_empty() => report("entry.command", "expected a program".to_owned()),
        Entry::Remote(entry) if !is_url(&entry.url) => {
            report("entry.url", "expected an address that begins with https:// or http://".to_owned());
        }
        Entry::File(_) | Entry::Process(_) | Entry::Remote(_) => {
            if let Err(reason) = manifest.tier() {
                report("engine", format!("{reason}: {}", reason.hint()));
            }
        }
    }
    for (index, asset) in manifest.assets.iter().flatten().enumerate() {
        if !is_inside(asset) {
            report(&format!("assets[{index}]"), outside.to_owned());
        }
    }
    found
}

fn is_name(name: &str) -> bool {
    let is_part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
            && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte))
    };
    let parts = match name.strip_prefix('@') {
        Some(scoped) => scoped.split_once('/'),
        None => Some(("scope", name)),
    };
    name.len() <= 214 && parts.is_some_and(|(scope, name)| is_part(scope) && is_part(name))
}

fn is_semantic_version(version: &str) -> bool {
    let (version, build) = version.split_once('+').map_or((version, None), |(version, build)| (version, Some(build)));
    let (numbers, pre) = version.split_once('-').map_or((version, None), |(numbers, pre)| (numbers, Some(pre)));
    let is_word =
        |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let is_digits = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = |word: &str| is_digits(word) && (word == "0" || !word.starts_with('0'));
    numbers.split('.').count() == 3
        && numbers.split('.').all(is_number)
        && pre.is_none_or(|pre| pre.split('.').all(|word| is_word(word) && (!is_digits(word) || is_number(word))))
        && build.is_none_or(|build| build.split('.').all(is_word))
}

fn is_inside(path: &str) -> bool {
    !path.is_empty()
        && !path.starts_with('/')
        && !path.contains(|c: char| c == '\\' || c == ':' || c < ' ')
        && path.split('/').all(|part| part != "..")
}

fn is_url(url: &str) -> bool {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
}
