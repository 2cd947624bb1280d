//! Extensions in JavaScript: one QuickJS runtime for each of them, on a thread of its own.
//!
//! [`JsGuest`] is what the rest of the system holds; its thread runs a [`Program`] and is parked while there is nothing to
//! do. What an extension reaches of its host goes through the desk that the program was started with: who it is stands in the
//! native functions, and nothing that JavaScript says can change it. Limits are always on; going over one ends the
//! work or the runtime, which then starts anew.

mod answers;
mod api;
mod chance;
mod ciphers;
mod clock;
mod contexts;
mod derivation;
mod digests;
mod engine;
mod fuse;
mod guest;
mod job;
mod life;
mod limits;
mod modules;
mod natives;
mod offered;
mod packing;
mod place;
mod raw;
mod rejections;
mod room;
mod sighting;
mod signatures;
mod thread;
mod traces;
mod unpacking;
mod value;
mod zones;

pub use self::{
    chance::{Chance, Steps},
    clock::Time,
    guest::JsGuest,
    limits::Limits,
    modules::{Code, Library},
    place::{Place, User, architecture, platform, user},
    thread::Program,
    traces::Sources,
};
