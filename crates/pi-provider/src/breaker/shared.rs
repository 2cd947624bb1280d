//! One breaker for each provider, shared by everybody who calls it.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use pi_transcript::ProviderId;
use tokio::time::Instant;

use super::{Breaker, CircuitState, Kind, Outcome, Permit, Settings, Snapshot};
use crate::{
    error::{CallError, Cause},
    manifest::Manifest,
};

/// The breakers of all providers. Clones share them.
#[derive(Clone)]
pub struct Breakers {
    /// A call needs its answer at once and touches it for a moment, so a task with a mailbox would only add a wait. It is
    /// never held across an await.
    known: Arc<Mutex<HashMap<ProviderId, Known>>>,
    beginning: Instant,
}

/// One provider.
struct Known {
    breaker: Breaker,
    /// The last failure that counted.
    cause: Option<Cause>,
}

/// Leave to make one call. Dropped without a report, it counts for nothing.
#[must_use = "the outcome of the call must be reported"]
pub struct Pass {
    breakers: Breakers,
    provider: ProviderId,
    permit: Option<Permit>,
}

impl Breakers {
    pub fn new() -> Self {
        Self { known: Arc::default(), beginning: Instant::now() }
    }

    /// Leave to call the provider, or the error that says when to try again and what went wrong.
    pub fn admit(&self, manifest: &Manifest) -> Result<Pass, CallError> {
        let now = self.beginning.elapsed();
        let admitted =
            self.with(manifest, |known| known.breaker.admit(now).map_err(|wait| (wait, known.cause.clone())));
        match admitted {
            Ok(permit) => Ok(self.pass(manifest, permit)),
            Err((retry_in, cause)) => Err(CallError::CircuitOpen { provider: manifest.id.clone(), retry_in, cause }),
        }
    }

    /// How long the provider is left alone yet, if it is, for whoever does not call it then: counted as refused.
    pub fn refuse(&self, provider: &ProviderId) -> Option<Duration> {
        let now = self.beginning.elapsed();
        self.lock().get_mut(provider)?.breaker.refuse(now)
    }

    /// Leave for another attempt of a call of which one was let through before.
    pub fn admit_again(&self, manifest: &Manifest) -> Pass {
        let now = self.beginning.elapsed();
        let permit = self.with(manifest, |known| known.breaker.admit_again(now));
        self.pass(manifest, permit)
    }

    fn with<T>(&self, manifest: &Manifest, ask: impl FnOnce(&mut Known) -> T) -> T {
        let mut all = self.lock();
        let new = || Known { breaker: Breaker::new(Settings::of(manifest)), cause: None };
        ask(all.entry(manifest.id.clone()).or_insert_with(new))
    }

    fn pass(&self, manifest: &Manifest, permit: Permit) -> Pass {
        Pass { breakers: self.clone(), provider: manifest.id.clone(), permit: Some(permit) }
    }

    /// Every provider that was called so far, by name.
    pub fn snapshots(&self) -> Vec<(ProviderId, Snapshot)> {
        let now = self.beginning.elapsed();
        let mut all: Vec<_> =
            self.lock().iter().map(|(provider, known)| (provider.clone(), known.breaker.snapshot(now))).collect();
        all.sort_by_key(|(provider, _)| provider.to_string());
        all
    }

    /// Whether calls to any provider are refused right now.
    pub fn has_open(&self) -> bool {
        self.snapshots().iter().any(|(_, snapshot)| snapshot.state == CircuitState::Open)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ProviderId, Known>> {
        // Counts are whole after every step, so a panic elsewhere leaves nothing broken behind.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass {
    /// The call went well, or somebody learned nothing from it; later reports of the same call count for nothing.
    pub fn report(&mut self, outcome: Outcome) {
        self.settle(outcome, None);
    }

    /// The call failed. Where that is the provider's fault, it is what an open circuit names as its cause.
    pub fn fail(&mut self, error: &CallError) {
        let outcome = Outcome::of(error);
        let cause = (outcome == Outcome::Failed && self.permit.is_some()).then(|| Cause::of(error));
        self.settle(outcome, cause);
    }

    fn settle(&mut self, outcome: Outcome, cause: Option<Cause>) {
        let Some(permit) = self.permit.take() else { return };
        let now = self.breakers.beginning.elapsed();
        if let Some(known) = self.breakers.lock().get_mut(&self.provider) {
            known.breaker.report(permit, outcome, now);
            known.cause = cause.or_else(|| known.cause.take());
        }
    }

    /// The answer has begun. That is all a probe has to find out; other calls may still fail.
    pub fn begun(&mut self) {
        if self.permit.as_ref().is_some_and(|permit| permit.kind != Kind::Usual) {
            self.report(Outcome::Succeeded);
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.report(Outcome::Unknown);
    }
}

impl Default for Breakers {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Breakers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.snapshots()).finish()
    }
}

impl fmt::Debug for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pass").field("provider", &self.provider).field("permit", &self.permit).finish()
    }
}
