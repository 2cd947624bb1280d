//! What people say while the model works: it waits here for its turn.
//!
//! *Steering* messages are handed over as soon as the calls of the current turn are done, *follow-ups* when the run would
//! end. Each queue hands out one message at a time, or all of them. Whoever sees what waits can change it, as long as
//! nothing else has changed meanwhile: every change moves the revision.

mod edit;
pub(crate) mod slate;

use std::{
    collections::{BTreeSet, VecDeque},
    fmt,
    str::FromStr,
};

use pi_envelope::{Origin, Provenance, Span, SpanSource};
use pi_exthost::GuestId;
use pi_transcript::{Block, Message};
use serde::{Deserialize, Serialize};

pub use self::{
    edit::{Edit, EditError, Item, ItemId, Line},
    slate::Waits,
};
use crate::attached;

/// A message that will be said, with the stretches of it that came from elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct Saying {
    pub message: Message,
    pub spans: Vec<Span>,
    /// What a person typed, before templates, skills and files were put in; nothing if nobody did.
    pub typed: Option<String>,
}

/// How many messages of a queue are handed over at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Delivery {
    #[default]
    OneAtATime,
    All,
}

/// A word that is no way of delivery.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{word:?} is neither one-at-a-time nor all")]
pub struct UnknownDelivery {
    pub word: String,
}

/// When a message is said that comes during a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum When {
    /// After the calls of the current turn.
    Steer,
    /// When the run would end.
    FollowUp,
}

/// Both queues of a session.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    steering: Queue,
    follow_up: Queue,
    revision: u64,
    /// Messages that ever waited.
    count: u64,
    /// What was handed over and may not stand in the conversation yet.
    taken: Vec<Waits>,
    /// Moves with every change of what is written down, in which that stands too.
    edition: u64,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Queued>,
    delivery: Delivery,
}

/// A message that waits, by a name that it keeps.
#[derive(Debug)]
struct Queued {
    id: ItemId,
    saying: Saying,
}

/// The texts that wait, as they were written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waiting {
    pub steering: Vec<String>,
    pub follow_up: Vec<String>,
}

impl Queues {
    pub(crate) fn new(steering: Delivery, follow_up: Delivery) -> Self {
        let queue = |delivery| Queue { waiting: VecDeque::new(), delivery };
        Self {
            steering: queue(steering),
            follow_up: queue(follow_up),
            revision: 0,
            count: 0,
            taken: Vec::new(),
            edition: 0,
        }
    }

    /// Counts from here on: whoever saw the queue of an earlier process must not take what waits now for that.
    pub(crate) fn count_from(&mut self, number: u64) {
        (self.revision, self.count) = (number, number);
    }

    pub(crate) fn push(&mut self, when: When, saying: Saying) {
        self.revision += 1;
        self.edition += 1;
        self.count += 1;
        let id = ItemId(format!("q{}", self.count));
        self.queue(when).waiting.push_back(Queued { id, saying });
    }

    /// The messages that are due.
    pub(crate) fn take(&mut self, when: When) -> Vec<Saying> {
        let due = self.queue(when).take();
        self.revision += u64::from(!due.is_empty());
        self.edition += u64::from(!due.is_empty());
        self.taken.extend(due.iter().map(|saying| Waits::new(when, saying)));
        due
    }

    /// What was handed over stands in the conversation.
    pub(crate) fn settle(&mut self) {
        self.edition += u64::from(!self.taken.is_empty());
        self.taken.clear();
    }

    pub(crate) fn set_delivery(&mut self, when: When, delivery: Delivery) {
        self.queue(when).delivery = delivery;
    }

    /// Empties both queues: what was steered first, then what was to follow.
    pub(crate) fn clear(&mut self) -> Vec<Saying> {
        self.revision += u64::from(!self.is_empty());
        self.edition += u64::from(!self.is_empty());
        let all = self.steering.waiting.drain(..).chain(self.follow_up.waiting.drain(..));
        all.map(|queued| queued.saying).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.steering.waiting.is_empty() && self.follow_up.waiting.is_empty()
    }

    pub(crate) fn waiting(&self) -> Waiting {
        Waiting { steering: self.steering.texts(), follow_up: self.follow_up.texts() }
    }

    pub(crate) fn edition(&self) -> u64 {
        self.edition
    }

    /// What waits as it is written down, with what may not have been said, and which edition that is.
    pub(crate) fn written(&self) -> (u64, Vec<Waits>) {
        let of = |when: When, queue: &Queue| -> Vec<Waits> {
            queue.waiting.iter().map(|queued| Waits::new(when, &queued.saying)).collect()
        };
        let waits = [of(When::Steer, &self.steering), of(When::FollowUp, &self.follow_up)].concat();
        (self.edition, [self.taken.clone(), waits].concat())
    }

    fn queue(&mut self, when: When) -> &mut Queue {
        match when {
            When::Steer => &mut self.steering,
            When::FollowUp => &mut self.follow_up,
        }
    }
}

