//! Work that somebody waits for and nobody holds up.

use std::panic;

use futures_util::future::pending;
use tokio::task::{JoinError, JoinHandle, spawn_blocking};

/// Does a change in a task of its own, and waits for it. Dropping the future only ends the waiting: a change that is cut off
/// midway would leave members that are listed and not there.
pub(super) async fn to_its_end<T: Send + 'static>(change: impl Future<Output = T> + Send + 'static) -> T {
    // Its owner is the company, which it keeps. It ends by itself: whatever a change waits for is waited for a bounded time.
    joined(tokio::spawn(change)).await
}

/// Does what takes as long as a disk does where no task is held up by it.
pub(super) async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    joined(spawn_blocking(work)).await
}

async fn joined<T>(task: JoinHandle<T>) -> T {
    match task.await.map_err(JoinError::try_into_panic) {
        Ok(done) => done,
        Err(Ok(cause)) => panic::resume_unwind(cause),
        // The program ends, and with it whoever waits here.
        Err(Err(_)) => pending().await,
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn change_that_nobody_waits_for_comes_to_its_end() {
        let (go, gone) = oneshot::channel::<()>();
        let (done, is_done) = oneshot::channel();
        let mut change = to_its_end(async move {
            gone.await.expect("somebody says go");
            done.send("changed").expect("somebody looks");
        })
        .boxed();
        assert!(futures_util::poll!(&mut change).is_pending());
        drop(change);
        go.send(()).expect("it goes on");
        assert_eq!(is_done.await, Ok("changed"));
    }
}
