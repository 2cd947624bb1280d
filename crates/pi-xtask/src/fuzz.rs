//! Coverage-guided input for every parser, on the stable toolchain.
//!
//! The targets in `fuzz/` are a workspace of their own, built with LLVM's coverage passes through plain `-C` flags and
//! linked with libFuzzer. Each asserts a property (a round trip, two verdicts that agree), not only that nothing panics.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::console::{self, Tone, paint};
use crate::install::{self, Missing, Need};
use crate::process::{Finished, Program};
use crate::report::{Report, Verdict};
use crate::{cargo, files};

/// How long each target looks for something new by itself, and in `cargo xtask test --full`.
const SHORT: u32 = 10;
pub(crate) const LONG: u32 = 300;

/// Fewer covered edges than this, after reading the seeds, mean that the coverage passes did not run.
const FEWEST_EDGES: u64 = 50;

/// What `cargo-fuzz` passes without a sanitizer. They are options of LLVM, not of rustc, so a stable compiler takes them.
const FLAGS: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg=fuzzing",
];

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only this target (see fuzz/Cargo.toml)
    target: Option<String>,
    /// How long each target runs
    #[arg(long, default_value_t = SHORT)]
    seconds: u32,
    /// Run the target once on this file instead, to reproduce a crash
    #[arg(long, requires = "target", value_name = "FILE")]
    input: Option<PathBuf>,
}

/// A fuzz target: its name in `fuzz/Cargo.toml`, how long its inputs may get, and how many make a round that repeats itself:
/// about five seconds' worth.
struct Target {
    name: &'static str,
    longest: u32,
    repeated: u32,
}

/// What a round asks. Two runs of the same code must give the same verdict where it decides about a change (ADR 365).
#[derive(Clone, Copy)]
pub(crate) enum Round {
    /// The same inputs each time: from the seeds alone, by one number for chance, so many and no more.
    Repeated,
    /// Other inputs each time, on top of all that was found before.
    Searching { seconds: u32 },
}

const TARGETS: &[Target] = &[
    Target { name: "wire_frame", longest: 8_192, repeated: 150_000 },
    Target { name: "extension_message", longest: 8_192, repeated: 150_000 },
    Target { name: "extension_manifest", longest: 4_096, repeated: 300_000 },
    Target { name: "envelope", longest: 8_192, repeated: 150_000 },
    Target { name: "session_line", longest: 8_192, repeated: 40_000 },
    Target { name: "policy_config", longest: 4_096, repeated: 60_000 },
    Target { name: "redact_text", longest: 4_096, repeated: 60_000 },
    Target { name: "stream", longest: 8_192, repeated: 40_000 },
    Target { name: "manifest", longest: 8_192, repeated: 8_000 },
];

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if let Some(name) = &arguments.target
        && !TARGETS.iter().any(|target| target.name == name)
    {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        bail!("there is no target {name}; there are {}", names.join(", "));
    }
    if let (Some(name), Some(input)) = (&arguments.target, &arguments.input) {
        return reproduce(name, input);
    }
    let mut report = Report::default();
    round(&mut report, arguments.target.as_deref(), Round::Searching { seconds: arguments.seconds });
    console::say(&format!("\n{}", report.summary()));
    match report.failures() {
        0 => Ok(()),
        count => bail!("{count} fuzz steps failed"),
    }
}

/// Builds the targets and runs all, or one, as steps of a report.
pub(crate) fn round(report: &mut Report, only: Option<&str>, round: Round) {
    let mut place = None;
    report.step("fuzz: build the targets", || match build()? {
        Ok(programs) => {
            place = Some(programs);
            Ok(Verdict::Passed(format!("{} targets", TARGETS.len())))
        }
        Err(Missing(why)) => Ok(Verdict::Skipped(why)),
    });
    let Some(place) = place else { return };
    for target in TARGETS.iter().filter(|target| only.is_none_or(|only| only == target.name)) {
        let name = match round {
            Round::Repeated => format!("fuzz: {}", target.name),
            Round::Searching { seconds } => format!("fuzz: {} for {seconds} s", target.name),
        };
        report.step(&name, || place.run(target, round));
    }
}

/// Where the built targets are, and where they keep what they find.
struct Place {
    programs: PathBuf,
    /// Inputs that reached something new stay here, so that the next round goes on from there.
    corpus: PathBuf,
    /// Emptied before each round that repeats itself.
    repeated: PathBuf,
    artifacts: PathBuf,
    seeds: PathBuf,
    dictionaries: PathBuf,
}

