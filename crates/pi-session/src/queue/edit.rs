//! What waits, as clients see it, and how they change it.

use std::{collections::VecDeque, fmt};

use pi_envelope::Span;
use pi_transcript::{Block, Content, Message};

use super::{Queued, Queues, Saying, When};

/// The name of a message that waits. No other message of the session ever has it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ItemId(pub(super) String);

/// A message that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub id: ItemId,
    pub when: When,
    /// As the model will be given it: whoever changes it must see all of it.
    pub text: String,
    pub images: usize,
}

/// Everything that waits: what steers first, then what follows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// Moves with every change.
    pub revision: u64,
    pub items: Vec<Item>,
}

/// A message that waits, as it shall be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub id: ItemId,
    /// Its new text; without it the old one stays.
    pub text: Option<String>,
    /// When it shall be said; without it as before.
    pub when: Option<When>,
}

/// Why what waits was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error("what waits has changed since: it is at revision {actual}, not {expected}")]
    Changed { expected: u64, actual: u64 },
    #[error("no message {id} waits")]
    NoItem { id: ItemId },
    #[error("message {id} is named twice")]
    Twice { id: ItemId },
    /// It is as wanted, until the process ends.
    #[error("what waits is changed, but could not be written down: {reason}")]
    Unwritten { reason: String },
}

impl Queues {
    pub(crate) fn line(&self) -> Line {
        let of =
            |when: When, queue: &VecDeque<Queued>| -> Vec<Item> { queue.iter().map(|it| it.shown(when)).collect() };
        let steering = of(When::Steer, &self.steering.waiting);
        let items = [steering, of(When::FollowUp, &self.follow_up.waiting)].concat();
        Line { revision: self.revision, items }
    }

    /// Keeps what `edits` name, in their order, and hands back everything else. Nothing changes where something is wrong.
    pub(crate) fn edit(&mut self, revision: u64, edits: &[Edit]) -> Result<Vec<Saying>, EditError> {
        if revision != self.revision {
            return Err(EditError::Changed { expected: revision, actual: self.revision });
        }
        for (index, edit) in edits.iter().enumerate() {
            if edits[..index].iter().any(|before| before.id == edit.id) {
                return Err(EditError::Twice { id: edit.id.clone() });
            }
            let mut all = self.steering.waiting.iter().chain(&self.follow_up.waiting);
            if !all.any(|queued| queued.id == edit.id) {
                return Err(EditError::NoItem { id: edit.id.clone() });
            }
        }
        let before = [When::Steer, When::FollowUp].map(|when| (when, std::mem::take(&mut self.queue(when).waiting)));
        let mut left: Vec<(When, Queued)> =
            before.into_iter().flat_map(|(when, queue)| queue.into_iter().map(move |queued| (when, queued))).collect();
        for edit in edits {
            let place = left.iter().position(|(_, queued)| queued.id == edit.id);
            let (when, mut queued) = left.remove(place.expect("it was looked for above"));
            if let Some(text) = edit.text.as_deref().filter(|text| *text != queued.saying.text()) {
                queued.saying.reword(text);
            }
            self.queue(edit.when.unwrap_or(when)).waiting.push_back(queued);
        }
        self.revision += 1;
        self.edition += 1;
        Ok(left.into_iter().map(|(_, queued)| queued.saying).collect())
    }
}

impl Queued {
    fn shown(&self, when: When) -> Item {
        Item { id: self.id.clone(), when, text: self.saying.text(), images: self.saying.images() }
    }
}

impl Saying {
    fn images(&self) -> usize {
        let blocks = match self.content() {
            Some(Content::Blocks(blocks)) => blocks.as_slice(),
            Some(Content::Text(_)) | None => &[],
        };
        blocks.iter().filter(|block| matches!(block, Block::Image(_))).count()
    }

