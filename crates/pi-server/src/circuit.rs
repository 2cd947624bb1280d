//! A shell that does not work: when too many of its commands hang or cannot be started, further ones are refused for a while.
//!
//! A circuit for each session and one for all, and every command goes through both: those that clients send, and those that
//! models call. Closed, it counts failures within a window; open, it refuses; when it has been open for long enough, a few
//! commands are tried, and if they end it closes again. An exit code is no failure, and a command that somebody stopped says
//! nothing.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use pi_engine::Time;
use pi_session::{ShellEnd, ShellPass, ShellWatch};
use pi_transcript::SessionId;
use pi_wire::{
    Error,
    response::{BashCircuitBreakerMetrics, CircuitState},
};

use crate::hall::now;

/// When a circuit opens and closes. Times are milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Failures within the window that open it.
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
    /// When commands failed, the oldest first.
    failures: VecDeque<Time>,
    opened: Option<Time>,
    /// Counts up whenever it opens or closes: what was let through before says nothing after that.
    epoch: u64,
    /// Tried and not yet ended.
    trying: usize,
    succeeded: usize,
}

/// Leave to run one command. Dropped without an end, the command was stopped.
#[must_use = "how the command ended must be said"]
pub struct Pass {
    circuits: Arc<Circuits>,
    session: SessionId,
    /// Those of the two circuits when it was given.
    epochs: (u64, u64),
    end: ShellEnd,
    at: Option<Time>,
}

impl Circuits {
    /// Leave to run a command, or why not and how long to wait.
    pub fn admit(self: &Arc<Self>, session: &SessionId, now: Time) -> Result<Pass, Error> {
        let mut state = self.state();
        state.calls += 1;
        let epochs = state.admit(session, now).inspect_err(|_| state.rejected += 1)?;
        drop(state);
        let (circuits, session) = (Arc::clone(self), session.clone());
        Ok(Pass { circuits, session, epochs, end: ShellEnd::Aborted, at: None })
    }

    fn report(&self, session: &SessionId, epochs: (u64, u64), end: ShellEnd, now: Option<Time>) {
        let mut state = self.state();
        state.timeouts += u64::from(end == ShellEnd::TimedOut);
        state.global.report(GLOBAL, epochs.0, end, now);
        // That of a session that is gone is forgotten.
        if let Some(circuit) = state.sessions.get_mut(session) {
            circuit.report(SESSION, epochs.1, end, now);
        }
    }

    /// The session is gone.
    pub fn forget(&self, session: &SessionId) {
        self.state().sessions.remove(session);
    }

    /// Whether commands are refused: one that has been open for long enough lets them through to be tried.
    pub fn is_open(&self, now: Time) -> bool {
        let state = self.state();
        let mut sessions = state.sessions.values();
        state.global.is_open(GLOBAL, now) || sessions.any(|circuit| circuit.is_open(SESSION, now))
    }

    pub fn metrics(&self, now: Time) -> BashCircuitBreakerMetrics {
        let state = self.state();
        let open = state.sessions.values().filter(|circuit| circuit.is_open(SESSION, now));
        BashCircuitBreakerMetrics {
            enabled: true,
            global_state: state.global.told(GLOBAL, now),
            global_failure_count: number(state.global.failures.len()),
            session_count: number(state.sessions.len()),
            open_session_count: number(open.count()),
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

impl State {
    fn admit(&mut self, session: &SessionId, now: Time) -> Result<(u64, u64), Error> {
        let global = self.global.admit(GLOBAL, now);
        let global = global.map_err(|recovery_ms| Error::BashCircuitOpenGlobally { recovery_ms })?;
        let own = self.sessions.entry(session.clone()).or_default().admit(SESSION, now).map_err(|recovery_ms| {
            // It is not tried: nobody will say how it ended.
            self.global.trying = self.global.trying.saturating_sub(1);
            Error::BashCircuitOpen { session_id: session.clone(), recovery_ms }
        })?;
        Ok((global, own))
    }
}

impl Pass {
    /// The command ended.
    pub fn end(mut self, end: ShellEnd, now: Time) {
        (self.end, self.at) = (end, Some(now));
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.circuits.report(&self.session, self.epochs, self.end, self.at);
    }
}

impl fmt::Debug for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pass").field("session", &self.session).finish_non_exhaustive()
    }
}

/// Whoever watches over the shell commands of a session's model.
pub fn watch(circuits: &Arc<Circuits>, session: &SessionId) -> Arc<dyn ShellWatch> {
    Arc::new(Watch { circuits: Arc::clone(circuits), session: session.clone() })
}

#[derive(Debug)]
struct Watch {
    circuits: Arc<Circuits>,
    session: SessionId,
}

impl ShellWatch for Watch {
    fn admit(&self) -> Result<ShellPass, String> {
        let pass = self.circuits.admit(&self.session, now()).map_err(|error| error.to_string())?;
        Ok(Box::new(move |end| pass.end(end, now())))
    }
}

impl Circuit {
    /// Its epoch, otherwise how long to wait.
    fn admit(&mut self, rules: Rules, now: Time) -> Result<u64, u64> {
        let Some(opened) = self.opened else { return Ok(self.epoch) };
        let waited = now.since(opened);
        if waited < rules.recovery_ms {
            return Err(rules.recovery_ms - waited);
        }
        if self.trying >= rules.trials {
            return Err(rules.recovery_ms);
        }
        self.trying += 1;
        Ok(self.epoch)
    }

