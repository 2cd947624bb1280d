//! What a guest can do at its desk, what it cannot, and what is known about it afterwards.

#![expect(clippy::disallowed_methods, reason = "tests make and look at files themselves")]

mod attacks;
mod bounds;
mod consent;
mod exchange;
mod files;
mod ledger;
mod others;
mod processes;
mod properties;
mod recorded;
mod requests;
mod stage;
mod trace;
