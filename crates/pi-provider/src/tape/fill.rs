//! Puts what serde reads onto a tape.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{
    Node, Source, Span, Tape,
    mould::Noted,
    narrow,
    wanted::{PlaceId, Wanted},
};

/// One value that is being read.
pub(super) struct Fill<'t> {
    pub(super) tape: &'t mut Tape,
    /// The address of the text, by which a borrowed string is found again in it.
    pub(super) start: usize,
    pub(super) wanted: &'t Wanted,
    pub(super) place: PlaceId,
    pub(super) is_root: bool,
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
        let span = Span::kept(&mut self.tape.unescaped, text);
        self.push_text(text, span);
        Ok(())
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<(), E> {
        let span = borrowed(text, self.start);
        if self.tape.takes_notes {
            let (node, is_told_apart) = (self.tape.nodes.len(), self.wanted.tells_apart(self.place));
            self.tape.noted.push(Noted { start: span.start, node, is_told_apart });
        }
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
            let span = Span::kept(&mut tape.unescaped, name);
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
    Span { start: narrow(text.as_ptr().addr() - start), length: narrow(text.len()), source: Source::Text }
}
