//! The engine beside a reference that is too simple to be wrong, under random clients, clocks, journals and crashes.
//!
//! Every step goes to both, and both must do the same. A [`witness::Witness`] that knows no rules watches the engine as well:
//! one answer each, nothing twice, nothing before it is durable, first come first served, no leaks.
//!
//! * `PI_TEST_STEPS=1000000` takes more steps than the 50 000 of a usual run; `cargo xtask test --full` does.
//! * `PI_TEST_SEED=…` repeats the one episode that a failure names.

mod coverage;
mod display;
mod episode;
mod journal;
mod random;
mod reference;
mod witness;
mod world;

use coverage::Coverage;
use episode::Episode;

/// Steps until an engine is left to end what it has, and another begins.
const EPISODE: usize = 500;

fn variable(name: &str) -> Option<u64> {
    std::env::var(name)
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{name} must be a number, not {text:?}")))
}

#[test]
fn engine_does_what_the_reference_does() {
    let mut coverage = Coverage::default();
    if let Some(seed) = variable("PI_TEST_SEED") {
        return Episode::run(seed, EPISODE, &mut coverage);
    }
    let steps = variable("PI_TEST_STEPS").unwrap_or(50_000);
    for seed in 1..=steps.div_ceil(EPISODE as u64) {
        Episode::run(seed, EPISODE, &mut coverage);
    }
    coverage.assert_complete();
}
