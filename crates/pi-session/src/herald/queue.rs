//! What waits for one subscriber, between the herald and whoever reads.
//!
//! Below [`Limits::apart`] every event waits as it is. Beyond that a piece of a text is added to the one before it, so that a
//! slow reader gets fewer and longer pieces: what waits then grows with what was said and not with how often. If even
//! that is too much, everything is let go and the reader is told so; it can subscribe anew and read the state. Somebody
//! who wants every event as it is has no such bound: there the run waits, by the [`Brake`].

use std::{
    collections::VecDeque,
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use pi_transcript::{AgentEvent, event::Joined};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Why no more events come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Silence {
    #[error("the session has ended")]
    Ended,
    /// Too much waited and was let go. The session goes on; subscribe anew and read its state.
    #[error("events were missed")]
    Lagged,
}

/// What becomes of events that nobody reads for long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// They are joined, and let go at last.
    Joined,
    /// They wait as they are, and the run waits with them.
    InFull,
}

/// How much may wait.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// So many events wait as they are; where they wait in full, the run goes on below this.
    pub(super) apart: usize,
    pub(super) events: usize,
    pub(super) bytes: usize,
}

/// An answer of a usual length comes in fewer pieces than stay apart, and a window full of text fits many times.
pub(super) const LIMITS: Limits = Limits { apart: 1024, events: 65_536, bytes: 64 << 20 };

/// Holds runs while somebody who wants every event is far behind. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Brake(Arc<Holding>);

/// A channel would do as well, and be half a kilobyte in every session.
#[derive(Debug, Default)]
struct Holding {
    /// How many are behind.
    count: AtomicUsize,
    /// Wakes who waits when nobody is any more.
    released: Notify,
}

/// The herald's end.
#[derive(Debug)]
pub(crate) struct Subscriber {
    queue: Arc<Queue>,
}

/// The events of a session from one moment on.
#[derive(Debug)]
pub struct Subscription {
    queue: Arc<Queue>,
}

#[derive(Debug)]
struct Queue {
    /// A lock and not a task: both ends hold it for one event, and never across an await.
    state: Mutex<State>,
    /// Rung when something came, or nothing more will.
    rung: Notify,
    reading: Reading,
    limits: Limits,
    brake: Brake,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Waiting>,
    bytes: usize,
    /// Why nothing more comes.
    end: Option<Silence>,
    is_left: bool,
    /// Whether the brake is held for this one.
    is_holding: bool,
}

#[derive(Debug)]
struct Waiting {
    event: Event,
    weight: usize,
}

#[derive(Debug)]
enum Event {
    Shared(Arc<AgentEvent>),
    Joined(Box<Joined>),
}

/// Both ends of a new subscription.
pub(crate) fn subscription(reading: Reading, brake: &Brake) -> (Subscriber, Subscription) {
    within(LIMITS, reading, brake)
}

pub(super) fn within(limits: Limits, reading: Reading, brake: &Brake) -> (Subscriber, Subscription) {
    let state = Mutex::new(State::default());
    let queue = Arc::new(Queue { state, rung: Notify::new(), reading, limits, brake: brake.clone() });
    (Subscriber { queue: Arc::clone(&queue) }, Subscription { queue })
}

impl Subscription {
    /// The next event. Safe to drop and call again.
    pub async fn next(&mut self) -> Result<Arc<AgentEvent>, Silence> {
        loop {
            if let Some(next) = self.queue.pop() {
                return next;
            }
            // There is one reader, so the bell that rings before it listens is kept for it.
            self.queue.rung.notified().await;
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        state.is_left = true;
        state.let_go();
        self.queue.hold_or_release(&mut state);
    }
}

impl Subscriber {
    /// Whether the subscriber is still there, and keeps up. `weight` is that of the event.
    pub(super) fn take(&self, event: &Arc<AgentEvent>, weight: usize) -> bool {
        let queue = &self.queue;
        let mut state = queue.state();
        if state.is_left {
            return false;
        }
        let is_crowded = queue.reading == Reading::Joined && state.waiting.len() >= queue.limits.apart;
        if !(is_crowded && state.join(event)) {
            state.waiting.push_back(Waiting { event: Event::Shared(Arc::clone(event)), weight });
            state.bytes += weight;
        }
        queue.hold_or_release(&mut state);
        let is_too_much = state.waiting.len() > queue.limits.events || state.bytes > queue.limits.bytes;
        let is_lagging = queue.reading == Reading::Joined && is_too_much;
        if is_lagging {
            state.let_go();
            state.end = Some(Silence::Lagged);
        }
        drop(state);
        queue.rung.notify_one();
        !is_lagging
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        self.queue.state().end.get_or_insert(Silence::Ended);
        self.queue.rung.notify_one();
    }
}

impl Queue {
    fn pop(&self) -> Option<Result<Arc<AgentEvent>, Silence>> {
        let mut state = self.state();
        let Some(Waiting { event, weight }) = state.waiting.pop_front() else { return state.end.map(Err) };
        state.bytes -= weight;
        self.hold_or_release(&mut state);
        Some(Ok(match event {
            Event::Shared(event) => event,
            Event::Joined(joined) => Arc::new(joined.into_event()),
        }))
    }

    /// Holds the run from the bound on, and lets it go when half of that is read: it need not stop at every event.
    fn hold_or_release(&self, state: &mut State) {
        let bound = if state.is_holding { self.limits.apart / 2 } else { self.limits.apart };
        let holds = self.reading == Reading::InFull && state.waiting.len() >= bound.max(1);
        if holds != state.is_holding {
            state.is_holding = holds;
            if holds {
                self.brake.hold();
            } else {
                self.brake.release();
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that is done under it can panic halfway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Adds an event to the last one that waits, if it says more of the same.
    fn join(&mut self, event: &AgentEvent) -> bool {
        let Some(last) = self.waiting.back_mut() else { return false };
        let before = last.weight;
        match &mut last.event {
            Event::Joined(joined) => {
                if !joined.absorb(event) {
                    return false;
                }
                last.weight = joined.event().weight();
            }
            Event::Shared(shared) => {
                // What cannot grow is not copied to find that out.
                if !shared.can_grow() {
                    return false;
                }
                let mut joined = Joined::new(AgentEvent::clone(shared));
                if !joined.absorb(event) {
                    return false;
                }
                last.weight = joined.event().weight();
                last.event = Event::Joined(Box::new(joined));
            }
        }
        self.bytes = self.bytes - before + last.weight;
        true
    }

    fn let_go(&mut self) {
        self.waiting = VecDeque::new();
        self.bytes = 0;
    }
}

impl Brake {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    fn hold(&self) {
        self.0.count.fetch_add(1, Ordering::SeqCst);
    }

    fn release(&self) {
        if self.0.count.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.released.notify_waiters();
        }
    }

    fn is_held(&self) -> bool {
        self.0.count.load(Ordering::SeqCst) > 0
    }

    /// Waits until everybody who wants every event has read enough. A run that is cancelled does not wait: it has little
    /// more to tell.
    pub(crate) async fn wait(&self, cancel: &CancellationToken) {
        if !self.is_held() {
            return;
        }
        let released = async {
            loop {
                let mut released = pin!(self.0.released.notified());
                // Before the look, so that nothing is missed between the two.
                released.as_mut().enable();
                if !self.is_held() {
                    return;
                }
                released.await;
            }
        };
        tokio::select! {
            () = released => {}
            () = cancel.cancelled() => {}
        }
    }
}
