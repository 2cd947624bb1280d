//! Extensions of others, compared with the real Pi: what they register there and what they do in a rehearsal is captured, and
//! the same here is replayed against it.
//!
//! The harness is JavaScript, in `tests/ext_conformance`: the real Pi runs under Node, and the corpus comes from npm. Here it is
//! only started. Fixtures are part of the repository, the corpus is not.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::cargo::{self, Beside};
use crate::install::Missing;
use crate::peers;
use crate::process::Program;
use crate::report::Verdict;

/// The harness, and the page that a replay writes.
const HARNESS: &str = "tests/ext_conformance";
const PAGE: &str = "docs/extension-conformance.md";
/// What the harness ends with where the corpus cannot be fetched.
const UNREACHABLE: i32 = 77;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(clap::Subcommand)]
enum Task {
    /// Load and rehearse every extension of the corpus in the real Pi, and write down what it registers and does
    Capture {
        /// Only extensions whose kind and name hold all of these words; the fixtures of others stay as they are
        #[arg(value_name = "WORD")]
        words: Vec<String>,
    },
    /// Load and rehearse every extension of the corpus here, compare, and write the page
    Replay {
        /// Only extensions whose kind and name hold all of these words; the page is left as it is
        #[arg(value_name = "WORD")]
        words: Vec<String>,
    },
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let harness = match &arguments.task {
        Task::Capture { words } => node("capture.mjs").arg(corpus()?).arg("--logs").arg(kept("captured")?).args(words),
        Task::Replay { words } if words.is_empty() => replay()?.arg("--page").arg(cargo::root().join(PAGE)),
        Task::Replay { words } => replay()?.args(words),
    };
    let line = harness.to_string();
    let finished = harness.show()?;
    if finished.status.success() { Ok(()) } else { bail!("{line}: {}", finished.status) }
}

/// The step of the round: everything is replayed. Skipped without Node.
pub(crate) fn check() -> Result<Verdict> {
    for program in ["node", "npm"] {
        if !Program::new(program).arg("--version").works() {
            return Ok(Verdict::Skipped(format!("{program} is not installed")));
        }
    }
    let harness = replay()?;
    let line = harness.to_string();
    let finished = harness.show()?;
    Ok(match finished.status.code() {
        Some(0) => Verdict::Passed(String::new()),
        Some(UNREACHABLE) => Verdict::Skipped("the extensions to compare could not be fetched from npm".to_owned()),
        _ => Verdict::Failed(format!("{line}: {}", finished.status)),
    })
}

fn replay() -> Result<Program> {
    let pi = cargo::build_pi(Beside::Tests)?;
    let harness = node("replay.mjs").arg(corpus()?).arg(pi);
    Ok(harness.arg("--logs").arg(kept("logs")?).arg("--cache").arg(kept("built")?))
}

/// Where what was seen is kept with its texts, of which fixtures have hashes, and what was built.
fn kept(name: &str) -> Result<PathBuf> {
    Ok(cargo::target_folder()?.join("ext_conformance").join(name))
}

fn node(script: &str) -> Program {
    Program::new("node").arg(cargo::root().join(HARNESS).join(script))
}

fn corpus() -> Result<PathBuf> {
    peers::corpus_folder().map_err(|Missing(why)| anyhow::anyhow!(why))
}
