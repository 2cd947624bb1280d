//! Time that a guest may spend on its own work.

use std::{
    fmt,
    future::pending,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

/// Runs down while a guest works, and stands still while it waits for its host or for a person.
///
/// Clones are the same stopwatch. It starts when it is made.
#[derive(Clone)]
pub struct Stopwatch {
    /// Nothing for work that may take as long as it wants.
    limited: Option<Arc<Limited>>,
    /// A mutex and no message: waiting ends in `Drop`, which cannot wait itself, and it is held for a look.
    attended: Arc<Mutex<Attended>>,
}

/// A person is waited for while this lives.
#[must_use = "it counts until this is dropped"]
pub struct Attending {
    since: Instant,
    attended: Arc<Mutex<Attended>>,
}

/// For how long people were waited for.
#[derive(Default)]
struct Attended {
    over: Duration,
    /// Since when those are waited for who have not answered yet.
    open: Vec<Instant>,
}

struct Limited {
    allowed: Duration,
    /// A mutex and no message: pauses end in `Drop`, which cannot wait, and it is held for two assignments.
    state: Mutex<State>,
    changed: Notify,
}

struct State {
    pauses: usize,
    left: Duration,
    /// Since when it runs; meaningless while it is paused.
    since: Instant,
}

/// The stopwatch stands still while this lives; several may.
#[must_use = "the stopwatch runs again as soon as this is dropped"]
pub struct Pause {
    limited: Option<Arc<Limited>>,
}

impl Stopwatch {
    pub fn new(allowed: Duration) -> Self {
        let state = State { pauses: 0, left: allowed, since: Instant::now() };
        let limited = Limited { allowed, state: Mutex::new(state), changed: Notify::new() };
        Self { limited: Some(Arc::new(limited)), attended: Arc::default() }
    }

    pub fn unlimited() -> Self {
        Self { limited: None, attended: Arc::default() }
    }

    /// A person is asked on behalf of the guest. What it was asked for takes longer by that, and it is not busy.
    pub fn attend(&self) -> Attending {
        let since = Instant::now();
        lock(&self.attended).open.push(since);
        Attending { since, attended: Arc::clone(&self.attended) }
    }

    /// For how long a person was waited for so far, and is now; twice where two are waited for at the same time.
    pub(crate) fn attended(&self) -> Duration {
        let (now, attended) = (Instant::now(), lock(&self.attended));
        attended.open.iter().fold(attended.over, |sum, since| sum + (now - *since))
    }

    /// How long the work may take, if there is a limit.
    pub fn allowed(&self) -> Option<Duration> {
        self.limited.as_ref().map(|limited| limited.allowed)
    }

    /// How much of it is left.
    pub fn left(&self) -> Option<Duration> {
        self.limited.as_ref().map(|limited| limited.with(|state| state.left_at(Instant::now())))
    }

    pub fn pause(&self) -> Pause {
        if let Some(limited) = &self.limited {
            limited.with(|state| {
                state.left = state.left_at(Instant::now());
                state.pauses += 1;
            });
            limited.changed.notify_waiters();
        }
        Pause { limited: self.limited.clone() }
    }

    /// Waits until the time is used up. Safe to drop and to call again.
    pub async fn run_down(&self) {
        let Some(limited) = &self.limited else { return pending().await };
        loop {
            let changed = limited.changed.notified();
            tokio::pin!(changed);
            // Listens from here on, so that no change between the look and the wait is missed.
            changed.as_mut().enable();
            match limited.with(|state| state.ends()) {
                None => changed.await,
                Some(end) => tokio::select! {
                    () = sleep_until(end) => return,
                    () = &mut changed => {}
                },
            }
        }
    }
}

impl Limited {
    fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut lock(&self.state))
    }
}

impl State {
    fn left_at(&self, now: Instant) -> Duration {
        if self.pauses > 0 { self.left } else { self.left.saturating_sub(now - self.since) }
    }

    /// When it will have run down, unless it is paused.
    fn ends(&self) -> Option<Instant> {
        (self.pauses == 0).then(|| self.since + self.left)
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        let Some(limited) = &self.limited else { return };
        limited.with(|state| {
            state.pauses -= 1;
            state.since = Instant::now();
        });
        limited.changed.notify_waiters();
    }
}

impl Drop for Attending {
    fn drop(&mut self) {
        let mut attended = lock(&self.attended);
        if let Some(place) = attended.open.iter().position(|since| *since == self.since) {
            attended.open.swap_remove(place);
        }
        attended.over += self.since.elapsed();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Stopwatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stopwatch").field("left", &self.left()).finish()
    }
}

impl fmt::Debug for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pause")
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;

    use tokio::time::{advance, sleep, timeout};

    use super::*;

    const ALLOWED: Duration = Duration::from_secs(10);

    /// How long it takes from now until the stopwatch has run down.
    async fn measure(stopwatch: &Stopwatch) -> Duration {
        let start = Instant::now();
        stopwatch.run_down().await;
        start.elapsed()
    }

    /// Does something else while the stopwatch is being watched.
    async fn measure_while(stopwatch: &Stopwatch, work: impl Future<Output = ()>) -> Duration {
        tokio::join!(measure(stopwatch), work).0
    }

    #[tokio::test(start_paused = true)]
    async fn it_runs_down() {
        assert_eq!(measure(&Stopwatch::new(ALLOWED)).await, ALLOWED);
    }

    #[tokio::test(start_paused = true)]
    async fn time_of_people_is_counted_with_and_without_a_limit() {
        for stopwatch in [Stopwatch::new(ALLOWED), Stopwatch::unlimited()] {
            sleep(Duration::from_secs(2)).await;
            let attending = stopwatch.clone().attend();
            sleep(Duration::from_secs(5)).await;
            assert_eq!(stopwatch.attended(), Duration::from_secs(5), "also while it goes on");
            drop(attending);
            sleep(Duration::from_secs(2)).await;
            assert_eq!(stopwatch.attended(), Duration::from_secs(5));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_does_not_count() {
        let stopwatch = Stopwatch::new(ALLOWED);
        let waits = async {
            sleep(Duration::from_secs(4)).await;
            let pause = stopwatch.pause();
            sleep(Duration::from_secs(100)).await;
            assert_eq!(stopwatch.left(), Some(Duration::from_secs(6)));
            drop(pause);
        };
        assert_eq!(measure_while(&stopwatch, waits).await, Duration::from_secs(110));
    }

    #[tokio::test(start_paused = true)]
    async fn overlapping_waits_count_once() {
        let stopwatch = Stopwatch::new(ALLOWED);
        let waits = async {
            let first = stopwatch.pause();
            sleep(Duration::from_secs(3)).await;
            let second = stopwatch.pause();
            sleep(Duration::from_secs(3)).await;
            drop(first);
            sleep(Duration::from_secs(3)).await;
            drop(second);
        };
        assert_eq!(measure_while(&stopwatch, waits).await, Duration::from_secs(19));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_over_stays_over() {
        let stopwatch = Stopwatch::new(ALLOWED);
        advance(Duration::from_secs(11)).await;
        let _pause = stopwatch.pause();
        assert_eq!(stopwatch.left(), Some(Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn unlimited_never_runs_down() {
        let stopwatch = Stopwatch::unlimited();
        let _pause = stopwatch.pause();
        assert!(timeout(Duration::from_secs(1_000_000), stopwatch.run_down()).await.is_err());
    }
}
