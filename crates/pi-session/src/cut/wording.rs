//! What the model is asked for a summary, and what becomes of its answer.

use pi_transcript::{Block, Message};

use super::{Cut, Settings};
use crate::context::Spoken;

/// Characters of a tool result that a summary is made from.
const RESULT_LIMIT: usize = 2000;

/// Characters of a token that can be relied on.
const LEAST_CHARACTERS: u64 = 3;

const SYSTEM: &str = include_str!("prompts/system.txt");
const HISTORY: &str = include_str!("prompts/history.txt");
const UPDATE: &str = include_str!("prompts/update.txt");
const SECTIONS: &str = include_str!("prompts/sections.txt");
const BEGINNING: &str = include_str!("prompts/beginning.txt");

/// A question to a model, which needs no tools and no history for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub system: &'static str,
    pub text: String,
    pub most_tokens: u64,
}

impl Asked {
    pub(super) fn new(text: String, most_tokens: u64) -> Self {
        Self { system: SYSTEM.trim_end(), text, most_tokens }
    }
}

impl Cut {
    /// Asks for a summary of the whole turns; `None` if there are none. `instructions` are the person's, for a compaction
    /// that they asked for.
    pub fn history(&self, settings: &Settings, instructions: Option<&str>) -> Option<Asked> {
        if self.history.is_empty() && self.previous_summary.is_none() {
            return None;
        }
        let most_tokens = settings.reserve_tokens * 4 / 5;
        let mut text = tagged("conversation", &self.fitting(conversation(&self.history), most_tokens));
        let task = match &self.previous_summary {
            Some(previous) => {
                text.push_str(&tagged("previous-summary", previous));
                UPDATE
            }
            None => HISTORY,
        };
        text.push_str(&with_instructions(task, instructions));
        // Four fifths of what is kept free: the rest is for the question after it.
        Some(Asked::new(text, most_tokens))
    }

    /// Asks for a summary of the beginning of a turn whose end is kept.
    pub fn beginning(&self, settings: &Settings) -> Option<Asked> {
        if self.beginning.is_empty() {
            return None;
        }
        let most_tokens = settings.reserve_tokens / 2;
        let said = self.fitting(conversation(&self.beginning), most_tokens);
        Some(Asked::new(tagged("conversation", &said) + BEGINNING.trim_end(), most_tokens))
    }

    /// A conversation without its beginning where it would not fit into the window beside an answer: a model that refuses
    /// the question gives no summary at all.
    fn fitting(&self, text: String, most_tokens: u64) -> String {
        let room = self.window.saturating_sub(most_tokens).max(self.window / 2).saturating_mul(LEAST_CHARACTERS);
        let characters = text.chars().count();
        let surplus = characters.saturating_sub(usize::try_from(room).unwrap_or(usize::MAX));
        match text.char_indices().nth(surplus) {
            Some((start, _)) if surplus > 0 && self.window > 0 => {
                format!("({surplus} characters from before are left out)\n{}", &text[start..])
            }
            Some(_) | None => text,
        }
    }

    /// The summary for the entry, from the answers to the two questions.
    pub fn summary(&self, history: Option<&str>, beginning: Option<&str>) -> String {
        let history = history.map(str::trim).unwrap_or("No earlier turns.");
        let split = beginning.map(|text| format!("\n\n---\n\n**Turn Context (split turn):**\n\n{}", text.trim()));
        format!("{history}{}{}", split.unwrap_or_default(), self.files.text())
    }
}

/// A conversation as plain text, so that no model takes it for its own and goes on with it.
pub fn conversation(messages: &[Spoken]) -> String {
    let parts: Vec<String> = messages.iter().filter_map(|(_, message)| told(message)).collect();
    parts.join("\n\n")
}

pub(super) fn with_instructions(task: &str, instructions: Option<&str>) -> String {
    let asked = task.trim_end().replace("{sections}", SECTIONS.trim_end());
    match instructions.map(str::trim).filter(|text| !text.is_empty()) {
        Some(instructions) => format!("{asked}\n\nThe user wants you to mind this above all: {instructions}"),
        None => asked,
    }
}

pub(super) fn tagged(tag: &str, text: &str) -> String {
    format!("<{tag}>\n{text}\n</{tag}>\n\n")
}

/// What a message says; `None` if that is nothing.
fn told(message: &Message) -> Option<String> {
    let (who, text) = match message {
        Message::User(user) => ("User", of_blocks(&user.content.blocks())),
        Message::Assistant(said) => return answer(&said.content),
        Message::ToolResult(result) => {
            let who = if result.is_error { "Tool error" } else { "Tool result" };
            (who, cut(&of_blocks(&result.content)))
        }
        Message::BashExecution(bash) if bash.exclude_from_context == Some(true) => return None,
        Message::BashExecution(bash) => {
            ("User ran a command", format!("{}\n{}", bash.command, cut(&bash.output)).trim_end().to_owned())
        }
        Message::Custom(custom) => ("User", of_blocks(&custom.content.blocks())),
        Message::BranchSummary(branch) => ("Summary of another branch", branch.summary.clone()),
        Message::CompactionSummary(compaction) => ("Summary of what came before", compaction.summary.clone()),
        Message::System(_) | Message::Other(_) => return None,
    };
    (!text.is_empty()).then(|| format!("[{who}]: {text}"))
}

fn answer(blocks: &[Block]) -> Option<String> {
    let parts = blocks.iter().filter_map(|block| match block {
        Block::Text(block) if !block.text.trim().is_empty() => Some(format!("[Assistant]: {}", block.text)),
        Block::Thinking(block) if !block.thinking.trim().is_empty() => {
            Some(format!("[Assistant thinking]: {}", block.thinking))
        }
        Block::ToolCall(call) => {
            let arguments = serde_json::to_string(&call.arguments).unwrap_or_default();
            Some(format!("[Assistant calls {}]: {arguments}", call.name))
        }
        Block::Text(_) | Block::Thinking(_) | Block::Image(_) | Block::Other(_) => None,
    });
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

fn of_blocks(blocks: &[Block]) -> String {
    let parts = blocks.iter().filter_map(|block| match block {
        Block::Text(block) => Some(block.text.as_str()),
        Block::Image(_) => Some("(an image)"),
        Block::Thinking(_) | Block::ToolCall(_) | Block::Other(_) => None,
    });
    parts.collect::<Vec<_>>().join("\n")
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(RESULT_LIMIT) {
        Some((end, _)) => format!("{}\n(and {} more characters)", &text[..end], text[end..].chars().count()),
        None => text.to_owned(),
    }
}
