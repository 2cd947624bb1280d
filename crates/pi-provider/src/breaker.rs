//! Stops asking a provider that keeps failing, and finds out when it is back.
//!
//! [`Breaker`] is a state machine without a clock: time is the time since some beginning, and goes in with every call.
//! [`Breakers`] keeps one for each provider and reads the clock. What counts as a failure is said by [`Outcome::of`].

mod shared;

use std::time::Duration;

use serde::Serialize;

use crate::{
    error::{CallError, ErrorCode, Phase, SetBy},
    manifest::Manifest,
};

pub use self::shared::{Breakers, Pass};

/// The window is counted in this many parts; the oldest part is forgotten as a whole.
const PARTS: u32 = 12;

/// When to stop and when to try again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Opens when at least this part of the calls failed.
    pub failure_ratio: f64,
    /// The calls that are looked at.
    pub window: Duration,
    /// How long no call is let through.
    pub recovery: Duration,
    /// Fewer calls than this in the window say nothing.
    pub least_calls: u32,
}

/// One provider's calls of late.
#[derive(Debug, Clone)]
pub struct Breaker {
    settings: Settings,
    state: State,
    /// Counts up with every change of state; answers to calls of an earlier state are not counted.
    epoch: u64,
    opened: u64,
    parts: [Part; PARTS as usize],
    totals: Totals,
}

/// What happened since the start. Times are counted from the beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Totals {
    calls: u64,
    rejected: u64,
    successes: u64,
    failures: u64,
    probes: u64,
    waited: Duration,
    last_failure: Option<Duration>,
    last_change: Duration,
    last_access: Duration,
}

/// Leave to make one call. Its outcome must be reported.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "the outcome of the call must be reported"]
pub struct Permit {
    epoch: u64,
    kind: Kind,
    /// When it was given.
    at: Duration,
}

/// What a call that was let through says about the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Usual,
    /// The one call that finds out whether the provider is back.
    Probe,
    /// A later attempt of a call that was begun before the circuit opened.
    Again,
}

/// How a call ended, as far as the provider's health is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Succeeded,
    /// The provider's fault.
    Failed,
    /// It answered, with a refusal that is not its fault. That proves that it is there and nothing else.
    Answered,
    /// The call ended before anything was learned.
    Unknown,
}

/// The states of the server protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CircuitState {
    Closed,
    Open,
    HalfOpen,
}

/// What there is to see, for `get_metrics` and `health_check`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    pub state: CircuitState,
    /// Calls in the window that count.
    pub calls: u32,
    pub failures: u32,
    /// How often it has opened since the start.
    pub opened: u64,
    /// Until a call is let through.
    #[serde(rename = "retryInMs", serialize_with = "as_milliseconds")]
    pub retry_in: Option<Duration>,
    #[serde(skip)]
    pub history: History,
}

/// What a provider's calls came to since the start; times are how long ago.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct History {
    pub calls: u64,
    /// Refused while the circuit was open.
    pub rejected: u64,
    pub successes: u64,
    pub failures: u64,
    /// Calls that were to find out whether the provider is back.
    pub probes: u64,
    /// How long all those took together that succeeded, until that was known.
    pub waited: Duration,
    pub last_failure: Option<Duration>,
    pub last_change: Duration,
    pub last_access: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed,
    Open { until: Duration },
    HalfOpen { probing: bool },
}

#[derive(Debug, Clone, Copy, Default)]
struct Part {
    /// Which part of time this is, counted from the beginning.
    number: u64,
    calls: u32,
    failures: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { failure_ratio: 0.5, window: Duration::from_secs(60), recovery: Duration::from_secs(30), least_calls: 5 }
    }
}

impl Settings {
    /// What the manifest's section on performance says, if it makes sense.
    pub fn of(manifest: &Manifest) -> Self {
        let written = &manifest.experimental.performance.circuit_breaker;
        let ratio = written.failure_threshold;
        Self {
            failure_ratio: if ratio > 0.0 && ratio <= 1.0 { ratio } else { Self::default().failure_ratio },
            window: Duration::from_millis(written.monitoring_window_ms.max(u64::from(PARTS))),
            recovery: Duration::from_millis(written.recovery_timeout_ms),
            ..Self::default()
        }
    }
}

