//! Servers that we did not write, over real sockets: a mock of many providers and a real language model.
//!
//! `cargo xtask test` installs them; each is started once for this program and ends with it. Without them the tests say
//! that they are skipped.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on has failed, and says what it skips"
)]

#[path = "peers/asking.rs"]
mod asking;
#[path = "peers/mock.rs"]
mod mock;
#[path = "peers/model.rs"]
mod model;
