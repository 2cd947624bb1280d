//! Answers of a scripted model, in the wire format of OpenAI's chat completions.
//!
//! A script says what the model says; this turns it into the bytes that a server of that kind sends, piece by piece.
//! Start with [`Answer`].

use serde_json::{Value, json};

use crate::server::{Reply, Step};

/// One answer of the model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    parts: Vec<Part>,
    usage: Option<(u64, u64)>,
    ends: Ends,
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Thinking(String),
    Text(String),
    Call {
        id: String,
        name: String,
        arguments: String,
    },
    /// Waits until the test lets it go on.
    Hold,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Ends {
    #[default]
    Properly,
    /// Too long for the model.
    AtItsLimit,
    /// In the middle, with the connection.
    Cut,
}

impl Answer {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn thinking(self, text: &str) -> Self {
        self.with(Part::Thinking(text.to_owned()))
    }

    /// Told word by word.
    pub fn text(self, text: &str) -> Self {
        self.with(Part::Text(text.to_owned()))
    }

    pub fn call(self, id: &str, name: &str, arguments: &Value) -> Self {
        self.call_in_words(id, name, &arguments.to_string())
    }

    /// A call whose arguments are this text, JSON or not.
    pub fn call_in_words(self, id: &str, name: &str, arguments: &str) -> Self {
        self.with(Part::Call { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() })
    }

    /// Waits here for [`Server::release`](crate::Server::release).
    pub fn hold(self) -> Self {
        self.with(Part::Hold)
    }

    /// What it says that it consumed, in and out.
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        self.usage = Some((input, output));
        self
    }

    pub fn at_its_limit(mut self) -> Self {
        self.ends = Ends::AtItsLimit;
        self
    }

    /// The connection is cut after the last part.
    pub fn cut(mut self) -> Self {
        self.ends = Ends::Cut;
        self
    }

    fn with(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    /// The bytes that a server sends for it.
    pub fn reply(&self) -> Reply {
        let mut reply = Reply::events(Vec::<Vec<u8>>::new());
        reply = reply.and(piece(&delta(&json!({ "role": "assistant", "content": "" }))));
        let mut calls = 0;
        for part in &self.parts {
            reply = match part {
                Part::Thinking(text) => reply.and(piece(&delta(&json!({ "reasoning_content": text })))),
                Part::Text(text) => {
                    words(text).fold(reply, |reply, word| reply.and(piece(&delta(&json!({ "content": word })))))
                }
                Part::Call { id, name, arguments } => {
                    let function = json!({ "name": name, "arguments": "" });
                    let start = json!({ "index": calls, "id": id, "type": "function", "function": function });
                    let rest = json!({ "index": calls, "function": { "arguments": arguments } });
                    calls += 1;
                    let start = delta(&json!({ "tool_calls": [start] }));
                    reply.and(piece(&start)).and(piece(&delta(&json!({ "tool_calls": [rest] }))))
                }
                Part::Hold => reply.and(Step::Hold),
            };
        }
        let reason = match self.ends {
            Ends::Cut => return reply.and(Step::Reset),
            Ends::AtItsLimit => "length",
            Ends::Properly if calls > 0 => "tool_calls",
            Ends::Properly => "stop",
        };
        let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] });
        reply = reply.and(piece(&end));
        if let Some((input, output)) = self.usage {
            let usage = json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output });
            reply = reply.and(piece(&json!({ "choices": [], "usage": usage })));
        }
        reply.and(Step::Bytes(b"data: [DONE]\n\n".to_vec()))
    }
}

/// A refusal, as a server of this kind words it.
pub fn refusal(status: u16, code: &str, message: &str) -> Reply {
    Reply::json(status, &json!({ "error": { "message": message, "type": code, "code": code } }))
}

fn delta(delta: &Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn piece(value: &Value) -> Step {
    let mut chunk = json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted" });
    let members = value.as_object().expect("a chunk is an object").clone();
    chunk.as_object_mut().expect("a chunk is an object").extend(members);
    Step::Bytes(format!("data: {chunk}\n\n").into_bytes())
}

/// The words of a text with the spaces behind them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ')
}
