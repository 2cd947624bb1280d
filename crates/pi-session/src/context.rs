//! From the entries of a path to what the model is shown.
//!
//! [`build`] follows Pi: the last compaction's summary first, then what it kept, then everything after it; the last
//! [`ContextEdit`] of an entry changes it. [`sendable`](sendable()) makes of this what a provider accepts: failed answers, and what
//! a filter blocked, are left out, and a call whose result never came gets one that says so. Neither changes the entries.

mod blocked;
mod edit;
mod sendable;

use std::{collections::HashMap, sync::Arc};

use pi_policy::Moment;
use pi_transcript::{
    Entry, EntryId, Message, ModelId, ProviderId, ThinkingLevel,
    entry::{BranchSummary, Compaction, ContextEdit, CustomMessageEntry},
    json::{Extra, Open},
    message::{BranchSummaryMessage, CompactionSummaryMessage, CustomMessage},
};

pub use self::sendable::sendable;
pub(crate) use self::{
    blocked::diagnostics as blocked_diagnostics,
    sendable::{answers, calls, is_failed, passed},
};
use crate::{
    draft,
    offer::{self, Offer},
    tree::Kept,
};

/// A message, and the entry that it comes from.
pub type Spoken = (EntryId, Arc<Message>);

/// What a conversation is at its leaf.
#[derive(Debug, Clone, PartialEq)]
pub struct Context {
    pub messages: Vec<Spoken>,
    /// The model that was chosen or that answered last.
    pub model: Option<ModelChoice>,
    /// `off` until somebody chooses.
    pub thinking_level: Open<ThinkingLevel>,
    /// What was chosen to be offered to the model.
    pub offer: Offer,
}

/// A model by its names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ModelChoice {
    pub provider: ProviderId,
    pub model: ModelId,
}

/// The member of a `model_change` that says where the model is reached, if not where its manifest says. Pi passes over it.
pub const ADDRESS: &str = "baseUrl";

/// Where a model was reached when it was chosen last on a path, if that was said.
pub fn address(path: &[Arc<Kept>], model: &ModelChoice) -> Option<String> {
    let change = path.iter().rev().find_map(|kept| match &**kept {
        Kept::Other(Entry::ModelChange(change)) => Some(change),
        Kept::Other(_) | Kept::Message { .. } => None,
    })?;
    let is_it = change.provider == model.provider && change.model_id == model.model;
    Some(change.extra.get(ADDRESS).filter(|_| is_it)?.as_str()?.to_owned())
}

/// What the model sees of a path, which begins with the oldest entry.
pub fn build(path: &[Arc<Kept>]) -> Context {
    let model = path.iter().rev().find_map(|kept| model_of(kept));
    let thinking_level = path.iter().rev().find_map(|kept| level_of(kept)).unwrap_or(ThinkingLevel::Off.into());
    let offer = path.iter().rev().find_map(|kept| offer::of(kept)).unwrap_or_default();
    Context { messages: messages(path), model, thinking_level, offer }
}

/// The model that an entry tells of.
pub(crate) fn model_of(kept: &Kept) -> Option<ModelChoice> {
    match kept {
        Kept::Message { message, .. } => match &**message {
            Message::Assistant(said) => {
                Some(ModelChoice { provider: said.provider.clone(), model: said.model.clone() })
            }
            Message::User(_)
            | Message::ToolResult(_)
            | Message::BashExecution(_)
            | Message::Custom(_)
            | Message::BranchSummary(_)
            | Message::CompactionSummary(_)
            | Message::System(_)
            | Message::Other(_) => None,
        },
        Kept::Other(Entry::ModelChange(change)) => {
            Some(ModelChoice { provider: change.provider.clone(), model: change.model_id.clone() })
        }
        Kept::Other(_) => None,
    }
}

/// The thinking level that an entry tells of.
pub(crate) fn level_of(kept: &Kept) -> Option<Open<ThinkingLevel>> {
    match kept {
        Kept::Other(Entry::ThinkingLevelChange(change)) => Some(change.thinking_level.clone()),
        Kept::Other(_) | Kept::Message { .. } => None,
    }
}

fn messages(path: &[Arc<Kept>]) -> Vec<Spoken> {
    let edits = edits(path);
    let shown = |kept: &Arc<Kept>| edited(&edits, kept, message_of(kept)?);
    let Some((at, compaction)) = last_compaction(path) else {
        return path.iter().filter_map(shown).collect();
    };
    let first = first_kept(path, at, compaction);
    let summary = edited(&edits, &path[at], Arc::new(summary_of(compaction)));
    summary.into_iter().chain(path[first..at].iter().chain(&path[at + 1..]).filter_map(shown)).collect()
}

