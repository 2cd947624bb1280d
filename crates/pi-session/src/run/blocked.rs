//! Which of the messages a filter of the provider blocked, when it blocked the prompt.

use pi_envelope::{Prompt, Said};
use pi_provider::{CallError, Side, guardrail::Guardrails};
use pi_transcript::EntryId;
use serde_json::Value;

use super::to_value;
use crate::models::Choice;

/// What is told of it.
pub(super) const TOLD: &str =
    "what was blocked stays in the session and is left out of what the model is asked from now on";

/// What a filter blocked of the messages. Where it is none of them, it is in the instructions or the tools, and nothing that
/// was said is to blame.
pub(super) struct Blocked {
    pub(super) filter: String,
    pub(super) entries: Vec<EntryId>,
}

impl Blocked {
    pub(super) fn of(error: &CallError, choice: &Choice, prompt: &Prompt) -> Option<Self> {
        let CallError::Blocked { filter, side: Side::Input } = error else { return None };
        let guardrails = Guardrails::compile(&choice.manifest().guardrails);
        let is_blocked = |said: &&Said| {
            let mut message = to_value(said.message());
            let mut texts = Vec::new();
            gather(&mut message, &mut texts);
            guardrails.filter_texts(Side::Input, texts).is_err()
        };
        let entries: Vec<EntryId> = prompt.messages.iter().filter(is_blocked).map(|said| said.id().clone()).collect();
        (!entries.is_empty()).then(|| Self { filter: filter.clone(), entries })
    }
}

/// Every text of a message.
fn gather<'v>(value: &'v mut Value, texts: &mut Vec<&'v mut String>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter_mut().for_each(|item| gather(item, texts)),
        Value::Object(members) => members.values_mut().for_each(|member| gather(member, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
