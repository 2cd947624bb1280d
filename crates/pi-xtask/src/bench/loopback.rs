//! Our provider client beside its peers against one server on loopback; the programs are in `bench/`.

use std::path::PathBuf;

use anyhow::{Context, Result};

use super::{Figures, LOOPBACK, estimates};
use crate::cargo;
use crate::process::Program;

pub(super) fn measure(quick: bool) -> Result<Figures> {
    let short: &[&str] = if quick { &["--quick"] } else { &[] };
    let printed = Program::new(build()?).args(short).capture()?.text("loopback bench")?;
    Ok(estimates::metrics(LOOPBACK, &printed))
}

/// Builds the programs in a folder of their own, because the peers bring other features of shared libraries.
pub(super) fn build() -> Result<PathBuf> {
    let folder = cargo::target_folder()?.join("bench");
    let build = cargo::cargo().args(["build", "--release", "--manifest-path", "bench/Cargo.toml", "--target-dir"]);
    let built = cargo::build(build.arg(&folder))?;
    let program = built.into_iter().find(|built| built.kind == "bin").context("cargo built no loopback bench")?;
    Ok(program.path)
}
