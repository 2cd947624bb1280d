//! A part of the tree into a type, with the place of everything that is wrong and a list of what the type did not want.

mod wording;

use std::{cell::RefCell, collections::HashSet, fmt};

use serde::{
    de::{
        DeserializeOwned, DeserializeSeed, Deserializer, Error as _, Expected, MapAccess, SeqAccess, Unexpected,
        Visitor,
        value::{BorrowedStrDeserializer, StrDeserializer},
    },
    forward_to_deserialize_any,
};

use super::{Member, Node, Position, Tree};
use crate::{
    likeness::nearest,
    manifest::{diagnostic::Rule, expression},
};

/// A member that is not known, or whose value is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignored {
    /// From the root of the document: `capabilities.optional[2]`.
    pub path: String,
    pub line: u32,
    pub column: u32,
    /// The known member that may have been meant.
    pub meant: Option<&'static str>,
}

/// What a value was read into, and what was left out of it because it is wrong.
pub(in crate::manifest) struct Reading<T> {
    /// Absent if nothing is left without what is wrong.
    pub value: Option<T>,
    pub faults: Vec<Fault>,
}

/// One thing that is wrong.
#[derive(Debug)]
pub(in crate::manifest) struct Fault {
    pub at: Position,
    pub path: String,
    pub message: String,
    /// Better advice than the usual.
    pub hint: Option<String>,
    /// The rule, where the kind of value has one of its own.
    pub rule: Option<Rule>,
}

/// More faults in one section say that it is something else.
const MOST_FAULTS: usize = 32;

/// Reads a value. What is wrong is left out, and what is around it is read without it; a member that is missing then is
/// no second fault. What was ignored goes into the list only if something could be read.
pub(in crate::manifest) fn read<T: DeserializeOwned>(
    node: &Node,
    path: &str,
    ignored: &mut Vec<Ignored>,
) -> Reading<T> {
    let mut left_out = LeftOut::default();
    let mut faults = Vec::new();
    loop {
        let seen = RefCell::new(Vec::new());
        let context = Context { ignored: &seen, left_out: &left_out };
        let error = match T::deserialize(Reader {
            node,
            at: node.at,
            trail: Trail::Root(path),
            context,
            fields: &[],
            member: None,
        }) {
            Ok(value) => {
                ignored.append(&mut seen.into_inner());
                return Reading { value: Some(value), faults };
            }
            Err(error) => error,
        };
        // The place of the whole value stands in where a library lost it on the way.
        let ReadError { place, complaint: Complaint { message, hint, rule, .. } } = error;
        let place = place.unwrap_or_else(|| Place::of(node, Trail::Root(path)));
        if !place.is_echo {
            faults.push(Fault { at: place.at, path: place.path, message, hint, rule });
        }
        let is_whole = std::ptr::eq(place.node, node);
        if is_whole || faults.len() >= MOST_FAULTS || !left_out.0.insert(place.node) {
            return Reading { value: None, faults };
        }
    }
}

/// The values that are passed over, by their address: the tree does not move while it is read.
#[derive(Default)]
struct LeftOut(HashSet<*const Node>);

impl LeftOut {
    fn has(&self, node: &Node) -> bool {
        self.0.contains(&std::ptr::from_ref(node))
    }
}

#[derive(Debug)]
struct ReadError {
    /// Absent until the error has passed the value that it is about.
    place: Option<Place>,
    complaint: Complaint,
}

#[derive(Debug)]
struct Place {
    node: *const Node,
    at: Position,
    path: String,
    /// What is missing here was left out before.
    is_echo: bool,
}

/// What is wrong, as far as it can be said without the value.
#[derive(Debug, Default)]
struct Complaint {
    message: String,
    hint: Option<String>,
    rule: Option<Rule>,
    /// What was expected in place of the value; completed with what the value is.
    expected: Option<String>,
    missing: Option<&'static str>,
}

