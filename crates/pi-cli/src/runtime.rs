//! Where futures run: one thread, started when a command needs the network and not before.

use std::io;

use tokio::runtime::{Builder, Runtime};
#[cfg(unix)]
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::Failure;

/// Threads for what waits for disks. Sessions borrow them, so a thousand that write at once want a thousand; more of them
/// make no disk faster.
const BLOCKING: usize = 64;

/// With a thread for each core, for a server.
pub(crate) fn start_many() -> Result<Runtime, Failure> {
    begin(Builder::new_multi_thread().max_blocking_threads(BLOCKING))
}

pub(crate) fn start() -> Result<Runtime, Failure> {
    begin(&mut Builder::new_current_thread())
}

fn begin(builder: &mut Builder) -> Result<Runtime, Failure> {
    let runtime = builder.enable_all().build().map_err(Failure::NoRuntime)?;
    outlive_large_files(&runtime).map_err(Failure::NoRuntime)?;
    Ok(runtime)
}

/// Takes the signal with which the system ends a process that makes a file larger than it may: the write fails instead, and
/// whoever writes says so. It stays taken as long as the process lives; programs that it starts are ended as usual.
#[cfg(unix)]
fn outlive_large_files(runtime: &Runtime) -> io::Result<()> {
    let _inside = runtime.enter();
    signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())).map(drop)
}

#[cfg(not(unix))]
fn outlive_large_files(_runtime: &Runtime) -> io::Result<()> {
    Ok(())
}
