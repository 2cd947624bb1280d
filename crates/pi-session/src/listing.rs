//! What a session shows of itself to clients: lists that they read without knowing how it keeps things.

pub(crate) mod paging;

use std::{path::PathBuf, sync::Arc};

use pi_envelope::Tokens;
use pi_exthost::port::ToolInfo;
use pi_transcript::{
    Block, Entry, EntryId, Header, Message, SessionId, SessionStats, Spent, Usage, info::TokenTotals, json::Amount,
    message::AssistantMessage,
};

use crate::{
    context::Spoken,
    directory, export,
    resources::SourceId,
    session::{SessionGone, Switch},
    tree::NoEntry,
};

/// How many letters of a message tell which one it is.
const BEGINNING: usize = 200;

/// Something that fills the context beside the conversation and can be switched off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextSource {
    pub id: SourceId,
    pub kind: ContextKind,
    pub name: String,
    /// Where it was read from, if it is a file or came from one.
    pub path: Option<PathBuf>,
    pub switch: Switch,
    /// What it takes in every turn while it is on.
    pub tokens: Tokens,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextKind {
    Skill,
    /// A context file.
    Memory,
    /// All tools that come from one place.
    Tools,
}

/// A tool that a model can be offered.
#[derive(Debug, Clone)]
pub struct ListedTool {
    pub info: ToolInfo,
    /// The source that it is switched with.
    pub source: SourceId,
    /// What it takes in every turn while it is offered: its definition, and what the system prompt says because of it.
    pub tokens: Tokens,
}

/// Why a source was not switched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    #[error("there is no context source {id}")]
    Unknown { id: SourceId },
    #[error(transparent)]
    Gone(#[from] SessionGone),
}

/// Which messages are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Side {
    /// The last ones.
    End,
    /// The nearest ones before this entry.
    Before(EntryId),
    /// The nearest ones after this entry.
    After(EntryId),
}

/// Some of the messages, the oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    pub messages: Vec<Spoken>,
    /// Whether there are more on the side that was asked for.
    pub has_more: bool,
}

/// What a session holds, on every branch, and what it began with.
#[derive(Debug, Clone, PartialEq)]
pub struct Overview {
    pub stats: SessionStats,
    /// The beginning of what the person said first, in one line.
    pub opening: Option<Arc<str>>,
}

