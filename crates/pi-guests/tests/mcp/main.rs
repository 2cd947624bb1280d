//! Servers of the Model Context Protocol, over real pipes and sockets: one that misbehaves as it is told, and real ones.

#![expect(
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test lays out files and programs, and says what it skips where it cannot run"
)]

mod hostile;
mod house;
mod http;
mod neighbours;
mod real;
mod speaking;
