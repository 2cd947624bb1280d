//! A client that is connected: who it is, and what it wants to hear.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use pi_engine::{ClientName, Principal};
use pi_wire::command::Lifecycle;

use crate::outbox::Outbox;

/// One connection, as long as the server runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// Whose it is. Command ids belong to the client; a credential may have many clients, and a client many connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub principal: Principal,
    pub client: ClientName,
}

/// Whose commands on standard input are.
pub const STDIO: &str = "stdio";

impl Identity {
    /// A credential, and the name that its client chose. Names of two credentials never mean the same client.
    pub fn new(principal: &str, chosen: Option<&str>) -> Self {
        let client = chosen.map_or_else(|| principal.to_owned(), |name| format!("{principal}\0{name}"));
        Self { principal: principal.into(), client: client.into() }
    }

    /// The name that a client chose, of what is written down.
    pub(crate) fn chosen(client: &str) -> Option<&str> {
        client.split_once('\0').map(|(_, name)| name)
    }

    /// The way on which commands of a credential come, as `server_ready` names it.
    pub(crate) fn transport(principal: &str) -> &'static str {
        if principal == STDIO { "stdio" } else { "websocket" }
    }
}

#[derive(Debug)]
pub struct Connection {
    pub id: ConnectionId,
    pub identity: Identity,
    pub outbox: Arc<Outbox>,
    lifecycle: AtomicU8,
}

const LIFECYCLES: [Lifecycle; 3] = [Lifecycle::All, Lifecycle::Own, Lifecycle::None];

impl Connection {
    pub fn new(id: ConnectionId, identity: Identity, lifecycle: Lifecycle, outbox: Arc<Outbox>) -> Self {
        let connection = Self { id, identity, outbox, lifecycle: AtomicU8::new(0) };
        connection.choose(lifecycle);
        connection
    }

    /// Whose lifecycle events it is sent from now on.
    pub fn choose(&self, lifecycle: Lifecycle) {
        let number = LIFECYCLES.iter().position(|known| *known == lifecycle).unwrap_or(0);
        self.lifecycle.store(u8::try_from(number).unwrap_or(0), Ordering::Relaxed);
    }

    pub fn lifecycle(&self) -> Lifecycle {
        LIFECYCLES[usize::from(self.lifecycle.load(Ordering::Relaxed))]
    }
}
