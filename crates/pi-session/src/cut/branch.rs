//! A summary of a branch that is left, for the one that is gone to.

use std::sync::Arc;

use pi_transcript::Entry;

use super::{
    Files, Settings, conversation, message_tokens,
    wording::{Asked, tagged, with_instructions},
};
use crate::{
    context::{self, Spoken},
    tree::{Kept, Place, Tree},
};

const BRANCH: &str = include_str!("prompts/branch.txt");
const LEAD: &str = include_str!("prompts/branch_lead.txt");

/// A branch that can be summarised.
#[derive(Debug, Clone, PartialEq)]
pub struct Branch {
    /// The newest messages of the branch that fit into one question.
    pub messages: Vec<Spoken>,
    pub files: Files,
}

/// What somebody said on the person's side of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wishes<'a> {
    None,
    /// Beside our own words.
    Also(&'a str),
    /// Instead of our own words.
    Instead(&'a str),
}

/// The entries that are left when the conversation goes from its leaf to `target`, the oldest first: from the last entry
/// that both share to the leaf. Whoever wants a summary reads those that are not held.
pub fn left_behind(tree: &Tree, target: Option<Place>) -> Vec<Place> {
    let shared = tree.common_ancestor(tree.leaf(), target);
    let mut path = tree.path(tree.leaf());
    let first = path.iter().position(|place| Some(*place) == shared).map_or(0, |index| index + 1);
    path.split_off(first)
}

/// Chooses what is summarised; `None` if nothing was said there. `window` is the model's context window.
pub fn prepare(entries: &[Arc<Kept>], settings: &Settings, window: u64) -> Option<Branch> {
    let room = window.saturating_sub(settings.reserve_tokens);
    let mut files = Files::default();
    let mut messages: Vec<Spoken> = Vec::new();
    let mut tokens = 0u64;
    let mut is_full = false;
    for kept in entries.iter().rev() {
        match &**kept {
            Kept::Other(Entry::Compaction(compaction)) => files.merge(Files::of_compaction(compaction)),
            Kept::Other(Entry::BranchSummary(branch)) => files.merge(Files::of_branch(branch)),
            Kept::Message { message, .. } => files.add(message),
            Kept::Other(_) => {}
        }
        let Some(message) = context::spoken_in(kept) else { continue };
        tokens = tokens.saturating_add(message_tokens(&message));
        is_full |= tokens > room && !messages.is_empty();
        if !is_full {
            messages.push((kept.id().clone(), message));
        }
    }
    messages.reverse();
    (!messages.is_empty()).then_some(Branch { messages, files })
}

impl Branch {
    /// Asks for the summary.
    pub fn ask(&self, settings: &Settings, wishes: Wishes<'_>) -> Asked {
        let task = match wishes {
            Wishes::None => with_instructions(BRANCH, None),
            Wishes::Also(instructions) => with_instructions(BRANCH, Some(instructions)),
            Wishes::Instead(instructions) => instructions.trim().to_owned(),
        };
        let text = tagged("conversation", &conversation(&self.messages)) + &task;
        Asked::new(text, settings.reserve_tokens / 2)
    }

    /// The summary for the entry, from the answer.
    pub fn summary(&self, answer: &str) -> String {
        format!("{}\n\n{}{}", LEAD.trim_end(), answer.trim(), self.files.text())
    }
}
