//! Models that said that they take no tools.

use std::{
    collections::HashSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use pi_transcript::ProviderId;

use crate::request::Target;

/// What was learned while the process runs; a server that is started anew with other flags is asked anew by another one.
#[derive(Default)]
pub(super) struct Toolless {
    /// Looked at for a moment at the beginning of a call that offers tools, so a task with a mailbox would only add a wait.
    /// It is never held across an await.
    known: Mutex<HashSet<Model>>,
}

#[derive(PartialEq, Eq, Hash)]
struct Model {
    provider: ProviderId,
    /// Where it is not the manifest's.
    base_url: Option<String>,
    model: String,
}

impl Toolless {
    pub(super) fn has(&self, target: &Target<'_>) -> bool {
        self.lock().contains(&Model::of(target))
    }

    pub(super) fn add(&self, target: &Target<'_>) {
        self.lock().insert(Model::of(target));
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<Model>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Model {
    fn of(target: &Target<'_>) -> Self {
        Self {
            provider: target.manifest.id.clone(),
            base_url: target.base_url.map(str::to_owned),
            model: target.model.to_owned(),
        }
    }
}
