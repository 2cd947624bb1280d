//! What a compaction decides, and what it asks the model.
//!
//! Pure: [`prepare`] says where to cut and what must be summarised, [`Cut::history`] and [`Cut::beginning`] what to ask for,
//! and [`Cut::summary`] what becomes of the answers. Asking, and writing the entry down, is the session's work.
//! [`branch`] does the same for a branch that is left.

pub mod branch;
mod files;
mod size;
mod wording;

use std::{collections::HashMap, sync::Arc};

use pi_transcript::{EntryId, Message};

pub use self::{
    files::Files,
    size::{context_tokens, is_counted, message_tokens},
    wording::{Asked, conversation},
};
use crate::{
    context::{self, Spoken, calls, is_failed},
    tree::Kept,
};

/// Pi's settings of the same names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    pub enabled: bool,
    /// Tokens of the context window that stay free for an answer.
    pub reserve_tokens: u64,
    /// Tokens of the newest messages that stay as they are.
    pub keep_recent_tokens: u64,
}

/// What stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keep {
    From(EntryId),
    /// The newest messages alone are too large. The entry's `firstKeptEntryId` is its own id.
    Nothing,
}

/// A decision to compact.
#[derive(Debug, Clone, PartialEq)]
pub struct Cut {
    pub keep: Keep,
    /// What is summarised: whole turns.
    pub history: Vec<Spoken>,
    /// The beginning of a turn whose end is kept; empty if the cut lies between two turns.
    pub beginning: Vec<Spoken>,
    pub previous_summary: Option<String>,
    pub tokens_before: u64,
    pub files: Files,
    /// The context window of the model that is asked for the summary.
    pub window: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { enabled: true, reserve_tokens: 16_384, keep_recent_tokens: 20_000 }
    }
}

impl Settings {
    /// Whether a context of so many tokens leaves too little of the window free.
    pub fn is_due(&self, tokens: u64, window: u64) -> bool {
        self.enabled && tokens > window.saturating_sub(self.reserve_tokens)
    }
}

/// Decides where to cut a path; `None` if there is nothing to summarise. `window` is the model's context window.
///
/// The newest messages are kept until they have `keep_recent_tokens`, or as many of them as fit. A cut never separates a call
/// from its result. Where everything that a cut can keep would still not fit, nothing is kept, so that a compaction always helps.
pub fn prepare(path: &[Arc<Kept>], settings: &Settings, window: u64) -> Option<Cut> {
    let compaction = context::last_compaction(path);
    let mut messages = context::passed(context::build(path).messages);
    if let Some((at, _)) = compaction {
        // Its summary is told apart from the rest.
        messages.retain(|(id, _)| id != path[at].id());
        if at + 1 == path.len() {
            return None;
        }
    }
    let at = cut_at(&messages, settings, window);
    let keep = messages.get(at).map_or(Keep::Nothing, |(id, _)| Keep::From(id.clone()));
    let starts_turn = messages.get(at).is_none_or(|(_, message)| is_turn_start(message));
    let turn = if starts_turn {
        at
    } else {
        messages[..at].iter().rposition(|(_, message)| is_turn_start(message)).unwrap_or(at)
    };
    let beginning = messages[turn..at].to_vec();
    messages.truncate(turn);
    if messages.is_empty() && beginning.is_empty() {
        return None;
    }
    let mut files = compaction.map(|(_, compaction)| Files::of_compaction(compaction)).unwrap_or_default();
    messages.iter().chain(&beginning).for_each(|(_, message)| files.add(message));
    Some(Cut {
        keep,
        history: messages,
        beginning,
        previous_summary: compaction.map(|(_, compaction)| compaction.summary.clone()),
        tokens_before: context_tokens(path),
        files,
        window,
    })
}

