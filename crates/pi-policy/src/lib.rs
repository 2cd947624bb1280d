//! Decides whether an extension, or the agent itself, may do what it asks.

mod case;
mod command;
mod glob;
mod host;
mod moment;
mod place;
mod target;
