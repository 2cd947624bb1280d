//! From bytes to the members of one JSON object, within [`Limits`].
//!
//! One pass of `serde_json`'s reader with our own visitor: it refuses a member that stands twice, nesting and counts
//! beyond the limits, and anything that is not an object, and it remembers *why* as a type, because a serde error is
//! only text. The path of a refused member is collected while the error travels up, so a good frame pays nothing.

use std::{borrow::Cow, cell::RefCell, collections::HashSet, fmt};

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::{Limits, reject::Cause};

/// Up to this many members a scan of the list finds a name faster than hashing does.
const SCANNED: usize = 16;

/// The members of an object in the order in which they were written. A taken member leaves its place empty.
#[derive(Debug, Default)]
pub(crate) struct Members<'de> {
    list: Vec<(Cow<'de, str>, Option<Value>)>,
}

impl<'de> Members<'de> {
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.list.iter().find(|(key, _)| key == name)?.1.as_ref()
    }

    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.list.iter_mut().find(|(key, _)| key == name)?.1.take()
    }

    /// What nobody took, in order.
    pub(crate) fn rest(self) -> Map<String, Value> {
        self.list.into_iter().filter_map(|(name, value)| Some((name.into_owned(), value?))).collect()
    }
}

impl From<Map<String, Value>> for Members<'_> {
    fn from(map: Map<String, Value>) -> Self {
        Self { list: map.into_iter().map(|(name, value)| (Cow::Owned(name), Some(value))).collect() }
    }
}

/// Reads exactly one object from `bytes`.
pub(crate) fn read<'de>(bytes: &'de [u8], limits: &Limits) -> Result<Members<'de>, Cause> {
    if bytes.len() > limits.bytes {
        return Err(Cause::Oversize { size: bytes.len(), limit: limits.bytes });
    }
    let watch = Watch { limits, state: RefCell::default() };
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let members = ObjectSeed { watch: &watch }.deserialize(&mut reader);
    members.and_then(|members| reader.end().map(|()| members)).map_err(|error| {
        let state = watch.state.into_inner();
        state.stop.map_or_else(|| malformed(bytes, &error), |stop| stop.cause(state.path, limits))
    })
}

/// Why `serde_json` itself could not go on.
fn malformed(bytes: &[u8], error: &serde_json::Error) -> Cause {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Cause::Empty;
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        return Cause::ByteOrderMark;
    }
    match std::str::from_utf8(bytes) {
        Err(invalid) => Cause::NotUtf8 { offset: invalid.valid_up_to() },
        Ok(_) => Cause::Malformed { line: error.line(), column: error.column(), problem: problem(error) },
    }
}

/// The reader's own words without the position, which we give apart.
fn problem(error: &serde_json::Error) -> String {
    let mut text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    if text.ends_with(&position) {
        text.truncate(text.len() - position.len());
    }
    text
}

/// Why our visitor stopped the reader.
enum Stop {
    NotAnObject(&'static str),
    DuplicateMember,
    TooDeep,
    TooManyValues,
}

impl Stop {
    fn cause(self, mut path: Vec<Step>, limits: &Limits) -> Cause {
        path.reverse();
        let path = path.into_iter().fold(String::new(), |mut text, step| {
            step.append(&mut text);
            text
        });
        match self {
            Self::NotAnObject(found) => Cause::NotAnObject { found },
            Self::DuplicateMember => Cause::DuplicateMember { path },
            Self::TooDeep => Cause::TooDeep { limit: limits.depth },
            Self::TooManyValues => Cause::TooManyValues { limit: limits.values },
        }
    }
}

enum Step {
    Member(String),
    Item(usize),
}

impl Step {
    fn append(&self, text: &mut String) {
        match self {
            Self::Member(name) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(crate::reject::shortened(name).as_ref());
            }
            Self::Item(index) => {
                text.push('[');
                text.push_str(&index.to_string());
                text.push(']');
            }
        }
    }
}

#[derive(Default)]
struct State {
    stop: Option<Stop>,
    path: Vec<Step>,
    values: usize,
}

struct Watch<'w> {
    limits: &'w Limits,
    state: RefCell<State>,
}