impl Queue {
    fn take(&mut self) -> Vec<Saying> {
        match self.delivery {
            Delivery::OneAtATime => self.waiting.pop_front().map(|queued| queued.saying).into_iter().collect(),
            Delivery::All => self.waiting.drain(..).map(|queued| queued.saying).collect(),
        }
    }

    fn texts(&self) -> Vec<String> {
        self.waiting.iter().map(|queued| queued.saying.written()).collect()
    }
}

impl Saying {
    pub fn new(message: Message) -> Self {
        Self { message, spans: Vec::new(), typed: None }
    }

    /// What an extension says in the user's place: every word and every picture of it is the extension's.
    pub fn quoted(by: &GuestId, blocks: Vec<Block>, timestamp: u64) -> Self {
        let provenance = Provenance::usual(Origin::Extension { id: by.to_string() });
        let quote = |(block, length): (usize, usize)| Span {
            block,
            bytes: 0..length,
            provenance: provenance.clone(),
            source: SpanSource::Quote,
        };
        let markable = |(index, block): (usize, &'_ Block)| match block {
            Block::Text(text) => (!text.text.is_empty()).then_some((index, text.text.len())),
            Block::Image(_) => Some((index, 0)),
            Block::Thinking(_) | Block::ToolCall(_) | Block::Other(_) => None,
        };
        let spans = blocks.iter().enumerate().filter_map(markable).map(quote).collect();
        Self { message: Message::user(blocks, timestamp), spans, typed: None }
    }

    /// What somebody wrote, as they know it, and to be written anew: a call of a template or a skill stands there as it was
    /// typed, and no file that was attached. One that is mentioned in the text is attached again when it is said.
    pub fn written(&self) -> String {
        match (&self.typed, &self.message) {
            (Some(typed), _) if !typed.trim().is_empty() => typed.trim_end().to_owned(),
            (_, Message::User(_)) => attached::shown(&self.text()),
            (_, _) => self.text(),
        }
    }

    /// The extensions that are known to have written in it.
    pub fn written_by(&self) -> BTreeSet<GuestId> {
        let of_extension = |span: &Span| match &span.provenance.origin {
            Origin::Extension { id } => Some(GuestId::from(id.as_str())),
            Origin::User
            | Origin::BuiltIn
            | Origin::File { .. }
            | Origin::Web { .. }
            | Origin::Mcp { .. }
            | Origin::Tool { .. }
            | Origin::Provider { .. } => None,
        };
        self.spans.iter().filter_map(of_extension).collect()
    }

    /// All of its text, as the model is given it.
    pub fn text(&self) -> String {
        match &self.message {
            Message::User(user) => user.content.text(),
            Message::Custom(custom) => custom.content.text(),
            Message::Assistant(_)
            | Message::ToolResult(_)
            | Message::BashExecution(_)
            | Message::BranchSummary(_)
            | Message::CompactionSummary(_)
            | Message::System(_)
            | Message::Other(_) => String::new(),
        }
    }
}

impl Delivery {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OneAtATime => "one-at-a-time",
            Self::All => "all",
        }
    }
}

impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Delivery {
    type Err = UnknownDelivery;

    fn from_str(word: &str) -> Result<Self, UnknownDelivery> {
        let known = [Self::OneAtATime, Self::All].into_iter().find(|delivery| delivery.as_str() == word);
        known.ok_or_else(|| UnknownDelivery { word: word.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Queues what `words` say (`s` steers, `f` follows up) and takes from both until they are empty.
    #[track_caller]
    fn check(steering: Delivery, words: &[(&str, When)], expected: &str) {
        let mut queues = Queues::new(steering, Delivery::OneAtATime);
        for (text, when) in words {
            queues.push(*when, Saying::new(Message::user(*text, 0)));
        }
        let mut batches = Vec::new();
        for when in [When::Steer, When::FollowUp] {
            loop {
                let batch = queues.take(when);
                if batch.is_empty() {
                    break;
                }
                batches.push(batch.iter().map(Saying::text).collect::<Vec<_>>().join("+"));
            }
        }
        assert_eq!(batches.join(" "), expected);
        assert!(queues.is_empty());
    }

    #[test]
    fn steering_is_handed_over_before_follow_ups() {
        let words = [("a", When::FollowUp), ("b", When::Steer), ("c", When::Steer)];
        check(Delivery::OneAtATime, &words, "b c a");
        check(Delivery::All, &words, "b+c a");
    }

    #[test]
    fn cleared_queues_give_everything_back_in_order() {
        let mut queues = Queues::default();
        queues.push(When::FollowUp, Saying::new(Message::user("later", 0)));
        queues.push(When::Steer, Saying::new(Message::user("now", 0)));
        let expected = Waiting { steering: vec!["now".to_owned()], follow_up: vec!["later".to_owned()] };
        assert_eq!(queues.waiting(), expected);
        assert_eq!(queues.clear().iter().map(Saying::text).collect::<Vec<_>>(), ["now", "later"]);
        assert_eq!(queues.waiting(), Waiting::default());
    }
}
