//! A file into a manifest, or the reasons why not.
//!
//! The text becomes a tree with positions, older shapes are promoted to the standard one, and the rings are read in
//! order: ring 1 must be right, ring 2 where its capability is declared, ring 3 falls back to its defaults. Nothing here
//! touches the file system.

mod endpoint;
mod failure;
mod model;
mod pi_models;
mod profile;
mod ring1;
mod ring2;
mod ring3;

use serde::de::DeserializeOwned;

pub(crate) use self::ring1::is_id;
pub use self::{
    model::{LoadedContract, LoadedModels, load_contract, load_models},
    pi_models::{KeySource, LoadedPiModels, PiCost, PiModel, PiProvider, load_pi_models},
};
pub(crate) use super::tree::MAX_BYTES;
pub use super::tree::read::Ignored;
use super::{
    Manifest,
    diagnostic::{Diagnostic, Severity},
    promote::{self, Generation},
    tree::{self, Node, Position, SyntaxError, read::read},
};

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
    /// In the order of the file.
    pub diagnostics: Vec<Diagnostic>,
    /// Fields, capabilities and extensions that are not known, in the order of the file.
    pub ignored: Vec<Ignored>,
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
    let Some(root) = report.document(text, format) else { return Document::Manifest(Box::new(rejected(report))) };
    let has = |key: &str| root.get(key).is_some();
    if has("contract_version") || (has("provider_id") && !has("id")) {
        return Document::Contract(Box::new(model::contract_of(root, report)));
    }
    if has("models") && !has("id") && !has("endpoint") {
        return Document::Models(model::models_of(&root, report));
    }
    if has("providers") && !has("id") {
        return Document::PiModels(pi_models::pi_models_of(&root, report));
    }
    Document::Manifest(Box::new(load_tree(root, report)))
}

fn load_tree(mut root: Node, mut report: Report<'_>) -> Loaded {
    let generation = Generation::of(&root);
    let original_version = promote::written_version(&root);
    promote::promote(&mut root, generation, &mut report);
    let manifest = manifest(&root, generation, &mut report);
    let (diagnostics, ignored) = report.finish();
    Loaded { manifest, original_version, diagnostics, ignored }
}

fn rejected(report: Report<'_>) -> Loaded {
    let (diagnostics, ignored) = report.finish();
    Loaded { manifest: None, original_version: None, diagnostics, ignored }
}

fn manifest(root: &Node, generation: Generation, report: &mut Report<'_>) -> Option<Manifest> {
    let first = ring1::read(root, generation, report)?;
    let second = ring2::read(root, generation, report);
    let mut manifest = ring3::read(root, first, second, report);
    manifest.capability_profile = profile::read(root, report);
    (!report.has_errors()).then_some(manifest)
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

impl<'a> Report<'a> {
    pub(super) fn new(file: &'a str) -> Self {
        Self { file, diagnostics: Vec::new(), ignored: Vec::new() }
    }

    /// The tree of a text whose root is a map.
    pub(super) fn document(&mut self, text: &str, format: Format) -> Option<Node> {
        match tree::parse(text, format) {
            Ok(root) if root.as_map().is_some() => Some(root),
            Ok(root) => {
                self.error("file.syntax", root.at, "", format!("an object is expected, not {}", root.kind()));
                None
            }
            Err(SyntaxError { at, rule, message }) => {
                self.error(rule, at, "", message);
                None
            }
        }
    }

    pub(super) fn error(&mut self, rule: &'static str, at: Position, path: &str, message: impl Into<String>) {
        self.push(Severity::Error, rule, at, path, message.into());
    }

    pub(super) fn warning(&mut self, rule: &'static str, at: Position, path: &str, message: impl Into<String>) {
        self.push(Severity::Warning, rule, at, path, message.into());
    }

    pub(super) fn note(&mut self, rule: &'static str, at: Position, path: &str, message: impl Into<String>) {
        self.push(Severity::Note, rule, at, path, message.into());
    }

    pub(super) fn push(&mut self, severity: Severity, rule: &'static str, at: Position, path: &str, message: String) {
        let (file, path) = (self.file.to_owned(), path.to_owned());
        let Position { line, column } = at;
        self.diagnostics.push(Diagnostic { severity, rule, file, line, column, path, message, hint: None });
    }

    /// Advice about the finding that was made last.
    pub(super) fn hint(&mut self, hint: impl Into<String>) {
        if let Some(diagnostic) = self.diagnostics.last_mut() {
            diagnostic.hint = Some(hint.into());
        }
    }

    pub(super) fn ignore(&mut self, at: Position, path: impl Into<String>) {
        self.ignored.push(Ignored { path: path.into(), line: at.line, column: at.column });
    }

    /// Reads a value; a failure becomes a finding.
    pub(super) fn read<T: DeserializeOwned>(
        &mut self,
        severity: Severity,
        rule: &'static str,
        node: &Node,
        path: &str,
    ) -> Option<T> {
        match read(node, path, &mut self.ignored) {
            Ok(value) => Some(value),
            Err(error) => {
                let (at, path) = error.place(node, path);
                self.push(severity, rule, at, &path, error.message);
                if let Some(hint) = error.hint {
                    self.hint(hint);
                }
                None
            }
        }
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
