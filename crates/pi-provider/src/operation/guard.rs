//! The manifest's filters, for what is no chat.

use serde_json::Value;

use crate::{
    error::CallError,
    event::StreamEvent,
    guardrail::{Finding, Guardrails},
    manifest::Manifest,
};

/// Filters the texts of a body as those of a chat are. A body that is no JSON, such as sound, has none.
pub(crate) fn filter_input(manifest: &Manifest, body: &mut Vec<u8>) -> Result<Vec<Finding>, CallError> {
    if manifest.guardrails.is_empty() {
        return Ok(Vec::new());
    }
    let guardrails = Guardrails::of(manifest)?;
    let Ok(mut payload) = serde_json::from_slice::<Value>(body) else { return Ok(Vec::new()) };
    let findings = guardrails.filter_input(&mut payload)?;
    if findings.iter().any(Finding::is_masked) {
        *body = payload.to_string().into_bytes();
    }
    Ok(findings)
}

/// Filters the answer to a question of a batch.
pub(crate) fn filter_output(manifest: &Manifest, events: Vec<StreamEvent>) -> Result<Vec<StreamEvent>, CallError> {
    if manifest.guardrails.is_empty() {
        return Ok(events);
    }
    let mut guard = Guardrails::of(manifest)?.stream_output();
    let mut passed = Vec::with_capacity(events.len());
    for event in events {
        guard.push(event, &mut passed)?;
    }
    guard.finish(&mut passed)?;
    Ok(passed)
}