    /// Says it in other words; images stay, and so does where they came from. No new word came from elsewhere.
    fn reword(&mut self, text: &str) {
        let content = match &mut self.message {
            Message::User(user) => &mut user.content,
            Message::Custom(custom) => &mut custom.content,
            Message::Assistant(_)
            | Message::ToolResult(_)
            | Message::BashExecution(_)
            | Message::BranchSummary(_)
            | Message::CompactionSummary(_)
            | Message::System(_)
            | Message::Other(_) => return,
        };
        self.typed = None;
        *content = match std::mem::replace(content, Content::Text(String::new())) {
            Content::Text(_) => {
                self.spans.clear();
                Content::Text(text.to_owned())
            }
            Content::Blocks(blocks) => {
                let (kept, others): (Vec<usize>, Vec<Block>) =
                    blocks.into_iter().enumerate().filter(|(_, block)| block.as_text().is_none()).unzip();
                let place = |span: &Span| kept.iter().position(|index| *index == span.block).map(|place| place + 1);
                self.spans =
                    self.spans.drain(..).filter_map(|span| Some(Span { block: place(&span)?, ..span })).collect();
                Content::Blocks(std::iter::once(Block::text(text)).chain(others).collect())
            }
        };
    }

    fn content(&self) -> Option<&Content> {
        match &self.message {
            Message::User(user) => Some(&user.content),
            Message::Custom(custom) => Some(&custom.content),
            Message::Assistant(_)
            | Message::ToolResult(_)
            | Message::BashExecution(_)
            | Message::BranchSummary(_)
            | Message::CompactionSummary(_)
            | Message::System(_)
            | Message::Other(_) => None,
        }
    }
}

impl ItemId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for ItemId {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Delivery;

    /// `a` and `b` steer, `c` follows and has an image.
    fn queues() -> Queues {
        let mut queues = Queues::new(Delivery::OneAtATime, Delivery::OneAtATime);
        queues.push(When::Steer, Saying::new(Message::user("a", 0)));
        queues.push(When::Steer, Saying::new(Message::user("b", 0)));
        let blocks = vec![Block::text("c"), Block::image("", "image/png")];
        queues.push(When::FollowUp, Saying::new(Message::user(blocks, 0)));
        queues
    }

    /// What waits in one line: the revision, then each message with its name, its queue and its images.
    fn told(queues: &Queues) -> String {
        let item = |item: &Item| {
            let queue = if item.when == When::Steer { "s" } else { "f" };
            format!(" {}={}/{queue}{}", item.id, item.text, "*".repeat(item.images))
        };
        let line = queues.line();
        format!("{}:{}", line.revision, line.items.iter().map(item).collect::<String>())
    }

    fn edit(id: &str, text: Option<&str>, when: Option<When>) -> Edit {
        Edit { id: id.into(), text: text.map(str::to_owned), when }
    }

    #[test]
    fn named_messages_stay_in_their_new_order_and_the_others_go() {
        let mut queues = queues();
        assert_eq!(told(&queues), "3: q1=a/s q2=b/s q3=c/f*");
        let edits = [edit("q3", Some("C"), Some(When::Steer)), edit("q1", None, None)];
        let dropped = queues.edit(3, &edits).expect("it fits");
        assert_eq!(told(&queues), "4: q3=C/s* q1=a/s");
        assert_eq!(dropped, [Saying::new(Message::user("b", 0))]);
        queues.push(When::FollowUp, Saying::new(Message::user("d", 0)));
        assert_eq!(told(&queues), "5: q3=C/s* q1=a/s q4=d/f");
    }

    #[test]
    fn edit_that_does_not_fit_changes_nothing() {
        let mut queues = queues();
        for (revision, edits, expected) in [
            (2, vec![], EditError::Changed { expected: 2, actual: 3 }),
            (3, vec![edit("q1", None, None), edit("q9", None, None)], EditError::NoItem { id: "q9".into() }),
            (3, vec![edit("q1", None, None), edit("q1", None, None)], EditError::Twice { id: "q1".into() }),
        ] {
            assert_eq!(queues.edit(revision, &edits), Err(expected));
            assert_eq!(told(&queues), "3: q1=a/s q2=b/s q3=c/f*");
        }
    }

    #[test]
    fn revision_moves_with_every_change_and_with_nothing_else() {
        let mut queues = queues();
        queues.take(When::Steer);
        assert_eq!(told(&queues), "4: q2=b/s q3=c/f*");
        // What was handed over is no news to whoever looks at what waits.
        queues.settle();
        assert_eq!(told(&queues), "4: q2=b/s q3=c/f*");
        queues.clear();
        assert_eq!(told(&queues), "5:");
        queues.take(When::Steer);
        queues.clear();
        assert_eq!(told(&queues), "5:");
    }
}
