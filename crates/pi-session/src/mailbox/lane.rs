//! Does one thing after the other, beside the mailbox.

use std::{
    collections::VecDeque,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::sync::oneshot;

/// A row of work. What is in it is done in order; whoever finishes the lane waits for all of it.
///
/// Unbounded, because the mailbox that fills it cannot wait. What can be in it is bounded by those who write letters: each
/// waits for an answer, or for room in the mailbox. The task that does it ends with the row: most sessions have nothing to
/// do here, and a server has many.
#[derive(Default)]
pub(crate) struct Lane {
    row: Arc<Row>,
    /// Whether it takes no more.
    is_finished: bool,
}

/// Not a channel: whether a task works is decided together with whether there is something to do.
#[derive(Default)]
struct Row(Mutex<State>);

#[derive(Default)]
struct State {
    waiting: VecDeque<BoxFuture<'static, ()>>,
    /// A task works, or is about to.
    is_called: bool,
}

impl Lane {
    /// Needs a tokio runtime.
    pub(super) fn push(&self, work: impl Future<Output = ()> + Send + 'static) {
        // What comes after the end is for nobody.
        if !self.is_finished {
            self.put(work.boxed());
        }
    }

    /// Takes no more; done when everything is done.
    pub(super) fn finish(&mut self) -> impl Future<Output = ()> + Send + 'static {
        self.is_finished = true;
        let (done, is_done) = oneshot::channel();
        let last = async move {
            // Whoever finishes the lane need not wait for it.
            let _ = done.send(());
        };
        self.put(last.boxed());
        async move {
            if is_done.await.is_err() {
                tracing::error!("the work of a session for its extensions was not done");
            }
        }
    }

    fn put(&self, work: BoxFuture<'static, ()>) {
        let mut state = self.row.state();
        state.waiting.push_back(work);
        if !std::mem::replace(&mut state.is_called, true) {
            // It ends by itself; whoever wants to know when finishes the lane.
            tokio::spawn(do_all(Arc::clone(&self.row)));
        }
    }
}

async fn do_all(row: Arc<Row>) {
    while let Some(work) = row.next() {
        if AssertUnwindSafe(work).catch_unwind().await.is_err() {
            tracing::error!("something that a session did for its extensions ended in a panic");
        }
    }
}

impl Row {
    fn next(&self) -> Option<BoxFuture<'static, ()>> {
        let mut state = self.state();
        let next = state.waiting.pop_front();
        if next.is_none() {
            *state = State::default();
        }
        next
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that is done under it can panic halfway.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn work_is_done_in_order_and_survives_a_panic() {
        let (mut lane, done) = (Lane::default(), Arc::new(Mutex::new(Vec::new())));
        for (name, pause) in [("slow", 20), ("broken", 0), ("quick", 0)] {
            let done = Arc::clone(&done);
            lane.push(async move {
                tokio::time::sleep(Duration::from_millis(pause)).await;
                assert!(name != "broken", "as it should");
                done.lock().expect("nobody panics here").push(name);
            });
        }
        lane.finish().await;
        assert_eq!(*done.lock().expect("nobody panics here"), ["slow", "quick"]);
    }
}
