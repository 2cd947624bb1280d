//! The mailbox's way to the recorder, and how far the recorder is.

use std::sync::{Arc, atomic::Ordering};

use tokio::task::JoinHandle;

use crate::{
    chute,
    file::{Log, Medium, Pressure, Record, Recorder, Report},
    herald::{self, Outgoing, Progress},
    tree::{Begins, Written},
};

/// Hands lines and events to the recorder, behind which the herald stands.
pub(crate) struct Scribe {
    recorder: Recorder<Outgoing>,
    progress: Arc<Progress>,
    herald: JoinHandle<()>,
    is_behind: bool,
    worth: Worth,
}

/// What makes a conversation worth a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Worth {
    /// That a person says something, or that a model is asked.
    Words,
    /// Any change: whoever commanded it was told that it is done, and it must be there after a crash.
    Anything,
}

impl Scribe {
    /// For a conversation with a file.
    pub(crate) fn on_disk<M: Medium + 'static>(log: Log<M>) -> Self {
        Self::new(|tell| Recorder::start(log, tell))
    }

    /// For a conversation without one.
    pub(crate) fn in_memory() -> Self {
        Self::new(Recorder::without_file)
    }

    fn new(start: impl FnOnce(Box<dyn FnMut(Report<Outgoing>) + Send>) -> Recorder<Outgoing>) -> Self {
        let (reports, received) = chute::open();
        let progress = Arc::new(Progress::default());
        let told = Arc::clone(&progress);
        let recorder = start(Box::new(move |report| {
            match &report {
                Report::Written { upto, .. } => told.written.store(*upto, Ordering::Release),
                Report::Failed(_) => told.is_failing.store(true, Ordering::Release),
                Report::Recovered => told.is_failing.store(false, Ordering::Release),
                Report::Synced { .. } => {}
            }
            // The herald ends after the recorder, unless the program does.
            reports.send(report);
            told.report.notify_one();
        }));
        let herald = tokio::spawn(herald::run(received));
        Self { recorder, progress, herald, is_behind: false, worth: Worth::Words }
    }

    /// With another idea of what makes the conversation worth a file.
    pub(crate) fn worth(self, worth: Worth) -> Self {
        Self { worth, ..self }
    }

    /// From here on everything is worth a file: a model is asked, whoever began that.
    pub(crate) fn begin(&mut self) {
        self.worth = Worth::Anything;
    }

    /// Writes lines, then lets pass what is told of them.
    pub(crate) fn record(&mut self, mut lines: Vec<Written>, then: Outgoing) {
        if self.worth == Worth::Anything {
            lines.iter_mut().for_each(|line| line.begins = Begins::Now);
        }
        let pressure = self.recorder.record(Record { lines, then });
        self.feel(pressure);
    }

    /// The same once everything so far is on the disk.
    pub(crate) fn sync(&mut self, then: Outgoing) {
        let pressure = self.recorder.sync(then);
        self.feel(pressure);
    }

    /// Looks whether the disk has caught up.
    pub(crate) fn advance(&mut self) {
        let pressure = self.recorder.pressure();
        self.feel(pressure);
    }

    /// The file is written up to here.
    pub(crate) fn written(&self) -> u64 {
        self.progress.written.load(Ordering::Acquire)
    }

    /// Whether the disk fails: what is said is in memory only.
    pub(crate) fn is_failing(&self) -> bool {
        self.progress.is_failing.load(Ordering::Acquire)
    }

    pub(crate) fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Waits until the recorder has done something. Safe to drop.
    pub(crate) fn reported(&self) -> impl Future<Output = ()> + use<> {
        let progress = Arc::clone(&self.progress);
        async move { progress.report.notified().await }
    }

    /// Waits until everything is written and told.
    pub(crate) async fn close(self) {
        let Self { recorder, herald, .. } = self;
        let closing = tokio::task::spawn_blocking(move || recorder.close());
        if let Err(error) = closing.await {
            tracing::error!(%error, "the recorder of a session was not closed");
        }
        if let Err(error) = herald.await {
            tracing::error!(%error, "the herald of a session ended in a panic");
        }
    }

    fn feel(&mut self, pressure: Pressure) {
        match pressure {
            Pressure::Free => self.is_behind = false,
            Pressure::Full => self.is_behind = true,
            Pressure::Closed => {
                self.is_behind = false;
                tracing::error!("the recorder of a session is gone");
            }
        }
    }
}
