//! The pipeline over real files and with the real bundler process.

#![expect(clippy::disallowed_methods, reason = "these tests make, damage and look at the files of extensions")]

mod bundling;
mod caching;
mod components;
mod house;
mod loading;
mod packed;
mod scanning;
mod signing;
mod sources;