    fn report(&mut self, rules: Rules, epoch: u64, end: ShellEnd, now: Option<Time>) {
        if epoch != self.epoch {
            return;
        }
        if self.opened.is_some() {
            self.trying = self.trying.saturating_sub(1);
        }
        match (end, now) {
            (ShellEnd::Aborted, _) | (_, None) => {}
            (ShellEnd::Exited, Some(_)) if self.opened.is_none() => {}
            (ShellEnd::Exited, Some(_)) => {
                self.succeeded += 1;
                if self.succeeded >= rules.successes {
                    *self = Self { epoch: self.epoch + 1, ..Self::default() };
                }
            }
            (ShellEnd::TimedOut | ShellEnd::Broken, Some(now)) => self.fail(rules, now),
        }
    }

    fn fail(&mut self, rules: Rules, now: Time) {
        while self.failures.front().is_some_and(|at| now.since(*at) > rules.window_ms) {
            self.failures.pop_front();
        }
        self.failures.push_back(now);
        if self.opened.is_some() || self.failures.len() >= rules.most {
            (self.opened, self.trying, self.succeeded) = (Some(now), 0, 0);
            self.epoch += 1;
        }
    }

    fn is_open(&self, rules: Rules, now: Time) -> bool {
        self.opened.is_some_and(|opened| now.since(opened) < rules.recovery_ms)
    }

