//! How large a context is, without a tokenizer.

use std::sync::Arc;

use pi_envelope::tokens::IMAGE_TOKENS;
use pi_transcript::{Block, Message, StopReason};

use crate::{
    context::{self, Spoken},
    tree::Kept,
};

/// The tokens of a path's context: as the provider counted at the last good answer, and an estimate of what follows it.
///
/// An answer from before the last compaction counted what is no longer there, so it is not asked.
pub fn context_tokens(path: &[Arc<Kept>]) -> u64 {
    let messages = context::build(path).messages;
    let fresh = context::last_compaction(path).map_or(0, |(at, _)| at + 1);
    let counted = path[fresh..].iter().rev().find_map(|kept| Some((kept.id(), counted(kept)?)));
    let (start, sum) = match counted {
        Some((id, total)) => (messages.iter().rposition(|(other, _)| other == id).map_or(0, |index| index + 1), total),
        None => (0, 0),
    };
    messages[start..].iter().fold(sum, |sum, (_, message): &Spoken| sum.saturating_add(message_tokens(message)))
}

/// Whether a provider has counted the context since it was last compacted; before the first compaction an estimate will do.
pub fn is_counted(path: &[Arc<Kept>]) -> bool {
    let compaction = context::last_compaction(path);
    compaction.is_none_or(|(at, _)| path[at + 1..].iter().any(|kept| counted(kept).is_some()))
}

/// A fourth of the characters; an image is 1200 tokens.
pub fn message_tokens(message: &Message) -> u64 {
    let (characters, images) = match message {
        Message::User(user) => of_blocks(&user.content.blocks()),
        Message::Assistant(said) => of_blocks(&said.content),
        Message::ToolResult(result) => of_blocks(&result.content),
        Message::BashExecution(bash) => (length(&bash.command) + length(&bash.output), 0),
        Message::Custom(custom) => of_blocks(&custom.content.blocks()),
        Message::BranchSummary(branch) => (length(&branch.summary), 0),
        Message::CompactionSummary(compaction) => (length(&compaction.summary), 0),
        Message::System(system) => of_blocks(&system.content.blocks()),
        // No provider is sent it.
        Message::Other(_) => (0, 0),
    };
    characters.div_ceil(4) + images * IMAGE_TOKENS
}

/// What the provider counted up to a good answer.
fn counted(kept: &Kept) -> Option<u64> {
    let Kept::Message { message, .. } = kept else { return None };
    let Message::Assistant(said) = &**message else { return None };
    match said.stop_reason.known() {
        Some(StopReason::Error | StopReason::Aborted | StopReason::Pending) => None,
        Some(StopReason::Stop | StopReason::Length | StopReason::ToolUse | StopReason::Deferred) | None => {
            said.usage.known().map(|usage| usage.total()).filter(|total| *total > 0)
        }
    }
}

/// Characters and images.
fn of_blocks(blocks: &[Block]) -> (u64, u64) {
    blocks.iter().fold((0, 0), |(characters, images), block| match block {
        Block::Text(block) => (characters + length(&block.text), images),
        Block::Thinking(block) => (characters + length(&block.thinking), images),
        Block::ToolCall(call) => {
            let arguments = serde_json::to_string(&call.arguments).map_or(0, |text| length(&text));
            (characters + length(&call.name) + arguments, images)
        }
        Block::Image(_) => (characters, images + 1),
        Block::Other(_) => (characters, images),
    })
}

fn length(text: &str) -> u64 {
    text.chars().count() as u64
}
