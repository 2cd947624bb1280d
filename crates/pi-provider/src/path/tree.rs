//! What a path can be followed in.

use std::iter;

use serde_json::{Number, Value, map};

/// JSON that can be walked. There are two: [`View`](crate::tape::View) for frames of a stream, which arrive by the
/// thousand, and [`Value`] for whole answers and for tests.
pub trait Tree<'a>: Copy + 'a {
    type Elements: Iterator<Item = Self>;

    /// The member of an object; the last one where the name occurs twice.
    fn member(self, name: &str) -> Option<Self>;

    /// The element of an array; a negative index counts from the end.
    fn element(self, index: i64) -> Option<Self>;

    /// The elements of an array or the values of an object; nothing else has any.
    fn elements(self) -> Self::Elements;

    /// The names of an object's members; nothing else has any.
    fn each_name(self, visit: &mut dyn FnMut(&str));

    fn scalar(self) -> Scalar<'a>;
}

/// What stands at one place of a tree.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar<'a> {
    Null,
    Bool(bool),
    Number(Number),
    Text(&'a str),
    Array,
    Object,
}

impl<'a> Tree<'a> for &'a Value {
    type Elements = Elements<'a>;

    fn member(self, name: &str) -> Option<Self> {
        self.as_object()?.get(name)
    }

    fn element(self, index: i64) -> Option<Self> {
        let array = self.as_array()?;
        array.get(position(index, || array.len())?)
    }

    fn elements(self) -> Elements<'a> {
        match self {
            Value::Array(array) => Elements::Array(array.iter()),
            Value::Object(object) => Elements::Object(object.values()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Elements::None(iter::empty()),
        }
    }

    fn each_name(self, visit: &mut dyn FnMut(&str)) {
        self.as_object().into_iter().flat_map(map::Map::keys).for_each(|name| visit(name));
    }

    fn scalar(self) -> Scalar<'a> {
        match self {
            Value::Null => Scalar::Null,
            Value::Bool(value) => Scalar::Bool(*value),
            Value::Number(number) => Scalar::Number(number.clone()),
            Value::String(text) => Scalar::Text(text),
            Value::Array(_) => Scalar::Array,
            Value::Object(_) => Scalar::Object,
        }
    }
}

/// What [`Tree::elements`] of a [`Value`] walks over.
#[derive(Debug)]
pub enum Elements<'a> {
    Array(std::slice::Iter<'a, Value>),
    Object(map::Values<'a>),
    None(iter::Empty<&'a Value>),
}

impl<'a> Iterator for Elements<'a> {
    type Item = &'a Value;

    fn next(&mut self) -> Option<&'a Value> {
        match self {
            Self::Array(values) => values.next(),
            Self::Object(values) => values.next(),
            Self::None(values) => values.next(),
        }
    }
}

/// Where a possibly negative index points, given the number of elements.
pub(crate) fn position(index: i64, count: impl FnOnce() -> usize) -> Option<usize> {
    match usize::try_from(index) {
        Ok(index) => Some(index),
        Err(_) => count().checked_sub(usize::try_from(index.unsigned_abs()).ok()?),
    }
}
