//! Commands that people will look for and that this version does not have. They say so, and what to do instead.
//!
//! They take any arguments, so that a script written for a later version gets this answer and not one about its arguments.

use crate::{arguments::LaterArguments, exit::Exit, failure::Failure};

pub(crate) fn ext(_arguments: &LaterArguments) -> Result<Exit, Failure> {
    Err(Failure::NotBuilt {
        command: "ext",
        missing: "this version runs no extensions and changes no settings",
        instead: "write grants and denies into the settings file by hand; `pi schema policy` describes it",
    })
}
