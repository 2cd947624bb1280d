//! The manifest's filters, for what is no chat.

use serde_json::Value;

use crate::{
    error::{CallError, Side},
    event::StreamEvent,
    guardrail::{Finding, Guardrails},
    manifest::Manifest,
    request::Request,
};

/// Filters a request that is about to be sent, or shown, as a chat is. Texts in a body that is no JSON, such as a form,
/// are not found here: whoever makes one filters them before.
pub fn filter_request(manifest: &Manifest, request: &mut Request) -> Result<Vec<Finding>, CallError> {
    filter_input(manifest, &mut request.body)
}

/// Filters the texts of a body of JSON as those of a chat are.
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

/// Filters single texts, in place.
pub(crate) fn filter_texts<'t>(
    manifest: &Manifest,
    side: Side,
    texts: impl IntoIterator<Item = &'t mut String>,
) -> Result<Vec<Finding>, CallError> {
    if manifest.guardrails.is_empty() {
        return Ok(Vec::new());
    }
    Guardrails::of(manifest)?.filter_texts(side, texts)
}

/// Filters the answer to a question of a batch, and adds what was found.
pub(crate) fn filter_output(
    manifest: &Manifest,
    events: Vec<StreamEvent>,
    findings: &mut Vec<Finding>,
) -> Result<Vec<StreamEvent>, CallError> {
    if manifest.guardrails.is_empty() {
        return Ok(events);
    }
    let mut guard = Guardrails::of(manifest)?.stream_output();
    let mut passed = Vec::with_capacity(events.len());
    let pushed = events.into_iter().try_for_each(|event| guard.push(event, &mut passed));
    let filtered = pushed.and_then(|()| guard.finish(&mut passed));
    gather(findings, guard.findings().iter().cloned());
    filtered.map(|()| passed)
}

/// Adds findings to others, each filter once.
pub(crate) fn gather(findings: &mut Vec<Finding>, more: impl IntoIterator<Item = Finding>) {
    for found in more {
        let Finding { filter, action, side, texts, left } = &found;
        let is_same =
            |it: &&mut Finding| it.filter == *filter && it.action == *action && it.side == *side && it.left == *left;
        match findings.iter_mut().find(is_same) {
            Some(known) => known.texts += texts,
            None => findings.push(found),
        }
    }
}
