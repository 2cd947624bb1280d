//! Owns running extensions: will hold their registry, their life cycle, the ledger, and the one dispatcher.
//!
//! Every host call of every tier is to take the same way: derive the capability, decide, execute, record. This crate knows
//! no engine, neither WebAssembly nor JavaScript, and no session: guests are behind the trait `Guest`, a conversation is
//! behind `SessionPort`, and both are implemented above it. That cut is what keeps the workspace free of cycles.
//!
//! Not built yet: this crate is empty. The first type to read will be `Dispatcher`, then the trait `Guest`.
