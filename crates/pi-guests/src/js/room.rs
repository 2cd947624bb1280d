//! What the native functions of one runtime share: who the guest is, what goes on, and what waits.
//!
//! It lives on the guest's thread and is gone with the runtime.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, HashMap},
    sync::{Arc, mpsc::Sender},
    time::Duration,
};

use tokio::{runtime::Handle, sync::oneshot};
use tokio_util::sync::CancellationToken;

use pi_exthost::{Desk, GuestFault, Terms, desk::Occasion, port::Canvas};
use pi_extproto::{connector::stream::StreamItem, host::HostError};

use super::{
    chance::Lots,
    clock::Clock,
    fuse::{BACKGROUND, Fuse},
    job::{Answer, JobId, JobTerms, Task},
    life::GRACE,
    limits::Limits,
    offered::Offered,
    thread::{Guest, Wake},
    unpacking::Reading,
};

/// What one runtime has.
pub(super) struct Room {
    pub(super) guest: Arc<Guest>,
    pub(super) desk: Desk,
    pub(super) tokio: Handle,
    pub(super) wakes: Sender<Wake>,
    pub(super) fuse: Fuse,
    pub(super) clock: Clock,
    pub(super) lots: Lots,
    pub(super) limits: Limits,
    /// Ends with the runtime, at the latest with the guest: whatever it had going in the host is withdrawn.
    pub(super) life: CancellationToken,
    /// For whom JavaScript runs now.
    pub(super) current: Cell<JobId>,
    pub(super) jobs: RefCell<HashMap<JobId, Open>>,
    pub(super) calls: RefCell<HashMap<u64, Going>>,
    pub(super) feeds: RefCell<HashMap<u64, FeedSlot>>,
    pub(super) canvases: RefCell<HashMap<u64, Easel>>,
    pub(super) timers: RefCell<Timers>,
    pub(super) wants_ticks: Cell<bool>,
    pub(super) immediates: Cell<usize>,
    /// Whether what it offers has changed since it was last looked at.
    pub(super) has_changed: Cell<bool>,
    pub(super) is_loading: Cell<bool>,
}

/// A job that is not done.
pub(super) struct Open {
    pub(super) task: Task,
    pub(super) terms: JobTerms,
    pub(super) reply: Option<oneshot::Sender<Result<Answer, GuestFault>>>,
    /// When JavaScript first ran after whoever asked had given the signal to stop.
    pub(super) heard: Option<Duration>,
}

/// A host call that is not answered.
pub(super) struct Going {
    pub(super) job: JobId,
    pub(super) cancel: CancellationToken,
}

/// A stream from the host; it is with whoever reads the next piece, and here otherwise.
pub(super) struct FeedSlot {
    pub(super) feed: Option<Reading>,
    /// Where it is written to, until its input ends.
    pub(super) intake: Option<pi_exthost::desk::Intake>,
    /// Where a process is told something.
    pub(super) reins: Option<pi_exthost::desk::Reins>,
    /// Why it could not be opened; whoever reads first is told.
    pub(super) fault: Option<HostError>,
    pub(super) cancel: CancellationToken,
}

/// The side of a drawn component on which frames are sent.
pub(super) struct Easel {
    pub(super) frames: tokio::sync::watch::Sender<pi_exthost::port::Frame>,
    pub(super) size: tokio::sync::watch::Receiver<pi_exthost::port::Size>,
    pub(super) job: JobId,
    pub(super) close: CancellationToken,
}

/// What a host call gave.
pub(super) enum Returned {
    Output(Box<pi_exthost::Hauled>),
    Item(Option<Box<StreamItem>>),
    Canvas(Option<Canvas>),
    Nothing,
}

pub(super) type CallResult = Result<Returned, HostError>;

/// Timers by the time at which they are due; those of the same time in the order in which they were set.
#[derive(Default)]
pub(super) struct Timers {
    due: BTreeMap<(Duration, u64), (u64, JobId)>,
    keys: HashMap<u64, (Duration, u64)>,
    set: u64,
}

impl Timers {
    pub(super) fn len(&self) -> usize {
        self.due.len()
    }

    pub(super) fn set(&mut self, id: u64, due: Duration, job: JobId) {
        self.clear(id);
        self.set += 1;
        let key = (due, self.set);
        self.due.insert(key, (id, job));
        self.keys.insert(id, key);
    }

