//! Serves clients: will accept WebSocket, stdio and HTTP, check who they are, and route what they ask.
//!
//! It holds connections, limits, the fan-out of events and the journal, and nothing else: `pi-wire` says what a command is,
//! `pi-engine` says when it runs, `pi-session` does it. It never sees a guest, and reaches a model only through a session.
//!
//! Not built yet: this crate is empty, and `pi serve` says so. The first type to read will be `Server`.