fn build() -> Result<Result<Place, Missing>> {
    if let Err(missing) = install::ensure(Need::CxxCompiler) {
        return Ok(Err(missing));
    }
    let manifest = cargo::root().join("fuzz/Cargo.toml");
    let folder = cargo::target_folder()?.join("fuzz");
    let host = host()?;
    // A target of its own name keeps the flags away from build scripts and macros.
    let command = || {
        cargo::cargo()
            .args(["build", "--release", "--target", &host])
            .args([OsString::from("--manifest-path"), manifest.clone().into()])
            .args([OsString::from("--target-dir"), folder.clone().into()])
            .env("RUSTFLAGS", FLAGS.join(" "))
            .without_env("CARGO_ENCODED_RUSTFLAGS")
    };
    let listed =
        cargo::cargo().args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path"]).arg(&manifest);
    if !listed.works() {
        bail!("fuzz/Cargo.toml cannot be read");
    }
    if !command().args(["--package", "libfuzzer-sys"]).show()?.status.success() {
        return Ok(Err(Missing("libFuzzer cannot be built here".to_owned())));
    }
    if !command().show()?.status.success() {
        bail!("the fuzz targets do not build");
    }
    Ok(Ok(Place {
        programs: folder.join(&host).join("release"),
        corpus: folder.join("corpus"),
        repeated: folder.join("repeated"),
        artifacts: folder.join("artifacts"),
        seeds: cargo::root().join("fuzz/seeds"),
        dictionaries: cargo::root().join("fuzz/dictionaries"),
    }))
}

fn host() -> Result<String> {
    let version = Program::new("rustc").arg("-vV").capture_all()?.text("rustc -vV")?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not say what it runs on")?.to_owned())
}

impl Place {
    fn run(&self, target: &Target, round: Round) -> Result<Verdict> {
        let artifacts = self.artifacts.join(target.name);
        let (corpus, until) = match round {
            Round::Repeated => {
                let corpus = self.repeated.join(target.name);
                files::remove_folder(&corpus)?;
                (corpus, vec!["-seed=1".to_owned(), format!("-runs={}", target.repeated)])
            }
            Round::Searching { seconds } => (self.corpus.join(target.name), vec![format!("-max_total_time={seconds}")]),
        };
        files::make_folder(&corpus)?;
        files::make_folder(&artifacts)?;
        let finished = Program::new(self.programs.join(target.name))
            .arg(corpus)
            .arg(self.seeds.join(target.name))
            .arg(option("-dict", &self.dictionaries.join(format!("{}.txt", target.name))))
            // libFuzzer takes the prefix literally: without the slash the folder's name becomes part of the file's.
            .arg(option("-artifact_prefix", &artifacts.join("")))
            .args(until)
            .arg(format!("-max_len={}", target.longest))
            .args(["-rss_limit_mb=512", "-timeout=10", "-print_final_stats=1"])
            .folder(cargo::root())
            .capture_all()?;
        judge(target.name, &finished)
    }
}

fn option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(format!("{name}="));
    option.push(path);
    option
}

/// What a run says about the code, and about itself: a fuzzer that sees no coverage has tested nothing.
fn judge(name: &str, finished: &Finished) -> Result<Verdict> {
    let said = String::from_utf8_lossy(&finished.stderr);
    if !finished.status.success() {
        let tail: Vec<&str> = said.lines().rev().take(40).collect();
        console::say(&tail.into_iter().rev().collect::<Vec<_>>().join("\n"));
        return Ok(Verdict::Failed(match reproducer(&said) {
            Some(input) => format!(
                "input {input} breaks {name}; run it again with `cargo xtask fuzz {name} --input {input}`, \
                 and keep it in fuzz/seeds/{name} when it is mended"
            ),
            None => format!("{name}: {}", finished.status),
        }));
    }
    let stats = Statistics::read(&said).with_context(|| format!("{name} printed no statistics"))?;
    if stats.edges < FEWEST_EDGES {
        bail!("{name} saw {} edges only: it was built without coverage", stats.edges);
    }
    let note = format!("{} runs, {} edges covered, {} before", stats.runs, stats.edges, stats.before);
    console::say(&paint(Tone::Quiet, &note));
    Ok(Verdict::Passed(note))
}