/// Why something could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadingError {
    #[error(transparent)]
    NoEntry(#[from] NoEntry),
    #[error("the session cannot be read")]
    File(#[from] crate::file::ReadError),
    #[error(transparent)]
    Gone(#[from] SessionGone),
}

/// Why the whole output of a command is not there.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    #[error("no command of this session has its output in {name}")]
    Unknown { name: String },
    #[error(transparent)]
    File(#[from] pi_tools::OutputFault),
    #[error(transparent)]
    Session(#[from] ReadingError),
}

/// A session with everything in it.
#[derive(Debug, Clone)]
pub struct Whole {
    pub header: Header,
    pub name: Option<String>,
    pub leaf: Option<EntryId>,
    /// On every branch, in the order of the file.
    pub entries: Vec<Entry>,
}

/// The tree of entries, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    pub leaf: Option<EntryId>,
    pub nodes: Vec<Node>,
    /// Older entries that were left out.
    pub left_out: usize,
}

/// An entry of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub entry: EntryId,
    pub parent: Option<EntryId>,
    /// As in the file: `message`.
    pub kind: String,
    /// The role of a message.
    pub role: Option<String>,
    /// How it begins.
    pub text: String,
    /// ISO 8601.
    pub timestamp: String,
    pub label: Option<String>,
}

/// The part of a conversation that is wanted.
pub(crate) fn page(all: Vec<Spoken>, side: &Side, most: usize) -> Result<Page, NoEntry> {
    let place = |id: &EntryId| {
        let found = all.iter().position(|(other, _)| other == id);
        found.ok_or_else(|| NoEntry { id: id.clone() })
    };
    let (range, has_more) = match side {
        Side::After(id) => {
            let start = place(id)? + 1;
            let end = start.saturating_add(most).min(all.len());
            (start..end, end < all.len())
        }
        Side::End | Side::Before(_) => {
            let end = if let Side::Before(id) = side { place(id)? } else { all.len() };
            let start = end.saturating_sub(most);
            (start..end, start > 0)
        }
    };
    let messages = all.into_iter().skip(range.start).take(range.len()).collect();
    Ok(Page { messages, has_more })
}

/// What an entry shows of itself in a tree.
pub(crate) fn node(entry: &Entry, label: Option<String>) -> Node {
    let (role, text) = match entry {
        Entry::Message(entry) => (Some(entry.message.role().to_owned()), words(&entry.message)),
        Entry::CustomMessage(entry) => (None, entry.content.text()),
        Entry::Compaction(entry) => (None, entry.summary.clone()),
        Entry::BranchSummary(entry) => (None, entry.summary.clone()),
        Entry::ModelChange(entry) => (None, format!("{}/{}", entry.provider, entry.model_id)),
        Entry::ThinkingLevelChange(_)
        | Entry::Custom(_)
        | Entry::Label(_)
        | Entry::SessionInfo(_)
        | Entry::Usage(_)
        | Entry::ContextEdit(_)
        | Entry::Other(_) => (None, String::new()),
    };
    Node {
        entry: entry.id().clone(),
        parent: entry.parent_id().cloned(),
        kind: entry.kind().to_owned(),
        role,
        text: text.chars().take(BEGINNING).collect(),
        timestamp: entry.base().timestamp.clone(),
        label,
    }
}

fn words(message: &Message) -> String {
    let said = |blocks: &[Block]| -> String {
        blocks.iter().filter_map(|block| block.as_text()).collect::<Vec<_>>().join(" ")
    };
    match message {
        Message::User(user) => user.content.text(),
        Message::Assistant(answer) => {
            Some(said(&answer.content)).filter(|text| !text.trim().is_empty()).unwrap_or_else(|| unspoken(answer))
        }
        Message::ToolResult(result) => said(&result.content),
        Message::BashExecution(bash) => bash.command.clone(),
        Message::Custom(custom) => custom.content.text(),
        Message::BranchSummary(branch) => branch.summary.clone(),
        Message::CompactionSummary(compaction) => compaction.summary.clone(),
        Message::System(system) => system.content.text(),
        Message::Other(_) => String::new(),
    }
}

/// What stands for an answer without words: the tools that it calls, or why it failed.
fn unspoken(answer: &AssistantMessage) -> String {
    let call = |block: &Block| if let Block::ToolCall(call) = block { Some(call.name.clone()) } else { None };
    let calls: Vec<String> = answer.content.iter().filter_map(call).collect();
    if calls.is_empty() { answer.error_message.clone().unwrap_or_default() } else { format!("[{}]", calls.join(", ")) }
}

/// What was counted of a session so far. Entries never change, so nothing has to be counted twice.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counted {
    /// So many entries, from the first one on.
    pub(crate) entries: usize,
    pub(crate) tally: Tally,
}

/// Counts what a session holds, on every branch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    user: u64,
    assistant: u64,
    calls: u64,
    results: u64,
    total: u64,
    usage: Usage,
    /// What the person said first.
    opening: Option<Arc<str>>,
}

impl Tally {
    pub(crate) fn add(&mut self, entry: &Entry) {
        if let Some(used) = export::consumed(entry) {
            self.usage.add(used);
        }
        let Entry::Message(entry) = entry else { return };
        self.total += 1;
        match &entry.message {
            Message::User(said) => {
                self.user += 1;
                self.opening = self.opening.take().or_else(|| directory::opening(&said.content.text()));
            }
            Message::Assistant(said) => {
                self.assistant += 1;
                self.calls += said.content.iter().filter(|it| matches!(it, Block::ToolCall(_))).count() as u64;
            }
            Message::ToolResult(_) => self.results += 1,
            Message::BashExecution(_)
            | Message::Custom(_)
            | Message::BranchSummary(_)
            | Message::CompactionSummary(_)
            | Message::System(_)
            | Message::Other(_) => {}
        }
    }

