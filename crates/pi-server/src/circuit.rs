//! Shell commands that do not end: when too many of them time out, further ones are refused for a while.
//!
//! A circuit for each session and one for all. Closed, it counts timeouts within a window; open, it refuses; when it has
//! been open for long enough, a few commands are tried, and if they end it closes again.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

use pi_engine::Time;
use pi_transcript::SessionId;
use pi_wire::{
    Error,
    response::{BashCircuitBreakerMetrics, CircuitState},
};

/// When a circuit opens and closes. Times are milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Timeouts within the window that open it.
    pub most: usize,
    pub window_ms: u64,
    pub recovery_ms: u64,
    /// Commands that may be tried at a time while it is being found out.
    pub trials: usize,
    /// Commands that must end before it closes.
    pub successes: usize,
}

const SESSION: Rules = Rules { most: 10, window_ms: 120_000, recovery_ms: 30_000, trials: 3, successes: 2 };
const GLOBAL: Rules = Rules { most: 50, ..SESSION };

/// How a shell command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Whatever it said.
    Ended,
    TimedOut,
}

/// The circuits of shell commands.
#[derive(Debug, Default)]
pub struct Circuits {
    /// Not a task: looked at before and after a shell command.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    global: Circuit,
    sessions: HashMap<SessionId, Circuit>,
    calls: u64,
    timeouts: u64,
    rejected: u64,
}

#[derive(Debug, Default)]
struct Circuit {
    /// When commands timed out, the oldest first.
    failures: VecDeque<Time>,
    opened: Option<Time>,
    /// Tried and not yet ended.
    trying: usize,
    succeeded: usize,
}

impl Circuits {
    /// Whether a command may run. Whoever may, must say how it ended.
    pub fn admit(&self, session: &SessionId, now: Time) -> Result<(), Error> {
        let mut state = self.state();
        state.calls += 1;
        let admitted =
            state.global.admit(GLOBAL, now).map_err(|recovery_ms| Error::BashCircuitOpenGlobally { recovery_ms });
        let admitted = admitted.and_then(|()| {
            let circuit = state.sessions.entry(session.clone()).or_default();
            circuit.admit(SESSION, now).map_err(|recovery_ms| {
                // It is not tried: nobody will say how it ended.
                state.global.trying = state.global.trying.saturating_sub(1);
                Error::BashCircuitOpen { session_id: session.clone(), recovery_ms }
            })
        });
        if admitted.is_err() {
            state.rejected += 1;
        }
        admitted
    }

    pub fn report(&self, session: &SessionId, end: End, now: Time) {
        let mut state = self.state();
        if end == End::TimedOut {
            state.timeouts += 1;
        }
        state.global.report(GLOBAL, end, now);
        state.sessions.entry(session.clone()).or_default().report(SESSION, end, now);
    }

    /// The session is gone.
    pub fn forget(&self, session: &SessionId) {
        self.state().sessions.remove(session);
    }

    pub fn is_open(&self) -> bool {
        let state = self.state();
        state.global.opened.is_some() || state.sessions.values().any(|circuit| circuit.opened.is_some())
    }

