//! Whether and when a call is tried again.
//!
//! Pure: the policy is the manifest's, chance and time come from outside. Only calls of which no byte has arrived may be
//! tried again; that is the caller's promise. Start with [`RetryPolicy::decide`].

use std::time::Duration;

use crate::{
    error::{CallError, ErrorCode},
    manifest::resilience::{Jitter, RetryPolicy, Strategy},
};

/// A provider that asks for a longer wait than this, and than the policy's longest delay, is not waited for.
pub const LONGEST_ASKED: Duration = Duration::from_secs(60);

/// Between two attempts at an address where nobody is.
const STARTING: Duration = Duration::from_millis(200);

/// What went wrong with an attempt, as far as trying again is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trouble<'a> {
    pub code: ErrorCode,
    /// The provider's own word for it.
    pub provider_code: Option<&'a str>,
    /// Absent where there was no answer at all.
    pub status: Option<u16>,
    /// How long the provider asked to wait.
    pub retry_after: Option<Duration>,
}

/// What to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Retry {
        after: Duration,
    },
    /// It would fail again: the standard code says so.
    NotRetryable,
    /// The policy lists statuses or codes, and this is none of them.
    NotListed,
    /// It was tried often enough.
    Exhausted,
    /// The provider asked for more patience than anybody has.
    AskedTooLong {
        asked: Duration,
    },
}

/// An attempt failed and another one follows.
#[derive(Debug, Clone, Copy)]
pub struct Retrying<'a> {
    /// Which retry it is; the first is 1.
    pub retry: u32,
    /// How many there are at most.
    pub retries: u32,
    /// It is made after this.
    pub after: Duration,
    /// Why the attempt before it failed.
    pub error: &'a CallError,
}

impl<'a> Trouble<'a> {
    pub fn of(error: &'a CallError) -> Self {
        let (status, retry_after, provider_code) = match error {
            CallError::Refused { failure, .. } => {
                (failure.status, failure.retry_after, failure.provider_code.as_deref())
            }
            CallError::Unreachable { .. }
            | CallError::NoNetwork { .. }
            | CallError::WebPage { .. }
            | CallError::Redirected { .. }
            | CallError::NothingAnswers { .. }
            | CallError::TimedOut { .. }
            | CallError::Cancelled
            | CallError::CircuitOpen { .. }
            | CallError::NoCredential { .. }
            | CallError::Undeclared { .. }
            | CallError::Option { .. }
            | CallError::AddressVariable { .. }
            | CallError::Blocked { .. }
            | CallError::Unguarded { .. }
            | CallError::Truncated { .. }
            | CallError::Malformed { .. }
            | CallError::Encoded { .. } => (None, None, None),
        };
        Self { code: error.code(), provider_code, status, retry_after }
    }
}

impl RetryPolicy {
    /// What to do after attempt number `attempt` (the first is 1) ended with this error. `chance` is between 0 and 1.
    pub fn decide_after(&self, attempt: u32, error: &CallError, chance: f64) -> Decision {
        let decision = self.decide(attempt, Trouble::of(error), chance);
        match decision {
            Decision::Retry { .. } if attempt > self.retries_after(error) => Decision::Exhausted,
            Decision::Retry { .. } if error.is_absent() => Decision::Retry { after: STARTING },
            Decision::Retry { .. }
            | Decision::NotRetryable
            | Decision::NotListed
            | Decision::Exhausted
            | Decision::AskedTooLong { .. } => decision,
        }
    }

    /// How often a call is tried again at most after an error like this. An address where nobody is gets one more try
    /// and soon, for a server or a network that is just starting.
    pub fn retries_after(&self, error: &CallError) -> u32 {
        if error.is_absent() { self.max_retries.min(1) } else { self.max_retries }
    }

    /// What to do after attempt number `attempt` (the first is 1) ended in trouble. `chance` is between 0 and 1.
    pub fn decide(&self, attempt: u32, trouble: Trouble<'_>, chance: f64) -> Decision {
        if !trouble.code.is_retryable() {
            return Decision::NotRetryable;
        }
        if !self.lists(trouble) {
            return Decision::NotListed;
        }
        if self.strategy == Strategy::None || attempt > self.max_retries {
            return Decision::Exhausted;
        }
        let (shortest, longest) = self.bounds();
        match trouble.retry_after {
            Some(asked) if asked > longest.max(LONGEST_ASKED) => Decision::AskedTooLong { asked },
            // What the provider asks for is not shortened, and not made random: it knows best.
            Some(asked) => Decision::Retry { after: asked.max(shortest) },
            None => Decision::Retry { after: self.delay(attempt, chance) },
        }
    }

