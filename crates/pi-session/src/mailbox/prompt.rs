//! The messages of the next prompt, with where each comes from.

use std::{collections::HashMap, sync::Arc};

use pi_envelope::{Origin, Provenance, Said, Span};
use pi_transcript::{EntryId, Message};

use crate::{
    context::{self, Spoken},
    draft,
    tree::Kept,
};

/// What the model is shown of the conversation as it stands.
pub(super) fn messages(entries: &[Arc<Kept>], spoken: &[Spoken]) -> Vec<Said> {
    let spans = spans(entries);
    context::sendable(spoken).into_iter().map(|(id, message)| said(id, message, &spans)).collect()
}

fn said(id: EntryId, message: Arc<Message>, spans: &HashMap<EntryId, Vec<Span>>) -> Said {
    let provenance = Provenance::usual(origin(&message));
    let marks = spans.get(&id).cloned().unwrap_or_default();
    let plain = Said::new(id, message, provenance);
    // A file can say anything; marks that do not fit the text are not shown.
    plain.clone().with_spans(marks).unwrap_or(plain)
}

fn spans(entries: &[Arc<Kept>]) -> HashMap<EntryId, Vec<Span>> {
    let marked = entries.iter().filter_map(|kept| match &**kept {
        Kept::Message { base, extra, .. } if extra.contains_key(draft::SPANS) => {
            Some((base.id.clone(), draft::spans(extra)))
        }
        Kept::Message { .. } | Kept::Other(_) => None,
    });
    marked.collect()
}

fn origin(message: &Message) -> Origin {
    match message {
        Message::User(_) => Origin::User,
        Message::Assistant(said) => Origin::Provider { name: said.provider.to_string() },
        Message::ToolResult(result) => Origin::Tool { name: result.tool_name.clone() },
        Message::BashExecution(_) => Origin::Tool { name: "bash".to_owned() },
        Message::Custom(custom) => {
            // Pi does not say which extension it was, only what type it gave the message.
            let by = custom.extra.get(draft::EXTENSION).and_then(|id| id.as_str());
            Origin::Extension { id: by.unwrap_or(&custom.custom_type).to_owned() }
        }
        Message::BranchSummary(_) | Message::CompactionSummary(_) => Origin::Provider { name: "summary".to_owned() },
        Message::System(_) => Origin::BuiltIn,
        Message::Other(_) => Origin::Extension { id: message.role().to_owned() },
    }
}
