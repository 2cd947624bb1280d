//! Owns running extensions: what they offer, what they hear, what they may ask of their conversation.
//!
//! It knows no engine, neither WebAssembly nor JavaScript, and no session: guests are behind the trait [`Guest`], a
//! conversation is behind [`SessionPort`], and both are implemented above it. That cut is what keeps the workspace free
//! of cycles. It decides nothing that the hooks do not decide, and holds no conversation: whether a guest may do
//! something is decided in `pi-policy`, files and processes are those of `pi-tools`.
//!
//! Start with [`Guest`], then [`Guests`], which hands events out, and [`Desk`], through which every effect of a guest goes:
//! derived, decided, done and recorded in the [`Ledger`].

mod chain;
mod connector;
pub mod consent;
pub mod content;
pub mod data;
pub mod desk;
pub mod dispatcher;
pub mod drawings;
pub mod exchange;
pub mod guest;
pub mod guests;
pub mod incident;
mod isolation;
pub mod launcher;
pub mod ledger;
pub mod port;
pub mod private;
pub mod questions;
pub mod servers;
pub mod stopwatch;
pub mod trace;
pub mod unfired;
pub mod verdict;

pub use self::{
    chain::{Chain, comparison},
    connector::http::{Resolver, SystemResolver},
    consent::{GrantsFile, Rulebook, Seen, SeenFile},
    desk::{Desk, Feed, Figures, Hauled, Held, Inquiry, Occasion, Output, Pipes, Terms, Weighed},
    dispatcher::{Dispatcher, Fittings, KeyRing, Limits, ModelList, ProxyFinder},
    drawings::Drawings,
    exchange::Exchange,
    guest::{Ask, Guest, GuestFault, GuestId, Registration},
    guests::{Guests, Patience},
    incident::{Incident, Trouble},
    launcher::{Identity, LaunchFault, Launcher, Prepared, Source},
    ledger::Ledger,
    port::{Conversation, SessionPort},
    questions::Questions,
    servers::{ServerCall, ToolServer},
    stopwatch::Stopwatch,
    trace::Trace,
};
