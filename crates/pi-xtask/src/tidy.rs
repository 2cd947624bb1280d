//! The rules of the workspace that the compiler does not know, and who breaks them.
//!
//! Every rule is a plain function from facts (metadata, manifests, sources, names of files) to [`Finding`]s; only this file
//! collects the facts. What is large is listed, never a finding: length is a question, not a fault.

mod decisions;
mod docs;
mod edges;
mod layers;
mod links;
mod manifests;
mod sources;
mod text;

pub(crate) use layers::portable;

use std::path::Path;

use anyhow::{Result, bail};

use crate::console::{self, Tone, paint};
use crate::metadata::{Metadata, Package};
use crate::process::Program;
use crate::{cargo, files, verdict};

/// A rule that is broken, where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    pub place: String,
    pub problem: String,
    pub advice: String,
}

impl Finding {
    fn new(place: impl Into<String>, problem: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { place: place.into(), problem: problem.into(), advice: advice.into() }
    }
}

/// Checks everything, prints what it finds and what is large, and fails if there is a finding.
pub(crate) fn run() -> Result<()> {
    let root = cargo::root();
    let metadata = Metadata::load()?;
    let sources = sources::load(&metadata)?;
    let mut findings = Vec::new();

    findings.extend(layers::check_table(layers::TABLE));
    findings.extend(edges::check(layers::TABLE, &metadata));
    findings.extend(docs::check_architecture(layers::TABLE, &files::read(&root.join("ARCHITECTURE.md"))?));
    for package in metadata.members() {
        findings.extend(manifests::check(&folder_name(package), &package.name, &files::read(&package.manifest_path)?));
        findings.extend(docs::check_crate(package, &sources));
    }
    findings.extend(docs::check_modules(&sources));
    findings.extend(edges::check_sources(layers::TABLE, &sources));
    let index = files::read_if_there(&root.join("docs/adr/README.md"))?;
    findings.extend(decisions::check(&decision_names(root)?, index.as_deref()));
    for (page, row) in verdict::unshown()? {
        let advice = "mend what it names, or let `cargo xtask verdicts` run it";
        findings.push(Finding::new(page, format!("a row is not shown to hold: {row}"), advice));
    }
    match tracked_files(root)? {
        Some(names) => findings.extend(check_texts(root, &names)?),
        None => console::say(&paint(
            Tone::Warning,
            "SKIPPED: machine paths and links in tracked files: this is no git checkout",
        )),
    }

    sources::print_largest(&sources);
    conclude(findings)
}

fn conclude(mut findings: Vec<Finding>) -> Result<()> {
    findings.sort();
    for Finding { place, problem, advice } in &findings {
        console::say(&format!(
            "{} {problem}\n    {}",
            paint(Tone::Bad, &format!("{place}:")),
            paint(Tone::Quiet, advice)
        ));
    }
    match findings.len() {
        0 => console::say(&paint(Tone::Good, "the workspace is tidy")),
        1 => bail!("tidy: 1 rule is broken"),
        count => bail!("tidy: {count} rules are broken"),
    }
    Ok(())
}

fn folder_name(package: &Package) -> String {
    let folder = package.manifest_path.parent().and_then(Path::file_name);
    folder.unwrap_or_default().to_string_lossy().into_owned()
}

fn decision_names(root: &Path) -> Result<Vec<String>> {
    let paths = files::entries(&root.join("docs/adr"))?;
    Ok(paths.iter().filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect())
}

/// What git tracks, or would track at the next `git add`, without what was removed; nothing where there is no git checkout.
fn tracked_files(root: &Path) -> Result<Option<Vec<String>>> {
    let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    if !Program::new("git").args(list).folder(root).works() {
        return Ok(None);
    }
    let names = Program::new("git").args(list).folder(root).capture()?.text("git ls-files")?;
    let there = names.split_terminator('\0').filter(|name| root.join(name).exists());
    Ok(Some(there.map(str::to_owned).collect()))
}

fn check_texts(root: &Path, names: &[String]) -> Result<Vec<Finding>> {
    let (mut findings, mut pages) = (Vec::new(), Vec::new());
    for name in names {
        if let Some(text) = files::read_if_text(&root.join(name))? {
            findings.extend(text::check(name, &text));
            if name.ends_with(".md") {
                pages.push(links::Page { name: name.clone(), text });
            }
        }
    }
    findings.extend(links::check(names, &pages));
    Ok(findings)
}
