//! Work that belongs to no run: model calls of extensions, and entries that are read for them.

use std::sync::Arc;

use pi_envelope::{Origin, Prompt, Provenance, Purpose, Said, SystemPart, SystemText, Tool};
use pi_exthost::{
    GuestId,
    port::{Completion, Refusal},
};
use pi_provider::Options;
use pi_transcript::{EntryId, ThinkingLevel, message::AssistantMessage};
use tokio_util::sync::CancellationToken;

use super::{Parts, desk::Piece, inquiry::Inquiry, turn::words};
use crate::{
    file::{ReadError, Reader},
    models::Choice,
    tree::{Kept, Place, Tree},
};

/// Where an entry is found.
pub(crate) fn piece(tree: &Tree, place: Place) -> Option<Piece> {
    let held = tree.held(place).map(|kept| Piece::Held(Arc::clone(kept)));
    held.or_else(|| tree.span(place).map(Piece::At))
}

/// Entries, from memory or from the file. Blocks for as long as the disk does.
pub(crate) fn read(reader: Option<&Reader>, pieces: Vec<Piece>) -> Result<Vec<Arc<Kept>>, ReadError> {
    pieces.into_iter().map(|piece| read_one(reader, piece)).collect()
}

/// One of them.
pub(crate) fn read_one(reader: Option<&Reader>, piece: Piece) -> Result<Arc<Kept>, ReadError> {
    match (piece, reader) {
        (Piece::Held(kept), _) => Ok(kept),
        (Piece::At(span), Some(reader)) => reader.entry(span).map(|entry| Arc::new(Kept::from(entry))),
        (Piece::At(_), None) => unreachable!("without a file everything is held"),
    }
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
    let thinking = choice.clamp(completion.thinking_level.unwrap_or(ThinkingLevel::Off));
    let mut options = Options { thinking, ..Options::plain() };
    if let Some(most) = completion.max_tokens {
        options.parameters.insert("max_tokens".to_owned(), most.into());
    }
    let steps = completion.steps.clone();
    let prompt = Arc::new(prompt(from, completion));
    let inquiry = Inquiry {
        choice,
        prompt: &prompt,
        options: &options,
        purpose: Purpose::Extension,
        steps: steps.as_ref(),
        cancel,
    };
    let reply = inquiry.ask(parts).await.map_err(|error| Refusal::Failed { message: words(&error) })?;
    Ok(Box::new(reply.message))
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
