//! Tool calls while they arrive.
//!
//! Pieces of a call are told apart by number, by id, or not at all; ids may be missing, may come again with every piece, or
//! be all there is. This keeps the calls that are open and turns pieces into started, partial and ended. A call begins with
//! its name: what comes before it waits for it, and is dropped and told where it never comes, because nobody can run a
//! tool without a name. A name may come in pieces, so a call that comes so is told of when its arguments begin, or anything
//! else does. Of calls of tools that the provider runs itself nothing is handed on: their pieces look like those of
//! any call, but nobody here has anything to do.

use std::{borrow::Cow, sync::LazyLock};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::rule::{Found, uuid};
use crate::{
    event::{NAMELESS_CALL, StreamEvent},
    path::Path,
    tape::View,
};

/// More calls than this are not open at once; the oldest is ended for a new one, so that no stream can fill the memory.
const MOST_OPEN: usize = 1024;

/// The calls of an answer that have begun and not ended.
#[derive(Debug)]
pub(super) struct OpenCalls {
    calls: Vec<OpenCall>,
    random: fastrand::Rng,
}

#[derive(Debug)]
struct OpenCall {
    candidate: u32,
    index: Option<u64>,
    id: String,
    name: String,
    signature: Option<String>,
    /// `ToolCallStarted` was sent.
    started: bool,
    has_arguments: bool,
    extent: Extent,
    /// The name came again behind whole arguments, and nothing else with it.
    is_named_again: bool,
    /// What came of the arguments before the name.
    waiting: String,
    /// The provider runs it.
    is_foreign: bool,
}

/// How far arguments that come as text have come: whether their first object is closed.
#[derive(Debug, Default)]
struct Extent {
    depth: usize,
    in_text: bool,
    is_escaped: bool,
    is_closed: bool,
}

/// What a frame says about a call.
#[derive(Debug, Default)]
pub(super) struct CallPiece<'m, 'a> {
    pub(super) index: Option<u64>,
    pub(super) id: Option<Cow<'m, str>>,
    pub(super) name: Option<&'m str>,
    /// The next piece of the arguments, or all of them if it is not a text.
    pub(super) arguments: Option<Found<'m, 'a>>,
    /// All arguments, for the case that no piece came.
    pub(super) whole_arguments: Option<Found<'m, 'a>>,
    pub(super) signature: Option<String>,
    /// It begins here, whatever the name is.
    pub(super) begins: bool,
    /// The provider runs it.
    pub(super) is_foreign: bool,
    pub(super) is_complete: bool,
}

/// Where the parts of a call are; see `rules/call.yaml`.
#[derive(Debug, Deserialize)]
struct Places<P> {
    index: Vec<P>,
    id: Vec<P>,
    name: Vec<P>,
    arguments: Vec<P>,
    signature: Vec<P>,
}

static PLACES: LazyLock<Places<Path>> = LazyLock::new(|| {
    let places: Places<String> =
        serde_saphyr::from_str(include_str!("../../rules/call.yaml")).expect("rules/call.yaml is read by a test");
    let compile = |path: String| Path::parse(&path).expect("paths in rules/call.yaml are read by a test");
    let all = |paths: Vec<String>| paths.into_iter().map(compile).collect();
    Places {
        index: all(places.index),
        id: all(places.id),
        name: all(places.name),
        arguments: all(places.arguments),
        signature: all(places.signature),
    }
});

impl<'m, 'a: 'm> CallPiece<'m, 'a> {
    /// Reads a call as a provider writes it.
    pub(super) fn read(call: View<'a>) -> Self {
        let places = &*PLACES;
        let first = |paths: &[Path]| {
            let mut found = paths.iter().filter_map(|path| path.first(call));
            found.find(|view| !view.is_null())
        };
        let text = |paths| first(paths).and_then(View::as_str).filter(|text| !text.is_empty());
        Self {
            index: first(&places.index).and_then(View::as_u64),
            id: text(&places.id).map(Cow::Borrowed),
            name: text(&places.name),
            arguments: first(&places.arguments).map(Found::InFrame),
            signature: text(&places.signature).map(str::to_owned),
            ..Self::default()
        }
    }

    /// Whether an object begins in it, or is all of it.
    fn begins_arguments(&self) -> bool {
        self.arguments.is_some_and(|found| match found.as_str() {
            Some(text) => text.trim_start().starts_with('{'),
            None => found.to_text() != "{}",
        })
    }
}

