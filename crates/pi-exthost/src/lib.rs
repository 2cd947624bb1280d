//! Owns running extensions: what they offer, what they hear, what they may ask of their conversation.
//!
//! It knows no engine, neither WebAssembly nor JavaScript, and no session: guests are behind the trait [`Guest`], a
//! conversation is behind [`SessionPort`], and both are implemented above it. That cut is what keeps the workspace free
//! of cycles. It decides nothing that the hooks do not decide, and holds no conversation.
//!
//! Start with [`Guest`], then [`Guests`], which hands events out, and [`Conversation`].

mod chain;
pub mod content;
pub mod drawings;
pub mod guest;
pub mod guests;
pub mod incident;
mod isolation;
pub mod port;
pub mod questions;
pub mod stopwatch;
pub mod verdict;

pub use self::{
    drawings::Drawings,
    guest::{Ask, Guest, GuestFault, GuestId, Registration},
    guests::{Guests, Patience},
    incident::{Incident, Trouble},
    port::{Conversation, SessionPort},
    questions::Questions,
    stopwatch::Stopwatch,
};