/// Decides where to cut a path that the model refused as too long, however short it looks from here: less and less is kept
/// until something is left to summarise. What was said last is kept, because it is what the model must answer; `None` if
/// there is nothing before it.
pub fn prepare_to_retry(path: &[Arc<Kept>], settings: &Settings, window: u64) -> Option<Cut> {
    let messages = context::build(path).messages;
    let estimated: u64 = messages.iter().map(|(_, message)| message_tokens(message)).sum();
    let last = messages.iter().rev().map(|(_, message)| &**message).find(|message| !is_failed(message));
    // What must be answered is kept even where it alone seems too large: that is an estimate.
    let largest_kept = if last.is_some_and(is_turn_start) { u64::MAX } else { window };
    let mut tried = Settings {
        keep_recent_tokens: settings.keep_recent_tokens.min(estimated / 2),
        reserve_tokens: settings.reserve_tokens.min(window / 2),
        ..*settings
    };
    loop {
        match prepare(path, &tried, largest_kept) {
            Some(cut) => return Some(Cut { window, ..cut }),
            None if tried.keep_recent_tokens == 0 => return None,
            None => tried.keep_recent_tokens /= 2,
        }
    }
}

/// The index of the first message that is kept; the number of messages if none is.
///
/// A small window has no room for what is asked to be kept and a summary: then as much is kept as leaves a quarter for that. Of a
/// very small one not more than half is taken to be free for the answer.
fn cut_at(messages: &[Spoken], settings: &Settings, window: u64) -> usize {
    let room = window - settings.reserve_tokens.min(window / 2);
    let comfortable = room - room / 4;
    let keep = settings.keep_recent_tokens.min(comfortable);
    let mut tokens = 0u64;
    let reached = messages.iter().rposition(|(_, message)| {
        tokens = tokens.saturating_add(message_tokens(message));
        tokens >= keep
    });
    let Some(reached) = reached else { return 0 };
    let allowed = allowed_cuts(messages);
    let after = (reached..messages.len()).filter(|index| allowed[*index]);
    let before = (0..reached).rev().filter(|index| allowed[*index]);
    let cuts: Vec<usize> = after.chain(before).collect();
    let kept = |at: usize| messages[at..].iter().map(|(_, message)| message_tokens(message)).sum::<u64>();
    let first_within = |most: u64| cuts.iter().copied().find(|at| kept(*at) <= most);
    first_within(comfortable).or_else(|| first_within(room)).unwrap_or(messages.len())
}

/// Before which messages a cut may lie: before none that is a result, or that stands between a call and its result.
fn allowed_cuts(messages: &[Spoken]) -> Vec<bool> {
    let mut allowed: Vec<bool> = messages.iter().map(|(_, message)| is_cut_point(message)).collect();
    let mut called = HashMap::new();
    for (index, (_, message)) in messages.iter().enumerate() {
        match &**message {
            Message::Assistant(said) => called.extend(calls(said).map(|call| (&call.id, index))),
            Message::ToolResult(result) => {
                if let Some(call) = called.get(&result.tool_call_id) {
                    allowed[call + 1..=index].fill(false);
                }
            }
            Message::User(_)
            | Message::BashExecution(_)
            | Message::Custom(_)
            | Message::BranchSummary(_)
            | Message::CompactionSummary(_)
            | Message::System(_)
            | Message::Other(_) => {}
        }
    }
    allowed
}

fn is_cut_point(message: &Message) -> bool {
    match message {
        Message::User(_)
        | Message::Assistant(_)
        | Message::BashExecution(_)
        | Message::Custom(_)
        | Message::BranchSummary(_)
        | Message::CompactionSummary(_) => true,
        Message::ToolResult(_) | Message::System(_) | Message::Other(_) => false,
    }
}

/// Whether somebody other than the model begins something with it.
fn is_turn_start(message: &Message) -> bool {
    match message {
        Message::User(_) | Message::BashExecution(_) | Message::Custom(_) | Message::BranchSummary(_) => true,
        Message::Assistant(_)
        | Message::ToolResult(_)
        | Message::CompactionSummary(_)
        | Message::System(_)
        | Message::Other(_) => false,
    }
}
