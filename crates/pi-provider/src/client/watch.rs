//! What ends a wait: that it lasts too long, or that nobody wants the answer any more.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use futures_util::task::AtomicWaker;
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::deadline::{Deadline, Overrun, Patience, earliest};

/// Watches over one wait after the other. Asking the timer and the token costs more than most pieces of an answer do, so
/// they are asked when they ring the [`Alarm`], and not for every piece. The timer is not set anew for every wait either;
/// when it rings, it is asked how long this wait has lasted.
pub(super) struct Watch {
    idle: Patience,
    deadline: Option<Deadline>,
    cancelled: Pin<Box<WaitForCancellationFutureOwned>>,
    is_cancelled: bool,
    timer: Option<Pin<Box<Sleep>>>,
    /// The timer has rung, or was never asked.
    must_ask_timer: bool,
    alarm: Arc<Alarm>,
    /// What the timer and the token call.
    ring: Waker,
    /// Whom the alarm wakes. Absent once it has.
    woken: Option<Waker>,
}

/// One wait while it lasts.
#[derive(Default)]
pub(super) struct Wait {
    /// When it has lasted too long, if ever. Not known before something had to be waited for.
    limit: Option<Option<(Instant, Overrun)>>,
}

/// Remembers that somebody rang, and wakes whoever waits.
struct Alarm {
    rang: AtomicBool,
    task: AtomicWaker,
}

/// Why a wait ended without what was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interruption {
    Cancelled,
    Overrun(Overrun),
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.rang.store(true, Ordering::SeqCst);
        self.task.wake();
    }
}

impl Watch {
    /// Each wait may last for `idle`, and none beyond the deadline.
    pub(super) fn new(cancel: CancellationToken, idle: Patience, deadline: Option<Deadline>) -> Self {
        // It has rung, so that the token is asked for the first time.
        let alarm = Arc::new(Alarm { rang: AtomicBool::new(true), task: AtomicWaker::new() });
        Self {
            idle,
            deadline,
            cancelled: Box::pin(cancel.cancelled_owned()),
            is_cancelled: false,
            timer: None,
            must_ask_timer: true,
            ring: Waker::from(Arc::clone(&alarm)),
            alarm,
            woken: None,
        }
    }

    /// Waits for the work. When the wait ends otherwise, or is dropped, the work is dropped.
    pub(super) async fn over<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Interruption> {
        let mut work = pin!(work);
        let mut wait = Wait::default();
        poll_fn(|context| self.poll(&mut wait, context, |context| work.as_mut().poll(context))).await
    }

    /// The same for whoever polls; `wait` is the one that has begun and not ended.
    pub(super) fn poll<T>(
        &mut self,
        wait: &mut Wait,
        context: &mut Context<'_>,
        work: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<Result<T, Interruption>> {
        self.hear();
        if self.is_cancelled {
            return Poll::Ready(Err(Interruption::Cancelled));
        }
        if let Poll::Ready(done) = work(context) {
            return Poll::Ready(Ok(done));
        }
        self.wake_with(context.waker());
        // The clock is asked once for a wait, and not at all for what is there already. Limits of later waits are
        // never earlier, so that the timer rings in time for each.
        let find_limit = || earliest(Some(self.idle), self.deadline);
        match *wait.limit.get_or_insert_with(find_limit) {
            Some((at, overrun)) if self.is_over(at) => Poll::Ready(Err(Interruption::Overrun(overrun))),
            Some(_) | None => Poll::Pending,
        }
    }

    /// Finds out who rang, if somebody did.
    fn hear(&mut self) {
        if !self.alarm.rang.load(Ordering::SeqCst) {
            return;
        }
        self.alarm.rang.store(false, Ordering::SeqCst);
        self.woken = None;
        self.must_ask_timer = true;
        let mut context = Context::from_waker(&self.ring);
        self.is_cancelled = self.is_cancelled || self.cancelled.as_mut().poll(&mut context).is_ready();
    }

    /// Has the alarm wake this task.
    fn wake_with(&mut self, task: &Waker) {
        if self.woken.as_ref().is_some_and(|woken| woken.will_wake(task)) {
            return;
        }
        self.alarm.task.register(task);
        self.woken = Some(task.clone());
        // Whoever rang before the task was known woke nobody.
        if self.alarm.rang.load(Ordering::SeqCst) {
            task.wake_by_ref();
        }
    }

    /// Whether this moment has come. Where it has not, the timer rings by then.
    fn is_over(&mut self, at: Instant) -> bool {
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(at)));
        let mut context = Context::from_waker(&self.ring);
        while self.must_ask_timer {
            if timer.as_mut().poll(&mut context).is_pending() {
                self.must_ask_timer = false;
            } else if timer.deadline() >= at {
                return true;
            } else {
                timer.as_mut().reset(at);
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::{pending, ready},
        time::Duration,
    };

    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::error::{Phase, SetBy};

    const IDLE: Patience = Patience { phase: Phase::Idle, after: Duration::from_secs(10), set_by: SetBy::Nobody };

    #[tokio::test(start_paused = true)]
    async fn every_wait_may_last_as_long() {
        let mut watch = Watch::new(CancellationToken::new(), IDLE, None);
        let begun = Instant::now();
        for seconds in [9, 0, 9, 3, 9] {
            assert_eq!(watch.over(sleep(Duration::from_secs(seconds))).await, Ok(()));
        }
        assert_eq!(begun.elapsed(), Duration::from_secs(30));
        assert_eq!(watch.over(pending::<()>()).await, Err(Interruption::Overrun(IDLE)));
        assert_eq!(begun.elapsed(), Duration::from_secs(40));
        assert_eq!(watch.over(sleep(Duration::from_secs(9))).await, Ok(()), "a later wait has its own time");
        assert_eq!(watch.over(pending::<()>()).await, Err(Interruption::Overrun(IDLE)));
        assert_eq!(begun.elapsed(), Duration::from_secs(59));
    }

    #[tokio::test(start_paused = true)]
    async fn all_waits_together_may_not_last_longer_than_the_whole() {
        let whole = Duration::from_secs(25);
        let mut watch = Watch::new(CancellationToken::new(), IDLE, Some(Deadline::after(whole, SetBy::Caller)));
        let begun = Instant::now();
        for _ in 0..2 {
            assert_eq!(watch.over(sleep(Duration::from_secs(9))).await, Ok(()));
        }
        let overrun = Patience { phase: Phase::Total, after: whole, set_by: SetBy::Caller };
        assert_eq!(watch.over(sleep(Duration::from_secs(9))).await, Err(Interruption::Overrun(overrun)));
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
        let mut watch = Watch::new(CancellationToken::new(), Patience { after: Duration::MAX, ..IDLE }, None);
        assert_eq!(watch.over(sleep(Duration::from_secs(1))).await, Ok(()));
    }
}
