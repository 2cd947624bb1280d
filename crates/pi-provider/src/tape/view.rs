//! What a tape holds, seen from one place in it.

use std::{fmt, iter};

use serde_json::{Map, Number, Value};

use super::{Node, Shape, Source, Span, Tape, wanted::Seen};
use crate::path::tree::{Scalar, Tree, position};

/// A place in JSON that a [`Tape`] has read.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub(super) tape: &'a Tape,
    pub(super) text: &'a str,
    pub(super) at: u32,
}

impl<'a> View<'a> {
    pub fn as_str(self) -> Option<&'a str> {
        if let Node::Text(span) = self.node() { Some(self.string(span)) } else { None }
    }

    pub fn as_u64(self) -> Option<u64> {
        if let Node::Unsigned(number) = self.node() { Some(number) } else { None }
    }

    pub fn as_bool(self) -> Option<bool> {
        if let Node::Bool(value) = self.node() { Some(value) } else { None }
    }

    /// What was seen in the whole text that this is a part of.
    pub fn seen(self) -> Seen {
        self.tape.seen
    }

    /// The shape of the whole text that this is a part of, if others had it before.
    pub fn shape(self) -> Option<Shape> {
        self.tape.is_moulded.then_some(Shape(self.tape.moulds))
    }

    pub fn is_null(self) -> bool {
        matches!(self.node(), Node::Null)
    }

    /// The members of an object, in the order of the text.
    pub fn members(self) -> impl Iterator<Item = (&'a str, View<'a>)> {
        let (mut at, end) = if let Node::Object { end } = self.node() { (self.at + 1, end) } else { (0, 0) };
        iter::from_fn(move || {
            (at < end).then(|| {
                let value = self.at(at + 1);
                let name = self.at(at).as_str().unwrap_or_default();
                at = value.after();
                (name, value)
            })
        })
    }

    /// A copy that outlives the tape.
    pub fn to_value(self) -> Value {
        match self.scalar() {
            Scalar::Null => Value::Null,
            Scalar::Bool(value) => Value::Bool(value),
            Scalar::Number(number) => Value::Number(number),
            Scalar::Text(text) => Value::String(text.to_owned()),
            Scalar::Array => Value::Array(self.elements().map(View::to_value).collect()),
            Scalar::Object => {
                let members = self.members().map(|(name, value)| (name.to_owned(), value.to_value()));
                Value::Object(members.collect::<Map<_, _>>())
            }
        }
    }

    pub(super) fn node(self) -> Node {
        self.tape.nodes.get(self.at as usize).copied().unwrap_or(Node::Null)
    }

    /// Where on the tape it stands: the same in all texts of one [shape](super::Shape).
    pub(crate) fn place(self) -> u32 {
        self.at
    }

    /// What stands at a place of the same tape.
    pub(crate) fn at(self, at: u32) -> Self {
        Self { at, ..self }
    }

    /// The place after this value.
    fn after(self) -> u32 {
        match self.node() {
            Node::Array { end } | Node::Object { end } => end,
            Node::Null | Node::Bool(_) | Node::Unsigned(_) | Node::Signed(_) | Node::Float(_) | Node::Text(_) => {
                self.at + 1
            }
        }
    }

    fn string(self, span: Span) -> &'a str {
        self.source(span).get(span.start as usize..(span.start + span.length) as usize).unwrap_or_default()
    }

    fn is_named(self, name: &str) -> bool {
        let Node::Text(span) = self.node() else { return false };
        if span.length as usize != name.len() {
            return false;
        }
        let source = self.source(span).as_bytes();
        source.get(span.start as usize..).is_some_and(|rest| rest.starts_with(name.as_bytes()))
    }

    fn source(self, span: Span) -> &'a str {
        match span.source {
            Source::Text => self.text,
            Source::Unescaped => &self.tape.unescaped,
            Source::Mould => self.tape.mould.as_ref().map_or("", |mould| &mould.text),
        }
    }
}

impl<'a> Tree<'a> for View<'a> {
    type Elements = Elements<'a>;

    fn member(self, name: &str) -> Option<Self> {
        let Node::Object { end } = self.node() else { return None };
        let mut at = self.at + 1;
        let mut found = None;
        while at < end {
            let value = self.at(at + 1);
            if self.at(at).is_named(name) {
                found = Some(value);
            }
            at = value.after();
        }
        found
    }

    fn element(self, index: i64) -> Option<Self> {
        let Node::Array { .. } = self.node() else { return None };
        self.elements().nth(position(index, || self.elements().count())?)
    }

    fn elements(self) -> Elements<'a> {
        let (end, named) = match self.node() {
            Node::Array { end } => (end, 0),
            Node::Object { end } => (end, 1),
            Node::Null | Node::Bool(_) | Node::Unsigned(_) | Node::Signed(_) | Node::Float(_) | Node::Text(_) => (0, 0),
        };
        Elements { view: self.at(self.at + 1), end, named }
    }

    fn each_name(self, visit: &mut dyn FnMut(&str)) {
        self.members().for_each(|(name, _)| visit(name));
    }

    fn scalar(self) -> Scalar<'a> {
        match self.node() {
            Node::Null => Scalar::Null,
            Node::Bool(value) => Scalar::Bool(value),
            Node::Unsigned(number) => Scalar::Number(number.into()),
            Node::Signed(number) => Scalar::Number(number.into()),
            Node::Float(number) => Number::from_f64(number).map_or(Scalar::Null, Scalar::Number),
            Node::Text(span) => Scalar::Text(self.string(span)),
            Node::Array { .. } => Scalar::Array,
            Node::Object { .. } => Scalar::Object,
        }
    }
}

impl fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_value().fmt(f)
    }
}

/// What the elements of a [`View`] are walked over by.
#[derive(Debug)]
pub struct Elements<'a> {
    view: View<'a>,
    end: u32,
    /// How many nodes stand before each value: the name in an object, nothing in an array.
    named: u32,
}

impl<'a> Iterator for Elements<'a> {
    type Item = View<'a>;

    fn next(&mut self) -> Option<View<'a>> {
        if self.view.at >= self.end {
            return None;
        }
        let value = self.view.at(self.view.at + self.named);
        self.view.at = value.after();
        Some(value)
    }
}
