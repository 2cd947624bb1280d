//! The three kinds of extension behind one trait: `js`, `wasm` and `mcp`.
//!
//! It decides nothing: a guest asks, and the dispatcher of `pi-exthost` answers. A guest that panics, hangs or eats memory
//! costs only itself. Nothing outside this crate knows which engine runs a guest or which version of an interface it
//! speaks.
//!
//! [`discovery`] finds sources; [`Tiers`] makes guests of them, the launcher that the rest of the system holds. Start with
//! [`js::JsGuest`] or [`wasm::WasmGuest`]; servers beside us are [`mcp::McpGuest`].

pub mod discovery;
mod health;
pub mod js;
pub mod launcher;
pub mod mcp;
pub mod wasm;

pub use self::{
    health::{Health, Restarts},
    launcher::{Screening, Stock, Surroundings, Tiers},
};