    /// Empty lists admit everything. An answer without a status is held against a list of statuses only where a list of
    /// codes stands beside it. Words of the provider's own are held against its own words: where it said none, they
    /// exclude nothing.
    fn lists(&self, trouble: Trouble<'_>) -> bool {
        let statuses = &self.retry_on_http_status;
        let is_standard = |name: &&String| ErrorCode::from_name(name).or(ErrorCode::from_number(name)).is_some();
        let (standard, own): (Vec<&String>, Vec<&String>) = self.retry_on_error_code.iter().partition(is_standard);
        let is_own = |name: &&String| trouble.provider_code.is_some_and(|code| code.eq_ignore_ascii_case(name));
        if standard.iter().any(|name| *name == trouble.code.name() || *name == trouble.code.number())
            || own.iter().any(is_own)
        {
            return true;
        }
        let admits_all = standard.is_empty() && (own.is_empty() || trouble.provider_code.is_none());
        match trouble.status {
            Some(status) => statuses.contains(&status) || (statuses.is_empty() && admits_all),
            None => admits_all,
        }
    }

    fn bounds(&self) -> (Duration, Duration) {
        let shortest = Duration::from_millis(self.min_delay_ms);
        (shortest, Duration::from_millis(self.max_delay_ms).max(shortest))
    }

    /// Between the shortest and the longest delay. Chance would have nothing to choose from at the first step, so it
    /// chooses below the *next* step: on average that is about the delay without chance. A delay that never grows has no
    /// next step; chance chooses below twice of it.
    fn delay(&self, attempt: u32, chance: f64) -> Duration {
        let (shortest, longest) = self.bounds();
        let chance = if chance.is_finite() { chance.clamp(0.0, 1.0) } else { 0.0 };
        let next = match self.strategy {
            Strategy::ExponentialBackoff | Strategy::LinearBackoff => self.step(attempt.saturating_add(1), shortest),
            Strategy::FixedDelay | Strategy::None => shortest.saturating_mul(2),
        };
        let ceiling = next.min(longest);
        let floor = match self.jitter {
            Jitter::None => return self.step(attempt, shortest).min(longest),
            Jitter::Full => shortest,
            Jitter::Equal => (ceiling / 2).max(shortest),
        };
        (floor + ceiling.saturating_sub(floor).mul_f64(chance)).clamp(shortest, longest)
    }

    fn step(&self, attempt: u32, shortest: Duration) -> Duration {
        match self.strategy {
            Strategy::ExponentialBackoff => shortest.saturating_mul(2_u32.saturating_pow(attempt.saturating_sub(1))),
            Strategy::LinearBackoff => shortest.saturating_mul(attempt),
            Strategy::FixedDelay | Strategy::None => shortest,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prop_assert, prop_oneof, proptest, strategy::Just};

    use super::*;

    fn trouble(code: ErrorCode, status: Option<u16>) -> Trouble<'static> {
        Trouble { code, provider_code: None, status, retry_after: None }
    }

    fn policy(strategy: Strategy, jitter: Jitter) -> RetryPolicy {
        RetryPolicy { strategy, jitter, ..RetryPolicy::default() }
    }

    fn delays(policy: &RetryPolicy, chance: f64) -> Vec<u64> {
        let wait = |attempt| match policy.decide(attempt, trouble(ErrorCode::ServerError, Some(500)), chance) {
            Decision::Retry { after } => u64::try_from(after.as_millis()).unwrap(),
            other => panic!("{other:?}"),
        };
        (1..=policy.max_retries).map(wait).collect()
    }

    #[test]
    fn strategies_grow_as_they_say() {
        let of = |strategy, jitter, chance| delays(&RetryPolicy { max_retries: 6, ..policy(strategy, jitter) }, chance);
        let exponential = Strategy::ExponentialBackoff;
        assert_eq!(of(exponential, Jitter::None, 0.7), [1000, 2000, 4000, 8000, 16_000, 30_000]);
        assert_eq!(of(Strategy::LinearBackoff, Jitter::None, 0.7), [1000, 2000, 3000, 4000, 5000, 6000]);
        assert_eq!(of(Strategy::FixedDelay, Jitter::None, 0.7), [1000; 6]);
        assert_eq!(of(Strategy::FixedDelay, Jitter::Full, 0.7), [1700; 6]);
        assert_eq!(of(Strategy::FixedDelay, Jitter::Equal, 0.2), [1200; 6]);
        assert_eq!(of(exponential, Jitter::Full, 0.0), [1000; 6]);
        assert_eq!(of(exponential, Jitter::Full, 0.5), [1500, 2500, 4500, 8500, 15_500, 15_500]);
        assert_eq!(of(exponential, Jitter::Equal, 0.0), [1000, 2000, 4000, 8000, 15_000, 15_000]);
        assert_eq!(of(exponential, Jitter::Equal, 1.0), [2000, 4000, 8000, 16_000, 30_000, 30_000]);
    }

    #[test]
    fn empty_account_is_never_retried_though_429_is_listed() {
        let policy = RetryPolicy { retry_on_http_status: vec![429], ..RetryPolicy::default() };
        assert_eq!(policy.decide(1, trouble(ErrorCode::QuotaExhausted, Some(429)), 0.5), Decision::NotRetryable);
        let retried = policy.decide(1, trouble(ErrorCode::RateLimited, Some(429)), 0.0);
        assert_eq!(retried, Decision::Retry { after: Duration::from_secs(1) });
    }

