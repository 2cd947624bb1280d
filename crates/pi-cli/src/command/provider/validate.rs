//! `pi provider validate`: what is wrong with manifests, told as a compiler tells it.

use std::collections::BTreeMap;

use pi_provider::manifest::{
    Diagnostic, Loaded, Severity,
    diagnostic::{Style, render},
    load,
    load::{Format, Ignored},
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

/// What a machine reads about a file.
#[derive(Serialize)]
struct Verdict<'a> {
    file: &'a str,
    valid: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    /// As it stands in the file, also where it was promoted.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    models: Option<usize>,
    errors: Vec<Finding<'a>>,
    warnings: Vec<Finding<'a>>,
    /// Members that are not known.
    ignored: Vec<Unknown<'a>>,
}

#[derive(Serialize)]
struct Finding<'a> {
    rule: &'a str,
    line: u32,
    column: u32,
    path: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

#[derive(Serialize)]
struct Unknown<'a> {
    path: &'a str,
    line: u32,
    column: u32,
}

#[derive(Default)]
struct Tally {
    valid: usize,
    invalid: usize,
    unread: usize,
    warnings: usize,
}

/// A file that was read, with the text that findings are shown in.
struct Examined {
    text: String,
    loaded: Loaded,
}

pub(crate) fn run(arguments: &ManifestArguments, console: &mut Console) -> Result<Exit, Failure> {
    let inputs = input::expand(&arguments.files, None, Endings::MANIFESTS)?;
    let count = inputs.len();
    let mut tally = Tally::default();
    let mut seen = BTreeMap::new();
    for (done, (name, input)) in inputs.into_iter().enumerate() {
        if count > 1 {
            console.progress(done, count, &name);
        }
        let mut examined = input.and_then(|input| examine(&name, &input));
        if let Ok(examined) = &mut examined {
            notice_duplicate(&name, &mut examined.loaded, &mut seen);
        }
        tally.add(&examined);
        if arguments.json {
            console.line(&json(&name, &examined));
        } else {
            show(&name, examined, arguments.quiet, console);
        }
    }
    if !arguments.json && count > 1 {
        summarise(&tally, count, console);
    }
    Ok(if tally.invalid + tally.unread > 0 { Exit::No } else { Exit::Success })
}

fn examine(name: &str, input: &Input) -> Result<Examined, Failure> {
    let text = input.text()?;
    let loaded = load(&text, name, Format::of_file(name));
    Ok(Examined { text, loaded })
}

/// Of two files with the same id the second is an error, as it is when both are loaded from one place.
fn notice_duplicate(name: &str, loaded: &mut Loaded, seen: &mut BTreeMap<String, String>) {
    let Some(manifest) = &loaded.manifest else { return };
    let id = manifest.id.to_string();
    if let Some(first) = seen.get(&id) {
        loaded.diagnostics.push(Diagnostic {
            severity: Severity::Error,
            rule: "source.duplicate",
            file: name.to_owned(),
            line: 0,
            column: 0,
            path: "id".to_owned(),
            message: format!("{id} is described in {first} too"),
            hint: Some("give one of them another id, or keep them in different sources: the later one wins".to_owned()),
        });
    } else {
        seen.insert(id, name.to_owned());
    }
}

impl Tally {
    fn add(&mut self, examined: &Result<Examined, Failure>) {
        match examined {
            Err(_) => self.unread += 1,
            Ok(Examined { loaded, .. }) => {
                *if loaded.errors().next().is_none() { &mut self.valid } else { &mut self.invalid } += 1;
                self.warnings += warnings(loaded).count();
            }
        }
    }
}

fn warnings(loaded: &Loaded) -> impl Iterator<Item = &Diagnostic> {
    loaded.diagnostics.iter().filter(|it| it.severity == Severity::Warning)
}

fn json(file: &str, examined: &Result<Examined, Failure>) -> String {
    let loaded = match examined {
        Err(failure) => return crate::verdict::Verdict::of_failure(file, None, failure).line(),
        Ok(examined) => &examined.loaded,
    };
    let errors: Vec<Finding> = loaded.errors().map(Finding::of).collect();
    let manifest = loaded.manifest.as_ref();
    let verdict = Verdict {
        file,
        valid: errors.is_empty(),
        id: manifest.map(|it| it.id.as_str()),
        version: loaded.original_version.as_deref(),
        models: manifest.map(|it| it.models.len()),
        errors,
        warnings: warnings(loaded).map(Finding::of).collect(),
        ignored: loaded.ignored.iter().map(Unknown::of).collect(),
    };
    serde_json::to_string(&verdict).expect("names and messages are plain text")
}

impl<'a> Finding<'a> {
    fn of(found: &'a Diagnostic) -> Self {
        let Diagnostic { rule, line, column, path, message, hint, severity: _, file: _ } = found;
        Finding { rule, line: *line, column: *column, path, message, hint: hint.as_deref() }
    }
}

impl<'a> Unknown<'a> {
    fn of(ignored: &'a Ignored) -> Self {
        Unknown { path: &ignored.path, line: ignored.line, column: ignored.column }
    }
}

fn show(name: &str, examined: Result<Examined, Failure>, quiet: bool, console: &mut Console) {
    let Examined { text, loaded } = match examined {
        Ok(examined) => examined,
        Err(failure) => {
            console.fail(&failure);
            return;
        }
    };
    let is_valid = loaded.errors().next().is_none();
    let style = if console.has_colours() { Style::Ansi } else { Style::Plain };
    let shown = |it: &&Diagnostic| it.severity > Severity::Note && (!quiet || it.severity == Severity::Error);
    for finding in loaded.diagnostics.iter().filter(shown) {
        console.line(&render(finding, &text, style));
    }
    if is_valid && quiet {
        return;
    }
    let name = console.paint(Tone::Strong, &printable(name));
    let line = match &loaded.manifest {
        Some(manifest) if is_valid => {
            let mark = console.paint(Tone::Good, "valid");
            let version = loaded.original_version.as_deref().unwrap_or(&manifest.protocol_version);
            let promoted = if version.starts_with('2') { "" } else { ", promoted to 2.0" };
            let models = counted(manifest.models.len(), "model");
            let about = format!("{}, version {version}{promoted}, {models}", manifest.id);
            format!(
                "{mark}    {name}  {}{}",
                console.paint(Tone::Quiet, &printable(&about)),
                remainder(&loaded, console)
            )
        }
        Some(_) | None => {
            let mark = console.paint(Tone::Bad, "invalid");
            format!("{mark}  {name}  {}", counted(loaded.errors().count(), "error"))
        }
    };
    console.line(&line);
}

fn remainder(loaded: &Loaded, console: &Console) -> String {
    match loaded.ignored.len() {
        0 => String::new(),
        count => console.paint(Tone::Quiet, &format!(", {} ignored", counted(count, "unknown member"))),
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
