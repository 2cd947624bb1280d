//! What ends a wait: that it lasts too long, or that nobody wants the answer any more.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::Poll,
    time::Duration,
};

use tokio::time::{Sleep, sleep_until};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::deadline::{Deadline, Overrun, earliest};
use crate::error::Phase;

/// Watches over one wait after the other. The timer and the listener are kept between waits: setting them up costs more
/// than most pieces of an answer do. So the timer is not set anew for every wait; when it rings, it is asked how long
/// this wait has lasted.
pub(super) struct Watch {
    cancel: CancellationToken,
    idle: Duration,
    deadline: Option<Deadline>,
    cancelled: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    timer: Option<Pin<Box<Sleep>>>,
}

/// Why a wait ended without what was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interruption {
    Cancelled,
    Overrun(Overrun),
}

impl Watch {
    /// Each wait may last for `idle`, and none beyond the deadline.
    pub(super) fn new(cancel: CancellationToken, idle: Duration, deadline: Option<Deadline>) -> Self {
        Self { cancel, idle, deadline, cancelled: None, timer: None }
    }

    /// Waits for the work. When the wait ends otherwise, or is dropped, the work is dropped.
    pub(super) async fn over<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Interruption> {
        if self.cancel.is_cancelled() {
            return Err(Interruption::Cancelled);
        }
        let mut work = pin!(work);
        let mut limit = None;
        poll_fn(|context| {
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                return Poll::Ready(Ok(done));
            }
            let cancel = &self.cancel;
            let cancelled = self.cancelled.get_or_insert_with(|| Box::pin(cancel.clone().cancelled_owned()));
            if cancelled.as_mut().poll(context).is_ready() {
                return Poll::Ready(Err(Interruption::Cancelled));
            }
            // The clock is asked once for a wait, and not at all for what is there already. Limits of later waits are
            // never earlier, so that the timer rings in time for each.
            let find_limit = || earliest(Some((Phase::Idle, self.idle)), self.deadline);
            let Some((at, overrun)) = *limit.get_or_insert_with(find_limit) else {
                return Poll::Pending;
            };
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(at)));
            while timer.as_mut().poll(context).is_ready() {
                if timer.deadline() >= at {
                    return Poll::Ready(Err(Interruption::Overrun(overrun)));
                }
                timer.as_mut().reset(at);
            }
            Poll::Pending
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use tokio::time::{Instant, sleep};

    use super::*;

    const IDLE: Duration = Duration::from_secs(10);

    fn overrun(phase: Phase, after: Duration) -> Interruption {
        Interruption::Overrun(Overrun { phase, after })
    }

    #[tokio::test(start_paused = true)]
    async fn every_wait_may_last_as_long() {
        let mut watch = Watch::new(CancellationToken::new(), IDLE, None);
        let begun = Instant::now();
        for seconds in [9, 0, 9, 3, 9] {
            assert_eq!(watch.over(sleep(Duration::from_secs(seconds))).await, Ok(()));
        }
        assert_eq!(begun.elapsed(), Duration::from_secs(30));
        assert_eq!(watch.over(pending::<()>()).await, Err(overrun(Phase::Idle, IDLE)));
        assert_eq!(begun.elapsed(), Duration::from_secs(40));
        assert_eq!(watch.over(sleep(Duration::from_secs(9))).await, Ok(()), "a later wait has its own time");
        assert_eq!(watch.over(pending::<()>()).await, Err(overrun(Phase::Idle, IDLE)));
        assert_eq!(begun.elapsed(), Duration::from_secs(59));
    }

    #[tokio::test(start_paused = true)]
    async fn all_waits_together_may_not_last_longer_than_the_whole() {
        let whole = Duration::from_secs(25);
        let mut watch = Watch::new(CancellationToken::new(), IDLE, Some(Deadline::after(whole)));
        let begun = Instant::now();
        for _ in 0..2 {
            assert_eq!(watch.over(sleep(Duration::from_secs(9))).await, Ok(()));
        }
        assert_eq!(watch.over(sleep(Duration::from_secs(9))).await, Err(overrun(Phase::Total, whole)));
        assert_eq!(begun.elapsed(), whole);
    }

    #[tokio::test(start_paused = true)]
    async fn cancelling_ends_a_wait_and_all_that_follow() {
        let cancel = CancellationToken::new();
        let mut watch = Watch::new(cancel.clone(), IDLE, None);
        assert_eq!(watch.over(ready(1)).await, Ok(1));
        let (outcome, ()) = tokio::join!(watch.over(pending::<()>()), async {
            sleep(Duration::from_secs(1)).await;
            cancel.cancel();
        });
        assert_eq!(outcome, Err(Interruption::Cancelled));
        assert_eq!(watch.over(ready(1)).await, Err(Interruption::Cancelled));
    }

    #[tokio::test(start_paused = true)]
    async fn a_time_beyond_all_clocks_never_ends() {
        let mut watch = Watch::new(CancellationToken::new(), Duration::MAX, None);
        assert_eq!(watch.over(sleep(Duration::from_secs(1))).await, Ok(()));
    }
}
