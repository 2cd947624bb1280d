//! A file into a manifest, or the reasons why not.
//!
//! The text becomes a tree with positions, older shapes are promoted to the standard one, and the rings are read in
//! order: ring 1 must be right, ring 2 where its capability is declared, ring 3 falls back to its defaults. All are read
//! whatever is wrong with those before, so that everything is told at once. Nothing here touches the file system.

mod activation;
mod endpoint;
mod failure;
mod guardrail;
mod key_source;
mod model;
mod parameter;
mod pi_models;
mod price;
mod profile;
mod ring1;
mod ring2;
mod ring3;
mod thinking;
mod values;
mod words;

use indexmap::IndexMap;
use serde::de::DeserializeOwned;

pub(crate) use self::pi_models::compat;
pub use self::{
    key_source::{KeySource, MissingKey},
    model::{LoadedContract, LoadedModels, load_contract, load_models},
    pi_models::{LoadedPiModels, PiCost, PiModel, PiProvider, PiTier, load_pi_models},
};
pub(crate) use super::tree::MAX_BYTES;
pub use super::tree::read::Ignored;
use super::{
    Manifest,
    diagnostic::{Diagnostic, Rule, Severity},
    promote::{self, Generation},
    tree::{
        self, Member, Node, Position, SyntaxError,
        read::{Reading, read},
    },
};
use crate::likeness;

/// Advice about a file that is something else.
const NEW: &str = "a manifest has members such as id: and endpoint:; `pi provider new ID` writes one";

/// What Pi calls its file.
const PI_MODELS: &str = "models.json";

/// The language of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Yaml,
    Json,
}

/// What came of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// Absent if a diagnostic is an error.
    pub manifest: Option<Manifest>,
    /// What the file says about its version, whatever was made of it.
    pub original_version: Option<String>,
    /// Where its names stand.
    pub names: WrittenNames,
    /// In the order of the file.
    pub diagnostics: Vec<Diagnostic>,
    /// Fields, capabilities and extensions that are not known, in the order of the file.
    pub ignored: Vec<Ignored>,
}

/// Where the id of a provider and its aliases stand in its file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WrittenNames {
    pub id: Place,
    pub aliases: IndexMap<String, Place>,
}

/// A line and a column in characters, counted from 1; 0 where nobody knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    pub line: u32,
    pub column: u32,
    /// How many characters stand there; 0 where nobody knows.
    pub length: u32,
}

/// Findings about one file while it is read.
pub(super) struct Report<'a> {
    file: &'a str,
    diagnostics: Vec<Diagnostic>,
    ignored: Vec<Ignored>,
}

/// What a file turned out to be.
#[derive(Debug, Clone, PartialEq)]
pub enum Document {
    Manifest(Box<Loaded>),
    Contract(Box<LoadedContract>),
    Models(LoadedModels),
    PiModels(LoadedPiModels),
}

/// Reads a manifest of any generation. `file` is only the name that diagnostics carry.
pub fn load(text: &str, file: &str, format: Format) -> Loaded {
    let mut report = Report::new(file);
    match report.document(text, format) {
        Some(root) => load_tree(root, report),
        None => rejected(report),
    }
}

/// Reads a file that may be a manifest or one of those that stand beside manifests: its members say which.
pub fn load_any(text: &str, file: &str, format: Format) -> Document {
    let mut report = Report::new(file);
    let parsed = parse_any(text, file, format);
    let Some(root) = report.object(parsed) else { return Document::Manifest(Box::new(rejected(report))) };
    let has = |key: &str| root.get(key).is_some();
    if has("contract_version") || (has("provider_id") && !has("id")) {
        return Document::Contract(Box::new(model::contract_of(root, report)));
    }
    if has("models") && !has("id") && !has("endpoint") {
        return Document::Models(model::models_of(&root, report));
    }
    let is_named = file.ends_with(PI_MODELS) && !has("id") && !has("endpoint");
    if is_named || is_pi_models(&root) {
        return Document::PiModels(pi_models::pi_models_of(&root, report));
    }
    Document::Manifest(Box::new(load_tree(root, report)))
}

