//! Serves clients: will accept WebSocket, stdio and HTTP, check who they are, and route what they ask.
//!
//! It holds connections, limits, the fan-out of events and the journal, and nothing else: `pi-wire` says what a command is,
//! `pi-engine` says when it runs, `pi-session` does it. It never sees a guest, and reaches a model only through a session.
//!
//! Built so far is everything between a frame and a session: who may come in ([`door`], [`rates`]), who is there and waits
//! ([`lobby`], [`connection`]), what the engine is told ([`header`]), what is kept ([`journal`], [`answer`]), and what goes out
//! ([`feed`], [`outbox`], [`speaker`]). The transports, the handlers of commands and `pi serve` are to come. Start with
//! [`lobby::Lobby`].

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
