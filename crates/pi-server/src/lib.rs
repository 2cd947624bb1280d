//! Serves clients: accepts WebSocket, stdio and HTTP, checks who they are, and routes what they ask.
//!
//! It holds connections, limits, the fan-out of events and the journal, and nothing else: `pi-wire` says what a command is,
//! `pi-engine` says when it runs, `pi-session` does it. It never sees a guest, and reaches a model only through a session.
//!
//! Start with [`server::Server`], which everything else hangs on, then [`hall`], where commands are done. A frame goes
//! [`transport`] → [`client`] → [`porch`] → the engine → [`hall`] → [`lobby`] → [`outbox`] → [`speaker`] → [`transport`].

pub mod answer;
pub mod bustle;
pub mod circuit;
pub mod client;
pub mod connection;
pub mod door;
pub mod feed;
pub mod gauges;
pub mod hall;
pub mod header;
pub mod journal;
pub mod lobby;
pub mod outbox;
mod places;
pub mod porch;
pub mod rates;
pub mod recovered;
pub mod room;
pub mod rooms;
pub mod roots;
pub mod server;
pub mod settings;
pub mod signature;
pub mod speaker;
pub mod tally;
pub mod transport;
pub mod workshop;
