//! `pi ext scan`: what is to be said about extensions, told as a compiler tells it.

use std::path::Path;

use pi_extc::{Artifact, BuildFault, Cache, Loaded, Workshop, load};
use pi_extproto::artifact::{Finding, Verdict};
use pi_provider::manifest::{
    Severity,
    diagnostic::{Frame, Style, render_frame},
};
use serde_json::{Value, json};

use super::{build::verdict, place};
use crate::{
    amount::counted,
    arguments::ext::ExtScanArguments,
    console::{Console, Reader, Tone, printable},
    env::Environment,
    exit::Exit,
    failure::{ExtFailure, Failure},
    runtime,
};

pub(crate) fn run(
    arguments: &ExtScanArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let folder = place::cache(environment)?;
    let cache = Cache::open(&folder).map_err(ExtFailure::Cache)?;
    let workshop = Workshop::new(folder);
    let runtime = runtime::start()?;
    let worst_allowed = if arguments.strict { Verdict::Compatible } else { Verdict::Warning };
    let mut is_good = true;
    for (done, source) in arguments.sources.iter().enumerate() {
        if arguments.sources.len() > 1 {
            console.progress(done, arguments.sources.len(), &source.display().to_string());
        }
        match runtime.block_on(load(source, &workshop, &cache)) {
            Ok(found) => {
                for Loaded { artifact, .. } in &found {
                    is_good &= artifact.verdict() <= worst_allowed;
                    show(source, artifact, console);
                }
            }
            // Nobody can vouch for what cannot be built, and the others are looked at all the same.
            Err(fault) => {
                is_good = false;
                complain(fault, console);
            }
        }
    }
    Ok(if is_good { Exit::Success } else { Exit::No })
}

fn show(source: &Path, artifact: &Artifact, console: &mut Console) {
    let descriptor = &artifact.descriptor;
    if console.reader() == Reader::Machine {
        let line = json!({
            "source": source, "name": descriptor.name, "version": descriptor.version, "verdict": artifact.verdict(),
            "capabilities": descriptor.capabilities, "findings": descriptor.findings,
            "missing": descriptor.extra.get("missing").cloned().unwrap_or_else(|| Value::Array(Vec::new())),
        });
        return console.line(&line.to_string());
    }
    for finding in artifact.findings() {
        let shown = framed(finding, source, console);
        console.line(&shown);
    }
    let (word, tone) = verdict(artifact.verdict());
    let name = console.paint(Tone::Strong, &printable(artifact.name()));
    let count = |verdict| artifact.findings().iter().filter(|it| it.verdict == verdict).count();
    let mut parts = Vec::new();
    for (verdict, noun) in [(Verdict::Blocked, "blocker"), (Verdict::Warning, "warning")] {
        if count(verdict) > 0 {
            parts.push(counted(count(verdict), noun));
        }
    }
    let needs: Vec<String> = descriptor.capabilities.inferred.iter().map(ToString::to_string).collect();
    parts.push(format!("needs {}", if needs.is_empty() { "nothing".to_owned() } else { needs.join(", ") }));
    let undeclared: Vec<String> = match descriptor.capabilities.declared {
        Some(_) => descriptor.capabilities.undeclared().iter().map(ToString::to_string).collect(),
        None => Vec::new(),
    };
    if !undeclared.is_empty() {
        parts.push(format!("does not declare {}", undeclared.join(", ")));
    }
    let parts = console.paint(Tone::Quiet, &printable(&parts.join(", ")));
    let word = console.paint(tone, word);
    console.line(&format!("{word}  {name}  {parts}"));
}

/// What has no place of its own is about the whole.
fn framed(finding: &Finding, source: &Path, console: &Console) -> String {
    let whole = source.display().to_string();
    let style = if console.has_colours() { Style::Ansi } else { Style::Plain };
    let severity = match finding.verdict {
        Verdict::Blocked => Severity::Error,
        Verdict::Warning => Severity::Warning,
        Verdict::Compatible => Severity::Note,
    };
    let place = finding.place.as_ref();
    let frame = Frame {
        severity,
        rule: &finding.rule,
        message: &finding.message,
        file: place.map_or(whole.as_str(), |it| it.file.as_str()),
        line: place.map_or(0, |it| it.line),
        column: place.map_or(0, |it| it.column),
        length: 0,
        text: finding.excerpt.as_deref(),
        path: "",
        hint: finding.remedy.as_deref().unwrap_or(""),
    };
    render_frame(&frame, style)
}

fn complain(fault: BuildFault, console: &mut Console) {
    console.fail(&Failure::Ext(ExtFailure::Build(fault)));
}
