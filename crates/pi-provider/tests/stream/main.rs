//! Streamed answers: from bytes to events, to the message of a transcript.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod assembly;
mod guardrail;
#[path = "../support/manifest.rs"]
mod manifest;
mod properties;
mod recorded;
mod refusal;
mod standard;
mod text_call;
mod thought;
#[path = "../support/transcription.rs"]
mod transcription;
