//! Together with the real Pi: both talk to the same scripted model, and each goes on with what the other wrote.
//!
//! `cargo xtask test` installs Pi from npm and names its folder in `PI_TEST_PI`; where it is not set, the tests say so
//! and are skipped.

mod alignment;
mod compared;
mod event;
mod exchange;
mod listing;
#[path = "../support/spoken.rs"]
mod spoken;
mod stage;
