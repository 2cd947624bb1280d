//! The page in a real browser against `pi serve`; what is measured there is in `web/bench`.

use anyhow::Result;

use super::{Figures, PAGE, estimates};
use crate::install::Missing;
use crate::{cargo, page};

/// Measures, if there is Node and a browser.
pub(super) fn measure(quick: bool) -> Result<Result<Figures, Missing>> {
    let folder = match page::prepare() {
        Ok(folder) => folder,
        Err(missing) => return Ok(Err(missing)),
    };
    let pi = cargo::build_released_pi()?;
    let rounds = if quick { "1" } else { "5" };
    let printed = page::script(&folder, "bench", &pi).env("PAGE_BENCH_ROUNDS", rounds).capture()?.text("page bench")?;
    Ok(Ok(estimates::metrics(PAGE, &printed)))
}
