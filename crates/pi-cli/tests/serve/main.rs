//! `pi serve`, the real binary, over real sockets and pipes.

mod asking;
mod circuits;
mod clients;
mod closing;
mod commands;
mod components;
mod configured;
mod conformance;
mod crash;
#[cfg(target_os = "linux")]
mod crowded;
mod door;
mod events;
mod extension;
mod faults;
mod full_disk;
mod hostile;
mod house;
mod journal;
mod lasting;
mod late;
mod leaving;
mod looking;
mod pings;
mod places;
mod questions;
mod refusals;
#[expect(dead_code, reason = "other suites look at more")]
#[path = "../support/room.rs"]
mod room;
mod running;
mod serving;
mod settled;
mod shared;
mod starting;
mod stdio;
mod storm;
mod switching;
mod waiting;

/// How often something is done: `usual`, or as often as the variable says. `cargo xtask test --full` sets it.
fn times(variable: &str, usual: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}
