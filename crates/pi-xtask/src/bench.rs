//! Measures in a release build and sets each figure beside a limit, or beside a peer in the same run.
//!
//! Absolute times belong to one machine; ratios travel. A goal that is missed is said and never fails the build, because
//! a busy machine is no fault of the code; a bench that does not run, or does not measure what a goal needs, does fail.

mod asking;
mod baseline;
mod estimates;
mod goals;
mod loopback;
mod memory;
mod page;
mod profile;
mod server;
mod startup;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::json;

use crate::console::{self, Cell, Tone, paint};
use crate::install::{self, Missing};
use crate::process::Program;
use crate::{cargo, files, peers, sdk};
use baseline::Baseline;
use goals::{Judged, Outcome};

#[derive(clap::Args, Default)]
pub(crate) struct Arguments {
    /// Only this bench: startup, asking, wire, engine, policy, envelope, redact, decode, request, tools, open, turn,
    /// extensions, components, loopback, server or page
    name: Option<String>,
    /// Shorter and less exact
    #[arg(long)]
    quick: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Compare with a run that was kept: with the last one, or with what --json printed into a file
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    baseline: Option<Option<PathBuf>>,
    /// Keep this run, for --baseline
    #[arg(long)]
    save_baseline: bool,
    /// Measure nothing, but draw where the benches of the crates spend their time: a flamegraph for each
    #[arg(long, conflicts_with_all = ["json", "baseline", "save_baseline", "quick"])]
    profile: bool,
}

/// The benches of the crates, each a program of its own, and the crates; `startup` and `asking` are ours, `loopback` and
/// `server` a workspace, `page` runs in a browser.
const BENCHES: &[(&str, &str)] = &[
    ("wire", "pi-wire"),
    ("engine", "pi-engine"),
    ("policy", "pi-policy"),
    ("envelope", "pi-envelope"),
    ("redact", "pi-redact"),
    ("decode", "pi-provider"),
    ("request", "pi-provider"),
    ("tools", "pi-tools"),
    ("open", "pi-session"),
    ("turn", "pi-session"),
    ("extensions", "pi-guests"),
    (COMPONENTS, "pi-guests"),
];
/// Extensions that are components, and MCP servers.
const COMPONENTS: &str = "components";
const STARTUP: &str = "startup";
const ASKING: &str = "asking";
const LOOPBACK: &str = "loopback";
const SERVER: &str = "server";
const PAGE: &str = "page";

/// One figure, by the name that the goals know.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Figure {
    pub median: f64,
    /// CPU time of the same amount of work.
    pub cpu: Option<f64>,
    /// How many of something are done in a second, where the bench says how many it does.
    pub rate: Option<f64>,
    pub unit: Unit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Nanoseconds,
    Kibibytes,
    /// What a bench counts itself, for example operations.
    Count,
}

pub(crate) type Figures = BTreeMap<String, Figure>;

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let wanted = |name: &str| arguments.name.as_deref().is_none_or(|only| only == name);
    let chosen: Vec<(&str, &str)> = BENCHES.iter().copied().filter(|(name, _)| wanted(name)).collect();
    if chosen.is_empty() && ![STARTUP, ASKING, LOOPBACK, SERVER, PAGE].into_iter().any(wanted) {
        let names: Vec<&str> = BENCHES.iter().map(|(name, _)| *name).collect();
        bail!(
            "there is no such bench; there are {STARTUP}, {ASKING}, {LOOPBACK}, {SERVER}, {PAGE}, {}",
            names.join(", ")
        );
    }
    if arguments.profile {
        return profile::draw(&chosen);
    }
    let kept = arguments.baseline.as_ref().map(|path| match path {
        Some(path) => Baseline::read(path),
        None => Baseline::read(&baseline::usual_place()?),
    });
    let kept = kept.transpose()?;
    let mut figures = Figures::new();
    if wanted(STARTUP) {
        figures.extend(startup::measure(arguments.quick)?);
    }
    if wanted("tools")
        && let Err(Missing(why)) = install::ensure(install::RIPGREP)
    {
        console::say(&paint(Tone::Warning, &format!("grep is not measured beside it: {why}")));
    }
    if !chosen.is_empty() {
        figures.extend(run_benches(&chosen, arguments.quick)?);
    }
    let mut run: Vec<&str> = chosen.iter().map(|(name, _)| *name).collect();
    if wanted(ASKING) {
        figures.extend(asking::measure(arguments.quick)?);
        run.push(ASKING);
    }
    if wanted(LOOPBACK) {
        figures.extend(loopback::measure(arguments.quick)?);
        run.push(LOOPBACK);
    }
    if wanted(SERVER) {
        figures.extend(server::measure(arguments.quick)?);
        run.push(SERVER);
    }
    if wanted(PAGE) {
        match page::measure(arguments.quick)? {
            Ok(measured) => {
                figures.extend(measured);
                run.push(PAGE);
            }
            Err(Missing(why)) => console::say(&paint(Tone::Warning, &format!("the page is not measured: {why}"))),
        }
    }
    let judged = goals::judge(goals::GOALS, &figures, &run)?;
    if arguments.json {
        let mut printed = to_json(&judged);
        if let Some(kept) = &kept {
            kept.annotate(&mut printed, &judged);
        }
        console::say(&serde_json::to_string_pretty(&printed)?);
    } else {
        print(&judged);
        if let Some(kept) = &kept {
            kept.print(&judged);
        }
    }
    if arguments.save_baseline {
        baseline::save(&baseline::usual_place()?, &judged)?;
    }
    Ok(())
}

