//! JSON read once, into memory that is used again for the next text.
//!
//! A stream brings thousands of small texts; a `serde_json::Value` for each would cost an allocation for every string and
//! every object. A [`Tape`] keeps one flat list of nodes instead. Strings without escapes are not copied at all: a node
//! remembers where in the text they are. What is not [wanted] is not kept.

pub mod wanted;

use std::{fmt, iter};

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use self::wanted::{PlaceId, Seen, Wanted};
use crate::path::tree::{Scalar, Tree, position};

/// Above this many bytes the memory is given back after a large text.
const KEPT: usize = 32 * 1024;

/// Memory for reading JSON.
#[derive(Debug)]
pub struct Tape {
    /// In the order of the text. An object is followed by name, value, name, value; names are `Text`.
    nodes: Vec<Node>,
    /// Strings that had escapes, and members that were added.
    unescaped: String,
    seen: Seen,
}

#[derive(Debug, Clone, Copy)]
enum Node {
    Null,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Text(Span),
    /// `end` is the place after the last node inside.
    Array {
        end: u32,
    },
    Object {
        end: u32,
    },
}

#[derive(Debug, Clone, Copy)]
struct Span {
    start: u32,
    length: u32,
    /// In `unescaped` rather than in the text.
    unescaped: bool,
}

/// A place in JSON that a [`Tape`] has read.
#[derive(Clone, Copy)]
pub struct View<'a> {
    tape: &'a Tape,
    text: &'a str,
    at: u32,
}

impl Tape {
    pub fn new() -> Self {
        Self { nodes: Vec::new(), unescaped: String::new(), seen: Seen::NOTHING }
    }

    /// Reads one JSON text; nothing but white space may follow it.
    pub fn read<'a>(&'a mut self, text: &'a str) -> Result<View<'a>, serde_json::Error> {
        self.fill(text, &Wanted::everything())?;
        self.seen = Seen::ANYTHING;
        Ok(View { tape: self, text, at: 0 })
    }

    /// Like [`read`](Self::read), but keeps only what is wanted: of an object, or of each object of an array. An object
    /// also gets these members, unless it has members of these names.
    pub fn read_wanted<'a>(
        &'a mut self,
        text: &'a str,
        wanted: &Wanted,
        members: &[(&str, &str)],
    ) -> Result<View<'a>, serde_json::Error> {
        self.fill(text, wanted)?;
        for (name, value) in members {
            let root = View { tape: self, text, at: 0 };
            if matches!(root.node(), Node::Object { .. }) && root.member(name).is_none() {
                self.append(name, value);
                if let Some(place) = wanted.member(PlaceId::ROOT, name) {
                    self.seen = self.seen.with(wanted.seen_text(place, value));
                }
            }
        }
        Ok(View { tape: self, text, at: 0 })
    }

    /// An object of these members, for what is not JSON.
    pub fn object<'a>(&'a mut self, members: &[(&str, &str)]) -> View<'a> {
        self.clear();
        self.seen = Seen::ANYTHING;
        self.nodes.push(Node::Object { end: 1 });
        for (name, value) in members {
            self.append(name, value);
        }
        View { tape: self, text: "", at: 0 }
    }

    fn fill(&mut self, text: &str, wanted: &Wanted) -> Result<(), serde_json::Error> {
        self.clear();
        if u32::try_from(text.len()).is_err() {
            return Err(serde_json::Error::custom("the text is longer than four gigabytes"));
        }
        let mut deserializer = serde_json::Deserializer::from_str(text);
        Fill { tape: self, start: text.as_ptr().addr(), wanted, place: PlaceId::ROOT, is_root: true }
            .deserialize(&mut deserializer)?;
        deserializer.end()
    }

    /// The bytes that it holds.
    pub fn memory(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>() + self.unescaped.capacity()
    }

    fn clear(&mut self) {
        self.seen = Seen::NOTHING;
        self.nodes.clear();
        self.nodes.shrink_to(KEPT / size_of::<Node>());
        self.unescaped.clear();
        self.unescaped.shrink_to(KEPT);
    }

    fn append(&mut self, name: &str, value: &str) {
        for text in [name, value] {
            let span = self.keep(text);
            self.nodes.push(Node::Text(span));
        }
        self.nodes[0] = Node::Object { end: self.length() };
    }

    fn keep(&mut self, text: &str) -> Span {
        let start = self.unescaped.len();
        self.unescaped.push_str(text);
        Span { start: narrow(start), length: narrow(text.len()), unescaped: true }
    }

    fn length(&self) -> u32 {
        narrow(self.nodes.len())
    }
}

