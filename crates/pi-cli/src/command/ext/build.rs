//! `pi ext build`: from sources to an artifact.

use std::{
    path::{Path, PathBuf},
    pin::pin,
};

use pi_extc::{Artifact, Cache, Compilers, Loaded, SIGNATURE, Workshop, load, write_container};
use pi_extproto::{artifact::Verdict, manifest::Tier};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::place::{self, CONTAINER, DESCRIPTOR};
use crate::{
    amount::{counted, grouped},
    arguments::ext::ExtBuildArguments,
    console::{Console, Reader, Tone, printable},
    env::Environment,
    exit::Exit,
    failure::{ExtFailure, Failure},
    runtime,
};

const FOLDER: &str = "dist";

pub(crate) fn run(
    arguments: &ExtBuildArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let folder = place::cache(environment)?;
    let cache = Cache::open(&folder).map_err(ExtFailure::Cache)?;
    // Somebody asks for it, so compilers may run.
    let (progress, mut said) = mpsc::unbounded_channel();
    let workshop = Workshop { compilers: Compilers::Run, progress: Some(progress), ..Workshop::new(folder) };
    console.remark(&format!("building {}", arguments.source.display()));
    let built = runtime::start()?.block_on(async {
        let mut building = pin!(load(&arguments.source, &workshop, &cache));
        loop {
            tokio::select! {
                built = &mut building => return built,
                Some(line) = said.recv() => console.activity(&line),
            }
        }
    });
    let built = built.map_err(ExtFailure::Build)?;
    let several = built.len() > 1;
    let mut is_good = true;
    for loaded in &built {
        let folder = target(arguments, loaded, several);
        let artifact = &loaded.artifact;
        if let Some(code) = artifact.bytecode(&cache).map_err(ExtFailure::Build)? {
            console.remark(&format!(
                "compiled {}: {} bytes of bytecode in the cache",
                artifact.name(),
                grouped(code.as_bytes().len())
            ));
        }
        if artifact.descriptor.engine.tier == Tier::Wasm && artifact.verdict() == Verdict::Blocked {
            for finding in artifact.findings().iter().filter(|finding| finding.verdict == Verdict::Blocked) {
                console.note(&format!("{} is no extension: {}", artifact.name(), finding.message));
                finding.remedy.iter().for_each(|remedy| console.hint(remedy));
            }
            is_good = false;
            continue;
        }
        let before = place::read(&folder).ok().map(|(_, before)| before);
        if let Some(before) = before.as_ref().filter(|before| before.name != artifact.name()) {
            let folder = folder.display();
            console.note(&format!("{folder} had the artifact of {}, which is replaced; -o names another", before.name));
        }
        let was_signed = before.is_some_and(|before| before.extra.contains_key(SIGNATURE));
        write(artifact, &folder)?;
        report(artifact, &folder, console);
        if was_signed {
            let folder = folder.display();
            console.note(&format!("what was there was signed, and this is not; `pi ext sign {folder}` signs it"));
        }
    }
    Ok(if is_good { Exit::Success } else { Exit::No })
}

fn target(arguments: &ExtBuildArguments, loaded: &Loaded, several: bool) -> PathBuf {
    let folder = arguments.output.clone().unwrap_or_else(|| loaded.root().join(FOLDER));
    if several { folder.join(loaded.artifact.name().replace('/', "-")) } else { folder }
}

fn write(artifact: &Artifact, folder: &Path) -> Result<(), Failure> {
    place::write(&folder.join(CONTAINER), &write_container(artifact))?;
    place::write_descriptor(folder, &artifact.descriptor)
}

fn report(artifact: &Artifact, folder: &Path, console: &mut Console) {
    let descriptor = &artifact.descriptor;
    if console.reader() == Reader::Machine {
        let mut line = serde_json::to_value(descriptor).expect("a descriptor is plain JSON");
        if let Value::Object(members) = &mut line {
            members.insert("verdict".to_owned(), json!(artifact.verdict()));
            members.insert("artifact".to_owned(), json!(folder.join(CONTAINER)));
            members.insert("description".to_owned(), json!(folder.join(DESCRIPTOR)));
        }
        return console.line(&line.to_string());
    }
    let name = console.paint(Tone::Strong, &printable(artifact.name()));
    let sizes = &descriptor.sizes;
    let parts = [
        counted(descriptor.sources.len(), "file"),
        format!("{} bytes", grouped(sizes.sources)),
        format!("{} of {} bytes", what(descriptor.engine.tier), grouped(sizes.bundle)),
        counted(artifact.assets.len(), "asset"),
    ];
    console.line(&format!("built  {name} {}: {}", descriptor.version, parts.join(", ")));
    console.line(&format!("       {}", folder.join(CONTAINER).display()));
    let (word, tone) = verdict(artifact.verdict());
    let word = console.paint(tone, word);
    let findings = counted(artifact.findings().len(), "finding");
    let needs: Vec<String> = descriptor.capabilities.inferred.iter().map(ToString::to_string).collect();
    let needs = if needs.is_empty() { "nothing".to_owned() } else { needs.join(", ") };
    console.line(&format!("       {word}, {findings}; needs {needs}"));
    if !artifact.findings().is_empty() {
        console.hint("`pi ext scan` shows the findings with their places");
    }
}

/// What of an artifact runs.
fn what(tier: Tier) -> &'static str {
    match tier {
        Tier::Js => "bundle",
        Tier::Wasm => "component",
        Tier::Mcp => "server",
    }
}

/// A verdict as people read it.
pub(super) fn verdict(verdict: Verdict) -> (&'static str, Tone) {
    match verdict {
        Verdict::Compatible => ("compatible", Tone::Good),
        Verdict::Warning => ("warning", Tone::Warning),
        Verdict::Blocked => ("blocked", Tone::Bad),
    }
}
