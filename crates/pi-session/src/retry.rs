//! Whether a whole turn is tried again, and when.
//!
//! `pi-provider` tries a request again as long as nothing of the answer has arrived. What failed nevertheless, or in the
//! middle, is decided here: by the code of the error, not by its words.

use std::time::Duration;

use pi_provider::{CallError, ErrorCode, Failure, Phase};
use pi_transcript::ProviderId;

/// How often, and after how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetrySettings {
    pub enabled: bool,
    pub most: u32,
    pub base: Duration,
    pub longest: Duration,
}

/// Why a turn has no good answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The prompt does not fit into the model's window.
    Overflow,
    /// Another try may succeed.
    Passing { wait: Wait },
    /// Another try will fail like this one.
    Lasting,
}

/// What decides how long to wait, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The settings.
    Usual,
    /// So long at least: the provider asked for it.
    Asked(Duration),
    /// Nobody is at the address. It is tried once more and soon, for a server or a network that is just starting.
    Brief,
}

/// What becomes of something that would ask a provider which is left alone because it failed too often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// It waits: somebody sits before it and sees why.
    Waits,
    /// It is refused before anything is said: whoever sent it waits, and sends it again.
    Refuses,
}

/// A provider failed too often and is not asked anything new yet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{provider} failed too often and is left alone; it is asked again in {}s", .wait.as_millis().div_ceil(1000))]
pub struct LeftAlone {
    pub provider: ProviderId,
    pub wait: Duration,
}

/// How long to wait before the only other try at an address where nobody is.
const BRIEF: Duration = Duration::from_secs(1);

impl Default for RetrySettings {
    fn default() -> Self {
        Self { enabled: true, most: 3, base: Duration::from_secs(2), longest: Duration::from_secs(60) }
    }
}

impl RetrySettings {
    /// How long to wait before try number `attempt`, counted from 1; `None` if there is none.
    pub(crate) fn delay(&self, attempt: u32, wait: Wait) -> Option<Duration> {
        if !self.enabled || attempt == 0 || attempt > self.most(wait) {
            return None;
        }
        let grown = self.base.saturating_mul(1u32.checked_shl(attempt - 1).unwrap_or(u32::MAX));
        match wait {
            // To ask earlier than the provider wants is to be refused again.
            Wait::Asked(asked) if asked > self.longest => None,
            Wait::Asked(asked) => Some(asked.max(grown).min(self.longest)),
            Wait::Usual => Some(grown.min(self.longest)),
            Wait::Brief => Some(BRIEF.min(grown).min(self.longest)),
        }
    }

    /// How many tries there are at most.
    pub(crate) fn most(&self, wait: Wait) -> u32 {
        match wait {
            Wait::Usual | Wait::Asked(_) => self.most,
            Wait::Brief => self.most.min(1),
        }
    }
}

impl Fault {
    pub(crate) fn of_call(error: &CallError) -> Self {
        match error {
            CallError::Refused { failure, .. } => Self::of_failure(failure),
            CallError::CircuitOpen { retry_in, .. } => Self::Passing { wait: Wait::Asked(*retry_in) },
            // Somebody set how long an answer may take; another try would take as long.
            CallError::TimedOut { phase: Phase::Total, .. } => Self::Lasting,
            CallError::Unreachable { source, .. } if source.is_lasting() => Self::Lasting,
            CallError::Unreachable { .. } | CallError::NothingAnswers { .. } if error.is_absent() => {
                Self::Passing { wait: Wait::Brief }
            }
            CallError::Unreachable { .. }
            | CallError::NothingAnswers { .. }
            | CallError::TimedOut { .. }
            | CallError::Truncated { .. }
            | CallError::Malformed { .. } => Self::Passing { wait: Wait::Usual },
            CallError::Cancelled
            | CallError::NoNetwork { .. }
            | CallError::WebPage { .. }
            | CallError::Redirected { .. }
            | CallError::Encoded { .. }
            | CallError::NoCredential { .. }
            | CallError::Undeclared { .. }
            | CallError::Option { .. }
            | CallError::AddressVariable { .. }
            | CallError::Unguarded { .. }
            | CallError::Blocked { .. } => Self::Lasting,
        }
    }

