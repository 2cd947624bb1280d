//! `pi serve` beside a bare WebSocket server; the programs are in `bench/`.

use anyhow::Result;

use super::{Figures, SERVER, estimates, loopback};
use crate::cargo;
use crate::process::Program;

/// Builds both and lets the one measure the other.
pub(super) fn measure(quick: bool) -> Result<Figures> {
    let pi = cargo::build_released_pi()?;
    let folder = cargo::target_folder()?.join("xtask-bench").join(SERVER);
    let short: &[&str] = if quick { &["--quick"] } else { &[] };
    let program = Program::new(loopback::build()?).arg("server").arg(&pi).arg(&folder).args(short);
    Ok(estimates::metrics(SERVER, &program.capture()?.text("server bench")?))
}