/// What an entry says that the model is not shown any more, as the last edit of it has it: of earlier compactions their summaries.
/// Nothing if it says nothing, or was taken away.
pub fn said(kept: &Arc<Kept>, edit: Option<&Kept>) -> Option<Spoken> {
    let message = spoken_in(kept)?;
    let message = match edit {
        Some(Kept::Other(Entry::ContextEdit(edit))) => edit::apply(&message, edit.replacement.as_ref())?,
        Some(Kept::Other(_) | Kept::Message { .. }) | None => message,
    };
    Some((kept.id().clone(), message))
}

/// Where on a path begins what a compaction, which stands at `at`, kept as it was said.
fn first_kept(path: &[Arc<Kept>], at: usize, compaction: &Compaction) -> usize {
    path[..at].iter().position(|kept| *kept.id() == compaction.first_kept_entry_id).unwrap_or(at)
}

/// A message as the last word on its entry has it; nothing if that took it away.
fn edited(edits: &HashMap<&EntryId, &ContextEdit>, kept: &Kept, message: Arc<Message>) -> Option<Spoken> {
    let message = match edits.get(kept.id()) {
        Some(edit) => edit::apply(&message, edit.replacement.as_ref())?,
        None => message,
    };
    Some((kept.id().clone(), message))
}

/// The last word on every entry that was edited. Nobody edits what is yet to come.
fn edits(path: &[Arc<Kept>]) -> HashMap<&EntryId, &ContextEdit> {
    let edits = path.iter().enumerate().filter_map(|(index, kept)| match &**kept {
        Kept::Other(Entry::ContextEdit(edit)) => Some((index, edit)),
        Kept::Other(_) | Kept::Message { .. } => None,
    });
    let is_before = |index: usize, target: &EntryId| path[..index].iter().any(|kept| kept.id() == target);
    edits.filter(|(index, edit)| is_before(*index, &edit.target_id)).map(|(_, edit)| (&edit.target_id, edit)).collect()
}

/// The last compaction of a path, and where it stands.
pub(crate) fn last_compaction(path: &[Arc<Kept>]) -> Option<(usize, &Compaction)> {
    path.iter().enumerate().rev().find_map(|(index, kept)| match &**kept {
        Kept::Other(Entry::Compaction(compaction)) => Some((index, &**compaction)),
        Kept::Other(_) | Kept::Message { .. } => None,
    })
}

/// What the last compaction of a path says to the model.
fn summary_of(compaction: &Compaction) -> Message {
    Message::CompactionSummary(CompactionSummaryMessage {
        summary: compaction.summary.clone(),
        tokens_before: compaction.tokens_before,
        timestamp: millis(&compaction.base.timestamp),
        extra: Extra::new(),
    })
}

/// What an entry says, a compaction included.
pub(crate) fn spoken_in(kept: &Arc<Kept>) -> Option<Arc<Message>> {
    match &**kept {
        Kept::Other(Entry::Compaction(compaction)) => Some(Arc::new(summary_of(compaction))),
        Kept::Other(_) | Kept::Message { .. } => message_of(kept),
    }
}

/// What an entry says to the model, if it says anything by itself: of compactions only the last one of a path does.
fn message_of(kept: &Arc<Kept>) -> Option<Arc<Message>> {
    let entry = match &**kept {
        Kept::Message { message, .. } => return Some(Arc::clone(message)),
        Kept::Other(entry) => entry,
    };
    let timestamp = millis(&kept.base().timestamp);
    let message = match entry {
        Entry::BranchSummary(branch) if branch.summary.is_empty() => return None,
        Entry::BranchSummary(branch) => {
            let BranchSummary { summary, from_id, .. } = &**branch;
            let (summary, from_id) = (summary.clone(), from_id.clone());
            Message::BranchSummary(BranchSummaryMessage { summary, from_id, timestamp, extra: Extra::new() })
        }
        Entry::CustomMessage(CustomMessageEntry { custom_type, content, display, details, extra, .. }) => {
            Message::Custom(CustomMessage {
                custom_type: custom_type.clone(),
                content: content.clone(),
                display: *display,
                details: details.clone(),
                timestamp,
                extra: draft::author(extra).into_iter().collect(),
            })
        }
        Entry::Message(entry) => entry.message.clone(),
        Entry::ModelChange(_)
        | Entry::ThinkingLevelChange(_)
        | Entry::Compaction(_)
        | Entry::Custom(_)
        | Entry::Label(_)
        | Entry::SessionInfo(_)
        | Entry::Usage(_)
        | Entry::ContextEdit(_)
        | Entry::Other(_) => return None,
    };
    Some(Arc::new(message))
}

/// The milliseconds of an entry's time; a time that cannot be read is the beginning of 1970.
pub(crate) fn millis(timestamp: &str) -> u64 {
    timestamp.parse().map_or(0, Moment::unix_millis)
}