    pub(crate) fn of_failure(failure: &Failure) -> Self {
        if failure.code == ErrorCode::RequestTooLarge {
            Self::Overflow
        } else if failure.code.is_retryable() && failure.code != ErrorCode::Conflict {
            Self::Passing { wait: failure.retry_after.map_or(Wait::Usual, Wait::Asked) }
        } else {
            Self::Lasting
        }
    }
}

#[cfg(test)]
mod tests {
    use pi_provider::transport::Obstacle;

    use super::*;

    #[track_caller]
    fn check(attempt: u32, wait: Option<u64>, expected: Option<u64>) {
        let settings = RetrySettings::default();
        let wait = wait.map_or(Wait::Usual, |seconds| Wait::Asked(Duration::from_secs(seconds)));
        let delay = settings.delay(attempt, wait);
        assert_eq!(delay.map(|delay| delay.as_secs()), expected, "attempt {attempt}, {wait:?}");
    }

    #[test]
    fn delays_double_until_there_are_no_more_tries() {
        check(1, None, Some(2));
        check(2, None, Some(4));
        check(3, None, Some(8));
        check(4, None, None);
    }

    #[test]
    fn provider_is_not_asked_earlier_than_it_wants() {
        check(1, Some(30), Some(30));
        check(3, Some(1), Some(8));
        check(1, Some(61), None);
    }

    #[test]
    fn nothing_is_tried_again_when_switched_off() {
        let settings = RetrySettings { enabled: false, ..RetrySettings::default() };
        assert_eq!(settings.delay(1, Wait::Usual), None);
        assert_eq!(settings.delay(1, Wait::Brief), None);
    }

    #[test]
    fn address_where_nobody_is_gets_one_more_try_and_soon() {
        let settings = RetrySettings::default();
        let delays: Vec<_> = (1..4).map(|attempt| settings.delay(attempt, Wait::Brief)).collect();
        assert_eq!(delays, [Some(Duration::from_secs(1)), None, None]);
        assert_eq!((settings.most(Wait::Brief), settings.most(Wait::Usual)), (1, 3));
        let provider = || "acme".into();
        let closed = CallError::NothingAnswers {
            provider: provider(),
            address: "http://127.0.0.1:9".to_owned(),
            named_by: None,
        };
        let host = || "models.example".to_owned();
        let unknown = Obstacle::UnknownHost { host: host() };
        let unknown = CallError::Unreachable { provider: provider(), source: unknown };
        for error in [closed, unknown] {
            assert_eq!(Fault::of_call(&error), Fault::Passing { wait: Wait::Brief }, "{error}");
        }
        let hung_up = CallError::Unreachable { provider: provider(), source: Obstacle::HungUp };
        assert_eq!(Fault::of_call(&hung_up), Fault::Passing { wait: Wait::Usual });
        let source = Obstacle::Certificate { host: host(), reason: "it has expired".to_owned() };
        let expired = CallError::Unreachable { provider: provider(), source };
        assert_eq!(Fault::of_call(&expired), Fault::Lasting);
    }

    #[test]
    fn codes_decide_what_is_tried_again() {
        let failure = |code| Failure {
            code,
            status: None,
            provider_code: None,
            message: String::new(),
            retry_after: None,
            request_id: None,
            limits: None,
            is_anonymous: false,
        };
        let tried = |fault| matches!(fault, Fault::Passing { .. });
        let passing: Vec<_> =
            ErrorCode::ALL.into_iter().filter(|code| tried(Fault::of_failure(&failure(*code)))).collect();
        let expected = [ErrorCode::RateLimited, ErrorCode::ServerError, ErrorCode::Overloaded, ErrorCode::Timeout];
        assert_eq!(passing, expected);
        assert_eq!(Fault::of_failure(&failure(ErrorCode::RequestTooLarge)), Fault::Overflow);
    }
}
