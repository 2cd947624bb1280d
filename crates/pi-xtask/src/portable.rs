//! The portable crates, checked for platforms that nobody here runs.

use anyhow::Result;

use crate::cargo;
use crate::install::{self, Missing, Need};
use crate::report::Verdict;
use crate::tidy;

/// One Windows, one macOS. Checking needs their standard library, no linker and no machine.
pub(crate) const PLATFORMS: &[&str] = &["x86_64-pc-windows-gnu", "aarch64-apple-darwin"];

/// Checks the portable crates for one platform.
pub(crate) fn check(platform: &'static str) -> Result<Verdict> {
    if let Err(Missing(why)) = install::ensure(Need::Platform(platform)) {
        return Ok(Verdict::Skipped(why));
    }
    let packages: Vec<String> = tidy::portable().collect();
    let selected = packages.iter().flat_map(|package| ["--package", package]);
    let finished = cargo::cargo().args(["check", "--target", platform]).args(selected).show()?;
    Ok(match finished.status.success() {
        true => Verdict::Passed(format!("{} crates", packages.len())),
        false => Verdict::Failed(format!("cargo check --target {platform}: {}", finished.status)),
    })
}
