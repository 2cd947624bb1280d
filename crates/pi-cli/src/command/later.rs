//! Commands that people will look for and that this version does not have. They say so, and what to do instead.
//!
//! They take any arguments, so that a script written for a later version gets this answer and not one about its arguments.

use crate::{exit::Exit, failure::Failure};

pub(crate) fn ext() -> Result<Exit, Failure> {
    Err(Failure::NotBuilt {
        missing: "this version has no such command of `pi ext`",
        instead: "`pi ext --help` lists those that it has",
    })
}
