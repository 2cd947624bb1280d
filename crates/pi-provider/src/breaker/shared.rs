//! One breaker for each provider, shared by everybody who calls it.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use pi_transcript::ProviderId;
use tokio::time::Instant;

use super::{Breaker, CircuitState, Outcome, Permit, Settings, Snapshot};
use crate::{error::CallError, manifest::Manifest};

/// The breakers of all providers. Clones share them.
#[derive(Clone)]
pub struct Breakers {
    /// A call needs its answer at once and touches it for a moment, so a task with a mailbox would only add a wait. It is
    /// never held across an await.
    known: Arc<Mutex<HashMap<ProviderId, Breaker>>>,
    beginning: Instant,
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

    /// Leave to call the provider, or the error that says when to try again.
    pub fn admit(&self, manifest: &Manifest) -> Result<Pass, CallError> {
        let now = self.beginning.elapsed();
        let provider = manifest.id.clone();
        let mut known = self.lock();
        let breaker = known.entry(provider.clone()).or_insert_with(|| Breaker::new(Settings::of(manifest)));
        match breaker.admit(now) {
            Ok(permit) => {
                drop(known);
                Ok(Pass { breakers: self.clone(), provider, permit: Some(permit) })
            }
            Err(retry_in) => Err(CallError::CircuitOpen { provider, retry_in }),
        }
    }

    /// Every provider that was called so far, by name.
    pub fn snapshots(&self) -> Vec<(ProviderId, Snapshot)> {
        let now = self.beginning.elapsed();
        let mut all: Vec<_> =
            self.lock().iter().map(|(provider, breaker)| (provider.clone(), breaker.snapshot(now))).collect();
        all.sort_by_key(|(provider, _)| provider.to_string());
        all
    }

    /// Whether calls to any provider are refused right now.
    pub fn has_open(&self) -> bool {
        self.snapshots().iter().any(|(_, snapshot)| snapshot.state == CircuitState::Open)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ProviderId, Breaker>> {
        // Counts are whole after every step, so a panic elsewhere leaves nothing broken behind.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass {
    /// Says how the call ended; later reports of the same call count for nothing.
    pub fn report(&mut self, outcome: Outcome) {
        let Some(permit) = self.permit.take() else { return };
        let now = self.breakers.beginning.elapsed();
        if let Some(breaker) = self.breakers.lock().get_mut(&self.provider) {
            breaker.report(permit, outcome, now);
        }
    }

    /// The answer has begun. That is all a probe has to find out; other calls may still fail.
    pub fn begun(&mut self) {
        if self.permit.as_ref().is_some_and(|permit| permit.probe) {
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
