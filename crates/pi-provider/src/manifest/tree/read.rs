//! A part of the tree into a type, with the place of every error and a list of what the type did not want.

use std::{cell::RefCell, fmt};

use serde::{
    de::{
        DeserializeOwned, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor,
        value::{BorrowedStrDeserializer, StrDeserializer},
    },
    forward_to_deserialize_any,
};

use super::{Member, Node, Position, Tree};

/// A member that is not known, or whose value is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignored {
    /// From the root of the document: `capabilities.optional[2]`.
    pub path: String,
    pub line: u32,
    pub column: u32,
}

#[derive(Debug)]
pub(in crate::manifest) struct ReadError {
    /// Absent until the error has passed the value that it is about.
    place: Option<(Position, String)>,
    pub message: String,
    pub hint: Option<String>,
}

/// What a value was read into, or why it could not be; what was ignored goes into the list only when reading succeeds.
pub(in crate::manifest) fn read<T: DeserializeOwned>(
    node: &Node,
    path: &str,
    ignored: &mut Vec<Ignored>,
) -> Result<T, ReadError> {
    let seen = RefCell::new(Vec::new());
    let value = T::deserialize(Reader { node, at: node.at, trail: Trail::Root(path), ignored: &seen })?;
    ignored.append(&mut seen.into_inner());
    Ok(value)
}

impl ReadError {
    /// The place of the error; that of the whole value where a library lost it on the way.
    pub(in crate::manifest) fn place(&self, node: &Node, path: &str) -> (Position, String) {
        self.place.clone().unwrap_or_else(|| (node.at, path.to_owned()))
    }
}

/// How we came to a value.
#[derive(Clone, Copy)]
enum Trail<'a> {
    Root(&'a str),
    Key(&'a Trail<'a>, &'a str),
    Index(&'a Trail<'a>, usize),
}

impl fmt::Display for Trail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root(path) => f.write_str(path),
            Self::Key(Trail::Root(""), key) => f.write_str(key),
            Self::Key(parent, key) => write!(f, "{parent}.{key}"),
            Self::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

struct Reader<'de, 't> {
    node: &'de Node,
    /// Where the key stands if the value has one: that is where an unknown member is pointed at.
    at: Position,
    trail: Trail<'t>,
    ignored: &'t RefCell<Vec<Ignored>>,
}

fn locate(mut error: ReadError, node: &Node, trail: Trail<'_>) -> ReadError {
    if error.place.is_none() {
        error.place = Some((node.at, trail.to_string()));
        let wants_text = error.message.ends_with("expected a string");
        if wants_text && matches!(node.value, Tree::Number(_) | Tree::Bool(_)) {
            error.hint = Some("put the value in quotes".to_owned());
        }
    }
    error
}

impl<'de> Deserializer<'de> for Reader<'de, '_> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let result = match &self.node.value {
            Tree::Null => visitor.visit_unit(),
            Tree::Bool(value) => visitor.visit_bool(*value),
            Tree::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(value), _) => visitor.visit_u64(value),
                (None, Some(value)) => visitor.visit_i64(value),
                (None, None) => visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN)),
            },
            Tree::Text(text) => visitor.visit_borrowed_str(text),
            Tree::List(list) => visitor.visit_seq(Elements { list: list.iter().enumerate(), parent: &self }),
            Tree::Map(members) => visitor.visit_map(Entries { members: members.iter(), current: None, parent: &self }),
        };
        result.map_err(|error| locate(error, self.node, self.trail))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        if self.node.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let result = match &self.node.value {
            Tree::Text(text) => visitor.visit_enum(StrDeserializer::new(text)),
            Tree::Null | Tree::Bool(_) | Tree::Number(_) | Tree::List(_) | Tree::Map(_) => {
                Err(ReadError::custom(format_args!("a word is expected, not {}", self.node.kind())))
            }
        };
        result.map_err(|error| locate(error, self.node, self.trail))
    }

    /// Without this a list would be taken for the members in their order.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.deserialize_map(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        if self.node.as_map().is_some() {
            return self.deserialize_any(visitor);
        }
        let error = ReadError::custom(format_args!("an object is expected, not {}", self.node.kind()));
        Err(locate(error, self.node, self.trail))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let Position { line, column } = self.at;
        self.ignored.borrow_mut().push(Ignored { path: self.trail.to_string(), line, column });
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct identifier
    }
}

struct Elements<'de, 't> {
    list: std::iter::Enumerate<std::slice::Iter<'de, Node>>,
    parent: &'t Reader<'de, 't>,
}

impl<'de> SeqAccess<'de> for Elements<'de, '_> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, ReadError> {
        let Some((index, node)) = self.list.next() else { return Ok(None) };
        let trail = Trail::Index(&self.parent.trail, index);
        seed.deserialize(Reader { node, at: node.at, trail, ignored: self.parent.ignored }).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.list.len())
    }
}

struct Entries<'de, 't> {
    members: std::slice::Iter<'de, Member>,
    current: Option<&'de Member>,
    parent: &'t Reader<'de, 't>,
}

impl<'de> MapAccess<'de> for Entries<'de, '_> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ReadError> {
        self.current = self.members.next();
        let Some(member) = self.current else { return Ok(None) };
        let key = seed.deserialize(BorrowedStrDeserializer::new(&member.key));
        key.map(Some).map_err(|mut error: ReadError| {
            error.place.get_or_insert_with(|| (member.at, Trail::Key(&self.parent.trail, &member.key).to_string()));
            error
        })
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ReadError> {
        let member = self.current.take().ok_or_else(|| ReadError::custom("a value was asked for before its key"))?;
        let trail = Trail::Key(&self.parent.trail, &member.key);
        let reader = Reader { node: &member.node, at: member.at, trail, ignored: self.parent.ignored };
        seed.deserialize(reader).map_err(|error| locate(error, &member.node, trail))
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ReadError {}

impl serde::de::Error for ReadError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { place: None, message: message.to_string(), hint: None }
    }
}
