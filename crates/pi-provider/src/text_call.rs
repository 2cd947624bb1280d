//! Tool calls that a model writes as text, because it has no others or forgets to use them.
//!
//! [`Reader`] takes the text of an answer in pieces, hands on what is meant for people and takes out what is a call. It
//! holds back no more than what may still become one. [`filter`] puts it between a stream's events and their reader
//! (the client does so where [`text_calls`](crate::request::text_calls) says so),
//! [`prompt`] is how the model is told to write calls.

pub mod filter;
mod markup;
pub mod prompt;

use serde_json::{Map, Value};

use self::markup::Opening;
use crate::manifest::capability::{FallbackFormat, KnownDialect, TextFallback};

/// How calls are found.
#[derive(Debug, Clone)]
pub struct Grammar {
    pub fallback: TextFallback,
    /// Whether forms count that models use although they were told otherwise: other tags, other names for members, calls
    /// that are not closed.
    pub leniency: Leniency,
    /// The tools that exist. A tag that is neither our own nor a tool's is markup of another kind. Empty: not known.
    pub tools: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leniency {
    /// Only the form that the model was told to use.
    Strict,
    Lenient,
}

/// What a text is made of.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    Text(String),
    Call(TextCall),
}

/// A call that was written as text.
#[derive(Debug, Clone, PartialEq)]
pub struct TextCall {
    pub name: String,
    pub arguments: Map<String, Value>,
}

/// Reads a text that arrives in pieces.
#[derive(Debug)]
pub struct Reader {
    grammar: Grammar,
    /// What has arrived and is not decided yet.
    pending: String,
    /// Whether text has been handed on.
    said: bool,
    /// Whether a call has been taken out.
    called: bool,
    /// Whether one was taken out after the last text.
    gap: bool,
}

/// A text without the calls that were in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    pub remaining_text: String,
    pub calls: Vec<TextCall>,
}

/// Reads a whole text.
pub fn parse(grammar: Grammar, text: &str) -> Parsed {
    let mut reader = Reader::new(grammar);
    let mut pieces = Vec::new();
    reader.push(text, &mut pieces);
    reader.finish(&mut pieces);
    let mut parsed = Parsed { remaining_text: String::new(), calls: Vec::new() };
    for piece in pieces {
        match piece {
            Piece::Text(text) => parsed.remaining_text.push_str(&text),
            Piece::Call(call) => parsed.calls.push(call),
        }
    }
    parsed
}

impl Grammar {
    /// For a manifest that has no word on it.
    pub fn usual(leniency: Leniency) -> Self {
        let dialects = ["shell", "bash"].map(|tag| KnownDialect { tag: tag.to_owned(), map_to: "shell".to_owned() });
        let fallback = TextFallback { known_dialects: dialects.into(), ..TextFallback::default() };
        Self { fallback, leniency, tools: Vec::new() }
    }

    /// The tool that a tag stands for: the one that the manifest maps it to, or the tool of that name.
    fn tool_of_tag(&self, tag: &str) -> Option<&str> {
        let exists = |name: &&str| self.tools.is_empty() || self.tools.iter().any(|tool| tool == name);
        let dialect = self.fallback.known_dialects.iter().find(|dialect| dialect.tag == tag)?;
        [dialect.map_to.as_str(), dialect.tag.as_str()].into_iter().filter(|name| !name.is_empty()).find(exists)
    }

    fn is_fenced(&self) -> bool {
        self.fallback.format == FallbackFormat::MarkdownFence || self.leniency == Leniency::Lenient
    }
}

impl Reader {
    pub fn new(grammar: Grammar) -> Self {
        Self { grammar, pending: String::new(), said: false, called: false, gap: false }
    }

    /// Takes the next piece of the text.
    pub fn push(&mut self, text: &str, out: &mut Vec<Piece>) {
        self.pending.push_str(text);
        while self.step(out) {}
    }

    /// The text is over: what was held back is decided.
    pub fn finish(&mut self, out: &mut Vec<Piece>) {
        while self.step(out) {}
        let rest = std::mem::take(&mut self.pending);
        match markup::find_opening(&self.grammar, &rest) {
            Some(Opening { start, block: Some(block) }) => match block.read_open_end(&self.grammar, &rest) {
                Some(calls) => {
                    self.say(rest[..start].trim_end(), out);
                    self.call(calls, out);
                }
                None => self.say_last(&rest, out),
            },
            Some(Opening { block: None, .. }) | None => self.say_last(&rest, out),
        }
    }

    /// Decides on the beginning of what is pending; says whether there may be more to decide.
    fn step(&mut self, out: &mut Vec<Piece>) -> bool {
        let pending = std::mem::take(&mut self.pending);
        let Some(Opening { start, block }) = markup::find_opening(&self.grammar, &pending) else {
            // White space may turn out to stand before a call.
            let end = pending.trim_end().len();
            self.say(&pending[..end], out);
            pending[end..].clone_into(&mut self.pending);
            return false;
        };
        let before = pending[..start].trim_end().len();
        let Some(block) = block else {
            self.say(&pending[..before], out);
            pending[before..].clone_into(&mut self.pending);
            return false;
        };
        let Some(end) = block.find_end(&pending) else {
            self.say(&pending[..before], out);
            pending[before..].clone_into(&mut self.pending);
            return false;
        };
        match block.read(&self.grammar, &pending[..end]) {
            Some(calls) => {
                self.say(&pending[..before], out);
                self.call(calls, out);
                pending[end..].clone_into(&mut self.pending);
            }
            None => {
                // It only looked like a call.
                self.say(&pending[..end], out);
                pending[end..].clone_into(&mut self.pending);
            }
        }
        !self.pending.is_empty()
    }

    /// Hands on text. White space around a call is not part of it, but what it separated stays apart.
    fn say(&mut self, text: &str, out: &mut Vec<Piece>) {
        let text = if self.gap { text.trim_start() } else { text };
        if text.is_empty() {
            return;
        }
        let text = if self.gap && self.said { format!("\n{text}") } else { text.to_owned() };
        match out.last_mut() {
            Some(Piece::Text(last)) => last.push_str(&text),
            Some(Piece::Call(_)) | None => out.push(Piece::Text(text)),
        }
        self.said = true;
        self.gap = false;
    }

    /// White space at the end of an answer belongs to it unless calls were taken out.
    fn say_last(&mut self, text: &str, out: &mut Vec<Piece>) {
        self.say(if self.called { text.trim_end() } else { text }, out);
    }

    fn call(&mut self, calls: Vec<TextCall>, out: &mut Vec<Piece>) {
        self.called = true;
        self.gap = true;
        out.extend(calls.into_iter().map(Piece::Call));
    }
}
