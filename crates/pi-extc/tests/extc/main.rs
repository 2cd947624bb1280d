//! The pipeline over real files and with the real bundler process.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "these tests make, damage and look at the files of extensions, and say loudly what they skip"
)]

mod bundling;
mod caching;
mod components;
mod house;
mod loading;
mod packed;
mod scanning;
mod signing;
mod sources;
