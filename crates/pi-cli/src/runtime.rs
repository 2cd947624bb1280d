//! Where futures run: one thread, started when a command needs the network and not before.

use std::{io, time::Duration};

use tokio::runtime::{Builder, Runtime};
#[cfg(unix)]
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::Failure;

/// Threads for what waits for disks. Sessions borrow them, so a thousand that write at once want a thousand; more of them
/// make no disk faster.
const BLOCKING: usize = 64;

/// How long what still writes has at the end. What takes longer cannot be stopped, such as a compiler, and ends with the process.
const GOODBYE: Duration = Duration::from_secs(1);

/// What runs futures. Dropping it waits a moment for threads that they borrowed, and no longer.
pub(crate) struct Running(Option<Runtime>);

impl Running {
    pub(crate) fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.as_ref().expect("it is there until it is dropped").block_on(future)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_timeout(GOODBYE);
        }
    }
}

/// With a thread for each core, for a server.
pub(crate) fn start_many() -> Result<Running, Failure> {
    begin(Builder::new_multi_thread().max_blocking_threads(BLOCKING))
}

pub(crate) fn start() -> Result<Running, Failure> {
    begin(&mut Builder::new_current_thread())
}

fn begin(builder: &mut Builder) -> Result<Running, Failure> {
    let runtime = builder.enable_all().build().map_err(Failure::NoRuntime)?;
    outlive_large_files(&runtime).map_err(Failure::NoRuntime)?;
    Ok(Running(Some(runtime)))
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
