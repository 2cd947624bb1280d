//! `pi provider validate`: what is wrong with manifests, told as a compiler tells it.

use pi_provider::{
    catalog::{Names, examine_provider},
    manifest::{
        Diagnostic, Severity,
        diagnostic::{Style, masked, render},
        load::{Document, Format, Ignored, load_any},
    },
};
use serde::Serialize;

use crate::{
    amount::{counted, grouped},
    arguments::model::ManifestArguments,
    console::{Console, Tone, printable},
    exit::Exit,
    failure::Failure,
    input::{self, Endings, Input},
};

const MANIFEST: &str = "manifest";
/// People read the first and run the command again.
const SHOWN_MEMBERS: usize = 20;

/// What a machine reads about a file.
#[derive(Serialize)]
struct Verdict<'a> {
    file: &'a str,
    valid: bool,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    /// As it stands in the file, also where it was promoted.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    models: Option<usize>,
    errors: Vec<Finding<'a>>,
    warnings: Vec<Finding<'a>>,
    /// What was assumed or ignored, and may be of interest.
    notes: Vec<Finding<'a>>,
    /// Members that are not known.
    ignored: Vec<Unknown<'a>>,
}

#[derive(Serialize)]
struct Finding<'a> {
    rule: &'static str,
    line: u32,
    column: u32,
    /// How many characters it is about; 0 where nobody knows.
    length: u32,
    path: &'a str,
    message: &'a str,
    hint: &'a str,
}

#[derive(Serialize)]
struct Unknown<'a> {
    path: &'a str,
    line: u32,
    column: u32,
    /// The known member that may have been meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    meant: Option<&'a str>,
}

#[derive(Default)]
struct Tally {
    valid: usize,
    invalid: usize,
    unread: usize,
    warnings: usize,
}

/// A file that was read.
struct Examined {
    /// What it turned out to be.
    kind: &'static str,
    /// The text in which findings are shown; empty where there may be keys in it.
    text: String,
    /// The provider that it describes, or is about.
    id: Option<String>,
    version: Option<String>,
    models: Option<usize>,
    diagnostics: Vec<Diagnostic>,
    ignored: Vec<Ignored>,
}

pub(crate) fn run(arguments: &ManifestArguments, console: &mut Console) -> Result<Exit, Failure> {
    let sources = input::expand_each(&arguments.files, None, Endings::MANIFESTS)?;
    let count = sources.iter().map(Vec::len).sum();
    let mut tally = Tally::default();
    let mut done = 0;
    let mut names = Names::of_program();
    for source in sources {
        for (name, input) in source {
            if count > 1 {
                console.progress(done, count, &name);
            }
            done += 1;
            let examined = input.and_then(|input| examine(&name, &input, &mut names));
            tally.add(&examined);
            if arguments.json {
                console.line(&json(&name, &examined));
            } else {
                show(&name, examined, arguments.quiet, console);
            }
        }
        // As for `--provider-dir`: what is named later is a later source.
        names.next_source();
    }
    if !arguments.json && count > 1 {
        summarise(&tally, count, console);
    }
    Ok(if tally.invalid + tally.unread > 0 { Exit::No } else { Exit::Success })
}

fn examine(name: &str, input: &Input, names: &mut Names) -> Result<Examined, Failure> {
    let written = input.text()?;
    let document = load_any(&written, name, Format::of_file(name));
    // Whatever the file is, and however broken: a key in it is not shown.
    let text = masked(&written);
    Ok(match document {
        Document::Manifest(mut loaded) => {
            let claim = loaded.manifest.as_ref().map(|it| names.claim(name, it, &loaded.names));
            loaded.diagnostics.extend(claim.into_iter().flat_map(|it| it.findings));
            // Such a manifest loads, and whoever asks is told why nothing is sent; it is of no use to anybody.
            fail(loaded.diagnostics.iter_mut().filter(|it| it.refuses_calls()));
            Examined {
                kind: MANIFEST,
                text: if holds_keys(name) { String::new() } else { text },
                id: loaded.manifest.as_ref().map(|it| it.id.to_string()),
                version: loaded.original_version,
                models: loaded.manifest.as_ref().map(|it| it.models.len()),
                diagnostics: loaded.diagnostics,
                ignored: loaded.ignored,
            }
        }
        Document::Contract(loaded) => Examined {
            kind: "contract",
            text,
            id: loaded.contract.map(|(id, _)| id),
            version: None,
            models: None,
            diagnostics: loaded.diagnostics,
            ignored: loaded.ignored,
        },
        Document::Models(loaded) => Examined {
            kind: "models",
            text,
            id: None,
            version: None,
            models: Some(loaded.models.values().map(|it| it.len()).sum()),
            diagnostics: loaded.diagnostics,
            ignored: loaded.ignored,
        },
        Document::PiModels(mut loaded) => {
            let unknown = loaded.providers.iter().filter(|(id, _)| !names.is_known(id));
            let mut lacks: Vec<Diagnostic> =
                unknown.filter_map(|(id, provider)| examine_provider(name, id, provider)).collect();
            // Nothing of the file would be used.
            if lacks.len() == loaded.providers.len() {
                fail(lacks.iter_mut());
            }
            loaded.diagnostics.extend(lacks);
            Examined {
                kind: "models.json of Pi",
                text: String::new(),
                id: None,
                version: None,
                models: Some(loaded.providers.values().map(|it| it.models.len()).sum()),
                diagnostics: loaded.diagnostics,
                ignored: loaded.ignored,
            }
        }
    })
}

