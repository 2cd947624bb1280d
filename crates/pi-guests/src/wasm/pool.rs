//! The instances of one guest.
//!
//! A component does one thing at a time, so calls wait for the first instance, in order. While that waits for its host it
//! would wait for itself if what it waits for asked it something: then a further instance is made for the one call. What
//! an extension keeps in its memory is kept in the first. When there are as many as there may be, and all of them wait for
//! work in which guests have a part, they may wait for the call that stands in line: it does so for a bounded time. Processes,
//! files, servers and people come to an end without it.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{Notify, Semaphore},
    time::timeout,
};

use super::instance::Instance;

/// Who waits for the host, and who might want to know.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    away: AtomicUsize,
    /// Those of them that wait for work in which guests have a part.
    entangled: AtomicUsize,
    changed: Notify,
}

/// What an instance waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Errand {
    /// It ends by itself.
    Plain,
    /// Guests have a part in it, perhaps this one.
    Entangled,
}

/// Where instances are.
pub(crate) struct Pool {
    most: usize,
    /// How long a call waits while all of them do.
    standstill: Duration,
    traffic: Arc<Traffic>,
    /// One at a time looks for a place; the others stand in line.
    line: Semaphore,
    /// A lock and no task: places are given back in `Drop`. It is held for a look.
    state: Mutex<State>,
}

struct State {
    first: First,
    live: usize,
}

enum First {
    Missing,
    Here(Box<Instance>),
    Taken,
}

/// A place for one call. It is given back when this is dropped.
pub(crate) struct Place {
    pool: Arc<Pool>,
    is_first: bool,
    instance: Option<Box<Instance>>,
}

/// What was seen of the places.
enum Look {
    Found(Place),
    /// One of them works, and will be free or wait for the host.
    Busy,
    /// There may be no more of them, and all wait for what ends by itself, or some do.
    Full,
    /// There may be no more of them, and perhaps none goes on by itself.
    Standstill,
}

/// All places were taken by calls that waited for the host, for longer than anybody waits.
pub(crate) struct Standstill;

impl Traffic {
    pub(crate) fn leave(&self, errand: Errand) {
        self.away.fetch_add(1, Ordering::SeqCst);
        self.entangled.fetch_add(errand.weight(), Ordering::SeqCst);
        self.changed.notify_one();
    }

    pub(crate) fn come_back(&self, errand: Errand) {
        self.away.fetch_sub(1, Ordering::SeqCst);
        self.entangled.fetch_sub(errand.weight(), Ordering::SeqCst);
    }
}

impl Errand {
    const fn weight(self) -> usize {
        match self {
            Self::Plain => 0,
            Self::Entangled => 1,
        }
    }
}

impl Pool {
    pub(crate) fn new(most: usize, standstill: Duration, traffic: Arc<Traffic>) -> Self {
        let state = Mutex::new(State { first: First::Missing, live: 0 });
        Self { most, standstill, traffic, line: Semaphore::new(1), state }
    }

    /// Waits for a place. Those who came first get theirs first.
    pub(crate) async fn place(self: &Arc<Self>) -> Result<Place, Standstill> {
        let turn = self.line.acquire().await.expect("the line is never closed");
        let place = loop {
            let changed = self.traffic.changed.notified();
            match self.look() {
                Look::Found(place) => break Ok(place),
                Look::Busy | Look::Full => changed.await,
                Look::Standstill => {
                    if timeout(self.standstill, changed).await.is_err() {
                        break Err(Standstill);
                    }
                }
            }
        };
        drop(turn);
        place
    }

    fn look(self: &Arc<Self>) -> Look {
        let mut state = self.state();
        let place = |is_first, instance| Place { pool: Arc::clone(self), is_first, instance };
        let found = match std::mem::replace(&mut state.first, First::Taken) {
            First::Here(instance) => place(true, Some(instance)),
            First::Missing => place(true, None),
            First::Taken if self.traffic.away.load(Ordering::SeqCst) < state.live => return Look::Busy,
            First::Taken if state.live >= self.most => {
                let is_entangled = self.traffic.entangled.load(Ordering::SeqCst) >= state.live;
                return if is_entangled { Look::Standstill } else { Look::Full };
            }
            First::Taken => place(false, None),
        };
        state.live += 1;
        Look::Found(found)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// The instance that was kept here, if there is one.
    pub(crate) fn take(&mut self) -> Option<Box<Instance>> {
        self.instance.take()
    }

    /// Keeps an instance for the next call; one that is not the first ends here.
    pub(crate) fn keep(mut self, instance: Box<Instance>) {
        self.instance = Some(instance);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.pool.state();
        state.live -= 1;
        if self.is_first {
            state.first = self.instance.take().map_or(First::Missing, First::Here);
        }
        drop(state);
        self.pool.traffic.changed.notify_one();
    }
}
