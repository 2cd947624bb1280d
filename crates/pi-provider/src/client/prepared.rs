//! What is compiled from a manifest, once.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use pi_transcript::ProviderId;
use serde_json::Value;

use super::exchange::now;
use crate::{
    classify::classify_event,
    dialect::Dialect,
    error::CallError,
    guardrail::Guardrails,
    manifest::Manifest,
    response::Answers,
    secret::{Secret, redactor},
    stream::{Decoder, Pipeline},
};

/// How one provider's answers are read and filtered. Cheap to clone.
#[derive(Clone)]
pub(super) struct Prepared {
    pub(super) pipeline: Pipeline,
    pub(super) answers: Answers,
    pub(super) guardrails: Arc<Guardrails>,
    pub(super) manifest: Arc<Manifest>,
}

/// Everything prepared so far.
#[derive(Default)]
pub(super) struct PreparedProviders {
    /// Looked at for a moment at the beginning of every call, so a task with a mailbox would only add a wait. It is never
    /// held across an await.
    known: Mutex<HashMap<(ProviderId, Dialect), Prepared>>,
}

impl PreparedProviders {
    pub(super) fn get(&self, manifest: &Manifest, dialect: Dialect) -> Result<Prepared, CallError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (manifest.id.clone(), dialect);
        if let Some(prepared) = known.get(&key).filter(|prepared| prepared.is_of(manifest)) {
            return Ok(prepared.clone());
        }
        let prepared = Prepared::new(manifest, dialect)?;
        known.insert(key, prepared.clone());
        Ok(prepared)
    }
}

impl Prepared {
    fn new(manifest: &Manifest, dialect: Dialect) -> Result<Self, CallError> {
        let pipeline = Pipeline::compile(manifest, dialect).map_err(|error| CallError::Option {
            option: "streaming".to_owned(),
            reason: format!("the manifest of {} cannot be used: {error}", manifest.id),
        })?;
        let guardrails = Guardrails::of(manifest)?;
        let answers = Answers::of(manifest, dialect)?;
        Ok(Self { pipeline, answers, guardrails: Arc::new(guardrails), manifest: Arc::new(manifest.clone()) })
    }

    /// A decoder for an answer, that judges errors in it by the clock and without repeating the credential.
    pub(super) fn decoder(&self, secret: Option<&Secret>) -> Decoder {
        let (manifest, secret) = (Arc::clone(&self.manifest), secret.cloned());
        let classify = move |error: &Value| {
            classify_event(&manifest, error, &redactor(&manifest.endpoint.auth, secret.as_ref()), now())
        };
        self.pipeline.start().classify_with(Box::new(classify))
    }

    /// Whether it was made from the same rules and hides the same secrets: another manifest of the same name is noticed.
    fn is_of(&self, manifest: &Manifest) -> bool {
        let own = &self.manifest;
        own.endpoint.auth == manifest.endpoint.auth
            && own.streaming == manifest.streaming
            && own.contract == manifest.contract
            && own.termination == manifest.termination
            && own.error_classification == manifest.error_classification
            && own.guardrails == manifest.guardrails
            && own.capabilities.tool_calling == manifest.capabilities.tool_calling
    }
}
