//! The real binary over many turns and many deaths, with a real language model, and with models of extensions.

mod brought;
mod crash;
#[cfg(target_os = "linux")]
mod ending;
mod local;
#[path = "../support/room.rs"]
mod room;

/// How often something is done: `usual`, or as often as the variable says. `cargo xtask test --full` sets it.
fn times(variable: &str, usual: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}
