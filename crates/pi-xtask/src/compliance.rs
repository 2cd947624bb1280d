//! AI-Protocol's compliance cases, run through `pi-provider` as calls go through it.
//!
//! The runner is a test of that crate (`tests/compliance.rs`), and `cargo xtask test` runs it with all others on the cases
//! beside the checkout. This task runs it on any folder of the same layout.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::cargo;

/// Where the cases lie beside a checkout.
const BESIDE: &str = "../shared/data/ai-protocol/tests/compliance";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A folder with `cases` and `fixtures`; manifests and contracts lie two levels above it
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Only cases whose id or suite holds one of these words
    #[arg(value_name = "WORD")]
    words: Vec<String>,
    /// Do not fail because of kinds of cases that nobody here knows
    #[arg(long)]
    allow_unknown: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let folder = folder(arguments.folder.as_deref())?;
    // The whole workspace is named so that nothing is built a second time with other features.
    let mut command = cargo::cargo().args(["test", "--quiet", "--workspace", "--test", "compliance", "--", "--dir"]);
    command = command.arg(folder).args(&arguments.words);
    if arguments.allow_unknown {
        command = command.arg("--allow-unknown");
    }
    let line = command.to_string();
    let finished = command.show()?;
    if finished.status.success() { Ok(()) } else { bail!("{line}: {}", finished.status) }
}

/// The absolute folder: the runner starts elsewhere.
fn folder(asked: Option<&Path>) -> Result<PathBuf> {
    let folder = match asked {
        Some(folder) => std::path::absolute(folder).with_context(|| format!("{} is no path", folder.display()))?,
        None => cargo::root().join(BESIDE),
    };
    if folder.join("cases").is_dir() {
        Ok(folder)
    } else {
        bail!("{} has no folder cases; name one: cargo xtask compliance DIR", folder.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_cases_is_refused() {
        let error = folder(Some(Path::new("src"))).expect_err("there are no cases in src");
        assert!(error.to_string().contains("src has no folder cases"), "{error}");
    }
}
