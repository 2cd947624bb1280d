//! Whether something is being done, and when that is over.
//!
//! Commands that only look come all the time and leave little behind: a number of them counts as much as one that changes
//! something.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use tokio::{sync::watch, time::sleep};

/// So many looks are as much as something that is done. Fewer would let a client that asks every second how the server is wake
/// whoever waits for a lull as often.
pub const LOOKS: u32 = 32;

/// What is being done. Whoever does something [enters](Self::enter), whoever only [looks](Self::look) says so.
#[derive(Debug, Default)]
pub struct Bustle {
    at_work: watch::Sender<usize>,
    looks: AtomicU32,
}

/// Something is being done, as long as this lives.
#[derive(Debug)]
pub struct Busy<'a>(&'a Bustle);

/// The times at which nothing is done any more.
#[derive(Debug)]
pub struct Lulls {
    at_work: watch::Receiver<usize>,
    /// How long nothing must be done.
    quiet: Duration,
}

impl Bustle {
    pub fn enter(&self) -> Busy<'_> {
        self.at_work.send_modify(|at_work| *at_work += 1);
        Busy(self)
    }

    /// Costs no more than a count most of the time.
    pub fn look(&self) {
        if self.looks.fetch_add(1, Ordering::Relaxed) % LOOKS == LOOKS - 1 {
            drop(self.enter());
        }
    }

    /// What was done before is not waited for.
    pub fn lulls(&self, quiet: Duration) -> Lulls {
        Lulls { at_work: self.at_work.subscribe(), quiet }
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.at_work.send_modify(|at_work| *at_work -= 1);
    }
}

impl Lulls {
    /// Waits until something was done and nothing has been done for a while since. `None`: nothing more will be done.
    /// Cancelled, nothing is lost but the time that was waited.
    pub async fn next(&mut self) -> Option<()> {
        self.at_work.changed().await.ok()?;
        loop {
            self.at_work.wait_for(|at_work| *at_work == 0).await.ok()?;
            tokio::select! {
                changed = self.at_work.changed() => changed.ok()?,
                () = sleep(self.quiet) => return Some(()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, timeout};

    use super::*;

    const QUIET: Duration = Duration::from_millis(500);

    /// How long the next lull takes to come, up to an hour.
    async fn wait(lulls: &mut Lulls) -> Option<Duration> {
        let since = Instant::now();
        let lull = timeout(Duration::from_secs(3600), lulls.next()).await;
        lull.is_ok().then(|| since.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn lull_comes_once_after_the_last_that_was_done() {
        let bustle = Bustle::default();
        let mut lulls = bustle.lulls(QUIET);
        assert_eq!(wait(&mut lulls).await, None, "nothing was done");
        drop(bustle.enter());
        assert_eq!(wait(&mut lulls).await, Some(QUIET));
        assert_eq!(wait(&mut lulls).await, None, "nothing was done since");
    }

    #[tokio::test(start_paused = true)]
    async fn whatever_takes_long_or_follows_soon_is_waited_for() {
        let bustle = Bustle::default();
        let mut lulls = bustle.lulls(QUIET);
        let work = async {
            let prompt = bustle.enter();
            sleep(Duration::from_secs(60)).await;
            let other = bustle.enter();
            drop(prompt);
            sleep(Duration::from_secs(1)).await;
            drop(other);
            for _ in 0..10 {
                sleep(QUIET / 2).await;
                drop(bustle.enter());
            }
        };
        let (lull, ()) = tokio::join!(wait(&mut lulls), work);
        assert_eq!(lull, Some(Duration::from_secs(61) + 5 * QUIET + QUIET));
    }

    #[tokio::test(start_paused = true)]
    async fn many_looks_count_as_something_that_was_done() {
        let bustle = Bustle::default();
        let mut lulls = bustle.lulls(QUIET);
        (1..LOOKS).for_each(|_| bustle.look());
        assert_eq!(wait(&mut lulls).await, None, "few looks");
        bustle.look();
        assert_eq!(wait(&mut lulls).await, Some(QUIET));
        (0..2 * LOOKS).for_each(|_| bustle.look());
        assert_eq!(wait(&mut lulls).await, Some(QUIET));
        assert_eq!(wait(&mut lulls).await, None, "nothing was done since");
    }

    #[tokio::test]
    async fn who_waits_when_everything_ends_is_told() {
        let bustle = Bustle::default();
        let mut lulls = bustle.lulls(QUIET);
        drop(bustle);
        assert_eq!(lulls.next().await, None);
    }
}
