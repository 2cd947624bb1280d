//! Decides whether an extension, or the agent itself, may do what it asks.

pub mod risk;

mod case;
mod command;
mod glob;
mod host;
mod moment;
mod place;
mod rule;
mod target;
