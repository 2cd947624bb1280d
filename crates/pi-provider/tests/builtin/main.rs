//! The providers that come with the program: what their manifests say, send and read, and the demo model.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod demo;
mod demo_client;
mod errors;
mod manifests;
mod requests;
mod streams;
#[path = "../support/transcription.rs"]
mod transcription;