impl Outcome {
    /// Counts what the provider did to us: faults of its own, overload, too many calls, silence, broken answers. Refusals of
    /// what we asked, of our account, and calls that we gave up are not its failures.
    pub fn of(error: &CallError) -> Self {
        match error {
            // Some servers say so with a status of their own faults; another request is answered.
            CallError::Refused { failure, .. } if failure.refuses_tools() => Self::Answered,
            CallError::Refused { failure, .. } if failure.status.is_some_and(|status| status >= 500) => Self::Failed,
            CallError::Refused { failure, .. } => match failure.code {
                ErrorCode::ServerError | ErrorCode::Overloaded | ErrorCode::Timeout | ErrorCode::RateLimited => {
                    Self::Failed
                }
                ErrorCode::InvalidRequest
                | ErrorCode::Authentication
                | ErrorCode::PermissionDenied
                | ErrorCode::NotFound
                | ErrorCode::RequestTooLarge
                | ErrorCode::QuotaExhausted
                | ErrorCode::Conflict
                | ErrorCode::Cancelled
                | ErrorCode::Unknown => Self::Answered,
            },
            // Whoever has little time for the whole of an answer learns nothing about the provider.
            CallError::TimedOut { phase: Phase::Total, set_by: SetBy::Caller, .. } => Self::Unknown,
            CallError::Unreachable { .. }
            | CallError::NothingAnswers { .. }
            | CallError::TimedOut { .. }
            | CallError::Truncated { .. }
            | CallError::Malformed { .. } => Self::Failed,
            CallError::WebPage { .. }
            | CallError::Redirected { .. }
            | CallError::Encoded { .. }
            | CallError::Blocked { .. } => Self::Answered,
            CallError::Cancelled
            | CallError::NoNetwork { .. }
            | CallError::CircuitOpen { .. }
            | CallError::NoCredential { .. }
            | CallError::Undeclared { .. }
            | CallError::Option { .. }
            | CallError::Unguarded { .. }
            | CallError::AddressVariable { .. } => Self::Unknown,
        }
    }
}

