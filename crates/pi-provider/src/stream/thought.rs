//! Thinking that a model writes into its text: between two tags, at the beginning of an answer.
//!
//! Models that are served without a reader of their own for it do so. Which tags they use is the manifest's knowledge
//! (`reasoning_mode.text_tags`). Only the first candidate is looked at, and only as long as the provider has not told
//! thinking from text itself. Further on in the text a tag is text like any other: people ask about them.

use std::mem;

use crate::{event::StreamEvent, manifest::contract::TextTags};

/// Longer white space before the first tag is text, in bytes: what is held back has an end.
const LONGEST_LEAD: usize = 64;

/// Stands between the events of an answer and whoever reads them.
#[derive(Debug)]
pub(super) struct Thought {
    tags: Vec<TextTags>,
    state: State,
    /// What has come and may still become a tag.
    pending: String,
    /// Where the text is that was seen last.
    block: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing but white space has come, and perhaps some of a tag.
    Beginning,
    /// Between the tags of this number.
    Inside {
        tags: usize,
        /// Something but white space has come of it.
        has_begun: bool,
    },
    /// Nothing but white space has come since the second tag.
    Closed,
    /// All that comes is text.
    Over,
}

impl Thought {
    /// `None` where the manifest names no tags.
    pub(super) fn new(tags: &[TextTags]) -> Option<Self> {
        let is_usable = !tags.is_empty();
        is_usable.then(|| Self { tags: tags.to_vec(), state: State::Beginning, pending: String::new(), block: None })
    }

    /// The bytes that are held back.
    pub(super) fn memory(&self) -> usize {
        self.pending.capacity()
    }

    /// Looks at the events from this place on, and puts what becomes of them in their stead.
    pub(super) fn apply(&mut self, events: &mut Vec<StreamEvent>, from: usize) {
        if self.state == State::Over || events.len() == from {
            return;
        }
        for event in events.split_off(from) {
            self.take(event, events);
        }
    }

    /// The answer is over, properly or not: what was held back is decided.
    pub(super) fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        let pending = mem::take(&mut self.pending);
        match self.state {
            State::Beginning => self.say(pending, out),
            State::Inside { .. } => self.think(pending, out),
            State::Closed | State::Over => {}
        }
        self.state = State::Over;
    }

    fn take(&mut self, event: StreamEvent, out: &mut Vec<StreamEvent>) {
        match event {
            StreamEvent::PartialContentDelta { candidate: 0, block, content, signature }
                if self.state != State::Over =>
            {
                self.block = block;
                self.pending.push_str(&content);
                while self.step(out) {}
                if signature.is_some() {
                    let content = String::new();
                    out.push(StreamEvent::PartialContentDelta { candidate: 0, block, content, signature });
                }
            }
            StreamEvent::ThinkingDelta { candidate: 0, .. }
            | StreamEvent::ToolCallStarted { candidate: 0, .. }
            | StreamEvent::FinalCandidate { candidate: 0, .. }
            | StreamEvent::StreamEnd { .. }
            | StreamEvent::StreamError { .. } => {
                self.finish(out);
                out.push(event);
            }
            StreamEvent::PartialContentDelta { .. }
            | StreamEvent::ThinkingDelta { .. }
            | StreamEvent::ToolCallStarted { .. }
            | StreamEvent::PartialToolCall { .. }
            | StreamEvent::ToolCallEnded { .. }
            | StreamEvent::Metadata { .. }
            | StreamEvent::FinalCandidate { .. }
            | StreamEvent::Other { .. } => out.push(event),
        }
    }

    /// Decides as much of what is pending as can be decided; whether there may be more to decide.
    fn step(&mut self, out: &mut Vec<StreamEvent>) -> bool {
        match self.state {
            State::Beginning => self.begin(),
            State::Inside { tags, has_begun } => self.go_on(tags, has_begun, out),
            State::Closed => {
                self.drop_lead();
                if self.pending.is_empty() {
                    return false;
                }
                self.state = State::Over;
                true
            }
            State::Over => {
                let pending = mem::take(&mut self.pending);
                self.say(pending, out);
                false
            }
        }
    }

    fn begin(&mut self) -> bool {
        let text = self.pending.trim_start();
        let lead = self.pending.len() - text.len();
        let opened = self.tags.iter().position(|tags| text.starts_with(&tags.open));
        match opened {
            _ if lead > LONGEST_LEAD => self.state = State::Over,
            Some(tags) => {
                self.pending.drain(..lead + self.tags[tags].open.len());
                self.state = State::Inside { tags, has_begun: false };
            }
            None if self.tags.iter().any(|tags| tags.open.starts_with(text)) => return false,
            None => self.state = State::Over,
        }
        true
    }

    fn go_on(&mut self, tags: usize, has_begun: bool, out: &mut Vec<StreamEvent>) -> bool {
        if !has_begun {
            self.drop_lead();
        }
        let close = &self.tags[tags].close;
        let (end, is_closed) = match self.pending.find(close.as_str()) {
            Some(end) => (end, true),
            None => (self.pending.len() - overlap(&self.pending, close), false),
        };
        let rest = self.pending.split_off(end);
        let thinking = mem::replace(&mut self.pending, rest);
        if is_closed {
            self.pending.drain(..self.tags[tags].close.len());
            self.state = State::Closed;
        } else {
            self.state = State::Inside { tags, has_begun: has_begun || !thinking.is_empty() };
        }
        self.think(thinking, out);
        is_closed
    }

    /// White space around the tags belongs to them.
    fn drop_lead(&mut self) {
        let lead = self.pending.len() - self.pending.trim_start().len();
        self.pending.drain(..lead);
    }

    fn say(&self, content: String, out: &mut Vec<StreamEvent>) {
        if !content.is_empty() {
            let block = self.block;
            out.push(StreamEvent::PartialContentDelta { candidate: 0, block, content, signature: None });
        }
    }

    fn think(&self, thinking: String, out: &mut Vec<StreamEvent>) {
        if !thinking.is_empty() {
            let block = self.block;
            out.push(StreamEvent::ThinkingDelta { candidate: 0, block, thinking, signature: None, redacted: false });
        }
    }
}

/// How many bytes at the end of a text are the beginning of a tag.
fn overlap(text: &str, tag: &str) -> usize {
    let cuts = tag.char_indices().map(|(cut, _)| cut).filter(|cut| *cut > 0);
    cuts.filter(|cut| text.ends_with(&tag[..*cut])).max().unwrap_or(0)
}
