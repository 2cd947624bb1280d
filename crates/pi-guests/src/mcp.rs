//! Servers that speak the Model Context Protocol, as extensions.
//!
//! A server is a process or an address that somebody wrote into a file ([`places`] finds them, [`entry`] reads them). It
//! becomes an [`McpGuest`]: its tools are tools of the session, its prompts are commands, its questions go to a person. It
//! runs none of our code and gets nothing of ours but what its entry names; each call of it goes through the dispatcher. What
//! it describes is compared with what it described before ([`pins`]).
//!
//! Start with [`McpGuest`]; the protocol itself is in `sdk`, behind a link of our own.

mod difference;
mod elicitation;
pub mod entry;
mod expansion;
mod guest;
mod keeper;
mod limits;
mod link;
mod media;
mod naming;
pub mod pins;
pub mod places;
mod prepare;
mod reading;
mod relaxed;
mod sdk;
mod written;

pub use self::{
    entry::{Origin, Route, Server},
    expansion::{ExpansionFault, Variables},
    guest::{McpGuest, Program, Standing, Weight},
    limits::Limits,
    link::{About, LinkFault},
    pins::{Changed, PinFault, Pins, Record, Unagreed},
    prepare::{Base, grants, prepare, program},
    reading::{PromptFace, ToolFace},
};
