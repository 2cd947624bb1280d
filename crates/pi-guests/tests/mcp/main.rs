//! Servers of the Model Context Protocol, over real pipes and sockets: one that misbehaves as it is told, and real ones.

#![expect(clippy::print_stderr, reason = "a test that cannot run says what it skips")]

mod hostile;
mod house;
mod http;
mod real;
mod speaking;