/// All benches, shortened: shows that each still runs and measures what the goals need.
pub(crate) fn smoke() -> Result<()> {
    run(&Arguments { quick: true, ..Arguments::default() })
}

fn run_benches(chosen: &[(&str, &str)], quick: bool) -> Result<Figures> {
    let selected = chosen.iter().flat_map(|(name, _)| ["--bench", name]);
    let built = cargo::build(cargo::cargo().args(["bench", "--workspace", "--no-run"]).args(selected))?;
    let mut figures = Figures::new();
    for (name, package) in chosen {
        let program = built.iter().find(|built| built.kind == "bench" && built.name == *name);
        let program = program.with_context(|| format!("cargo built no bench {name}"))?;
        figures.extend(run_bench(name, package, &program.path, quick)?);
    }
    Ok(figures)
}

/// Runs one bench in a folder of its own, so that no figure of an earlier run is read.
fn run_bench(name: &str, package: &str, program: &Path, quick: bool) -> Result<Figures> {
    let folder: PathBuf = cargo::target_folder()?.join("xtask-bench").join(name);
    files::remove_folder(&folder)?;
    let short: &[&str] =
        if quick { &["--warm-up-time", "0.2", "--measurement-time", "0.5", "--sample-size", "10"] } else { &[] };
    let mut bench = Program::new(program)
        .args(["--bench", "--noplot"])
        .args(short)
        .env("CRITERION_HOME", &folder)
        .folder(&cargo::root().join("crates").join(package));
    if let Ok(packages) = peers::corpus_folder()
        && packages.is_dir()
    {
        bench = bench.env("PI_BENCH_PACKAGES", packages);
    }
    if name == COMPONENTS {
        match sdk::example()? {
            Ok(component) => bench = bench.env("PI_BENCH_COMPONENT", component),
            Err(Missing(why)) => {
                console::say(&paint(
                    Tone::Warning,
                    &format!("a small component is measured in place of a real one: {why}"),
                ));
            }
        }
    }
    let finished = bench.capture()?;
    let share = finished.usage.cpu.as_secs_f64() / finished.usage.wall.as_secs_f64();
    let printed = finished.text(&format!("bench {name}"))?;
    let mut figures = estimates::read(&folder, share)?;
    if figures.is_empty() {
        bail!("bench {name} measured nothing");
    }
    figures.extend(estimates::metrics(name, &printed));
    Ok(figures)
}

fn print(judged: &[Judged]) {
    let title = |text: &str| Cell::left(Tone::Quiet, text);
    let number = |text: &str| Cell::right(Tone::Quiet, text);
    let titles = ["median", "CPU", "per second"].map(number).into_iter().chain([
        title("goal"),
        number("measured"),
        title("verdict"),
    ]);
    let mut rows = vec![[title("what")].into_iter().chain(titles).collect::<Vec<_>>()];
    rows.extend(judged.iter().map(Judged::cells));
    console::say(&console::table(&rows));
    let missed = judged.iter().filter(|judged| judged.outcome == Outcome::Missed).count();
    if missed > 0 {
        let text = format!("{missed} goals are missed; that fails nothing, but wants a reason in docs/performance.md");
        console::say(&paint(Tone::Warning, &text));
    }
}

fn to_json(judged: &[Judged]) -> serde_json::Value {
    json!({ "figures": judged.iter().map(Judged::to_json).collect::<Vec<_>>() })
}