/// What libFuzzer prints about a run.
#[derive(Debug, PartialEq)]
struct Statistics {
    runs: u64,
    /// Edges covered by the inputs that were there already.
    before: u64,
    edges: u64,
}

impl Statistics {
    fn read(said: &str) -> Option<Self> {
        let after = |line: &str, key: &str| -> Option<u64> {
            let rest = &line[line.find(key)? + key.len()..];
            rest.split_whitespace().next()?.parse().ok()
        };
        Some(Self {
            runs: said.lines().rev().find_map(|line| after(line, "stat::number_of_executed_units:"))?,
            before: said.lines().filter(|line| line.contains("INITED")).find_map(|line| after(line, " cov: "))?,
            edges: said.lines().rev().find_map(|line| after(line, " cov: "))?,
        })
    }
}

fn reproducer(said: &str) -> Option<&str> {
    said.lines().rev().find_map(|line| line.split_once("Test unit written to ")).map(|(_, path)| path.trim())
}

fn reproduce(name: &str, input: &Path) -> Result<()> {
    let place = match build()? {
        Ok(place) => place,
        Err(Missing(why)) => bail!("{why}"),
    };
    let finished = Program::new(place.programs.join(name)).arg(input).env("RUST_BACKTRACE", "1").show()?;
    if finished.status.success() { Ok(()) } else { bail!("{} still breaks {name}", input.display()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "INFO: seed corpus: files: 3 min: 1b max: 9b total: 20b rss: 27Mb
#4\tINITED cov: 412 ft: 500 corp: 3/20b exec/s: 0 rss: 28Mb
#9000\tNEW    cov: 530 ft: 2774 corp: 9/1Kb lim: 4096 exec/s: 0 rss: 28Mb L: 3/9 MS: 1 ChangeBit-
#9876\tDONE   cov: 531 ft: 2780 corp: 9/1Kb lim: 4096 exec/s: 900 rss: 28Mb
Done 9876 runs in 11 second(s)
stat::number_of_executed_units: 9876
stat::average_exec_per_sec:     900";

    #[test]
    fn a_run_is_read_from_what_it_prints() {
        assert_eq!(Statistics::read(SAID), Some(Statistics { runs: 9876, before: 412, edges: 531 }));
        assert_eq!(Statistics::read("nothing"), None);
    }

    #[test]
    fn the_input_that_broke_it_is_named() {
        let said = "==1== ERROR: libFuzzer: deadly signal\nartifact_prefix='x/'; Test unit written to x/crash-1f\nBase64: AA==";
        assert_eq!(reproducer(said), Some("x/crash-1f"));
        assert_eq!(reproducer(SAID), None);
    }

    #[test]
    fn a_run_without_coverage_is_an_error_and_a_crash_a_failure() {
        let finished =
            |script: &str| Program::new("sh").args(["-c", script, "sh", SAID]).capture_all().expect("sh starts");
        let passed = judge("a", &finished("echo \"$1\" >&2")).expect("it has statistics");
        assert_eq!(passed, Verdict::Passed("9876 runs, 531 edges covered, 412 before".to_owned()));
        let blind = judge("a", &finished("echo \"$1\" | sed 's/cov: [0-9]*/cov: 4/' >&2"));
        assert!(blind.is_err_and(|error| error.to_string().contains("without coverage")));
        let crashed =
            judge("a", &finished("echo 'Test unit written to x/crash-1f' >&2; exit 77")).expect("it is judged");
        assert!(matches!(crashed, Verdict::Failed(why) if why.contains("cargo xtask fuzz a --input x/crash-1f")));
    }

    #[test]
    fn every_target_is_in_the_manifest_with_seeds_and_words() {
        let folder = cargo::root().join("fuzz");
        let manifest = files::read(&folder.join("Cargo.toml")).expect("it is there");
        let built: toml::Table = manifest.parse().expect("it is TOML");
        let names: Vec<&str> =
            built["bin"].as_array().expect("targets").iter().filter_map(|bin| bin["name"].as_str()).collect();
        assert_eq!(names, TARGETS.iter().map(|target| target.name).collect::<Vec<_>>());
        for name in names {
            assert!(
                files::below(&folder.join("seeds").join(name)).expect("it can be listed").len() >= 3,
                "seeds of {name}"
            );
            assert!(folder.join(format!("dictionaries/{name}.txt")).is_file(), "words of {name}");
        }
    }
}