    fn told(&self, rules: Rules, now: Time) -> CircuitState {
        match self.opened {
            None => CircuitState::Closed,
            Some(_) if self.is_open(rules, now) => CircuitState::Open,
            Some(_) => CircuitState::HalfOpen,
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

    fn circuits() -> Arc<Circuits> {
        Arc::default()
    }

    fn fail(circuits: &Arc<Circuits>, session: &SessionId, times: usize, from: u64) -> u64 {
        for step in 0..times {
            let now = Time(from + step as u64 * STEP);
            circuits.admit(session, now).unwrap().end(ShellEnd::TimedOut, now);
        }
        from + times as u64 * STEP
    }

    fn is_let_through(circuits: &Arc<Circuits>, session: &SessionId, now: u64) -> bool {
        circuits.admit(session, Time(now)).is_ok()
    }

    #[test]
    fn a_session_whose_commands_hang_is_refused_and_tried_again() {
        let (circuits, one, other) = (circuits(), SessionId::from("one"), SessionId::from("other"));
        let now = fail(&circuits, &one, SESSION.most, 0);
        let refused = circuits.admit(&one, Time(now)).map_err(|error| error.to_string()).err();
        assert_eq!(refused.as_deref(), Some("Bash circuit breaker open for session one (recovery in 29s)"));
        assert!(is_let_through(&circuits, &other, now));
        assert!(circuits.is_open(Time(now)));
        let later = Time(now + SESSION.recovery_ms);
        assert!(!circuits.is_open(later), "commands are tried again");
        let passes: Vec<Pass> = (0..SESSION.successes).map(|_| circuits.admit(&one, later).unwrap()).collect();
        passes.into_iter().for_each(|pass| pass.end(ShellEnd::Exited, later));
        assert_eq!(circuits.state().sessions[&one].told(SESSION, Time(now)), CircuitState::Closed);
        assert_eq!(circuits.metrics(later).total_rejected, 1);
    }

    #[test]
    fn a_shell_that_does_not_start_fails_too() {
        let (circuits, one) = (circuits(), SessionId::from("one"));
        for _ in 0..SESSION.most {
            circuits.admit(&one, Time(0)).unwrap().end(ShellEnd::Broken, Time(0));
        }
        assert!(!is_let_through(&circuits, &one, 1));
        assert_eq!(circuits.metrics(Time(1)).total_timeouts, 0);
    }

    #[test]
    fn exit_codes_and_aborts_are_no_failures() {
        let (circuits, one) = (circuits(), SessionId::from("one"));
        for number in 0..2 * SESSION.most {
            let pass = circuits.admit(&one, Time(0)).unwrap();
            match number % 3 {
                0 => pass.end(ShellEnd::Exited, Time(0)),
                1 => pass.end(ShellEnd::Aborted, Time(0)),
                _ => drop(pass),
            }
        }
        assert!(!circuits.is_open(Time(0)));
    }

    #[test]
    fn a_command_that_hangs_while_it_is_tried_keeps_the_circuit_open() {
        let (circuits, one) = (circuits(), SessionId::from("one"));
        let later = fail(&circuits, &one, SESSION.most, 0) + SESSION.recovery_ms;
        circuits.admit(&one, Time(later)).unwrap().end(ShellEnd::TimedOut, Time(later));
        assert!(!is_let_through(&circuits, &one, later + STEP));
    }

    #[test]
    fn a_command_that_is_stopped_while_it_is_tried_leaves_room_for_the_next() {
        let (circuits, one) = (circuits(), SessionId::from("one"));
        let later = fail(&circuits, &one, SESSION.most, 0) + SESSION.recovery_ms;
        for _ in 0..=SESSION.trials {
            circuits.admit(&one, Time(later)).unwrap().end(ShellEnd::Aborted, Time(later));
        }
        assert_eq!(circuits.state().sessions[&one].told(SESSION, Time(later)), CircuitState::HalfOpen);
    }

    #[test]
    fn what_began_before_the_circuit_opened_does_not_close_it() {
        let (circuits, one) = (circuits(), SessionId::from("one"));
        let early: Vec<Pass> = (0..SESSION.successes).map(|_| circuits.admit(&one, Time(0)).unwrap()).collect();
        let now = Time(fail(&circuits, &one, SESSION.most, 0));
        early.into_iter().for_each(|pass| pass.end(ShellEnd::Exited, now));
        assert!(circuits.is_open(now));
    }

    #[test]
    fn a_refused_command_takes_no_place_among_those_that_are_tried() {
        let (circuits, hung) = (circuits(), SessionId::from("hung"));
        let mut now = fail(&circuits, &hung, SESSION.most, 0);
        for number in 0..GLOBAL.most - SESSION.most {
            fail(&circuits, &format!("s{number}").into(), 1, now);
        }
        now += GLOBAL.recovery_ms;
        circuits.state().sessions.get_mut(&hung).expect("it hung").opened = Some(Time(now));
        for _ in 0..=GLOBAL.trials {
            assert!(!is_let_through(&circuits, &hung, now));
        }
        assert!(is_let_through(&circuits, &"new".into(), now));
    }

    #[test]
    fn old_timeouts_do_not_count() {
        let (circuits, one) = (circuits(), SessionId::from("one"));
        let later = fail(&circuits, &one, SESSION.most - 1, 0) + SESSION.window_ms;
        fail(&circuits, &one, 1, later);
        assert!(!circuits.is_open(Time(later)));
    }

    #[test]
    fn all_sessions_together_open_the_one_for_all() {
        let circuits = circuits();
        for number in 0..GLOBAL.most {
            fail(&circuits, &format!("s{number}").into(), 1, 0);
        }
        for (now, state) in [(0, CircuitState::Open), (GLOBAL.recovery_ms, CircuitState::HalfOpen)] {
            assert_eq!(circuits.metrics(Time(now)).global_state, state);
        }
        let refused = circuits.admit(&"new".into(), Time(0)).map_err(|error| error.to_string()).err();
        assert_eq!(refused.as_deref(), Some("Bash circuit breaker open globally (recovery in 30s)"));
    }
}
