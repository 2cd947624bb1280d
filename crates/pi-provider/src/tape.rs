//! JSON read once, into memory that is used again for the next text.
//!
//! A stream brings thousands of small texts; a `serde_json::Value` for each would cost an allocation for every string and
//! every object. A [`Tape`] keeps one flat list of nodes instead. Strings without escapes are not copied at all: a node
//! remembers where in the text they are. What is not [wanted] is not kept. A text that is shaped like the one before is not
//! even parsed: see the module `mould`.

mod fill;
mod mould;
mod view;
pub mod wanted;

use std::sync::Arc;

use serde::de::{DeserializeSeed, Error as _};

pub use self::view::{Elements, View};
use self::{
    fill::Fill,
    mould::{Mould, Noted, Patience},
    wanted::{PlaceId, Seen, Wanted},
};
use crate::path::tree::Tree;

/// Above this many bytes the memory is given back after a large text.
const KEPT: usize = 32 * 1024;

/// So many bytes of a text make a node, about.
const BYTES_OF_NODE: usize = 12;
/// As many nodes at most are made room for before a text is read.
const MOST_RESERVED: usize = 64;

/// Memory for reading JSON.
#[derive(Debug)]
pub struct Tape {
    /// In the order of the text. An object is followed by name, value, name, value; names are `Text`.
    nodes: Vec<Node>,
    /// Strings that had escapes, and members that were added.
    unescaped: String,
    seen: Seen,
    /// Strings without escapes that are no names, as long as the text is being read.
    noted: Vec<Noted>,
    /// The text that is being read may become a mould.
    takes_notes: bool,
    /// The shape that the nodes have; names in them are read from it.
    mould: Option<Box<Mould>>,
    /// How many moulds there have been.
    moulds: u64,
    /// The text that was read last fitted into the mould.
    is_moulded: bool,
    patience: Patience,
}

/// What texts have in common that fitted into the same mould: they have the same nodes in the same places, and differ only in
/// what texts and counts say. Texts that tell conditions apart are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape(u64);

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
    source: Source,
}

/// Where a text on the tape is to be found.
#[derive(Debug, Clone, Copy)]
enum Source {
    /// In the text that was read.
    Text,
    /// In the memory of the tape.
    Unescaped,
    /// In the text from which the mould was made.
    Mould,
}

impl Tape {
    pub fn new() -> Self {
        Self {
            nodes: Vec::new(),
            unescaped: String::new(),
            seen: Seen::NOTHING,
            noted: Vec::new(),
            takes_notes: false,
            mould: None,
            moulds: 0,
            is_moulded: false,
            patience: Patience::default(),
        }
    }

    /// One that reads a single text, of which no other will have the shape.
    pub(crate) fn for_one_text() -> Self {
        Self { patience: Patience::ENDLESS, ..Self::new() }
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
        wanted: &Arc<Wanted>,
        members: &[(&str, &str)],
    ) -> Result<View<'a>, serde_json::Error> {
        if members.is_empty() {
            self.read_shaped(text, wanted)?;
            return Ok(View { tape: self, text, at: 0 });
        }
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

    /// Reads a text that may have the shape of the one before.
    fn read_shaped(&mut self, text: &str, wanted: &Arc<Wanted>) -> Result<(), serde_json::Error> {
        if let Some(mould) = &mut self.mould {
            self.unescaped.clear();
            if mould.fits(text, wanted, &mut self.nodes, &mut self.unescaped) {
                self.is_moulded = true;
                self.seen = mould.seen();
                self.patience.reward();
                return Ok(());
            }
        }
        self.takes_notes = mould::is_worth(text) && self.patience.is_over();
        let filled = self.fill(text, wanted);
        let has_notes = std::mem::take(&mut self.takes_notes);
        if filled.is_ok() && has_notes && self.unescaped.is_empty() {
            let mould = Mould::new(wanted, text, &mut self.nodes, &self.noted, self.seen);
            self.mould = mould.map(Box::new);
            self.moulds += 1;
        }
        filled
    }

    fn fill(&mut self, text: &str, wanted: &Wanted) -> Result<(), serde_json::Error> {
        self.clear();
        if u32::try_from(text.len()).is_err() {
            return Err(serde_json::Error::custom("the text is longer than four gigabytes"));
        }
        // About as many as there will be, up to a number that a text of mere letters may waste.
        self.nodes.reserve((text.len() / BYTES_OF_NODE).min(MOST_RESERVED));
        let mut deserializer = serde_json::Deserializer::from_str(text);
        Fill { tape: self, start: text.as_ptr().addr(), wanted, place: PlaceId::ROOT, is_root: true }
            .deserialize(&mut deserializer)?;
        deserializer.end()
    }

    /// The bytes that it holds.
    pub fn memory(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
            + self.noted.capacity() * size_of::<Noted>()
            + self.unescaped.capacity()
            + self.mould.as_ref().map_or(0, |mould| mould.memory())
    }

    fn clear(&mut self) {
        self.seen = Seen::NOTHING;
        self.mould = None;
        self.is_moulded = false;
        self.noted.clear();
        self.nodes.clear();
        self.nodes.shrink_to(KEPT / size_of::<Node>());
        self.unescaped.clear();
        self.unescaped.shrink_to(KEPT);
    }

    fn append(&mut self, name: &str, value: &str) {
        for text in [name, value] {
            let span = Span::kept(&mut self.unescaped, text);
            self.nodes.push(Node::Text(span));
        }
        self.nodes[0] = Node::Object { end: self.length() };
    }

    fn length(&self) -> u32 {
        narrow(self.nodes.len())
    }
}

impl Span {
    /// A text that is put into the memory of the tape.
    fn kept(unescaped: &mut String, text: &str) -> Self {
        let start = unescaped.len();
        unescaped.push_str(text);
        Self { start: narrow(start), length: narrow(text.len()), source: Source::Unescaped }
    }
}

impl Default for Tape {
    fn default() -> Self {
        Self::new()
    }
}

/// A node has 32 bits for a place. A text is refused when it is longer than that, and nothing on a tape is longer or more
/// than the bytes of its text, but for the few members that are added.
fn narrow(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

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
        let everything = Arc::new(Wanted::everything());
        let mut read = |text: &str| tape.read_wanted(text, &everything, &added).unwrap().to_value();
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