impl Breaker {
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            state: State::Closed,
            epoch: 0,
            opened: 0,
            parts: [Part::default(); PARTS as usize],
            totals: Totals::default(),
        }
    }

    /// Leave to call, or how long to wait before asking again.
    pub fn admit(&mut self, now: Duration) -> Result<Permit, Duration> {
        let admitted = self.leave(now);
        match &admitted {
            Ok(_) => self.totals.calls += 1,
            Err(_) => self.totals.rejected += 1,
        }
        admitted
    }

    /// How long no call is let through yet. Whoever asks is one more that was refused: it does not call.
    pub fn refuse(&mut self, now: Duration) -> Option<Duration> {
        let State::Open { until } = self.state else { return None };
        let wait = until.checked_sub(now).filter(|wait| !wait.is_zero())?;
        self.totals.rejected += 1;
        self.totals.last_access = now;
        Some(wait)
    }

    fn leave(&mut self, now: Duration) -> Result<Permit, Duration> {
        self.totals.last_access = now;
        match self.state {
            State::Closed => Ok(self.permit(Kind::Usual, now)),
            State::Open { until } if now < until => Err(until - now),
            State::Open { .. } => {
                self.change(State::HalfOpen { probing: true }, now);
                Ok(self.permit(Kind::Probe, now))
            }
            State::HalfOpen { probing: false } => {
                self.state = State::HalfOpen { probing: true };
                Ok(self.permit(Kind::Probe, now))
            }
            State::HalfOpen { probing: true } => Err(self.settings.recovery),
        }
    }

    /// Leave to go on with a call of which an attempt was let through before: whoever opened the circuit does not stand
    /// before it. What is left alone are calls that are not begun yet.
    pub fn admit_again(&mut self, now: Duration) -> Permit {
        self.totals.calls += 1;
        self.leave(now).unwrap_or_else(|_| self.permit(Kind::Again, now))
    }

    fn permit(&mut self, kind: Kind, now: Duration) -> Permit {
        self.totals.probes += u64::from(kind == Kind::Probe);
        Permit { epoch: self.epoch, kind, at: now }
    }

    /// Takes the outcome of a call that was let through.
    #[expect(clippy::needless_pass_by_value, reason = "a permit is used up by its outcome")]
    pub fn report(&mut self, permit: Permit, outcome: Outcome, now: Duration) {
        match outcome {
            Outcome::Succeeded => {
                self.totals.successes += 1;
                self.totals.waited += now.saturating_sub(permit.at);
            }
            Outcome::Failed => {
                self.totals.failures += 1;
                self.totals.last_failure = Some(now);
            }
            // Neither a success nor a failure.
            Outcome::Answered | Outcome::Unknown => {}
        }
        if permit.epoch != self.epoch {
            return;
        }
        match (permit.kind, outcome) {
            (Kind::Probe | Kind::Again, Outcome::Succeeded | Outcome::Answered) => {
                self.parts = [Part::default(); PARTS as usize];
                self.change(State::Closed, now);
            }
            (Kind::Probe, Outcome::Failed) => self.open(now),
            (Kind::Probe, Outcome::Unknown) => self.state = State::HalfOpen { probing: false },
            (Kind::Usual, Outcome::Succeeded) => self.count(now, 0),
            (Kind::Usual, Outcome::Failed) => {
                self.count(now, 1);
                let (calls, failures) = self.counts(now);
                let is_enough = calls >= self.settings.least_calls;
                if is_enough && f64::from(failures) >= self.settings.failure_ratio * f64::from(calls) {
                    self.open(now);
                }
            }
            // It is open already, and for others that is not to last longer.
            (Kind::Usual, Outcome::Answered | Outcome::Unknown) | (Kind::Again, Outcome::Failed | Outcome::Unknown) => {
            }
        }
    }

    pub fn snapshot(&self, now: Duration) -> Snapshot {
        let (calls, failures) = self.counts(now);
        let (state, retry_in) = match self.state {
            State::Closed => (CircuitState::Closed, None),
            State::Open { until } if now < until => (CircuitState::Open, Some(until - now)),
            State::Open { .. } | State::HalfOpen { .. } => (CircuitState::HalfOpen, None),
        };
        Snapshot { state, calls, failures, opened: self.opened, retry_in, history: self.totals.seen(now) }
    }

    fn open(&mut self, now: Duration) {
        self.opened += 1;
        self.change(State::Open { until: now.saturating_add(self.settings.recovery) }, now);
    }

    fn change(&mut self, state: State, now: Duration) {
        self.totals.last_change = now;
        self.state = state;
        self.epoch += 1;
    }

    fn count(&mut self, now: Duration, failures: u32) {
        let number = self.number(now);
        let part = &mut self.parts[(number % u64::from(PARTS)) as usize];
        if part.number != number {
            *part = Part { number, ..Part::default() };
        }
        part.calls = part.calls.saturating_add(1);
        part.failures = part.failures.saturating_add(failures);
    }

    /// Calls and failures in the window that ends now.
    fn counts(&self, now: Duration) -> (u32, u32) {
        let number = self.number(now);
        let recent = self.parts.iter().filter(|part| part.number + u64::from(PARTS) > number && part.number <= number);
        recent.fold((0, 0), |(calls, failures), part| {
            (calls.saturating_add(part.calls), failures.saturating_add(part.failures))
        })
    }

    fn number(&self, now: Duration) -> u64 {
        let part = (self.settings.window / PARTS).as_nanos().max(1);
        u64::try_from(now.as_nanos() / part).unwrap_or(u64::MAX)
    }
}

impl Totals {
    fn seen(&self, now: Duration) -> History {
        let ago = |then: Duration| now.saturating_sub(then);
        History {
            calls: self.calls,
            rejected: self.rejected,
            successes: self.successes,
            failures: self.failures,
            probes: self.probes,
            waited: self.waited,
            last_failure: self.last_failure.map(ago),
            last_change: ago(self.last_change),
            last_access: ago(self.last_access),
        }
    }
}

