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
    manifest::{ErrorClassification, Manifest, Streaming, streaming::Rule},
    response::Answers,
    secret::Carried,
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

    /// A decoder for an answer, that judges errors in it by the clock and without repeating what was carried.
    pub(super) fn decoder(&self, carried: &Carried) -> Decoder {
        let (manifest, carried) = (Arc::clone(&self.manifest), carried.clone());
        let classify =
            move |error: &Value| classify_event(&manifest, error, &carried.redactor(&manifest.endpoint.auth), now());
        self.pipeline.start().classify_with(Box::new(classify))
    }

    /// Whether it was made from the same rules and hides the same secrets: another manifest of the same name is noticed.
    fn is_of(&self, manifest: &Manifest) -> bool {
        let own = &self.manifest;
        own.endpoint.auth == manifest.endpoint.auth
            && is_same_streaming(own.streaming.as_ref(), manifest.streaming.as_ref())
            && own.contract == manifest.contract
            && own.termination == manifest.termination
            && is_same_classification(&own.error_classification, &manifest.error_classification)
            && own.guardrails == manifest.guardrails
            && own.capabilities.tool_calling == manifest.capabilities.tool_calling
    }
}

/// Maps are held against each other entry by entry, which takes a tenth of what looking up every key does. The same entries
/// in another order are compiled anew, and that does no harm.
fn is_same_classification(own: &ErrorClassification, other: &ErrorClassification) -> bool {
    let ErrorClassification { by_http_status, by_error_code, by_error_message, retry_after_extraction, notes } = own;
    by_http_status.as_slice() == other.by_http_status.as_slice()
        && by_error_code.as_slice() == other.by_error_code.as_slice()
        && *by_error_message == other.by_error_message
        && *retry_after_extraction == other.retry_after_extraction
        && *notes == other.notes
}

fn is_same_streaming(own: Option<&Streaming>, other: Option<&Streaming>) -> bool {
    let (Some(own), Some(other)) = (own, other) else { return own.is_none() && other.is_none() };
    let Streaming {
        decoder,
        frame_selector,
        candidate,
        accumulator,
        event_map,
        stop_condition,
        content_path,
        tool_call_path,
        usage_path,
        extra_metadata_path,
    } = own;
    let is_same_rule = |own: &Rule, other: &Rule| {
        let Rule { condition, emit, extract } = own;
        *condition == other.condition && *emit == other.emit && extract.as_slice() == other.extract.as_slice()
    };
    *decoder == other.decoder
        && *frame_selector == other.frame_selector
        && *candidate == other.candidate
        && *accumulator == other.accumulator
        && event_map.len() == other.event_map.len()
        && event_map.iter().zip(&other.event_map).all(|(own, other)| is_same_rule(own, other))
        && *stop_condition == other.stop_condition
        && *content_path == other.content_path
        && *tool_call_path == other.tool_call_path
        && *usage_path == other.usage_path
        && *extra_metadata_path == other.extra_metadata_path
}
