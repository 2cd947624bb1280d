//! How many commands a minute: for each client, for the answers to one session's questions, and for all together. What ends
//! or answers a run has a bucket of its own for each client, so that nobody who sent too much has to watch a run go on.
//!
//! Each is a bucket as large as a minute's worth that fills at a steady rate. A client may be quick for a while, and a check
//! costs the same whatever happened before.

use std::{
    num::NonZeroU32,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
};

use governor::{
    Quota, RateLimiter,
    clock::{Clock, MonotonicClock},
    middleware::NoOpMiddleware,
    state::{InMemoryState, NotKeyed, keyed::HashMapStateStore},
};
use pi_engine::ClientName;
use pi_transcript::SessionId;
use pi_wire::{Error, error::RateScope};

type Moment = <MonotonicClock as Clock>::Instant;
type Keyed<K> = RateLimiter<K, HashMapStateStore<K>, MonotonicClock, NoOpMiddleware<Moment>>;
type Single = RateLimiter<NotKeyed, InMemoryState, MonotonicClock, NoOpMiddleware<Moment>>;

/// What one client may send a minute that ends or answers a run. No person needs as many.
pub const URGENT: NonZeroU32 = NonZeroU32::new(600).expect("not zero");

/// Clients and sessions that were quiet are forgotten after so many checks.
const TIDY_EVERY: usize = 4096;

/// Per minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub client: NonZeroU32,
    pub global: NonZeroU32,
    pub answers: NonZeroU32,
}

impl Default for Limits {
    fn default() -> Self {
        let number = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        Self { client: number(6_000), global: number(60_000), answers: number(600) }
    }
}

/// The buckets.
#[derive(Debug)]
pub struct Rates {
    limits: Limits,
    client: Keyed<ClientName>,
    urgent: Keyed<ClientName>,
    answers: Keyed<SessionId>,
    global: Single,
    checks: AtomicUsize,
    started: Moment,
    /// The minute since the start in the upper half, and how many commands it has seen in the lower.
    minute: AtomicU64,
}

impl Rates {
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            client: RateLimiter::new(Quota::per_minute(limits.client), HashMapStateStore::default(), MonotonicClock),
            urgent: RateLimiter::new(Quota::per_minute(URGENT), HashMapStateStore::default(), MonotonicClock),
            answers: RateLimiter::new(Quota::per_minute(limits.answers), HashMapStateStore::default(), MonotonicClock),
            global: RateLimiter::new(Quota::per_minute(limits.global), InMemoryState::default(), MonotonicClock),
            checks: AtomicUsize::new(0),
            started: MonotonicClock.now(),
            minute: AtomicU64::new(0),
        }
    }

    /// Counts a command, or says why it is too much and how long to wait.
    pub fn count(&self, client: &ClientName) -> Result<(), Error> {
        self.tidy();
        self.note();
        let wait = self.client.check_key(client).map_err(|wait| wait.wait_time_from(MonotonicClock.now()));
        wait.map_err(|wait| limited(RateScope::Client, self.limits.client, wait))?;
        let wait = self.global.check().map_err(|wait| wait.wait_time_from(MonotonicClock.now()));
        wait.map_err(|wait| limited(RateScope::Global, self.limits.global, wait))
    }

    /// Counts a command that ends or answers a run, whatever else the client and all others have sent.
    pub fn count_urgent(&self, client: &ClientName) -> Result<(), Error> {
        self.tidy();
        self.note();
        let wait = self.urgent.check_key(client).map_err(|wait| wait.wait_time_from(MonotonicClock.now()));
        wait.map_err(|wait| limited(RateScope::Urgent, URGENT, wait))
    }

    /// How many commands this minute has seen.
    pub fn used(&self) -> u64 {
        let seen = self.minute.load(Ordering::Relaxed);
        if seen >> 32 == self.this_minute() { seen & u64::from(u32::MAX) } else { 0 }
    }

    fn note(&self) {
        let now = self.this_minute() << 32;
        let count = |seen: u64| Some(if seen >> 32 == now >> 32 { seen + 1 } else { now | 1 });
        // It always has something to store.
        let _ = self.minute.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count);
    }

    fn this_minute(&self) -> u64 {
        MonotonicClock.now().duration_since(self.started).as_secs() / 60
    }

    /// Counts an answer to a question of a session.
    pub fn count_answer(&self, session: &SessionId) -> Result<(), Error> {
        let wait = self.answers.check_key(session).map_err(|wait| wait.wait_time_from(MonotonicClock.now()));
        wait.map_err(|wait| limited(RateScope::UiResponses, self.limits.answers, wait))
    }

    fn tidy(&self) {
        let checks = self.checks.fetch_add(1, Ordering::Relaxed);
        if checks % TIDY_EVERY == TIDY_EVERY - 1 {
            self.client.retain_recent();
            self.urgent.retain_recent();
            self.answers.retain_recent();
        }
    }
}

