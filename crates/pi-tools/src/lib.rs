//! The built-in tools: will hold the `Tool` trait, the registry, and read, write, edit, bash, grep, find and ls.
//!
//! Each tool is to be one file. Files and processes are reached through two seams that take a grant of `pi-policy`, so a
//! tool cannot skip the decision about its scope. Tools decide nothing about permissions themselves, and they know neither
//! sessions nor extensions: those call them.
//!
//! Not built yet: this crate is empty. The first type to read will be the trait `Tool`.
