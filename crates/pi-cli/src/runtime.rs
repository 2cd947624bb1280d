//! Where futures run: one thread, started when a command needs the network and not before.

use tokio::runtime::{Builder, Runtime};

use crate::failure::Failure;

/// Threads for what waits for disks. Sessions borrow them, so a thousand that write at once want a thousand; more of them
/// make no disk faster.
const BLOCKING: usize = 64;

/// With a thread for each core, for a server.
pub(crate) fn start_many() -> Result<Runtime, Failure> {
    Builder::new_multi_thread().max_blocking_threads(BLOCKING).enable_all().build().map_err(Failure::NoRuntime)
}

pub(crate) fn start() -> Result<Runtime, Failure> {
    Builder::new_current_thread().enable_all().build().map_err(Failure::NoRuntime)
}
