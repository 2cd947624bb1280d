//! What must outlive the process.
//!
//! Plain data: whoever keeps the journal decides how it is written. [`crate::Engine::restore`] reads the records back in
//! the order of their sequence numbers.

use std::sync::Arc;

use crate::{
    header::Header,
    name::{SessionName, Ticket, Time},
    outcome::Outcome,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record<B> {
    /// A mutating command was admitted. From here on it runs at most once, whatever happens.
    Accepted { ticket: Ticket, at: Time, header: Arc<Header> },
    /// It ended. `size` is what its outcome costs in the store.
    Finished { ticket: Ticket, at: Time, outcome: Arc<Outcome<B>>, size: usize, version: Option<VersionMove> },
    /// Another id or key stands for the same intent as `of`, so that it is answered the same. The header has only the names
    /// that are new.
    Alias { ticket: Ticket, at: Time, header: Arc<Header>, of: Ticket },
    /// A version moved without a command.
    Version(VersionMove),
    /// Tickets up to this one were given out, and records up to this one's number written, whatever was dropped since.
    /// The engine never makes one: whoever drops records puts it at the end when it hands back the rest.
    Reached(Ticket),
}

/// A session's version after a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionMove {
    pub session: SessionName,
    /// `None`: the session is gone.
    pub version: Option<u64>,
}
