//! The thread of a guest: it lives as long as the guest and starts a runtime anew when one had to be stopped.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, Sender},
    },
    thread,
    time::Instant,
};

use serde_json::Value;
use tokio::{
    runtime::Handle,
    sync::{oneshot, watch},
};
use tokio_util::sync::CancellationToken;

use super::{
    chance::Chance,
    clock::Time,
    fuse::{BACKGROUND, Fuse},
    job::{Job, JobId, JobTerms, Task},
    life::{Ending, live},
    limits::Limits,
    modules::{Code, Library},
    place::Place,
    room::CallResult,
    traces::Sources,
    unpacking::Reading,
};
use crate::health::{Consequence, Health, History};
use pi_exthost::{Desk, GuestFault, GuestId, Registration, Stopwatch};

/// What is run, and how.
#[derive(Debug, Clone)]
pub struct Program {
    /// For people.
    pub name: String,
    /// Where it was loaded from; reports of errors name it.
    pub path: String,
    pub library: Library,
    /// The extension, as one module.
    pub bundle: Code,
    /// What that module was made of; reports of errors speak of it.
    pub sources: Sources,
    pub place: Place,
    /// Values of flags that somebody gave.
    pub flags: BTreeMap<String, Value>,
    pub limits: Limits,
    pub time: Time,
    pub chance: Chance,
}

/// What wakes a guest up.
pub(crate) enum Wake {
    Job(Box<Job>),
    /// Whoever asked wants it to stop.
    Cancel(JobId),
    /// Nobody waits for it any more.
    Abandon(JobId),
    /// A host call is answered.
    Completed {
        id: u64,
        result: CallResult,
    },
    /// The rest of a stream of which a piece was read; nothing if it is over.
    Fed {
        feed: u64,
        rest: Option<Reading>,
    },
    Key {
        canvas: u64,
        key: String,
    },
    Resized {
        canvas: u64,
    },
    /// The room to draw in was taken away.
    Taken {
        canvas: u64,
    },
    Shutdown,
}

/// A guest, as its thread has it.
pub(crate) struct Guest {
    pub(crate) id: GuestId,
    pub(crate) program: Program,
    pub(crate) desk: Desk,
    pub(crate) tokio: Handle,
    pub(crate) wakes: Sender<Wake>,
    pub(crate) fuse: Fuse,
    pub(crate) shared: Arc<Shared>,
    /// Ends with the guest, whatever its thread waits for.
    pub(crate) life: CancellationToken,
}

/// What a guest's thread shows of it.
pub(crate) struct Shared {
    /// Looked at for every event, by whoever hands them out; held for a moment.
    registration: Mutex<Arc<Registration>>,
    health: watch::Sender<Health>,
}

impl Shared {
    pub(crate) fn new(registration: Registration) -> Self {
        Self { registration: Mutex::new(Arc::new(registration)), health: watch::Sender::new(Health::Running) }
    }

    pub(crate) fn registration(&self) -> Arc<Registration> {
        Arc::clone(&self.registration.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set_registration(&self, registration: Registration) {
        *self.registration.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(registration);
    }

    pub(crate) fn health(&self) -> watch::Receiver<Health> {
        self.health.subscribe()
    }
}

/// Starts the thread. `load` is its first job.
pub(crate) fn start(guest: Arc<Guest>, inbox: Receiver<Wake>, load: Job) -> std::io::Result<()> {
    // Numbers of systems: a name of a thread has at most fifteen letters.
    let name: String = format!("ext {}", guest.program.name).chars().take(15).collect();
    let stack = guest.program.limits.stack + 2 * 1024 * 1024;
    // Its owner is whoever holds the guest: the thread ends with it, and is never waited for.
    thread::Builder::new().name(name).stack_size(stack).spawn(move || {
        let mut load = Some(load);
        let mut history = History::default();
        let mut then = None;
        loop {
            let ending = live(&guest, &inbox, load.take().unwrap_or_else(|| reload(&guest)), then.take());
            let reason = match ending {
                Ending::Shutdown => break,
                Ending::Tripped(trip) => format!("it went over its limit of {}", trip.limit()),
                Ending::Broken(problem) => problem,
            };
            guest.desk.note_stop(&reason);
            match history.note(&guest.id, &reason, now(), &guest.program.limits.restarts) {
                Consequence::StayAway => {
                    guest.shared.health.send_replace(Health::Quarantined);
                    turn_away(&inbox);
                    break;
                }
                Consequence::Rest { restarts, until } => {
                    guest.shared.health.send_replace(Health::Resting { restarts });
                    match next_job(&inbox, until) {
                        Some(job) => then = Some(job),
                        None => break,
                    }
                }
            }
            guest.shared.health.send_replace(Health::Running);
        }
        guest.shared.health.send_replace(Health::Ended);
    })?;
    Ok(())
}

/// The job with which a runtime begins that nobody asked for: the extension is loaded and told that it was.
fn reload(guest: &Guest) -> Job {
    // Nobody waits for the answer; what goes wrong is in the log.
    let (reply, _) = oneshot::channel();
    Job { id: RELOAD, task: Task::Load, terms: loading_terms(&guest.program.limits), reply }
}

/// A factory has a time of its own.
pub(crate) fn loading_terms(limits: &Limits) -> JobTerms {
    JobTerms { cancel: CancellationToken::new(), stopwatch: Stopwatch::new(limits.loading), control: None }
}

/// The number of the job with which a runtime begins that nobody asked for.
pub(super) const RELOAD: JobId = BACKGROUND - 1;

#[expect(clippy::disallowed_methods, reason = "a guest's thread has no other clock")]
fn now() -> Instant {
    Instant::now()
}

/// The next job after the rest; those before are turned away.
fn next_job(inbox: &Receiver<Wake>, rest: Instant) -> Option<Job> {
    loop {
        match inbox.recv().ok()? {
            Wake::Job(job) if now() >= rest => return Some(*job),
            Wake::Job(job) => {
                let limit = "restarts: it rests for a moment".to_owned();
                drop(job.reply.send(Err(GuestFault::OverLimit { limit })));
            }
            Wake::Shutdown => return None,
            // What belonged to the runtime that was stopped.
            Wake::Cancel(_)
            | Wake::Abandon(_)
            | Wake::Completed { .. }
            | Wake::Fed { .. }
            | Wake::Key { .. }
            | Wake::Resized { .. }
            | Wake::Taken { .. } => {}
        }
    }
}

/// Answers everything with no, until nobody asks any more.
fn turn_away(inbox: &Receiver<Wake>) {
    while let Ok(wake) = inbox.recv() {
        match wake {
            Wake::Job(job) => drop(job.reply.send(Err(GuestFault::Gone))),
            Wake::Shutdown => return,
            Wake::Cancel(_)
            | Wake::Abandon(_)
            | Wake::Completed { .. }
            | Wake::Fed { .. }
            | Wake::Key { .. }
            | Wake::Resized { .. }
            | Wake::Taken { .. } => {}
        }
    }
}