    #[test]
    fn lists_admit_by_status_or_by_code() {
        let check = |statuses: &[u16], codes: &[&str], code, status| {
            let policy = RetryPolicy {
                retry_on_http_status: statuses.to_vec(),
                retry_on_error_code: codes.iter().map(|&code| code.to_owned()).collect(),
                ..RetryPolicy::default()
            };
            policy.decide(1, trouble(code, status), 0.0) != Decision::NotListed
        };
        assert!(check(&[], &[], ErrorCode::Conflict, Some(409)));
        assert!(check(&[429], &["server_error"], ErrorCode::ServerError, Some(500)));
        assert!(check(&[429], &["server_error"], ErrorCode::RateLimited, Some(429)));
        assert!(!check(&[429], &["server_error"], ErrorCode::Conflict, Some(409)));
        assert!(!check(&[429], &[], ErrorCode::ServerError, Some(500)));
        assert!(!check(&[], &["server_error"], ErrorCode::RateLimited, Some(429)));
        assert!(check(&[429], &["E3001"], ErrorCode::ServerError, None), "codes may be numbers");
        assert!(check(&[429], &[], ErrorCode::ServerError, None), "no answer, so no status to compare");
        assert!(!check(&[429], &["rate_limited"], ErrorCode::Timeout, None));
    }

    #[test]
    fn codes_of_the_provider_are_compared_with_what_it_said() {
        let check = |codes: &[&str], provider_code, status| {
            let codes = codes.iter().map(|&code| code.to_owned()).collect();
            let policy = RetryPolicy { retry_on_error_code: codes, ..RetryPolicy::default() };
            let trouble = Trouble { provider_code, ..trouble(ErrorCode::Overloaded, status) };
            policy.decide(1, trouble, 0.0) != Decision::NotListed
        };
        assert!(check(&["UNAVAILABLE"], Some("UNAVAILABLE"), Some(503)));
        assert!(check(&["UNAVAILABLE"], Some("unavailable"), Some(503)));
        assert!(!check(&["UNAVAILABLE"], Some("BUSY"), Some(503)));
        assert!(check(&["UNAVAILABLE"], None, Some(503)), "it said no word");
        assert!(check(&["UNAVAILABLE"], None, None), "nobody said anything");
        assert!(!check(&["UNAVAILABLE", "timeout"], None, Some(503)), "a word of the standard excludes");
    }

    #[test]
    fn provider_is_believed_unless_it_asks_for_too_much() {
        let after = |policy: &RetryPolicy, seconds| {
            let asked = Some(Duration::from_secs_f64(seconds));
            policy.decide(1, Trouble { retry_after: asked, ..trouble(ErrorCode::RateLimited, Some(429)) }, 0.5)
        };
        let retry = |seconds| Decision::Retry { after: Duration::from_secs_f64(seconds) };
        let policy = RetryPolicy::default();
        assert_eq!(after(&policy, 45.0), retry(45.0), "longer than the policy's longest delay");
        assert_eq!(after(&policy, 0.0), retry(1.0));
        assert_eq!(after(&policy, 61.0), Decision::AskedTooLong { asked: Duration::from_secs(61) });
        let patient = RetryPolicy { max_delay_ms: 120_000, ..policy };
        assert_eq!(after(&patient, 61.0), retry(61.0));
    }

    #[test]
    fn it_is_given_up_after_the_last_retry() {
        let policy = RetryPolicy::default();
        let error = trouble(ErrorCode::ServerError, Some(500));
        assert!(matches!(policy.decide(3, error, 0.5), Decision::Retry { .. }));
        assert_eq!(policy.decide(4, error, 0.5), Decision::Exhausted);
        assert_eq!(RetryPolicy { strategy: Strategy::None, ..policy }.decide(1, error, 0.5), Decision::Exhausted);
    }

    proptest! {
        #[test]
        fn delays_stay_between_the_bounds(
            strategy in prop_oneof![
                Just(Strategy::ExponentialBackoff), Just(Strategy::LinearBackoff), Just(Strategy::FixedDelay)
            ],
            jitter in prop_oneof![Just(Jitter::None), Just(Jitter::Full), Just(Jitter::Equal)],
            min_delay_ms in 0_u64..100_000,
            max_delay_ms in 0_u64..100_000,
            attempt in 1_u32..,
            chance in proptest::num::f64::ANY,
        ) {
            let policy = RetryPolicy {
                strategy, jitter, min_delay_ms, max_delay_ms, max_retries: u32::MAX, ..RetryPolicy::default()
            };
            let Decision::Retry { after } = policy.decide(attempt, trouble(ErrorCode::Timeout, None), chance) else {
                panic!("not retried");
            };
            let (shortest, longest) = policy.bounds();
            prop_assert!((shortest..=longest).contains(&after), "{after:?}");
        }
    }
}