impl Extent {
    fn take(&mut self, text: &str) {
        for byte in text.bytes() {
            if self.is_closed {
                return;
            }
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.in_text => self.is_escaped = true,
                b'"' => self.in_text = !self.in_text,
                _ if self.in_text => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.is_closed = self.depth == 0;
                }
                _ => {}
            }
        }
    }
}

impl OpenCalls {
    pub(super) fn new(random: fastrand::Rng) -> Self {
        Self { calls: Vec::new(), random }
    }

    /// Takes the next piece, and says whether its call has begun.
    pub(super) fn take(&mut self, candidate: u32, piece: CallPiece<'_, '_>, out: &mut Vec<StreamEvent>) -> bool {
        let place = self.find(candidate, &piece, out).unwrap_or_else(|| self.open(candidate, &piece, out));
        let call = &mut self.calls[place];
        if call.is_foreign {
            return false;
        }
        if let Some(name) = piece.name {
            call.is_named_again |= call.extent.is_closed;
            call.join_name(name);
        }
        if piece.signature.is_some() {
            call.signature = piece.signature;
        }
        let arguments = call.next_arguments(piece.arguments, piece.whole_arguments);
        call.has_arguments |= arguments.is_some();
        call.extent.take(arguments.as_deref().unwrap_or_default());
        let has_begun = !call.name.is_empty();
        // Whoever tells of the beginning tells the whole name.
        if has_begun && (call.has_arguments || piece.begins) {
            call.start(out);
            call.hand_on(arguments.unwrap_or_default(), out);
        } else {
            call.waiting.push_str(&arguments.unwrap_or_default());
        }
        if piece.is_complete {
            self.calls.remove(place).end(out);
        }
        has_begun
    }

    /// Begins the calls whose names are whole because something else comes, in the order in which they came.
    pub(super) fn settle(&mut self, candidate: u32, out: &mut Vec<StreamEvent>) {
        let unsettled = self.calls.iter_mut().filter(|call| call.candidate == candidate);
        unsettled.for_each(|call| call.settle(out));
    }

    /// Ends the call of this number or id; without either, the last one.
    pub(super) fn end(&mut self, candidate: u32, index: Option<u64>, id: Option<&str>, out: &mut Vec<StreamEvent>) {
        let is_meant = |call: &OpenCall| {
            call.candidate == candidate
                && index.is_none_or(|index| call.index == Some(index))
                && id.is_none_or(|id| call.id == id)
        };
        if let Some(place) = self.calls.iter().rposition(is_meant) {
            self.calls.remove(place).end(out);
        }
    }

    pub(super) fn end_all_of(&mut self, candidate: u32, out: &mut Vec<StreamEvent>) {
        self.calls.extract_if(.., |call| call.candidate == candidate).for_each(|call| call.end(out));
    }

    pub(super) fn end_all(&mut self, out: &mut Vec<StreamEvent>) {
        self.calls.drain(..).for_each(|call| call.end(out));
    }

    fn find(&mut self, candidate: u32, piece: &CallPiece<'_, '_>, out: &mut Vec<StreamEvent>) -> Option<usize> {
        let own = |call: &OpenCall| call.candidate == candidate;
        let named = |call: &OpenCall| piece.id.as_deref().is_some_and(|id| call.id == id);
        if piece.index.is_some() {
            let place = self.calls.iter().rposition(|call| own(call) && call.index == piece.index)?;
            // Servers that give every call the same number tell them apart by id, and name each once.
            let call = &self.calls[place];
            let is_other_id = piece.id.is_some() && piece.name.is_some() && !named(call);
            // Some leave the ids out as well. A name is whole when arguments have come.
            let is_named = call.has_arguments && !call.name.is_empty();
            let is_other_name = piece.name.is_some_and(|name| is_named && call.name != name);
            if is_other_id || (piece.id.is_none() && is_other_name) {
                self.calls.remove(place).end(out);
                return None;
            }
            // Nor do names tell two calls of one tool apart: behind whole arguments, others begin another call.
            let is_named_again = piece.name.is_some() || call.is_named_again;
            if piece.id.is_none() && is_named_again && call.extent.is_closed && piece.begins_arguments() {
                let name = call.name.clone();
                self.calls.remove(place).end(out);
                let place = self.open(candidate, piece, out);
                self.calls[place].name = name;
                return Some(place);
            }
            return Some(place);
        }
        if piece.id.is_some() {
            return self.calls.iter().rposition(|call| own(call) && named(call));
        }
        if piece.begins {
            return None;
        }
        let place = self.calls.iter().rposition(own)?;
        let call = &self.calls[place];
        let continues = piece.name.is_none_or(|name| call.name.is_empty() || name == call.name && !call.has_arguments);
        continues.then_some(place)
    }