    pub(crate) fn finish(self, session_id: SessionId, session_file: Option<String>) -> Overview {
        let Usage { input, output, cache_read, cache_write, ref cost, .. } = self.usage;
        let (cost, cost_at_least, most) = match cost.spent() {
            Spent::Exact(sum) => (sum, None, None),
            Spent::Between(least, most) => (least, Some(true), Some(most)),
            Spent::AtLeast(least) => (least, Some(true), None),
        };
        let amount = |sum: f64| Amount::try_from(sum).expect("it was read from an amount, which is finite");
        let stats = SessionStats {
            session_file,
            session_id,
            user_messages: self.user,
            assistant_messages: self.assistant,
            tool_calls: self.calls,
            tool_results: self.results,
            total_messages: self.total,
            tokens: TokenTotals { input, output, cache_read, cache_write, total: self.usage.total() },
            cost: amount(cost),
            cost_at_least,
            cost_at_most: most.map(amount),
        };
        Overview { stats, opening: self.opening }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The letters of a page of `abcde`, with `+` if there are more.
    #[track_caller]
    fn check(side: &Side, most: usize, expected: &str) {
        let spoken = |letter: char| (EntryId::from(letter.to_string()), Arc::new(Message::user("", 0)));
        let told = match page("abcde".chars().map(spoken).collect(), side, most) {
            Ok(Page { messages, has_more }) => {
                let letters: String = messages.iter().map(|(id, _)| id.as_str()).collect();
                format!("{letters}{}", if has_more { "+" } else { "" })
            }
            Err(NoEntry { id }) => format!("no {id}"),
        };
        assert_eq!(told, expected, "{side:?}");
    }

    #[test]
    fn page_is_what_is_nearest() {
        check(&Side::End, 2, "de+");
        check(&Side::End, 9, "abcde");
        check(&Side::Before("d".into()), 2, "bc+");
        check(&Side::Before("c".into()), 2, "ab");
        check(&Side::Before("a".into()), 2, "");
        check(&Side::After("b".into()), 2, "cd+");
        check(&Side::After("c".into()), 2, "de");
        check(&Side::After("e".into()), 2, "");
        check(&Side::After("x".into()), 2, "no x");
    }

    /// The members of the counts of a session that are about money, where its calls cost this together.
    #[track_caller]
    fn check_cost(cost: &serde_json::Value, expected: &serde_json::Value) {
        let mut written = serde_json::json!({ "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0 });
        for (name, amount) in cost.as_object().expect("an object") {
            written[name] = amount.clone();
        }
        let cost = serde_json::from_value(written).expect("a cost");
        let tally = Tally { usage: Usage { cost, ..Usage::default() }, ..Tally::default() };
        let stats = serde_json::to_value(tally.finish(SessionId::from("s"), None).stats).expect("JSON");
        let money = stats.as_object().expect("an object").iter().filter(|(name, _)| name.starts_with("cost"));
        let money: serde_json::Map<_, _> = money.map(|(name, value)| (name.clone(), value.clone())).collect();
        assert_eq!(&serde_json::Value::Object(money), expected);
    }

    #[test]
    fn counts_say_what_is_not_known_of_the_cost() {
        use serde_json::json;
        check_cost(&json!({ "total": 0.5 }), &json!({ "cost": 0.5 }));
        check_cost(&json!({ "total": 0.5, "totalFromProvider": 0.75 }), &json!({ "cost": 0.75 }));
        check_cost(&json!({ "total": 0.5, "atLeast": true }), &json!({ "cost": 0.5, "costAtLeast": true }));
        check_cost(
            &json!({ "total": 0.5, "atLeast": true, "totalAtMost": 2.5 }),
            &json!({ "cost": 0.5, "costAtLeast": true, "costAtMost": 2.5 }),
        );
    }
}
