//! Finds calls in the text of a stream and makes them calls like any other.

use super::{Grammar, Piece, Reader};
use crate::event::{Finish, StreamEvent, Termination};

/// Stands between the events of a stream and whoever reads them. Only the first candidate is looked at.
#[derive(Debug)]
pub struct Filter {
    reader: Reader,
    pieces: Vec<Piece>,
    calls: u64,
    /// The model has called a tool in the proper way: its text is text.
    native: bool,
}

impl Filter {
    pub fn new(grammar: Grammar) -> Self {
        Self { reader: Reader::new(grammar), pieces: Vec::new(), calls: 0, native: false }
    }

    /// Hands on an event, or what becomes of it.
    pub fn apply(&mut self, event: StreamEvent, out: &mut Vec<StreamEvent>) {
        match event {
            StreamEvent::PartialContentDelta { candidate: 0, block, content, signature } if !self.native => {
                self.reader.push(&content, &mut self.pieces);
                self.hand_on(block, out);
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
            other => out.push(other),
        }
    }

    /// The stream is over, properly or not.
    pub fn flush(&mut self, out: &mut Vec<StreamEvent>) {
        self.reader.finish(&mut self.pieces);
        self.hand_on(None, out);
    }

    fn hand_on(&mut self, block: Option<u64>, out: &mut Vec<StreamEvent>) {
        for piece in self.pieces.drain(..) {
            match piece {
                Piece::Text(content) => {
                    out.push(StreamEvent::PartialContentDelta { candidate: 0, block, content, signature: None });
                }
                Piece::Call(call) => {
                    self.calls += 1;
                    let index = Some(self.calls);
                    let tool_call_id = format!("text_{}", self.calls);
                    let arguments = serde_json::Value::Object(call.arguments).to_string();
                    out.push(StreamEvent::ToolCallStarted {
                        candidate: 0,
                        index,
                        tool_call_id: tool_call_id.clone(),
                        tool_name: call.name,
                        signature: None,
                    });
                    out.push(StreamEvent::PartialToolCall {
                        candidate: 0,
                        index,
                        tool_call_id: tool_call_id.clone(),
                        arguments,
                    });
                    out.push(StreamEvent::ToolCallEnded { candidate: 0, index, tool_call_id });
                }
            }
        }
    }

    /// An answer with calls ended because of them.
    fn amend(&self, finish: Option<Finish>) -> Option<Finish> {
        let mut finish = finish?;
        if self.calls > 0 && finish.reason == Termination::EndTurn {
            finish.reason = Termination::ToolUse;
        }
        Some(finish)
    }
}