    pub(super) fn clear(&mut self, id: u64) {
        if let Some(key) = self.keys.remove(&id) {
            self.due.remove(&key);
        }
    }

    pub(super) fn next_due(&self) -> Option<Duration> {
        self.due.keys().next().map(|(due, _)| *due)
    }

    /// The first that is due at `now` and was set before `before`.
    pub(super) fn take_due(&mut self, now: Duration, before: u64) -> Option<(u64, JobId)> {
        let (key, _) = self.due.iter().next()?;
        if key.0 > now || key.1 > before {
            return None;
        }
        let key = *key;
        let (id, job) = self.due.remove(&key)?;
        self.keys.remove(&id);
        Some((id, job))
    }

    /// How many were ever set: those set later have higher numbers.
    pub(super) fn count(&self) -> u64 {
        self.set
    }
}

impl Room {
    /// The terms of a host call that JavaScript makes now.
    pub(super) fn terms(&self, timeout: Option<Duration>, cancel: CancellationToken) -> Terms {
        let jobs = self.jobs.borrow();
        let open = jobs.get(&self.current.get());
        Terms {
            cancel,
            timeout: [timeout, open.and_then(|open| self.grace(open))].into_iter().flatten().min(),
            stopwatch: open.map(|open| open.terms.stopwatch.clone()),
            occasion: occasion(open),
            control: open.and_then(|open| open.terms.control.clone()),
        }
    }

    /// What JavaScript does now.
    pub(super) fn occasion(&self) -> Occasion {
        occasion(self.jobs.borrow().get(&self.current.get()))
    }

    /// A signal that ends with whatever JavaScript runs for now.
    pub(super) fn signal(&self) -> CancellationToken {
        let jobs = self.jobs.borrow();
        // What goes on after its job is over belongs to the runtime, and so does what is cleared away after the signal to stop.
        let own = jobs.get(&self.current.get()).filter(|open| self.grace(open).is_none());
        own.map_or_else(|| self.life.child_token(), |open| open.terms.cancel.child_token())
    }

    /// Whoever asked for the job may have said that it is to stop: from when its code hears of it on, a grace counts.
    pub(super) fn hear(&self, job: JobId) {
        if let Some(open) = self.jobs.borrow_mut().get_mut(&job)
            && open.terms.cancel.is_cancelled()
        {
            open.heard.get_or_insert_with(|| self.clock.monotonic());
        }
    }

    /// How long host calls of a job that heard the signal to stop may still take; nothing where it did not, or had its time.
    fn grace(&self, open: &Open) -> Option<Duration> {
        let left = GRACE.saturating_sub(self.clock.monotonic().saturating_sub(open.heard?));
        (!left.is_zero()).then_some(left)
    }

    /// For whom something that is set up now will run later.
    pub(super) fn owner(&self) -> JobId {
        let current = self.current.get();
        if self.jobs.borrow().contains_key(&current) { current } else { BACKGROUND }
    }

    /// Takes over what the extension offers.
    pub(super) fn publish(&self, offered: Offered) {
        let program = &self.guest.program;
        let registration = offered.into_registration(self.guest.id.clone(), &program.name, &program.path);
        self.guest.shared.set_registration(registration);
    }

    /// Answers a job. One that was abandoned has nobody to answer.
    pub(super) fn settle(&self, job: JobId, answer: Result<Answer, GuestFault>) {
        let open = self.jobs.borrow_mut().remove(&job);
        if let Some(reply) = open.and_then(|open| open.reply) {
            // Whoever asked may have gone away meanwhile.
            drop(reply.send(answer));
        }
    }
}

fn occasion(open: Option<&Open>) -> Occasion {
    let Some(Open { task, .. }) = open else { return Occasion::Background };
    match task {
        Task::Load | Task::Inspect | Task::Measure => Occasion::Loading,
        Task::Handle { event, .. } => Occasion::Event(event.name().to_owned()),
        Task::Tool { call_id, .. } => Occasion::ToolCall(call_id.clone()),
        Task::Command { name, .. } | Task::Complete { command: name, .. } => Occasion::SlashCommand(name.clone()),
        Task::Shortcut { .. } | Task::Render(_) | Task::Stream { .. } => Occasion::Background,
    }
}
