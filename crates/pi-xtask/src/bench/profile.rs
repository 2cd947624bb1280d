//! Where a bench spends its time: samples by `perf`, drawn as a flamegraph.
//!
//! The benches are built once more for it, as they are released but with the names of functions.

use std::io::BufReader;
use std::path::Path;

use anyhow::{Context, Result, bail};
use inferno::collapse::{Collapse, perf::Folder};
use inferno::flamegraph;

use crate::console::{self, Tone, paint};
use crate::install::{self, Missing};
use crate::process::Program;
use crate::{cargo, files};

/// A profile of the workspace: that of releases, with symbols.
const PROFILE: &str = "profiling";
/// Seconds for each benchmark of a program.
const SECONDS: &str = "3";
const SAMPLES_PER_SECOND: &str = "997";

/// Draws one file for each of the benches.
pub(super) fn draw(chosen: &[(&str, &str)]) -> Result<()> {
    if let Err(Missing(why)) = install::ensure(install::PERF) {
        bail!("a profile needs perf: {why}");
    }
    let selected = chosen.iter().flat_map(|(name, _)| ["--bench", name]);
    let command = cargo::cargo().args(["bench", "--workspace", "--no-run", "--profile", PROFILE]).args(selected);
    let built = cargo::build(command)?;
    let folder = cargo::target_folder()?.join("profiles");
    files::make_folder(&folder)?;
    for (name, package) in chosen {
        let program = built.iter().find(|built| built.kind == "bench" && built.name == *name);
        let program = program.with_context(|| format!("cargo built no bench {name}"))?;
        let drawing = folder.join(format!("{name}.svg"));
        record(&program.path, package, &folder.join(format!("{name}.perf")), &drawing)
            .with_context(|| format!("no profile of {name}"))?;
        console::say(&paint(Tone::Good, &format!("{}", drawing.display())));
    }
    Ok(())
}

fn record(program: &Path, package: &str, samples: &Path, drawing: &Path) -> Result<()> {
    let here = cargo::root().join("crates").join(package);
    // The clock of the kernel: virtual machines have no counters of their own.
    let record = Program::new("perf")
        .args(["record", "--quiet", "--event", "cpu-clock", "--freq", SAMPLES_PER_SECOND])
        .args(["--call-graph", "dwarf,16384", "--output"])
        .arg(samples)
        .arg("--")
        .arg(program)
        .args(["--bench", "--profile-time", SECONDS])
        .folder(&here);
    let finished = record.capture_all()?;
    if !finished.status.success() {
        bail!("perf record: {}: {}", finished.status, String::from_utf8_lossy(&finished.stderr));
    }
    let script = Program::new("perf").args(["script", "--no-inline", "--input"]).arg(samples).capture_all()?;
    let stacks = script.text("perf script")?;
    let drawn = render(&stacks)?;
    files::write(drawing, &drawn)
}

/// Stacks as `perf script` prints them, as a picture.
fn render(stacks: &str) -> Result<Vec<u8>> {
    let mut folded = Vec::new();
    Folder::default().collapse(BufReader::new(stacks.as_bytes()), &mut folded)?;
    if folded.is_empty() {
        bail!("perf took no samples");
    }
    let mut drawn = Vec::new();
    flamegraph::from_reader(&mut flamegraph::Options::default(), folded.as_slice(), &mut drawn)?;
    Ok(drawn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_become_a_picture_that_names_their_functions() {
        let stacks = "bench 7 1.0: 1003009 cpu-clock:\n\t 55 inner+0x5 (/bin/bench)\n\t 44 outer+0x4 (/bin/bench)\n\n";
        let drawn = String::from_utf8(render(stacks).expect("there is a stack")).expect("it is text");
        assert!(drawn.contains("<svg") && drawn.contains("inner") && drawn.contains("outer"), "{drawn}");
    }

    #[test]
    fn no_samples_are_no_picture() {
        assert!(render("").is_err_and(|error| error.to_string().contains("no samples")));
    }
}
