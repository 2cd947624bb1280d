//! Does one thing after the other, beside the mailbox.

use std::panic::AssertUnwindSafe;

use futures_util::{FutureExt, future::BoxFuture};
use tokio::{sync::mpsc, task::JoinHandle};

/// A row of work. What is in it is done in order; whoever finishes the lane waits for all of it.
///
/// Unbounded, because the mailbox that fills it cannot wait. What can be in it is bounded by those who write letters: each
/// waits for an answer, or for room in the mailbox.
pub(crate) struct Lane {
    /// Nothing once it takes no more.
    work: Option<mpsc::UnboundedSender<BoxFuture<'static, ()>>>,
    task: Option<JoinHandle<()>>,
}

impl Lane {
    /// Needs a tokio runtime.
    pub(crate) fn new() -> Self {
        let (work, mut waiting) = mpsc::unbounded_channel::<BoxFuture<'static, ()>>();
        let task = tokio::spawn(async move {
            while let Some(work) = waiting.recv().await {
                if AssertUnwindSafe(work).catch_unwind().await.is_err() {
                    tracing::error!("something that a session did for its extensions ended in a panic");
                }
            }
        });
        Self { work: Some(work), task: Some(task) }
    }

    pub(super) fn push(&self, work: impl Future<Output = ()> + Send + 'static) {
        // What comes after the end is for nobody.
        if let Some(lane) = &self.work
            && lane.send(work.boxed()).is_err()
        {
            tracing::error!("a session has nobody left to work for its extensions");
        }
    }

    /// Takes no more; done when everything is done.
    pub(super) fn finish(&mut self) -> impl Future<Output = ()> + Send + 'static {
        self.work = None;
        let task = self.task.take();
        async move {
            if let Some(task) = task
                && let Err(error) = task.await
            {
                tracing::error!(%error, "the work of a session for its extensions ended in a panic");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Arc, Mutex},
        time::Duration,
    };

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn work_is_done_in_order_and_survives_a_panic() {
        let (mut lane, done) = (Lane::new(), Arc::new(Mutex::new(Vec::new())));
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