impl Place {
    fn of(node: &Node, trail: Trail<'_>) -> Self {
        Self { node, at: node.at, path: trail.to_string(), is_echo: false }
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

/// What all readers of one value share.
#[derive(Clone, Copy)]
struct Context<'t> {
    ignored: &'t RefCell<Vec<Ignored>>,
    left_out: &'t LeftOut,
}

struct Reader<'de, 't> {
    node: &'de Node,
    /// Where the key stands if the value has one: that is where an unknown member is pointed at.
    at: Position,
    trail: Trail<'t>,
    context: Context<'t>,
    /// The members that its type has, once it is known to be a type with members.
    fields: &'static [&'static str],
    /// The same of the object in which it stands, and its own name there.
    member: Option<(&'de str, &'static [&'static str])>,
}

impl Context<'_> {
    /// The error with its place, which is that of the innermost value that it has passed, and with what that value is.
    fn locate(self, mut error: ReadError, node: &Node, trail: Trail<'_>) -> ReadError {
        if error.place.is_some() {
            return error;
        }
        let complaint = &mut error.complaint;
        if let Some(expected) = complaint.expected.take() {
            complaint.message = match &node.value {
                Tree::Number(number) if expected.contains("number") => format!("{expected} is expected, not {number}"),
                _ => format!("{expected} is expected, not {}", node.kind()),
            };
            if expected == wording::TEXT && matches!(node.value, Tree::Number(_) | Tree::Bool(_)) {
                complaint.hint = Some("put the value in quotes".to_owned());
            }
        }
        let mut place = Place::of(node, trail);
        let member = complaint.missing.and_then(|name| node.as_map()?.iter().find(|member| member.key == name));
        place.is_echo = member.is_some_and(|member| self.left_out.has(&member.node));
        error.place = Some(place);
        error
    }
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
        result.map_err(|error| self.context.locate(error, self.node, self.trail))
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
                Err(ReadError::expecting("a word".to_owned()))
            }
        };
        result.map_err(|error| self.context.locate(error, self.node, self.trail))
    }

    /// Without this a list would be taken for the members in their order.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        Self { fields, ..self }.deserialize_map(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        if self.node.as_map().is_some() {
            return self.deserialize_any(visitor);
        }
        let error = ReadError::expecting("an object".to_owned());
        Err(self.context.locate(error, self.node, self.trail))
    }

    /// Without this a list that is too long would be cut.
    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, ReadError> {
        match self.node.as_list() {
            Some(list) if list.len() == length => self.deserialize_any(visitor),
            Some(list) => {
                let error = ReadError::custom(format_args!("{length} values are expected, not {}", list.len()));
                Err(self.context.locate(error, self.node, self.trail))
            }
            None => {
                let error = ReadError::expecting(format!("a list of {length} values"));
                Err(self.context.locate(error, self.node, self.trail))
            }
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let Position { line, column, .. } = self.at;
        let meant = self.member.and_then(|(name, known)| nearest(name, known.iter().copied()).first().copied());
        self.context.ignored.borrow_mut().push(Ignored { path: self.trail.to_string(), line, column, meant });
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq
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
        let context = self.parent.context;
        let Some((index, node)) = self.list.find(|(_, node)| !context.left_out.has(node)) else { return Ok(None) };
        let trail = Trail::Index(&self.parent.trail, index);
        let value = seed.deserialize(Reader { node, at: node.at, trail, context, fields: &[], member: None });
        value.map(Some).map_err(|error| context.locate(error, node, trail))
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
        self.current = self.members.find(|member| !self.parent.context.left_out.has(&member.node));
        let Some(member) = self.current else { return Ok(None) };
        let key = seed.deserialize(BorrowedStrDeserializer::new(&member.key));
        key.map(Some).map_err(|mut error: ReadError| {
            let trail = Trail::Key(&self.parent.trail, &member.key);
            error.place.get_or_insert_with(|| Place { at: member.at, ..Place::of(&member.node, trail) });
            error
        })
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ReadError> {
        let member = self.current.take().ok_or_else(|| ReadError::custom("a value was asked for before its key"))?;
        let (trail, context) = (Trail::Key(&self.parent.trail, &member.key), self.parent.context);
        let known = Some((member.key.as_str(), self.parent.fields));
        let reader = Reader { node: &member.node, at: member.at, trail, context, fields: &[], member: known };
        seed.deserialize(reader).map_err(|error| context.locate(error, &member.node, trail))
    }
}

impl ReadError {
    fn of(complaint: Complaint) -> Self {
        Self { place: None, complaint }
    }

    fn expecting(expected: String) -> Self {
        Self::of(Complaint { expected: Some(expected), ..Complaint::default() })
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.complaint.message)
    }
}

impl std::error::Error for ReadError {}

/// In words for people; the usual ones are for those who know the types.
impl serde::de::Error for ReadError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::of(Complaint { message: message.to_string(), ..Complaint::default() })
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::expecting(wording::expected(&expected.to_string()))
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let kind = if let Unexpected::Other(kind) = unexpected { kind } else { "" };
        match expression::rule(kind) {
            Some(rule) => {
                Self::of(Complaint { message: expected.to_string(), rule: Some(rule), ..Complaint::default() })
            }
            None => Self::expecting(wording::expected(&expected.to_string())),
        }
    }

    fn invalid_length(_: usize, expected: &dyn Expected) -> Self {
        Self::expecting(wording::expected(&expected.to_string()))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let message = format!("{variant:?} is not one of {}", expected.join(", "));
        Self::of(Complaint { message, hint: Some(wording::choice(variant, expected)), ..Complaint::default() })
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let message = format!("{field:?} is not known here");
        Self::of(Complaint { message, hint: Some(wording::choice(field, expected)), ..Complaint::default() })
    }

    fn missing_field(field: &'static str) -> Self {
        let hint = format!("add {field}");
        let message = format!("{field} is missing");
        Self::of(Complaint { message, hint: Some(hint), missing: Some(field), ..Complaint::default() })
    }

    fn duplicate_field(field: &'static str) -> Self {
        let hint = Some("keep one of the two".to_owned());
        Self::of(Complaint {
            message: format!("{field} is given twice, under two names"),
            hint,
            ..Complaint::default()
        })
    }
}