fn fail<'a>(findings: impl Iterator<Item = &'a mut Diagnostic>) {
    findings.for_each(|it| it.severity = Severity::Error);
}

/// Whether files of this name hold keys. One that is broken cannot be told apart by what it holds.
fn holds_keys(name: &str) -> bool {
    ["models.json", "auth.json"].iter().any(|it| name.ends_with(it))
}

impl Examined {
    fn of_severity(&self, severity: Severity) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().filter(move |it| it.severity == severity)
    }

    fn is_valid(&self) -> bool {
        self.of_severity(Severity::Error).next().is_none()
    }

    /// What it is, in few words.
    fn words(&self) -> String {
        let mut parts: Vec<String> = self.id.iter().cloned().collect();
        if self.kind != MANIFEST {
            parts.push(self.kind.to_owned());
        }
        if let Some(version) = &self.version {
            let promoted = if version.starts_with('2') { "" } else { ", promoted to 2.0" };
            parts.push(format!("version {version}{promoted}"));
        }
        parts.extend(self.models.map(|count| counted(count, "model")));
        if !self.ignored.is_empty() {
            parts.push(format!("{} ignored", counted(self.ignored.len(), "unknown member")));
        }
        parts.join(", ")
    }
}

impl Tally {
    fn add(&mut self, examined: &Result<Examined, Failure>) {
        match examined {
            Err(_) => self.unread += 1,
            Ok(examined) => {
                *if examined.is_valid() { &mut self.valid } else { &mut self.invalid } += 1;
                self.warnings += examined.of_severity(Severity::Warning).count();
            }
        }
    }
}

fn json(file: &str, examined: &Result<Examined, Failure>) -> String {
    let examined = match examined {
        Err(failure) => return crate::verdict::Verdict::of_failure(file, None, failure).line(),
        Ok(examined) => examined,
    };
    let findings = |severity| examined.of_severity(severity).map(Finding::of).collect();
    let verdict = Verdict {
        file,
        valid: examined.is_valid(),
        kind: examined.kind,
        id: examined.id.as_deref(),
        version: examined.version.as_deref(),
        models: examined.models,
        errors: findings(Severity::Error),
        warnings: findings(Severity::Warning),
        notes: findings(Severity::Note),
        ignored: examined.ignored.iter().map(Unknown::of).collect(),
    };
    serde_json::to_string(&verdict).expect("names and messages are plain text")
}

impl<'a> Finding<'a> {
    fn of(found: &'a Diagnostic) -> Self {
        let Diagnostic { rule, line, column, length, path, message, hint, severity: _, file: _ } = found;
        Finding { rule: rule.name(), line: *line, column: *column, length: *length, path, message, hint }
    }
}

impl<'a> Unknown<'a> {
    fn of(ignored: &'a Ignored) -> Self {
        Unknown { path: &ignored.path, line: ignored.line, column: ignored.column, meant: ignored.meant }
    }
}

fn show(name: &str, examined: Result<Examined, Failure>, quiet: bool, console: &mut Console) {
    let examined = match examined {
        Ok(examined) => examined,
        Err(failure) => {
            console.fail(&failure);
            return;
        }
    };
    let style = if console.has_colours() { Style::Ansi } else { Style::Plain };
    let shown = |it: &&Diagnostic| !quiet || it.severity == Severity::Error;
    for finding in examined.diagnostics.iter().filter(shown) {
        console.line(&render(finding, &examined.text, style));
    }
    if !quiet {
        show_ignored(name, &examined.ignored, console);
    }
    let name = console.paint(Tone::Strong, &printable(name));
    if !examined.is_valid() {
        let (mark, count) = (console.paint(Tone::Bad, "invalid"), examined.of_severity(Severity::Error).count());
        console.line(&format!("{mark}  {name}  {}", counted(count, "error")));
    } else if !quiet {
        let mark = console.paint(Tone::Good, "valid");
        console.line(&format!("{mark}    {name}  {}", console.paint(Tone::Quiet, &printable(&examined.words()))));
    }
}

fn show_ignored(file: &str, ignored: &[Ignored], console: &mut Console) {
    let mark = console.paint(Tone::Accent, "note:");
    for Ignored { path, line, column, meant } in ignored.iter().take(SHOWN_MEMBERS) {
        let place = printable(&format!("{file}:{line}:{column}: {path}")).into_owned();
        let meant = meant.map(|meant| format!("; did you mean {meant}?")).unwrap_or_default();
        console.line(&format!("{mark} {place} is not known and ignored{meant}"));
    }
    if let Some(more) = ignored.len().checked_sub(SHOWN_MEMBERS + 1) {
        console.line(&format!("{mark} and {} more unknown members; --json shows all", grouped(more + 1)));
    }
}

fn summarise(tally: &Tally, files: usize, console: &mut Console) {
    let mut parts = vec![format!("{} valid", grouped(tally.valid))];
    for (count, word) in [(tally.invalid, "invalid"), (tally.unread, "not read")] {
        if count > 0 {
            parts.push(console.paint(Tone::Bad, &format!("{} {word}", grouped(count))));
        }
    }
    if tally.warnings > 0 {
        parts.push(console.paint(Tone::Warning, &counted(tally.warnings, "warning")));
    }
    console.line(&format!("{}: {}", counted(files, "file"), parts.join(", ")));
}
