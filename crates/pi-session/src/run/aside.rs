//! Work that belongs to no run: model calls of extensions, and entries that are read for them.

use std::sync::Arc;

use pi_envelope::{Origin, Prompt, Provenance, Said, SystemPart, SystemText, Tool, meta};
use pi_exthost::{
    GuestId,
    port::{Completion, Refusal},
};
use pi_provider::{
    CallError, Options,
    assembly::{Assembly, End},
};
use pi_transcript::{EntryId, ThinkingLevel, json::Loose, message::AssistantMessage};
use tokio_util::sync::CancellationToken;

use super::{Parts, desk::Piece, turn::words};
use crate::{
    archive::{Counted, Shown},
    file::{ReadError, Reader},
    models::Choice,
    tree::Kept,
};

/// Entries, from memory or from the file. Blocks for as long as the disk does.
pub(crate) fn read(reader: Option<&Reader>, pieces: Vec<Piece>) -> Result<Vec<Arc<Kept>>, ReadError> {
    let read = |piece: Piece| match (piece, reader) {
        (Piece::Held(kept), _) => Ok(kept),
        (Piece::At(span), Some(reader)) => reader.entry(span).map(|entry| Arc::new(Kept::from(entry))),
        (Piece::At(_), None) => unreachable!("without a file everything is held"),
    };
    pieces.into_iter().map(read).collect()
}

/// Asks a model in the name of an extension. It needs no key and gets none; what the model is shown is kept like any
/// other prompt.
pub(crate) async fn complete(
    parts: &Parts,
    from: &GuestId,
    choice: &Choice,
    completion: Completion,
    cancel: &CancellationToken,
) -> Result<Box<AssistantMessage>, Refusal> {
    let failed = |error: CallError| Refusal::Failed { message: words(&error) };
    let thinking = choice.clamp(completion.thinking_level.unwrap_or(ThinkingLevel::Off));
    let mut options = Options { thinking, ..Options::plain() };
    if let Some(most) = completion.max_tokens {
        options.parameters.insert("max_tokens".to_owned(), most.into());
    }
    let steps = completion.steps.clone();
    let prompt = Arc::new(prompt(from, completion));
    let id = parts.next_request().to_string();
    let time = (parts.now)().unix_millis();
    let request =
        meta::Request { id: id.clone(), provider: choice.provider().clone(), model: choice.id().into(), time };
    parts.archive.show(Shown { prompt: Arc::clone(&prompt), request, entry: None });
    let mut assembly = Assembly::new(choice.asked(thinking, time));
    let mut answer = parts.models.ask(choice, &prompt, &options, None, cancel).await.map_err(failed)?;
    let mut grown = Vec::new();
    let mut end = End::Proper;
    while let Some(event) = answer.next().await {
        match event {
            Ok(event) => assembly.push(event, &mut grown),
            Err(CallError::Cancelled) => end = End::Aborted,
            Err(error) => end = End::Broken(words(&error)),
        }
        tell(steps.as_ref(), &mut grown).await;
    }
    let message = assembly.finish(end, &mut grown);
    tell(steps.as_ref(), &mut grown).await;
    let usage = match &message.usage {
        Loose::Known(usage) => Some(usage.clone()),
        Loose::Other(_) => None,
    };
    parts.archive.count(Counted { request: id, usage, replaced: None });
    Ok(Box::new(message))
}

/// Hands steps to whoever wants them; one that has gone away wants none.
async fn tell(
    steps: Option<&tokio::sync::mpsc::Sender<pi_transcript::AssistantMessageEvent>>,
    grown: &mut Vec<pi_transcript::AssistantMessageEvent>,
) {
    let Some(steps) = steps else { return grown.clear() };
    for step in grown.drain(..) {
        if steps.send(step).await.is_err() {
            break;
        }
    }
}

fn prompt(from: &GuestId, completion: Completion) -> Prompt {
    let provenance = Provenance::usual(Origin::Extension { id: from.to_string() });
    let system = completion.system_prompt.map(|text| SystemPart {
        id: "complete".to_owned(),
        provenance: provenance.clone(),
        text: SystemText::Instructions { text },
    });
    let said = |(index, message)| Said::new(EntryId::from(format!("complete-{index}")), message, provenance.clone());
    let tool = |definition| Tool { definition, provenance: provenance.clone() };
    Prompt {
        tools: completion.tools.into_iter().map(tool).collect(),
        system: system.into_iter().collect(),
        messages: completion.messages.into_iter().enumerate().map(said).collect(),
    }
}
