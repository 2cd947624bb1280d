//! What extensions import, compared with Node itself and, where they are installed, with the real packages.

use anyhow::Result;

use crate::cargo;
use crate::process::Program;
use crate::report::Verdict;

/// The tests of the shims; they say aloud what they could not compare.
const TESTS: &str = "crates/pi-extc/shims/tests/all.js";

/// Runs them. Skipped without Node.
pub(crate) fn check() -> Result<Verdict> {
    if !Program::new("node").arg("--version").works() {
        return Ok(Verdict::Skipped("node is not installed".to_owned()));
    }
    let tests = Program::new("node").arg(cargo::root().join(TESTS));
    let line = tests.to_string();
    let finished = tests.show()?;
    Ok(match finished.status.success() {
        true => Verdict::Passed(String::new()),
        false => Verdict::Failed(format!("{line}: {}", finished.status)),
    })
}
