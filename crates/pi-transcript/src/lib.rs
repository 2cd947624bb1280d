//! What was said: messages, content blocks, tool calls and results, usage, session entries.
//!
//! Also the nouns that every other crate shares (ids, model, thinking level, agent events, questions to a person)
//! and, in [`json`], the rules by which all our vocabularies read and write JSON. No files, no clock, no async:
//! reading a session *file* is `pi-session`'s work, this crate reads one line of it.

pub mod json;
