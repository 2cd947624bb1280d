//! Serves clients: will accept WebSocket, stdio and HTTP, check who they are, and route what they ask.
//!
//! It holds connections, limits, the fan-out of events and the journal, and nothing else: `pi-wire` says what a command is,
//! `pi-engine` says when it runs, `pi-session` does it. It never sees a guest, and reaches a model only through a session.
//!
//! Built so far: the [`journal`] and what it keeps ([`answer`]). `pi serve` says that the rest is to come.

pub mod answer;
pub mod connection;
pub mod door;
pub mod feed;
pub mod header;
pub mod journal;
pub mod lobby;
pub mod outbox;
pub mod rates;
pub mod speaker;
