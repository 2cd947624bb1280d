//! The signals by which a person or a machine ends a run.

use std::io;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::Exit;

/// How somebody asks for the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// Ctrl-C.
    Interrupt,
    /// What `kill`, `timeout` and a system that shuts down send.
    Terminate,
}

/// Hears every such signal from its beginning on; until then each ends the process as it always does.
#[cfg(unix)]
pub(super) struct Stops {
    interrupt: Signal,
    terminate: Signal,
}

#[cfg(unix)]
impl Stops {
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for the next one. Cancelling loses none.
    pub(super) async fn next(&mut self) -> Stop {
        tokio::select! {
            _ = self.interrupt.recv() => Stop::Interrupt,
            _ = self.terminate.recv() => Stop::Terminate,
        }
    }
}

/// Elsewhere there is only Ctrl-C.
#[cfg(not(unix))]
pub(super) struct Stops;

#[cfg(not(unix))]
impl Stops {
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    pub(super) async fn next(&mut self) -> Stop {
        match tokio::signal::ctrl_c().await {
            Ok(()) => Stop::Interrupt,
            // Nobody can ask for the end then.
            Err(_) => std::future::pending().await,
        }
    }
}

impl Stop {
    pub(super) fn exit(self) -> Exit {
        match self {
            Stop::Interrupt => Exit::Interrupted,
            Stop::Terminate => Exit::Terminated,
        }
    }

    /// What happened, in a word.
    pub(super) fn told(self) -> &'static str {
        match self {
            Stop::Interrupt => "interrupted",
            Stop::Terminate => "terminated",
        }
    }
}