impl Default for Tape {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> View<'a> {
    pub fn as_str(self) -> Option<&'a str> {
        match self.node() {
            Node::Text(span) => Some(self.string(span)),
            _ => None,
        }
    }

    pub fn as_u64(self) -> Option<u64> {
        match self.node() {
            Node::Unsigned(number) => Some(number),
            _ => None,
        }
    }

    pub fn as_bool(self) -> Option<bool> {
        match self.node() {
            Node::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// What was seen in the whole text that this is a part of.
    pub fn seen(self) -> Seen {
        self.tape.seen
    }

    pub fn is_null(self) -> bool {
        matches!(self.node(), Node::Null)
    }

    /// The members of an object, in the order of the text.
    pub fn members(self) -> impl Iterator<Item = (&'a str, View<'a>)> {
        let (mut at, end) = match self.node() {
            Node::Object { end } => (self.at + 1, end),
            _ => (0, 0),
        };
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

    fn node(self) -> Node {
        self.tape.nodes.get(self.at as usize).copied().unwrap_or(Node::Null)
    }

    fn at(self, at: u32) -> Self {
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
        let source = if span.unescaped { &self.tape.unescaped } else { self.text };
        source.get(span.start as usize..(span.start + span.length) as usize).unwrap_or_default()
    }

    fn is_named(self, name: &str) -> bool {
        let Node::Text(span) = self.node() else { return false };
        if span.length as usize != name.len() {
            return false;
        }
        let source = if span.unescaped { &self.tape.unescaped } else { self.text };
        source.as_bytes().get(span.start as usize..).is_some_and(|rest| rest.starts_with(name.as_bytes()))
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
            _ => (0, 0),
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

/// A node has 32 bits for a place. A text is refused when it is longer than that, and nothing on a tape is longer or more
/// than the bytes of its text, but for the few members that are added.
fn narrow(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

/// Puts what serde reads onto the tape.
struct Fill<'t> {
    tape: &'t mut Tape,
    /// The address of the text, by which a borrowed string is found again in it.
    start: usize,
    wanted: &'t Wanted,
    place: PlaceId,
    is_root: bool,
}

impl Fill<'_> {
    fn push(self, node: Node) {
        self.tape.seen = self.tape.seen.with(self.wanted.seen(self.place));
        self.tape.nodes.push(node);
    }

    fn push_text(self, text: &str, span: Span) {
        self.tape.seen = self.tape.seen.with(self.wanted.seen_text(self.place, text));
        self.tape.nodes.push(Node::Text(span));
    }

    /// The same for a value inside.
    fn inside(&mut self, place: PlaceId) -> Fill<'_> {
        Fill { tape: self.tape, start: self.start, wanted: self.wanted, place, is_root: false }
    }
}

impl<'de> DeserializeSeed<'de> for Fill<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Fill<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.tape.nodes.push(Node::Null);
        Ok(())
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.push(Node::Bool(value));
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.push(Node::Unsigned(number));
        Ok(())
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.push(Node::Signed(number));
        Ok(())
    }

    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        self.push(Node::Float(number));
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        let span = self.tape.keep(text);
        self.push_text(text, span);
        Ok(())
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<(), E> {
        let span = borrowed(text, self.start);
        self.push_text(text, span);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut sequence: A) -> Result<(), A::Error> {
        let at = self.tape.nodes.len();
        self.tape.nodes.push(Node::Array { end: 0 });
        // An array of frames is read as each frame would be.
        let place = if self.is_root { Some(self.place) } else { self.wanted.element(self.place) };
        match place {
            Some(place) => while sequence.next_element_seed(self.inside(place))?.is_some() {},
            None => while sequence.next_element::<IgnoredAny>()?.is_some() {},
        }
        self.tape.nodes[at] = Node::Array { end: self.tape.length() };
        self.tape.seen = self.tape.seen.with(self.wanted.seen(self.place));
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let at = self.tape.nodes.len();
        self.tape.nodes.push(Node::Object { end: 0 });
        while let Some(member) = map.next_key_seed(Name(self.inside(self.place)))? {
            match member {
                Some(place) => map.next_value_seed(self.inside(place))?,
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        self.tape.nodes[at] = Node::Object { end: self.tape.length() };
        self.tape.seen = self.tape.seen.with(self.wanted.seen(self.place));
        Ok(())
    }
}

/// Puts the name of a member onto the tape, if somebody wants the member; the result is its place.
struct Name<'t>(Fill<'t>);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Option<PlaceId>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name<'_> {
    type Value = Option<PlaceId>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        let Fill { tape, wanted, place, .. } = self.0;
        Ok(wanted.member(place, name).inspect(|_| {
            let span = tape.keep(name);
            tape.nodes.push(Node::Text(span));
        }))
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
        let Fill { tape, start, wanted, place, .. } = self.0;
        Ok(wanted.member(place, name).inspect(|_| tape.nodes.push(Node::Text(borrowed(name, start)))))
    }
}

/// What is borrowed is a part of the text, so that the distance of the addresses is the place in it.
fn borrowed(text: &str, start: usize) -> Span {
    Span { start: narrow(text.as_ptr().addr() - start), length: narrow(text.len()), unescaped: false }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Value::from),
            "\\PC{0,12}".prop_map(Value::from),
            "[\"\\\\\n\t/é\u{1F600}a]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 60, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec(("[a-c\"\n]{0,2}", inner), 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_tape_holds_what_a_value_holds(first in any_json(), second in any_json()) {
            let mut tape = Tape::new();
            for value in [first, second] {
                let text = serde_json::to_string(&value).unwrap();
                prop_assert_eq!(tape.read(&text).unwrap().to_value(), value);
            }
        }
    }

    #[test]
    fn the_last_of_equal_names_counts() {
        let text = r#"{"a":1,"b":[],"a":{"c":2}}"#;
        let mut tape = Tape::new();
        let root = tape.read(text).unwrap();
        assert_eq!(root.member("a").unwrap().to_value(), json!({"c": 2}));
        assert_eq!(root.to_value(), serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn members_are_added_to_an_object_that_lacks_them() {
        let mut tape = Tape::new();
        let added = [("event", "ping"), ("data", "{}")];
        let mut read = |text: &str| tape.read_wanted(text, &Wanted::everything(), &added).unwrap().to_value();
        assert_eq!(read(r#"{"event":"mine"}"#), json!({"event": "mine", "data": "{}"}));
        assert_eq!(read("{}"), json!({"event": "ping", "data": "{}"}));
        assert_eq!(read("[1]"), json!([1]));
        assert_eq!(tape.object(&added).to_value(), json!({"event": "ping", "data": "{}"}));
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for text in ["", "{", "[1,]", "{} {}", "nul", "\"\\u12\"", &"[".repeat(1000)] {
            assert!(Tape::new().read(text).is_err(), "{text:?}");
        }
    }
}
