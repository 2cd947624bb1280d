//! What an extension and its host say to each other, on every tier.
//!
//! One vocabulary for WASM components, JavaScript bundles and MCP servers: messages, host calls, capabilities,
//! manifests, log entries. It does no IO, waits for nothing and decides nothing: whether a call is allowed is
//! `pi-policy`'s question, doing it is `pi-exthost`'s work.
//!
//! Start with [`message::Message`], then [`host::HostCall`] and [`capability::derive`]. [`connector::Call`] is what stands
//! in a host call; [`schema`] publishes all of it as JSON Schema, TypeScript and WIT.

pub mod artifact;
pub mod capability;
pub mod connector;
pub mod count;
pub mod hook;
pub mod host;
pub mod log;
pub mod manifest;
pub mod message;
pub mod schema;
pub mod unseen;
pub mod word;

/// A JSON object whose members this crate does not interpret.
pub type Object = serde_json::Map<String, serde_json::Value>;
