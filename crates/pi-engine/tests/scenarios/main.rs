//! What clients see, sentence by sentence: §7–§11 of the server protocol and the decisions that go with them.
//!
//! A scenario is a table. On the left what happens, on the right what the engine does about it; [`script::check`] is the only
//! code that knows the engine. The words of the left column are listed there.

mod admission;
mod dependencies;
mod journal;
mod lanes;
mod removal;
mod replay;
mod restart;
mod retention;
mod script;
mod shutdown;
mod timeouts;
mod versions;