/// The tree of a file. Comments are taken only in Pi's `models.json`, which is told by its members, or by its name where it
/// is too broken to have any.
fn parse_any(text: &str, file: &str, format: Format) -> Result<Node, SyntaxError> {
    let strict = tree::parse(text, format);
    match (format, &strict) {
        (Format::Json, Err(_)) => match tree::parse_relaxed(text) {
            Ok(root) if is_pi_models(&root) => Ok(root),
            relaxed if file.ends_with(PI_MODELS) => relaxed,
            Ok(_) | Err(_) => strict,
        },
        (Format::Json | Format::Yaml, _) => strict,
    }
}

fn is_pi_models(root: &Node) -> bool {
    root.get("providers").is_some() && root.get("id").is_none()
}

fn load_tree(mut root: Node, mut report: Report<'_>) -> Loaded {
    let generation = Generation::of(&root);
    let original_version = promote::written_version(&root);
    promote::promote(&mut root, generation, &mut report);
    let manifest = manifest(&root, generation, &mut report);
    let names = WrittenNames::of(&root);
    let (diagnostics, ignored) = report.finish();
    Loaded { manifest, original_version, names, diagnostics, ignored }
}

fn rejected(report: Report<'_>) -> Loaded {
    let (diagnostics, ignored) = report.finish();
    Loaded { manifest: None, original_version: None, names: WrittenNames::default(), diagnostics, ignored }
}

fn manifest(root: &Node, generation: Generation, report: &mut Report<'_>) -> Option<Manifest> {
    let first = ring1::read(root, generation, report);
    if has_unknown_shape(root, generation) {
        return None;
    }
    let second = ring2::read(root, generation, report);
    let mut manifest = ring3::read(root, first, second, report);
    words::check(root, &manifest.capabilities, report);
    values::check(root, report);
    thinking::check(root, &manifest, report);
    manifest.capability_profile = profile::read(root, report);
    (!report.has_errors()).then_some(manifest)
}

/// Of a version that is not known, and of a file without any that is hardly a manifest, more findings would be guesses.
fn has_unknown_shape(root: &Node, generation: Generation) -> bool {
    let is_written = root.get("protocol_version").is_some();
    generation == Generation::Unknown && (is_written || root.get("endpoint").is_none())
}

impl Format {
    /// By the ending of the name; YAML unless it is `.json`.
    pub fn of_file(name: &str) -> Self {
        match name.rsplit_once('.') {
            Some((_, ending)) if ending.eq_ignore_ascii_case("json") => Self::Json,
            _ => Self::Yaml,
        }
    }
}

impl Loaded {
    /// The findings because of which there is no manifest.
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error)
    }
}

impl WrittenNames {
    fn of(root: &Node) -> Self {
        let aliases = root.get("aliases").and_then(Node::as_list).unwrap_or_default();
        Self {
            id: root.get("id").map(|id| Place::of(id.at)).unwrap_or_default(),
            aliases: aliases.iter().filter_map(|name| Some((name.as_str()?.to_owned(), Place::of(name.at)))).collect(),
        }
    }

    /// The place of an alias.
    pub fn alias(&self, name: &str) -> Place {
        self.aliases.get(name).copied().unwrap_or_default()
    }
}

impl Place {
    fn of(Position { line, column, length }: Position) -> Self {
        Self { line, column, length }
    }
}

impl<'a> Report<'a> {
    pub(super) fn new(file: &'a str) -> Self {
        Self { file, diagnostics: Vec::new(), ignored: Vec::new() }
    }

    /// The tree of a text whose root is a map.
    pub(super) fn document(&mut self, text: &str, format: Format) -> Option<Node> {
        self.object(tree::parse(text, format))
    }

