//! Tool calls that a model writes as text, because it has no others or forgets to use them.
//!
//! [`Reader`] takes the text of an answer in pieces, hands on what is meant for people and takes out what is a call. It
//! holds back no more than what may still become one. [`filter`] puts it between a stream's events and their reader
//! (the client does so where [`text_calls`](crate::request::text_calls) says so),
//! [`prompt`] is how the model is told to write calls.

mod body;
pub mod filter;
mod json;
mod markup;
pub mod prompt;
mod quote;
mod tag;
mod types;

use std::collections::BTreeMap;

use pi_envelope::Tool;
use serde_json::{Map, Value};

use self::{
    json::End,
    markup::{Block, Opening, Search},
    quote::Quote,
};
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
    /// The one argument that a tool requires, where it is a text: what a plain body is.
    pub plain_arguments: BTreeMap<String, String>,
    /// What the arguments of a tool must be, as its definition has it.
    pub schemas: BTreeMap<String, Value>,
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
    /// No call begins before this place in `pending`, and there is only white space before it.
    scanned: usize,
    /// The call that begins in `pending`, as long as its end is not there.
    open: Option<Open>,
    /// Whether text has been handed on.
    said: bool,
    /// Whether a call has been taken out.
    called: bool,
    /// Whether one was taken out after the last text.
    gap: bool,
    /// What the text that was handed on has opened: a call that is only shown is none.
    quote: Quote,
}

/// A call that has begun.
#[derive(Debug)]
struct Open {
    start: usize,
    block: Block,
    search: Search,
}

/// A call that is longer than this is none, in bytes: no text is held back for ever.
pub const LONGEST_BLOCK: usize = 1024 * 1024;

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
        Self { fallback, leniency, tools: Vec::new(), plain_arguments: BTreeMap::new(), schemas: BTreeMap::new() }
    }

    /// For a manifest's form and the tools at hand.
    pub fn of(fallback: &TextFallback, leniency: Leniency, tools: &[Tool]) -> Self {
        let plain = |tool: &Tool| Some((tool.definition.name.clone(), plain_argument(&tool.definition.parameters)?));
        let schema = |tool: &Tool| (tool.definition.name.clone(), tool.definition.parameters.clone());
        Self {
            fallback: fallback.clone(),
            leniency,
            tools: tools.iter().map(|tool| tool.definition.name.clone()).collect(),
            plain_arguments: tools.iter().filter_map(plain).collect(),
            schemas: tools.iter().map(schema).collect(),
        }
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

/// The one required argument, if there is just one and it is a text.
fn plain_argument(schema: &Value) -> Option<String> {
    let [required] = schema.get("required")?.as_array()?.as_slice() else { return None };
    let name = required.as_str()?;
    let kind = schema.get("properties").and_then(|properties| properties.get(name)?.get("type")?.as_str());
    kind.is_none_or(|kind| kind == "string").then(|| name.to_owned())
}

impl Reader {
    pub fn new(grammar: Grammar) -> Self {
        Self {
            grammar,
            pending: String::new(),
            scanned: 0,
            open: None,
            said: false,
            called: false,
            gap: false,
            quote: Quote::new(),
        }
    }

    /// Takes the next piece of the text. The work is proportional to the piece, however much is held back.
    pub fn push(&mut self, text: &str, out: &mut Vec<Piece>) {
        let mut pending = std::mem::take(&mut self.pending);
        pending.push_str(text);
        let mut done = 0;
        while self.step(&pending, &mut done, out) {}
        pending.drain(..done);
        self.scanned -= done;
        if let Some(open) = &mut self.open {
            open.start -= done;
        }
        self.pending = pending;
    }

    /// The text is over: what was held back is decided.
    pub fn finish(&mut self, out: &mut Vec<Piece>) {
        let rest = std::mem::take(&mut self.pending);
        self.scanned = 0;
        let open = self.open.take();
        match open.and_then(|Open { start, block, .. }| block.read_open_end(&self.grammar, &rest[start..])) {
            Some(calls) => self.call(calls, out),
            None => self.say_last(&rest, out),
        }
    }

    /// Decides on what comes behind `done` and moves that on; says whether there may be more to decide.
    fn step(&mut self, pending: &str, done: &mut usize, out: &mut Vec<Piece>) -> bool {
        let mut open = match self.open.take() {
            Some(open) => open,
            None => {
                let opening = markup::find_opening(&self.grammar, pending, self.scanned);
                let start = opening.as_ref().map_or(pending.len(), |opening| opening.start);
                // White space may turn out to stand before a call. All that was scanned and is still here is that.
                let scanned = self.scanned;
                let end = match pending[scanned..start].trim_end().len() {
                    0 => *done,
                    length => scanned + length,
                };
                self.say(&pending[*done..end], out);
                (*done, self.scanned) = (end, start);
                let sign = pending[start..].chars().next().unwrap_or('\n');
                match opening {
                    Some(Opening { block: Some(_), .. }) if self.quote.holds(&pending[end..start], sign) => {
                        let behind = start + sign.len_utf8();
                        self.say(&pending[end..behind], out);
                        (*done, self.scanned) = (behind, behind);
                        return true;
                    }
                    Some(Opening { block: Some(block), .. }) => Open { start, block, search: Search::default() },
                    Some(Opening { block: None, .. }) | None => return false,
                }
            }
        };
        let text = &pending[open.start..];
        let within = &text[..text.floor_char_boundary(LONGEST_BLOCK)];
        let (end, calls) = match open.block.find_end(within, &mut open.search) {
            End::At(end) => (end, open.block.read(&self.grammar, &within[..end])),
            End::Never(end) => (end, None),
            End::NotYet if text.len() > LONGEST_BLOCK => (within.len(), None),
            End::NotYet => {
                self.open = Some(open);
                return false;
            }
        };
        let end = open.start + end;
        match calls {
            Some(calls) => self.call(calls, out),
            // The model's word for the end of its call.
            None if open.block.is_end_mark() && self.gap => {}
            // It only looked like a call.
            None => self.say(&pending[*done..end], out),
        }
        (*done, self.scanned) = (end, end);
        true
    }

    /// Hands on text. White space around a call is not part of it, but what it separated stays apart.
    fn say(&mut self, text: &str, out: &mut Vec<Piece>) {
        let text = if self.gap { text.trim_start() } else { text };
        if text.is_empty() {
            return;
        }
        let text = if self.gap && self.said { format!("\n{text}") } else { text.to_owned() };
        self.quote.read(&text);
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
        self.quote.begin_line();
        out.extend(calls.into_iter().map(|mut call| {
            if let Some(parameters) = self.grammar.schemas.get(&call.name) {
                types::fit(&mut call.arguments, parameters);
            }
            Piece::Call(call)
        }));
    }
}