impl Watch<'_> {
    fn stop<E: serde::de::Error>(&self, stop: Stop) -> E {
        self.state.borrow_mut().stop = Some(stop);
        E::custom("stopped")
    }

    fn duplicate<E: serde::de::Error>(&self, name: &str) -> E {
        self.state.borrow_mut().path.push(Step::Member(name.to_owned()));
        self.stop(Stop::DuplicateMember)
    }

    /// Notes where an error came from; only an error of ours has a path that anybody reads.
    fn through<T, E>(&self, result: Result<T, E>, step: impl FnOnce() -> Step) -> Result<T, E> {
        if result.is_err() {
            self.state.borrow_mut().path.push(step());
        }
        result
    }

    fn count<E: serde::de::Error>(&self) -> Result<(), E> {
        let mut state = self.state.borrow_mut();
        state.values += 1;
        if state.values > self.limits.values {
            drop(state);
            return Err(self.stop(Stop::TooManyValues));
        }
        Ok(())
    }
}

/// Reads the frame's own object.
struct ObjectSeed<'w> {
    watch: &'w Watch<'w>,
}

impl<'de> DeserializeSeed<'de> for ObjectSeed<'_> {
    type Value = Members<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ObjectSeed<'_> {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut list: Vec<(Cow<'de, str>, Option<Value>)> = Vec::with_capacity(8);
        let mut seen = HashSet::new();
        while let Some(name) = access.next_key_seed(NameSeed)? {
            self.watch.count()?;
            let duplicate = if list.len() < SCANNED {
                list.iter().any(|(key, _)| *key == name)
            } else {
                if seen.is_empty() {
                    seen.extend(list.iter().map(|(key, _)| key.clone()));
                }
                !seen.insert(name.clone())
            };
            if duplicate {
                return Err(self.watch.duplicate(&name));
            }
            let value = access.next_value_seed(ValueSeed { watch: self.watch, level: 1 });
            let value = self.watch.through(value, || Step::Member(name.to_string()))?;
            list.push((name, Some(value)));
        }
        Ok(Members { list })
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Self::Value, E> {
        Err(self.watch.stop(Stop::NotAnObject("null")))
    }

    fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<Self::Value, E> {
        Err(self.watch.stop(Stop::NotAnObject("a boolean")))
    }

    fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<Self::Value, E> {
        Err(self.watch.stop(Stop::NotAnObject("a number")))
    }

    fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<Self::Value, E> {
        Err(self.watch.stop(Stop::NotAnObject("a number")))
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<Self::Value, E> {
        Err(self.watch.stop(Stop::NotAnObject("a number")))
    }

    fn visit_str<E: serde::de::Error>(self, _: &str) -> Result<Self::Value, E> {
        Err(self.watch.stop(Stop::NotAnObject("a string")))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<Self::Value, A::Error> {
        Err(self.watch.stop(Stop::NotAnObject("an array")))
    }
}

/// Reads a name without copying it where the bytes spell it plainly.
struct NameSeed;

impl<'de> DeserializeSeed<'de> for NameSeed {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for NameSeed {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}

/// Reads any value inside the frame's object; `level` is the nesting of the object or array around it.
struct ValueSeed<'w> {
    watch: &'w Watch<'w>,
    level: usize,
}

impl ValueSeed<'_> {
    fn deeper<E: serde::de::Error>(&self) -> Result<usize, E> {
        if self.level < self.watch.limits.depth { Ok(self.level + 1) } else { Err(self.watch.stop(Stop::TooDeep)) }
    }
}

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Value, E> {
        Number::from_f64(number).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let level = self.deeper()?;
        let mut items = Vec::new();
        loop {
            let item = access.next_element_seed(ValueSeed { watch: self.watch, level });
            match self.watch.through(item, || Step::Item(items.len()))? {
                Some(item) => items.push(item),
                None => return Ok(Value::Array(items)),
            }
            self.watch.count()?;
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let level = self.deeper()?;
        let mut members = Map::new();
        while let Some(name) = access.next_key::<String>()? {
            self.watch.count()?;
            if members.contains_key(&name) {
                return Err(self.watch.duplicate(&name));
            }
            let value = access.next_value_seed(ValueSeed { watch: self.watch, level });
            let value = self.watch.through(value, || Step::Member(name.clone()))?;
            members.insert(name, value);
        }
        Ok(Value::Object(members))
    }
}
