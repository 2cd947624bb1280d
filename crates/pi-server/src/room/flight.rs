//! Whether a run of a session is in flight, for whoever waits for the one or the other.

use std::{
    pin::pin,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use pi_wire::Activity;
use tokio::sync::Notify;

/// A channel would do as well, and be half a kilobyte in every session.
#[derive(Debug, Default)]
pub(crate) struct Flight {
    is_running: AtomicBool,
    /// How many have begun.
    runs: AtomicU64,
    changed: Notify,
}

impl Flight {
    pub(super) fn activity(&self) -> Activity {
        activity(self.is_running.load(Ordering::SeqCst))
    }

    /// Says how it is, and answers how it was.
    pub(super) fn set(&self, now: Activity) -> Activity {
        let before = self.is_running.swap(now == Activity::Running, Ordering::SeqCst);
        if now == Activity::Running && !before {
            self.runs.fetch_add(1, Ordering::SeqCst);
        }
        self.wake();
        activity(before)
    }

    /// How many runs have begun so far: one that came and went since somebody looked is seen by that.
    pub(crate) fn runs(&self) -> u64 {
        self.runs.load(Ordering::SeqCst)
    }

    /// Lets whoever waits look again.
    pub(super) fn wake(&self) {
        self.changed.notify_waiters();
    }

    /// Waits until it is as is wanted. What comes and goes before somebody looks is not seen. Safe to drop.
    pub(crate) async fn until(&self, is_wanted: impl Fn(Activity) -> bool) {
        loop {
            let mut changed = pin!(self.changed.notified());
            // Before the look, so that nothing is missed between the two.
            changed.as_mut().enable();
            if is_wanted(self.activity()) {
                return;
            }
            changed.await;
        }
    }
}

fn activity(is_running: bool) -> Activity {
    if is_running { Activity::Running } else { Activity::Idle }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn who_waits_sees_what_was_said_before_and_after() {
        let flight = Flight::default();
        assert!(flight.until(|activity| activity == Activity::Idle).now_or_never().is_some());
        let mut running = Box::pin(flight.until(|activity| activity == Activity::Running));
        assert!(running.as_mut().now_or_never().is_none());
        assert_eq!(flight.set(Activity::Running), Activity::Idle);
        assert!(running.as_mut().now_or_never().is_some());
        assert_eq!(flight.activity(), Activity::Running);
        assert_eq!(flight.set(Activity::Running), Activity::Running);
        assert_eq!(flight.runs(), 1);
        flight.set(Activity::Idle);
        flight.set(Activity::Running);
        assert_eq!(flight.runs(), 2, "that it was idle between was not looked at");
    }
}