    fn open(&mut self, candidate: u32, piece: &CallPiece<'_, '_>, out: &mut Vec<StreamEvent>) -> usize {
        self.settle(candidate, out);
        if self.calls.len() >= MOST_OPEN {
            self.calls.remove(0).end(out);
        }
        let id = match &piece.id {
            Some(id) => id.clone().into_owned(),
            None => format!("call_{}", uuid(&mut self.random).replace('-', "")),
        };
        self.calls.push(OpenCall {
            candidate,
            index: piece.index,
            id,
            name: String::new(),
            signature: None,
            started: false,
            has_arguments: false,
            extent: Extent::default(),
            is_named_again: false,
            waiting: String::new(),
            is_foreign: piece.is_foreign,
        });
        self.calls.len() - 1
    }
}

impl OpenCall {
    /// What is to be handed on. A part that is not a text is all of the arguments; an empty object is not worth handing
    /// on, because some providers begin every call with one.
    fn next_arguments(&self, piece: Option<Found<'_, '_>>, whole: Option<Found<'_, '_>>) -> Option<String> {
        let is_text = |found: &Found<'_, '_>| found.as_str().is_some();
        let whole = whole.or_else(|| piece.filter(|piece| !is_text(piece)));
        let text = match piece.filter(is_text) {
            Some(piece) => piece.to_text(),
            None if self.has_arguments => return None,
            None => whole.map(Found::to_text).filter(|text| text != "{}")?,
        };
        (!text.is_empty()).then_some(text)
    }

    /// The next piece of the name. Some servers repeat all of it, or what came so far, with every piece.
    fn join_name(&mut self, piece: &str) {
        if self.started {
            return;
        }
        if piece.starts_with(&self.name) {
            piece.clone_into(&mut self.name);
        } else {
            self.name.push_str(piece);
        }
    }

    /// Begins if it has a name.
    fn settle(&mut self, out: &mut Vec<StreamEvent>) {
        if !self.name.is_empty() && !self.is_foreign {
            self.start(out);
        }
    }

    fn start(&mut self, out: &mut Vec<StreamEvent>) {
        if !self.started {
            self.started = true;
            out.push(StreamEvent::ToolCallStarted {
                candidate: self.candidate,
                index: self.index,
                tool_call_id: self.id.clone(),
                tool_name: self.name.clone(),
                signature: self.signature.take(),
            });
            let waited = std::mem::take(&mut self.waiting);
            self.hand_on(waited, out);
        }
    }

    fn hand_on(&self, arguments: String, out: &mut Vec<StreamEvent>) {
        if !arguments.is_empty() {
            let (candidate, index, tool_call_id) = (self.candidate, self.index, self.id.clone());
            out.push(StreamEvent::PartialToolCall { candidate, index, tool_call_id, arguments });
        }
    }

    fn end(mut self, out: &mut Vec<StreamEvent>) {
        self.settle(out);
        let Self { candidate, index, id: tool_call_id, .. } = self;
        if self.started {
            return out.push(StreamEvent::ToolCallEnded { candidate, index, tool_call_id });
        }
        if self.is_foreign {
            return;
        }
        // What the arguments say is nobody's to see: only those of calls are looked through for what must not be said.
        let told = [
            ("candidate_index", Value::from(candidate)),
            ("index", index.into()),
            ("bytes", self.waiting.len().into()),
        ];
        let fields = told.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>();
        out.push(StreamEvent::Other { name: NAMELESS_CALL.to_owned(), fields });
    }
}
