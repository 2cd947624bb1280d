//! Which call a result belongs to: some servers begin to count their ids anew in every turn, or give two calls of one turn the same.

use std::collections::{HashMap, HashSet};

use pi_transcript::{Block, Entry, Message, ToolCallId, message::ToolResultMessage};

/// Where a call stands: its entry, and its block in that.
type Place = (usize, usize);

/// The results of a branch.
#[derive(Debug, Default)]
pub(super) struct Results<'a> {
    by_call: HashMap<Place, &'a ToolResultMessage>,
    /// Entries that are results of no call on the branch.
    alone: HashSet<usize>,
}

impl<'a> Results<'a> {
    /// A result belongs to the nearest answer before it that has a call of its id, and there to the first such call that has none yet.
    pub(super) fn of(entries: &'a [Entry]) -> Self {
        let mut results = Self::default();
        let mut nearest: HashMap<&ToolCallId, Vec<Place>> = HashMap::new();
        for (at, entry) in entries.iter().enumerate() {
            let Entry::Message(entry) = entry else { continue };
            if let Message::Assistant(said) = &entry.message {
                for (block, content) in said.content.iter().enumerate() {
                    let Block::ToolCall(call) = content else { continue };
                    let calls = nearest.entry(&call.id).or_default();
                    calls.retain(|(answer, _)| *answer == at);
                    calls.push((at, block));
                }
            } else if let Message::ToolResult(result) = &entry.message {
                let calls = nearest.get(&result.tool_call_id).map(Vec::as_slice).unwrap_or_default();
                match calls.iter().find(|call| !results.by_call.contains_key(call)).or(calls.last()) {
                    Some(call) => {
                        results.by_call.insert(*call, result);
                    }
                    None => {
                        results.alone.insert(at);
                    }
                }
            }
        }
        results
    }

    /// What came of the call that stands there.
    pub(super) fn of_call(&self, entry: usize, block: usize) -> Option<&'a ToolResultMessage> {
        self.by_call.get(&(entry, block)).copied()
    }

    /// Whether the result that stands there has no call with which it is shown.
    pub(super) fn is_alone(&self, entry: usize) -> bool {
        self.alone.contains(&entry)
    }
}
