//! A way for what cannot wait: as much as comes goes down, in order, to one who takes it out.
//!
//! Unlike a channel of tokio's it has no room prepared: a session has several of these, mostly empty, and a server has many
//! sessions.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

/// What an empty chute may keep for what comes next, in bytes.
const KEPT: usize = 512;

/// The upper end. Dropping the last one lets what is in it arrive, and nothing more.
pub(crate) struct Sender<T> {
    shaft: Arc<Shaft<T>>,
}

/// The lower end. Dropping it drops what is in it, and what comes later.
pub(crate) struct Receiver<T> {
    shaft: Arc<Shaft<T>>,
}

struct Shaft<T> {
    /// Not a channel, because it is one; both ends hold it for a moment.
    state: Mutex<State<T>>,
    /// Rung when something came, or nothing more will.
    rung: Notify,
}

struct State<T> {
    waiting: VecDeque<T>,
    senders: usize,
    is_left: bool,
}

/// Both ends.
pub(crate) fn open<T>() -> (Sender<T>, Receiver<T>) {
    let state = State { waiting: VecDeque::new(), senders: 1, is_left: false };
    let shaft = Arc::new(Shaft { state: Mutex::new(state), rung: Notify::new() });
    (Sender { shaft: Arc::clone(&shaft) }, Receiver { shaft })
}

impl<T> Sender<T> {
    /// Lets it go down. Where nobody is left to take it, it is dropped.
    pub(crate) fn send(&self, what: T) {
        let mut state = self.shaft.state();
        if state.is_left {
            // Dropped behind the lock: whatever that does may send.
            drop(state);
            return;
        }
        state.waiting.push_back(what);
        drop(state);
        self.shaft.rung.notify_one();
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.shaft.state().senders += 1;
        Self { shaft: Arc::clone(&self.shaft) }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.shaft.state().senders -= 1;
        self.shaft.rung.notify_one();
    }
}

impl<T> Receiver<T> {
    /// What comes next; nothing when nobody can send any more. Safe to drop and call again.
    pub(crate) async fn recv(&mut self) -> Option<T> {
        loop {
            let is_open = {
                let mut state = self.shaft.state();
                if let Some(next) = state.next() {
                    return Some(next);
                }
                state.senders > 0
            };
            if !is_open {
                return None;
            }
            // One takes out, so the bell that rings before it listens is kept for it.
            self.shaft.rung.notified().await;
        }
    }

    /// What is in it now.
    pub(crate) fn take(&mut self) -> Option<T> {
        self.shaft.state().next()
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let left = {
            let mut state = self.shaft.state();
            state.is_left = true;
            std::mem::take(&mut state.waiting)
        };
        // Behind the lock: whatever that does may send.
        drop(left);
    }
}

impl<T> Shaft<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        // Nothing that is done under it can panic halfway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> State<T> {
    fn next(&mut self) -> Option<T> {
        let next = self.waiting.pop_front()?;
        if self.waiting.is_empty() && self.waiting.capacity() * size_of::<T>() > KEPT {
            self.waiting = VecDeque::new();
        }
        Some(next)
    }
}

impl<T> std::fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn everything_arrives_in_its_order_and_then_the_end() {
        let (sender, mut receiver) = open();
        let other = sender.clone();
        sender.send(1);
        other.send(2);
        assert_eq!((receiver.recv().await, receiver.take(), receiver.take()), (Some(1), Some(2), None));
        assert_eq!(receiver.recv().now_or_never(), None, "somebody may send");
        other.send(3);
        drop((sender, other));
        assert_eq!((receiver.recv().await, receiver.recv().await), (Some(3), None));
    }

    #[tokio::test]
    async fn whoever_waits_hears_what_comes_and_that_nothing_more_will() {
        let (sender, mut receiver) = open();
        let taken = tokio::spawn(async move { (receiver.recv().await, receiver.recv().await) });
        tokio::task::yield_now().await;
        sender.send("word");
        tokio::task::yield_now().await;
        drop(sender);
        assert_eq!(taken.await.expect("it takes"), (Some("word"), None));
    }

    #[tokio::test]
    async fn what_nobody_will_take_is_dropped() {
        let (sender, receiver) = open();
        let held = Arc::new(());
        sender.send(Arc::clone(&held));
        drop(receiver);
        sender.send(Arc::clone(&held));
        assert_eq!(Arc::strong_count(&held), 1);
    }

    #[tokio::test]
    async fn room_for_much_is_given_back() {
        let (sender, mut receiver) = open();
        (0..1000_u64).for_each(|number| sender.send(number));
        while receiver.take().is_some() {}
        assert!(receiver.shaft.state().waiting.capacity() * 8 <= KEPT);
    }
}