    /// The same of a text that was parsed.
    pub(super) fn object(&mut self, parsed: Result<Node, SyntaxError>) -> Option<Node> {
        match parsed {
            Ok(root) if root.as_map().is_some() => Some(root),
            Ok(root) => {
                self.error(Rule::FileSyntax, root.at, "", format!("an object is expected, not {}", root.kind()));
                self.hint(NEW);
                None
            }
            Err(SyntaxError { at, rule, message, hint }) => {
                self.error(rule, at, "", message);
                if let Some(hint) = hint {
                    self.hint(hint);
                }
                None
            }
        }
    }

    pub(super) fn error(&mut self, rule: Rule, at: Position, path: &str, message: impl Into<String>) {
        self.push(Severity::Error, rule, at, path, message.into());
    }

    pub(super) fn warning(&mut self, rule: Rule, at: Position, path: &str, message: impl Into<String>) {
        self.push(Severity::Warning, rule, at, path, message.into());
    }

    pub(super) fn note(&mut self, rule: Rule, at: Position, path: &str, message: impl Into<String>) {
        self.push(Severity::Note, rule, at, path, message.into());
    }

    pub(super) fn push(&mut self, severity: Severity, rule: Rule, at: Position, path: &str, message: String) {
        let (file, path) = (self.file.to_owned(), path.to_owned());
        let Position { line, column, length } = at;
        let hint = rule.hint().to_owned();
        self.diagnostics.push(Diagnostic { severity, rule, file, line, column, length, path, message, hint });
    }

    /// Better advice than the usual about the finding that was made last.
    pub(super) fn hint(&mut self, hint: impl Into<String>) {
        if let Some(diagnostic) = self.diagnostics.last_mut() {
            diagnostic.hint = hint.into();
        }
    }

    pub(super) fn ignore(&mut self, at: Position, path: impl Into<String>) {
        self.ignored.push(Ignored { path: path.into(), line: at.line, column: at.column, meant: None });
    }

    /// The same of a member whose name may be a slip.
    pub(super) fn ignore_member(&mut self, member: &Member, path: impl Into<String>, known: &[&'static str]) {
        let meant = likeness::nearest(&member.key, known.iter().copied()).first().copied();
        let Position { line, column, .. } = member.at;
        self.ignored.push(Ignored { path: path.into(), line, column, meant });
    }

    /// Says what may be meant by members of this object that are ignored: more names are known there than its type has.
    pub(super) fn suggest(&mut self, object: &str, known: &[&'static str]) {
        for ignored in self.ignored.iter_mut().filter(|ignored| ignored.meant.is_none()) {
            let name = ignored.path.strip_prefix(object).and_then(|rest| rest.strip_prefix('.'));
            ignored.meant = name.and_then(|name| likeness::nearest(name, known.iter().copied()).first().copied());
        }
    }

    /// Reads a value; everything that is wrong in it becomes a finding. Where that is no error, the value is what is left
    /// without it, if anything is.
    pub(super) fn read<T: DeserializeOwned>(
        &mut self,
        severity: Severity,
        rule: Rule,
        node: &Node,
        path: &str,
    ) -> Option<T> {
        let Reading { value, faults } = read(node, path, &mut self.ignored);
        let is_refused = severity == Severity::Error && !faults.is_empty();
        for fault in faults {
            self.push(severity, fault.rule.unwrap_or(rule), fault.at, &fault.path, fault.message);
            if let Some(hint) = fault.hint {
                self.hint(hint);
            }
        }
        value.filter(|_| !is_refused)
    }

    pub(super) fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    pub(super) fn finish(mut self) -> (Vec<Diagnostic>, Vec<Ignored>) {
        self.diagnostics.sort_by_key(|diagnostic| (diagnostic.line, diagnostic.column));
        self.ignored.sort_by_key(|ignored| (ignored.line, ignored.column));
        (self.diagnostics, self.ignored)
    }
}
