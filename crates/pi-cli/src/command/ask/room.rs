//! Whether the prompt fits into the model's window, before anything is sent and paid for.

use pi_envelope::{Counted, Prompt, Purpose, Request, Tokens, project, stats};
use pi_provider::{Options, request::longest_answer, tokens::counter};
use pi_transcript::ModelId;

use crate::{
    amount::{counted, grouped},
    choice::Chosen,
};

/// What to say about a prompt that is larger than the window which the manifest names. Nothing is counted where even one
/// token for every byte would fit.
pub(super) fn shortage(prompt: &Prompt, options: &Options, chosen: &Chosen) -> Option<String> {
    let window = chosen.known.as_ref()?.context_window?;
    let answer = longest_answer(&chosen.entry.manifest, chosen.known.as_ref(), &options.parameters).unwrap_or(0);
    let most = |text: &str| Tokens { count: text.len() as u64, how: Counted::Estimated };
    if tokens(prompt, chosen, &most).saturating_add(answer) <= window {
        return None;
    }
    let said = tokens(prompt, chosen, &counter(&chosen.model));
    if said.saturating_add(answer) <= window {
        return None;
    }
    let answer = if answer > 0 { format!(" and the answer may have {}", grouped(answer)) } else { String::new() };
    Some(format!(
        "the prompt has about {}{answer}; the window of {} has {}, so it may be refused or cut",
        counted(said, "token"),
        chosen.name(),
        grouped(window)
    ))
}

fn tokens(prompt: &Prompt, chosen: &Chosen, counter: &pi_envelope::tokens::Counter<'_>) -> u64 {
    let request = Request {
        id: "question".to_owned(),
        provider: chosen.entry.manifest.id.clone(),
        model: ModelId::from(chosen.model.as_str()),
        time: 0,
        purpose: Purpose::Turn,
    };
    stats(&project(prompt, &request, counter)).total.tokens
}