fn limited(scope: RateScope, per_minute: NonZeroU32, wait: std::time::Duration) -> Error {
    // At once would be too early: what is less than a millisecond counts as one.
    let retry_after_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).saturating_add(1);
    Error::RateLimited { scope, per_minute: per_minute.get().into(), retry_after_ms }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(client: u32, global: u32, answers: u32) -> Rates {
        let number = |number| NonZeroU32::new(number).expect("not zero");
        Rates::new(Limits { client: number(client), global: number(global), answers: number(answers) })
    }

    fn code(result: Result<(), Error>) -> Option<String> {
        result.err().map(|error| {
            assert!(error.retry_after_ms().is_some_and(|wait| wait > 0 && wait <= 60_001));
            error.to_string()
        })
    }

    #[test]
    fn each_client_has_its_own_bucket() {
        let rates = rates(2, 100, 1);
        let (one, other) = (ClientName::from("one"), ClientName::from("other"));
        let counted: Vec<_> = [&one, &one, &one, &other].map(|client| code(rates.count(client))).into();
        let refused = Some("Rate limit exceeded (2 commands/minute)".to_owned());
        assert_eq!(counted, [None, None, refused, None]);
    }

    #[test]
    fn all_together_have_one_too() {
        let rates = rates(2, 3, 1);
        let counted: Vec<_> = ["a", "b", "c", "d"].map(|name| code(rates.count(&name.into()))).into();
        assert_eq!(counted, [None, None, None, Some("Global rate limit exceeded (3 commands/minute)".to_owned())]);
    }

    #[test]
    fn whoever_sent_too_much_can_still_end_a_run_and_not_for_ever() {
        let rates = rates(1, 1, 1);
        let one = ClientName::from("one");
        assert_eq!(code(rates.count(&one)), None);
        assert_eq!(code(rates.count(&one)), Some("Rate limit exceeded (1 commands/minute)".to_owned()));
        let refused = (0..=URGENT.get()).filter_map(|_| code(rates.count_urgent(&one))).next();
        assert_eq!(refused, Some("Rate limit exceeded (600 aborts and answers/minute)".to_owned()));
        assert_eq!(code(rates.count_urgent(&"other".into())), None);
    }

    #[test]
    fn a_check_costs_the_same_whatever_happened_before() {
        let rates = rates(1_000_000, 1_000_000, 1);
        let one = ClientName::from("one");
        // What is kept of a client is one number, however often it came.
        let kept: Vec<usize> = (0..3)
            .map(|_| {
                (0..1000).for_each(|_| assert_eq!(rates.count(&one), Ok(())));
                rates.client.len()
            })
            .collect();
        assert_eq!(kept, [1, 1, 1]);
    }

    #[test]
    fn answers_are_counted_by_session() {
        let rates = rates(1, 1, 1);
        let (one, other) = (SessionId::from("s1"), SessionId::from("s2"));
        let counted: Vec<_> = [&one, &other, &one].map(|session| code(rates.count_answer(session))).into();
        let refused = "Extension UI response rate limit exceeded (1 responses/minute)".to_owned();
        assert_eq!(counted, [None, None, Some(refused)]);
    }
}
