//! Finds calls in the text of a stream and makes them calls like any other.

use super::{Grammar, Piece, Reader};
use crate::{
    event::{Finish, StreamEvent},
    stream::rule::uuid,
};

/// Stands between the events of a stream and whoever reads them. Only the first candidate is looked at.
#[derive(Debug)]
pub struct Filter {
    reader: Reader,
    pieces: Vec<Piece>,
    /// Where the text is that the reader has seen last.
    block: Option<u64>,
    calls: u64,
    /// The model has called a tool in the proper way: its text is text.
    native: bool,
    random: fastrand::Rng,
}

impl Filter {
    pub fn new(grammar: Grammar) -> Self {
        Self::with_random(grammar, fastrand::Rng::new())
    }

    /// Like [`new`](Self::new), with the given source for the ids of calls.
    pub fn with_random(grammar: Grammar, random: fastrand::Rng) -> Self {
        Self { reader: Reader::new(grammar), pieces: Vec::new(), block: None, calls: 0, native: false, random }
    }

    /// Takes all events of an answer that is there as a whole; a proper call behind a text counts for that text as well.
    pub fn apply_whole(&mut self, events: Vec<StreamEvent>, out: &mut Vec<StreamEvent>) {
        self.native |= events.iter().any(|event| matches!(event, StreamEvent::ToolCallStarted { candidate: 0, .. }));
        for event in events {
            self.apply(event, out);
        }
        self.flush(out);
    }

    /// Hands on an event, or what becomes of it.
    pub fn apply(&mut self, event: StreamEvent, out: &mut Vec<StreamEvent>) {
        match event {
            StreamEvent::PartialContentDelta { candidate: 0, block, content, signature } if !self.native => {
                if block != self.block {
                    self.flush(out);
                    self.block = block;
                }
                self.reader.push(&content, &mut self.pieces);
                self.hand_on(out);
                if signature.is_some() {
                    let content = String::new();
                    out.push(StreamEvent::PartialContentDelta { candidate: 0, block, content, signature });
                }
            }
            StreamEvent::ToolCallStarted { candidate: 0, .. } => {
                self.flush(out);
                self.native = true;
                out.push(event);
            }
            StreamEvent::FinalCandidate { candidate: 0, finish } => {
                self.flush(out);
                out.push(StreamEvent::FinalCandidate { candidate: 0, finish: self.amend(finish) });
            }
            StreamEvent::StreamEnd { finish } => {
                self.flush(out);
                out.push(StreamEvent::StreamEnd { finish: self.amend(finish) });
            }
            StreamEvent::ThinkingDelta { candidate: 0, .. } | StreamEvent::StreamError { .. } => {
                self.flush(out);
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

    /// The text is over, properly or not: what was held back is decided.
    pub fn flush(&mut self, out: &mut Vec<StreamEvent>) {
        self.reader.finish(&mut self.pieces);
        self.hand_on(out);
    }

    fn hand_on(&mut self, out: &mut Vec<StreamEvent>) {
        let block = self.block;
        for piece in self.pieces.drain(..) {
            match piece {
                Piece::Text(content) => {
                    out.push(StreamEvent::PartialContentDelta { candidate: 0, block, content, signature: None });
                }
                Piece::Call(call) => {
                    // Ids are unique in the whole conversation, as a provider's own are.
                    let tool_call_id = format!("text_{}", uuid(&mut self.random).replace('-', ""));
                    let arguments = serde_json::Value::Object(call.arguments).to_string();
                    self.calls += 1;
                    let (candidate, index) = (0, Some(self.calls));
                    out.push(StreamEvent::ToolCallStarted {
                        candidate,
                        index,
                        tool_call_id: tool_call_id.clone(),
                        tool_name: call.name,
                        signature: None,
                    });
                    let id = tool_call_id.clone();
                    out.push(StreamEvent::PartialToolCall { candidate, index, tool_call_id: id, arguments });
                    out.push(StreamEvent::ToolCallEnded { candidate, index, tool_call_id });
                }
            }
        }
    }

    /// An answer with calls ended because of them.
    fn amend(&self, finish: Option<Finish>) -> Option<Finish> {
        let mut finish = finish?;
        if self.calls > 0 {
            finish.reason = finish.reason.of_calls();
        }
        Some(finish)
    }
}
