//! What stops JavaScript that does not stop by itself.
//!
//! The engine asks [`Fuse::is_blown`] every few thousand steps, on the guest's thread; others blow it from theirs.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use pi_exthost::Stopwatch;

/// Why a guest was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trip {
    /// It ran without a pause for longer than any piece of work may.
    Stretch(Duration),
    /// Whoever asked does not wait any more, and it did not hear that.
    Abandoned,
    /// The time for the work was used up.
    Deadline(Duration),
    /// It used more memory than it may.
    Memory,
    /// It is being shut down.
    Ended,
}

impl Trip {
    /// The limit that it went over, in words.
    pub(crate) fn limit(self) -> String {
        match self {
            Self::Stretch(allowed) => format!("{allowed:?} of work without a pause"),
            Self::Abandoned => "50ms to stop after being cancelled".to_owned(),
            Self::Deadline(allowed) => format!("{allowed:?} for its work"),
            Self::Memory => "memory".to_owned(),
            Self::Ended => "its session".to_owned(),
        }
    }
}

/// Shared by the guest's thread and whoever waits for it.
#[derive(Clone)]
pub(crate) struct Fuse {
    shared: Arc<Shared>,
}

struct Shared {
    /// The work that JavaScript runs for now; none while the guest is parked.
    current: AtomicU64,
    /// The work that nobody waits for any more.
    unwanted: AtomicU64,
    is_ended: AtomicBool,
    /// A mutex and no message: the engine's callback cannot receive any. It is held for a look.
    stretch: Mutex<Stretch>,
}

#[derive(Default)]
struct Stretch {
    until: Option<Instant>,
    allowed: Duration,
    stopwatch: Option<Stopwatch>,
    trip: Option<Trip>,
}

/// The mark of no work in particular: the largest number that JavaScript hands back as it was given.
pub(crate) const BACKGROUND: u64 = (1 << 53) - 1;
const NOTHING: u64 = 0;

#[expect(clippy::disallowed_methods, reason = "the engine calls back on a thread that has no other clock")]
fn now() -> Instant {
    Instant::now()
}

impl Fuse {
    pub(crate) fn new() -> Self {
        let shared = Shared {
            current: AtomicU64::new(NOTHING),
            unwanted: AtomicU64::new(NOTHING),
            is_ended: AtomicBool::new(false),
            stretch: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    fn stretch<T>(&self, look: impl FnOnce(&mut Stretch) -> T) -> T {
        look(&mut self.shared.stretch.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// JavaScript begins to run for `work`.
    pub(crate) fn light(&self, work: u64, allowed: Duration, stopwatch: Option<Stopwatch>) {
        self.shared.current.store(work, Ordering::SeqCst);
        self.stretch(|stretch| {
            *stretch = Stretch { until: now().checked_add(allowed), allowed, stopwatch, trip: None };
        });
    }

    /// It has come to a pause; what stopped it, if something did.
    pub(crate) fn put_out(&self) -> Option<Trip> {
        self.shared.current.store(NOTHING, Ordering::SeqCst);
        self.stretch(|stretch| {
            stretch.until = None;
            stretch.stopwatch = None;
            stretch.trip.take()
        })
    }

    /// Time that was spent in the host does not count.
    pub(crate) fn extend(&self, by: Duration) {
        self.stretch(|stretch| stretch.until = stretch.until.and_then(|until| until.checked_add(by)));
    }

    /// Whether JavaScript is to be stopped here.
    pub(crate) fn is_blown(&self) -> bool {
        let current = self.shared.current.load(Ordering::SeqCst);
        let is_unwanted = current != NOTHING && self.shared.unwanted.load(Ordering::SeqCst) == current;
        let is_ended = self.shared.is_ended.load(Ordering::SeqCst);
        self.stretch(|stretch| {
            if stretch.trip.is_none() {
                stretch.trip = if is_ended {
                    Some(Trip::Ended)
                } else if is_unwanted {
                    Some(Trip::Abandoned)
                } else if stretch.until.is_some_and(|until| now() >= until) {
                    Some(Trip::Stretch(stretch.allowed))
                } else {
                    let watch = stretch.stopwatch.as_ref();
                    watch
                        .filter(|watch| watch.left() == Some(Duration::ZERO))
                        .map(|watch| Trip::Deadline(watch.allowed().unwrap_or_default()))
                };
            }
            stretch.trip.is_some()
        })
    }

    /// Whether JavaScript was stopped in this stretch.
    pub(crate) fn has_tripped(&self) -> bool {
        self.stretch(|stretch| stretch.trip.is_some())
    }

    /// Blows it because of something that the guest's own thread noticed.
    pub(crate) fn trip(&self, trip: Trip) {
        self.stretch(|stretch| stretch.trip = stretch.trip.or(Some(trip)));
    }

    /// Stops `work` if it runs now or begins to; nobody waits for it any more.
    pub(crate) fn give_up(&self, work: u64) {
        self.shared.unwanted.store(work, Ordering::SeqCst);
    }

    /// Whether JavaScript runs for `work` now.
    pub(crate) fn runs(&self, work: u64) -> bool {
        self.shared.current.load(Ordering::SeqCst) == work
    }

    /// Stops everything, for good.
    pub(crate) fn end(&self) {
        self.shared.is_ended.store(true, Ordering::SeqCst);
    }
}
