//! Parts that the tests of several crates share; a dev-dependency only, used from `tests/` folders.
//!
//! A part moves in when a second crate needs it, not before.
//!
//! It never links what it stands in for (providers, sessions, guests) and holds no second implementation of the logic
//! under test. Start with [`Server`], a model server that does what its script says, and [`Peer`], one that we did not
//! write; [`model::Answer`] is what a scripted model says; [`Tmux`] is a terminal to type in; [`Client`] speaks with a pi server; [`ScriptedGuest`] is an extension that does what its script says, and [`SessionDouble`] a session for it; [`GREETER`] is a server of the Model Context Protocol.

pub mod client;
pub mod conversation;
pub mod guest;
pub mod model;
pub mod peer;
pub mod server;
pub mod tmux;

pub use self::{
    client::Client,
    conversation::SessionDouble,
    guest::{BadScript, ScriptedGuest},
    peer::{NoPeer, Peer},
    server::{Reply, Request, Script, Server},
    tmux::Tmux,
};

/// A server of the Model Context Protocol with one tool, in Python; its first lines say what can be asked of it.
pub const GREETER: &str = include_str!("greeter.py");