fn as_milliseconds<S: serde::Serializer>(wait: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    wait.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};

    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn call(breaker: &mut Breaker, at: u64, outcome: Outcome) {
        let permit = breaker.admit(seconds(at)).expect("the circuit is closed");
        breaker.report(permit, outcome, seconds(at));
    }

    /// Open since second 10.
    fn open() -> Breaker {
        let mut breaker = Breaker::new(Settings::default());
        (0..5).for_each(|_| call(&mut breaker, 10, Outcome::Failed));
        breaker
    }

    #[test]
    fn opens_when_half_of_enough_calls_failed() {
        let mut breaker = Breaker::new(Settings::default());
        let outcomes = [Outcome::Succeeded, Outcome::Succeeded, Outcome::Succeeded, Outcome::Failed, Outcome::Failed];
        outcomes.into_iter().for_each(|outcome| call(&mut breaker, 1, outcome));
        assert_eq!(breaker.snapshot(seconds(1)).state, CircuitState::Closed);
        call(&mut breaker, 2, Outcome::Failed);
        let history = History {
            calls: 6,
            rejected: 0,
            successes: 3,
            failures: 3,
            probes: 0,
            waited: Duration::ZERO,
            last_failure: Some(seconds(1)),
            last_change: seconds(1),
            last_access: seconds(1),
        };
        let retry_in = Some(seconds(29));
        let expected = Snapshot { state: CircuitState::Open, calls: 6, failures: 3, opened: 1, retry_in, history };
        assert_eq!(breaker.snapshot(seconds(3)), expected);
        assert_eq!(breaker.admit(seconds(3)), Err(seconds(29)));
    }

    #[test]
    fn time_of_calls_that_succeeded_is_summed() {
        let mut breaker = Breaker::new(Settings::default());
        for (from, to, outcome) in [(1, 3, Outcome::Succeeded), (2, 6, Outcome::Answered), (3, 9, Outcome::Failed)] {
            let permit = breaker.admit(seconds(from)).expect("the circuit is closed");
            breaker.report(permit, outcome, seconds(to));
        }
        let History { successes, waited, .. } = breaker.snapshot(seconds(9)).history;
        assert_eq!((successes, waited), (1, seconds(2)));
    }

    #[test]
    fn refusals_and_cancelled_calls_count_for_nothing() {
        let mut breaker = Breaker::new(Settings::default());
        for outcome in [Outcome::Answered, Outcome::Unknown].repeat(20) {
            call(&mut breaker, 1, outcome);
        }
        (0..4).for_each(|_| call(&mut breaker, 1, Outcome::Failed));
        let snapshot = breaker.snapshot(seconds(1));
        assert_eq!((snapshot.state, snapshot.calls, snapshot.failures), (CircuitState::Closed, 4, 4));
    }

    #[test]
    fn failures_are_forgotten_after_the_window() {
        let mut breaker = Breaker::new(Settings::default());
        (0..4).for_each(|_| call(&mut breaker, 1, Outcome::Failed));
        call(&mut breaker, 61, Outcome::Failed);
        let snapshot = breaker.snapshot(seconds(61));
        assert_eq!((snapshot.state, snapshot.calls), (CircuitState::Closed, 1));
    }

    #[test]
    fn one_probe_is_let_through_after_recovery() {
        let mut breaker = open();
        assert_eq!(breaker.snapshot(seconds(40)).state, CircuitState::HalfOpen);
        let probe = breaker.admit(seconds(40)).unwrap();
        assert_eq!(breaker.admit(seconds(41)), Err(seconds(30)));
        breaker.report(probe, Outcome::Succeeded, seconds(42));
        let seen = breaker.snapshot(seconds(42));
        let state = CircuitState::Closed;
        assert_eq!(seen, Snapshot { state, calls: 0, failures: 0, opened: 1, retry_in: None, history: seen.history });
    }

    #[test]
    fn failed_probe_opens_again_and_refused_probe_closes() {
        let mut breaker = open();
        let probe = breaker.admit(seconds(40)).unwrap();
        breaker.report(probe, Outcome::Failed, seconds(41));
        assert_eq!(breaker.admit(seconds(42)), Err(seconds(29)));
        let probe = breaker.admit(seconds(71)).unwrap();
        breaker.report(probe, Outcome::Answered, seconds(72));
        assert_eq!(breaker.snapshot(seconds(72)).state, CircuitState::Closed);
    }

    #[test]
    fn cancelled_probe_leaves_room_for_the_next() {
        let mut breaker = open();
        let probe = breaker.admit(seconds(40)).unwrap();
        breaker.report(probe, Outcome::Unknown, seconds(41));
        assert!(breaker.admit(seconds(41)).is_ok());
    }

    #[test]
    fn call_that_was_begun_before_goes_on_while_others_are_refused() {
        let mut breaker = open();
        let again = breaker.admit_again(seconds(12));
        breaker.report(again, Outcome::Failed, seconds(13));
        assert_eq!(breaker.admit(seconds(14)), Err(seconds(26)), "it is open as long as it would have been");
        let again = breaker.admit_again(seconds(15));
        breaker.report(again, Outcome::Succeeded, seconds(16));
        let seen = breaker.snapshot(seconds(16));
        let state = CircuitState::Closed;
        let expected = Snapshot { state, calls: 0, failures: 0, opened: 1, retry_in: None, history: seen.history };
        assert_eq!(seen, expected, "whoever gets through proves that it is there");
    }

    #[test]
    fn late_answers_to_earlier_calls_are_not_counted() {
        let mut breaker = Breaker::new(Settings::default());
        let late = breaker.admit(seconds(10)).unwrap();
        (0..5).for_each(|_| call(&mut breaker, 10, Outcome::Failed));
        let probe = breaker.admit(seconds(40)).unwrap();
        breaker.report(late, Outcome::Failed, seconds(41));
        breaker.report(probe, Outcome::Succeeded, seconds(42));
        assert_eq!(breaker.snapshot(seconds(42)).failures, 0);
    }

    #[test]
    fn settings_come_from_the_manifest_where_they_make_sense() {
        let settings = |section: &str| {
            let performance: serde_json::Value = serde_json::from_str(section).unwrap();
            let manifest = serde_json::json!({
                "id": "x1", "protocol_version": "2.0", "error_classification": {},
                "endpoint": {"base_url": "http://127.0.0.1", "auth": {"type": "none"}},
                "experimental": {"performance": performance},
            });
            Settings::of(&serde_json::from_value(manifest).unwrap())
        };
        assert_eq!(settings("{}"), Settings::default());
        let written = r#"{"circuit_breaker": {"failure_threshold": 0.25, "recovery_timeout_ms": 1000, "monitoring_window_ms": 12000}}"#;
        let expected =
            Settings { failure_ratio: 0.25, window: seconds(12), recovery: seconds(1), ..Settings::default() };
        assert_eq!(settings(written), expected);
        assert_eq!(settings(r#"{"circuit_breaker": {"failure_threshold": 7}}"#), Settings::default());
    }

    #[derive(Debug, Clone, Copy)]
    enum Step {
        Pass(u64),
        Call,
        Again,
        Finish(usize, Outcome),
    }

    fn step() -> impl Strategy<Value = Step> {
        let outcome = prop_oneof![
            proptest::strategy::Just(Outcome::Succeeded),
            proptest::strategy::Just(Outcome::Failed),
            proptest::strategy::Just(Outcome::Failed),
            proptest::strategy::Just(Outcome::Answered),
            proptest::strategy::Just(Outcome::Unknown),
        ];
        prop_oneof![
            (0_u64..20_000).prop_map(Step::Pass),
            any::<bool>().prop_map(|again| if again { Step::Again } else { Step::Call }),
            (any::<usize>(), outcome).prop_map(|(index, outcome)| Step::Finish(index, outcome)),
        ]
    }

    proptest! {
        #[test]
        fn it_never_calls_while_open_nor_probes_twice(steps in proptest::collection::vec(step(), 0..200)) {
            let mut breaker = Breaker::new(Settings::default());
            let mut now = Duration::ZERO;
            let mut running: Vec<Permit> = Vec::new();
            for step in steps {
                let before = breaker.snapshot(now);
                match step {
                    Step::Pass(milliseconds) => now += Duration::from_millis(milliseconds),
                    Step::Call => match breaker.admit(now) {
                        Ok(permit) => {
                            prop_assert!(before.state != CircuitState::Open);
                            prop_assert_eq!(permit.kind == Kind::Probe, before.state == CircuitState::HalfOpen);
                            running.push(permit);
                        }
                        Err(wait) => {
                            prop_assert!(before.state != CircuitState::Closed);
                            prop_assert!(wait <= breaker.settings.recovery);
                        }
                    },
                    Step::Again => running.push(breaker.admit_again(now)),
                    Step::Finish(index, outcome) if !running.is_empty() => {
                        let permit = running.swap_remove(index % running.len());
                        breaker.report(permit, outcome, now);
                        let after = breaker.snapshot(now);
                        if after.opened > before.opened {
                            prop_assert_eq!(outcome, Outcome::Failed);
                            let is_reopened = before.state == CircuitState::HalfOpen;
                            prop_assert!(is_reopened || after.calls >= breaker.settings.least_calls);
                            prop_assert!(is_reopened || after.failures * 2 >= after.calls);
                        }
                    }
                    Step::Finish(..) => {}
                }
                let probes = running.iter().filter(|permit| permit.kind == Kind::Probe && permit.epoch == breaker.epoch).count();
                prop_assert!(probes <= 1);
                let snapshot = breaker.snapshot(now);
                prop_assert!(snapshot.failures <= snapshot.calls);
                prop_assert_eq!(snapshot.retry_in.is_some(), snapshot.state == CircuitState::Open);
            }
            // Whatever happened, it comes back.
            now += breaker.settings.recovery * 2;
            for permit in running {
                breaker.report(permit, Outcome::Unknown, now);
            }
            prop_assert!(breaker.admit(now).is_ok());
        }
    }
}
