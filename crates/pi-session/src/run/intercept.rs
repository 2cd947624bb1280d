//! Lets extensions see what goes to a provider, and replace it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::future::BoxFuture;
use pi_exthost::{GuestId, Guests, verdict::RequestVerdict};
use pi_extproto::hook::{
    HeaderChange, Hook,
    event::payload::{BeforeProviderHeadersEvent, BeforeProviderRequestEvent},
};
use pi_provider::{
    CallError,
    client::{Draft, Interception, Interceptor},
};
use tokio_util::sync::CancellationToken;

/// The extensions of a session, as the provider sees them.
pub(super) struct Hooked {
    guests: Arc<Guests>,
    cancel: CancellationToken,
    /// Who sent another payload. A mutex and no message: the provider gives nothing back of what it was told here. It is
    /// held for a moment, never across an await.
    replaced_by: Mutex<Option<GuestId>>,
}

impl Hooked {
    /// Nobody, if no extension wants to see requests: then the request need not be read again.
    pub(super) fn wanted(guests: &Arc<Guests>, cancel: &CancellationToken) -> Option<Arc<Self>> {
        let is_wanted = guests.listens(Hook::BeforeProviderRequest) || guests.listens(Hook::BeforeProviderHeaders);
        let replaced_by = Mutex::default();
        is_wanted.then(|| Arc::new(Self { guests: Arc::clone(guests), cancel: cancel.clone(), replaced_by }))
    }

    /// The last extension that sent another payload.
    pub(super) fn replaced_by(&self) -> Option<GuestId> {
        self.replaced_by.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Interceptor for Hooked {
    fn intercept<'a>(&'a self, draft: Draft<'a>) -> BoxFuture<'a, Result<Interception, CallError>> {
        Box::pin(async move {
            let event = || BeforeProviderRequestEvent { payload: draft.payload.clone() };
            let payload = match self.guests.before_provider_request(event, &self.cancel).await {
                RequestVerdict::Keep => None,
                RequestVerdict::Replaced { by, payload } => {
                    *self.replaced_by.lock().unwrap_or_else(PoisonError::into_inner) = Some(by);
                    Some(payload)
                }
            };
            let shown = || BeforeProviderHeadersEvent { headers: draft.headers.iter().cloned().collect() };
            let changes = self.guests.before_provider_headers(shown, &self.cancel).await;
            let headers = (!changes.is_empty()).then(|| changed(draft.headers, changes));
            Ok(match (payload, headers) {
                (None, None) => Interception::Unchanged,
                (payload, headers) => Interception::Replaced { payload, headers },
            })
        })
    }
}

fn changed(headers: &[(String, String)], changes: Vec<(GuestId, HeaderChange)>) -> Vec<(String, String)> {
    let mut changed: BTreeMap<String, String> = headers.iter().cloned().collect();
    for (_, change) in changes {
        match change {
            HeaderChange::Set(header) => drop(changed.insert(header.name.to_ascii_lowercase(), header.value)),
            HeaderChange::Remove { name } => drop(changed.remove(&name.to_ascii_lowercase())),
        }
    }
    changed.into_iter().collect()
}
