//! The signals by which a person or a machine ends a run.
//!
//! They are heard on a thread of their own: a run may stand still where nothing can be told any more, such as in front of a
//! reader that does not read, and whoever wants it to end must not have to wait for that.

use std::io;

use tokio::sync::mpsc;

use crate::{exit::Exit, failure::Failure};

/// How somebody asks for the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Ctrl-C.
    Interrupt,
    /// What `kill`, `timeout` and a system that shuts down send.
    #[cfg_attr(not(unix), expect(dead_code, reason = "elsewhere there is only Ctrl-C"))]
    Terminate,
    /// The terminal is gone, or the connection to it.
    #[cfg_attr(not(unix), expect(dead_code, reason = "elsewhere there is only Ctrl-C"))]
    Hangup,
}

/// Hears every such signal from its beginning on; until then each ends the process as it always does.
pub(crate) struct Stops(mpsc::Receiver<Stop>);

/// More signals than that are not told apart: the second one ends everything.
const ROOM: usize = 4;

impl Stops {
    pub(crate) fn listen() -> io::Result<Self> {
        let (sender, receiver) = mpsc::channel(ROOM);
        listening::begin(sender)?;
        Ok(Self(receiver))
    }

    /// Waits for the next one. Cancelling loses none.
    pub(crate) async fn next(&mut self) -> Stop {
        match self.0.recv().await {
            Some(stop) => stop,
            // Nobody can ask for the end then.
            None => std::future::pending().await,
        }
    }
}

/// Does something that a signal may end. What was begun is given up then, and what it left is removed with the program.
pub(crate) async fn unless_stopped<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let mut stops = Stops::listen().map_err(Failure::NoRuntime)?;
    tokio::select! {
        done = work => done,
        stop = stops.next() => Err(Failure::Stopped(stop)),
    }
}

#[cfg(unix)]
mod listening {
    use std::{io, thread, time::Duration};

    use tokio::{
        runtime::Builder,
        signal::unix::{Signal, SignalKind, signal},
        sync::mpsc,
        time::sleep,
    };

    use super::{super::hangup, Stop};

    /// So long a run that was told twice may take to end by itself.
    const GRACE: Duration = Duration::from_secs(1);

    struct Signals {
        interrupt: Signal,
        terminate: Signal,
        /// Nothing where whoever started the process wants it to outlive its terminal.
        hangup: Option<Signal>,
    }

    /// Listens from now on. The thread ends with the process.
    pub(super) fn begin(sender: mpsc::Sender<Stop>) -> io::Result<()> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let signals = {
            let _inside = runtime.enter();
            Signals::new()?
        };
        thread::Builder::new().name("signals".to_owned()).spawn(move || runtime.block_on(pass_on(signals, sender)))?;
        Ok(())
    }

    /// Tells the run of every signal. One that does not end after the second is ended.
    async fn pass_on(mut signals: Signals, sender: mpsc::Sender<Stop>) {
        let first = signals.next().await;
        // A run that takes none any more is at its end.
        let _ = sender.try_send(first);
        let _ = sender.try_send(signals.next().await);
        sleep(GRACE).await;
        std::process::exit(first.exit() as i32);
    }

    impl Signals {
        fn new() -> io::Result<Self> {
            let hangup = (!hangup::is_ignored()).then(|| signal(SignalKind::hangup())).transpose()?;
            Ok(Self {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
                hangup,
            })
        }

        async fn next(&mut self) -> Stop {
            let hangup = async {
                match &mut self.hangup {
                    Some(hangup) => drop(hangup.recv().await),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = self.interrupt.recv() => Stop::Interrupt,
                _ = self.terminate.recv() => Stop::Terminate,
                () = hangup => Stop::Hangup,
            }
        }
    }
}

/// Elsewhere there is only Ctrl-C, heard by the run itself.
#[cfg(not(unix))]
mod listening {
    use std::io;

    use tokio::sync::mpsc;

    use super::Stop;

    pub(super) fn begin(sender: mpsc::Sender<Stop>) -> io::Result<()> {
        tokio::spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                // A run that takes none any more is at its end.
                if sender.send(Stop::Interrupt).await.is_err() {
                    return;
                }
            }
        });
        Ok(())
    }
}

impl Stop {
    pub(crate) fn exit(self) -> Exit {
        match self {
            Stop::Interrupt => Exit::Interrupted,
            Stop::Terminate | Stop::Hangup => Exit::Terminated,
        }
    }

    /// What happened, in a word.
    pub(crate) fn told(self) -> &'static str {
        match self {
            Stop::Interrupt => "interrupted",
            Stop::Terminate => "terminated",
            Stop::Hangup => "the terminal is gone",
        }
    }
}
