//! Servers of tools that run beside us: how the dispatcher reaches them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use pi_extproto::{Object, connector::tool::HostToolOutput, host::HostError};
use pi_transcript::ToolOutput;

/// A server that is connected.
///
/// Implemented by the MCP tier and by the doubles of the tests; it cuts the cycle dispatcher → tier → dispatcher.
pub trait ToolServer: Send + Sync {
    /// Asks it for something. Dropping the future cancels the call at the server.
    fn call(&self, call: ServerCall) -> BoxFuture<'_, Result<HostToolOutput, HostError>>;
}

/// What is asked of a server.
#[derive(Debug)]
pub struct ServerCall {
    /// As the server calls its tool.
    pub name: String,
    pub input: Object,
    /// Where news of the call go, if somebody listens. A full channel drops them.
    pub updates: Option<mpsc::Sender<ToolOutput>>,
    /// Signalled when nobody waits any more.
    pub cancel: CancellationToken,
}

/// The servers of a session, by name.
#[derive(Default)]
pub(crate) struct Servers {
    /// They own a desk, which owns us. A lock and no task: it is held for a look-up.
    known: Mutex<HashMap<String, Weak<dyn ToolServer>>>,
}

impl Servers {
    /// Makes a server known; one of the same name that is still there gives way.
    pub(crate) fn add(&self, name: &str, server: &Arc<dyn ToolServer>) {
        self.known().insert(name.to_owned(), Arc::downgrade(server));
    }

    pub(crate) fn get(&self, name: &str) -> Option<Arc<dyn ToolServer>> {
        self.known().get(name).and_then(Weak::upgrade)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<String, Weak<dyn ToolServer>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