    pub fn metrics(&self) -> BashCircuitBreakerMetrics {
        let state = self.state();
        BashCircuitBreakerMetrics {
            enabled: true,
            global_state: state.global.told(),
            global_failure_count: number(state.global.failures.len()),
            session_count: number(state.sessions.len()),
            open_session_count: number(state.sessions.values().filter(|circuit| circuit.opened.is_some()).count()),
            total_calls: state.calls,
            total_timeouts: state.timeouts,
            total_rejected: state.rejected,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing in here can panic half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Circuit {
    /// Otherwise how long to wait.
    fn admit(&mut self, rules: Rules, now: Time) -> Result<(), u64> {
        let Some(opened) = self.opened else { return Ok(()) };
        let waited = now.since(opened);
        if waited < rules.recovery_ms {
            return Err(rules.recovery_ms - waited);
        }
        if self.trying >= rules.trials {
            return Err(rules.recovery_ms);
        }
        self.trying += 1;
        Ok(())
    }

    fn report(&mut self, rules: Rules, end: End, now: Time) {
        if self.opened.is_some() {
            self.trying = self.trying.saturating_sub(1);
            match end {
                End::TimedOut => (self.opened, self.succeeded) = (Some(now), 0),
                End::Ended => {
                    self.succeeded += 1;
                    if self.succeeded >= rules.successes {
                        *self = Self::default();
                    }
                }
            }
            return;
        }
        while self.failures.front().is_some_and(|at| now.since(*at) > rules.window_ms) {
            self.failures.pop_front();
        }
        if end == End::TimedOut {
            self.failures.push_back(now);
            if self.failures.len() >= rules.most {
                self.opened = Some(now);
            }
        }
    }

    fn told(&self) -> CircuitState {
        match (self.opened, self.trying + self.succeeded) {
            (None, _) => CircuitState::Closed,
            (Some(_), 0) => CircuitState::Open,
            (Some(_), _) => CircuitState::HalfOpen,
        }
    }
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: u64 = 1000;

    fn fail(circuits: &Circuits, session: &SessionId, times: usize, from: u64) -> u64 {
        for step in 0..times {
            let now = Time(from + step as u64 * STEP);
            circuits.admit(session, now).unwrap();
            circuits.report(session, End::TimedOut, now);
        }
        from + times as u64 * STEP
    }

    #[test]
    fn a_session_whose_commands_hang_is_refused_and_tried_again() {
        let (circuits, one, other) = (Circuits::default(), SessionId::from("one"), SessionId::from("other"));
        let now = fail(&circuits, &one, SESSION.most, 0);
        let refused = circuits.admit(&one, Time(now)).map_err(|error| error.to_string());
        assert_eq!(refused, Err("Bash circuit breaker open for session one (recovery in 29s)".to_owned()));
        assert_eq!(circuits.admit(&other, Time(now)), Ok(()));
        assert!(circuits.is_open());
        let later = Time(now + SESSION.recovery_ms);
        for _ in 0..SESSION.successes {
            assert_eq!(circuits.admit(&one, later), Ok(()));
        }
        for _ in 0..SESSION.successes {
            circuits.report(&one, End::Ended, later);
        }
        assert!(!circuits.is_open());
        assert_eq!(circuits.metrics().total_rejected, 1);
    }

    #[test]
    fn a_command_that_hangs_while_it_is_tried_keeps_the_circuit_open() {
        let (circuits, one) = (Circuits::default(), SessionId::from("one"));
        let later = fail(&circuits, &one, SESSION.most, 0) + SESSION.recovery_ms;
        circuits.admit(&one, Time(later)).unwrap();
        circuits.report(&one, End::TimedOut, Time(later));
        assert!(circuits.admit(&one, Time(later + STEP)).is_err());
    }

    #[test]
    fn a_refused_command_takes_no_place_among_those_that_are_tried() {
        let (circuits, hung) = (Circuits::default(), SessionId::from("hung"));
        let mut now = fail(&circuits, &hung, SESSION.most, 0);
        for number in 0..GLOBAL.most - SESSION.most {
            fail(&circuits, &format!("s{number}").into(), 1, now);
        }
        now += GLOBAL.recovery_ms;
        circuits.state().sessions.get_mut(&hung).expect("it hung").opened = Some(Time(now));
        for _ in 0..=GLOBAL.trials {
            assert!(circuits.admit(&hung, Time(now)).is_err());
        }
        assert_eq!(circuits.admit(&"new".into(), Time(now)), Ok(()));
    }

    #[test]
    fn old_timeouts_do_not_count() {
        let (circuits, one) = (Circuits::default(), SessionId::from("one"));
        let later = fail(&circuits, &one, SESSION.most - 1, 0) + SESSION.window_ms;
        fail(&circuits, &one, 1, later);
        assert!(!circuits.is_open());
    }

    #[test]
    fn all_sessions_together_open_the_one_for_all() {
        let circuits = Circuits::default();
        for number in 0..GLOBAL.most {
            fail(&circuits, &format!("s{number}").into(), 1, 0);
        }
        let refused = circuits.admit(&"new".into(), Time(0)).map_err(|error| error.to_string());
        assert_eq!(refused, Err("Bash circuit breaker open globally (recovery in 30s)".to_owned()));
    }
}
