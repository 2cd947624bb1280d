//! The SDK for authors of extensions: a workspace of its own, whose tests run on this machine and whose examples are built for
//! the one that extensions run on.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::cargo;
use crate::install::{self, Missing};
use crate::report::Verdict;

/// The workspace.
pub(crate) const MANIFEST: &str = "sdk/rust/Cargo.toml";

/// Everything that must pass there, in the order in which a fault is cheapest to find.
const COMMANDS: [&[&str]; 3] = [
    &["clippy", "--workspace", "--all-targets"],
    &["test", "--workspace", "--no-fail-fast"],
    &["build", "--workspace", "--target", "wasm32-wasip2"],
];

/// Runs them in a folder beside our own builds, so that the next round finds what this one compiled. Skipped where its
/// dependencies cannot be had; without the target its examples are not built, and that is said.
pub(crate) fn check() -> Result<Verdict> {
    let fetched = cargo::cargo().args(["fetch", "--locked", "--manifest-path", MANIFEST]).capture_all()?;
    if !fetched.status.success() {
        let said = String::from_utf8_lossy(&fetched.stderr).trim_end().to_owned();
        // A lock file that does not fit is a fault of ours; everything else is one of the network.
        return Ok(match said.contains("--locked") {
            true => Verdict::Failed(said),
            false => Verdict::Skipped(format!("what the SDK depends on cannot be fetched: {said}")),
        });
    }
    let folder = cargo::target_folder()?.join("sdk");
    let target = install::ensure(install::COMPONENTS);
    for words in COMMANDS {
        if let (Err(Missing(why)), true) = (&target, words.contains(&"--target")) {
            return Ok(Verdict::Skipped(format!("its tests pass, its examples are not built: {why}")));
        }
        let command = cargo::cargo().args(words).args(["--locked", "--manifest-path", MANIFEST, "--target-dir"]);
        let command = command.arg(&folder);
        // After the last argument of cargo itself.
        let command = if words[0] == "clippy" { command.args(["--", "-D", "warnings"]) } else { command };
        let line = command.to_string();
        let finished = command.show()?;
        if !finished.status.success() {
            return Ok(Verdict::Failed(format!("{line}: {}", finished.status)));
        }
    }
    Ok(Verdict::Passed(String::new()))
}

/// An example as a component, as large as extensions in Rust usually are.
pub(crate) fn example() -> Result<Result<PathBuf, Missing>> {
    if let Err(missing) = install::ensure(install::COMPONENTS) {
        return Ok(Err(missing));
    }
    let folder = cargo::target_folder()?.join("sdk");
    let build = cargo::cargo().args(["build", "--release", "--locked", "--package", "code-search"]);
    let build = build.args(["--target", "wasm32-wasip2", "--manifest-path", MANIFEST, "--target-dir"]).arg(&folder);
    let line = build.to_string();
    let finished = build.capture_all()?;
    if !finished.status.success() {
        return Ok(Err(Missing(format!("{line}: {}", String::from_utf8_lossy(&finished.stderr).trim_end()))));
    }
    let component = folder.join("wasm32-wasip2/release/code_search.wasm");
    component.is_file().then_some(Ok(component)).context("cargo built no example")
}
