//! Extensions in JavaScript, over the real engine.

#![expect(clippy::disallowed_methods, reason = "tests make and look at files themselves, and know the time")]

mod api;
mod artifacts;
mod cryptography;
mod hostile;
mod house;
mod limits;
mod order;
mod processes;
