//! Says what is wrong with a JSON document, and where.
//!
//! A [`Shape`] describes what a vocabulary accepts. It is the slow, talkative twin of a typed parser: parsers decide,
//! and when they refuse, [`problems`] walks the document and names its faults with their paths, up to a [`LIMIT`]. Each
//! vocabulary tests that the two always agree.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

/// Something that is wrong in a document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, TS)]
pub struct Problem {
    /// Where: `messages[3].segments[0].kind`, or the empty string for the document itself.
    pub path: String,
    /// What: lower case, no full stop.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => write!(f, "{}", self.message),
            path => write!(f, "{path}: {}", self.message),
        }
    }
}

/// What a value must look like. Members that are not listed are always accepted.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    Any,
    Text,
    Flag,
    Number,
    /// A number without a fraction and not below zero; `1.0` is one, whatever its size.
    Count,
    /// One of these strings.
    Word(&'static [&'static str]),
    /// An array of at least `least` items.
    List {
        items: &'static Shape,
        least: usize,
    },
    Record(&'static [Member]),
    /// An object whose member `tag` names the record that it must be.
    Tagged {
        tag: &'static str,
        records: &'static [(&'static str, &'static [Member])],
    },
    /// A record with a further rule that its members alone cannot express; it runs only when they are right.
    Ruled {
        members: &'static [Member],
        rule: fn(&Value) -> Option<&'static str>,
    },
}

/// A named member of a record.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    pub name: &'static str,
    pub presence: Presence,
    pub shape: Shape,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    Required,
    Optional,
}

/// A member that must be there.
pub const fn required(name: &'static str, shape: Shape) -> Member {
    Member { name, presence: Presence::Required, shape }
}

/// A member that may be missing, but must have its shape when it is there.
pub const fn optional(name: &'static str, shape: Shape) -> Member {
    Member { name, presence: Presence::Optional, shape }
}

/// How many faults [`problems`] names. A reader mends a few at a time, and two bytes of a hostile document must not
/// become a hundred bytes of report without end.
pub const LIMIT: usize = 100;

/// What in `value` does not fit `shape`, members in the order in which the shape lists them.
///
/// After [`LIMIT`] of them the walk ends, and a last problem without a path says `and more`.
pub fn problems(shape: &Shape, value: &Value) -> Vec<Problem> {
    let mut walk = Walk { path: String::new(), found: Vec::new() };
    walk.value(shape, value);
    walk.found
}

/// Whether `number` has no fraction and is not below zero.
pub fn is_count(number: &serde_json::Number) -> bool {
    number.is_u64() || number.as_f64().is_some_and(|double| double >= 0.0 && double.fract() == 0.0)
}

struct Walk {
    path: String,
    found: Vec<Problem>,
}

impl Walk {
    fn value(&mut self, shape: &Shape, value: &Value) {
        match shape {
            Shape::Any => {}
            Shape::Text => self.expect(value.is_string(), "a string", value),
            Shape::Flag => self.expect(value.is_boolean(), "true or false", value),
            Shape::Number => self.expect(value.is_number(), "a number", value),
            Shape::Count => self.expect(value.as_number().is_some_and(is_count), "a whole number, zero or more", value),
            Shape::Word(words) => {
                if !value.as_str().is_some_and(|word| words.contains(&word)) {
                    self.report(format!("expected one of {}, found {}", quoted(words), describe(value)));
                }
            }
            Shape::List { items, least } => self.list(items, *least, value),
            Shape::Record(members) => self.record(members, value),
            Shape::Tagged { tag, records } => self.tagged(tag, records, value),
            Shape::Ruled { members, rule } => {
                let before = self.found.len();
                self.record(members, value);
                if self.found.len() == before
                    && let Some(broken) = rule(value)
                {
                    self.report(broken.to_owned());
                }
            }
        }
    }

    fn list(&mut self, items: &Shape, least: usize, value: &Value) {
        let Value::Array(list) = value else {
            return self.expect(false, "an array", value);
        };
        if list.len() < least {
            let items = if least == 1 { "item" } else { "items" };
            self.report(format!("expected at least {least} {items}, found {}", list.len()));
        }
        for (index, item) in list.iter().enumerate() {
            if self.is_full() {
                return;
            }
            self.within(&format!("[{index}]"), |walk| walk.value(items, item));
        }
    }

    fn record(&mut self, members: &[Member], value: &Value) {
        let Value::Object(object) = value else {
            return self.expect(false, "an object", value);
        };
        for member in members {
            match object.get(member.name) {
                Some(found) => self.member(member.name, |walk| walk.value(&member.shape, found)),
                None if member.presence == Presence::Required => {
                    self.member(member.name, |walk| walk.report("required member is missing".to_owned()));
                }
                None => {}
            }
        }
    }

    fn tagged(&mut self, tag: &'static str, records: &[(&'static str, &[Member])], value: &Value) {
        let Value::Object(object) = value else {
            return self.expect(false, "an object", value);
        };
        let Some(found) = object.get(tag) else {
            return self.member(tag, |walk| walk.report("required member is missing".to_owned()));
        };
        match records.iter().find(|(name, _)| found.as_str() == Some(name)) {
            Some((_, members)) => self.record(members, value),
            None => {
                let names: Vec<_> = records.iter().map(|(name, _)| *name).collect();
                let message = format!("expected one of {}, found {}", quoted(&names), describe(found));
                self.member(tag, |walk| walk.report(message));
            }
        }
    }

    fn expect(&mut self, fits: bool, wanted: &str, value: &Value) {
        if !fits {
            self.report(format!("expected {wanted}, found {}", describe(value)));
        }
    }

    fn member(&mut self, name: &str, inner: impl FnOnce(&mut Self)) {
        let step = if self.path.is_empty() { name.to_owned() } else { format!(".{name}") };
        self.within(&step, inner);
    }

    fn within(&mut self, step: &str, inner: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push_str(step);
        inner(self);
        self.path.truncate(length);
    }

    fn report(&mut self, message: String) {
        if self.found.len() < LIMIT {
            self.found.push(Problem { path: self.path.clone(), message });
        } else if !self.is_full() {
            self.found.push(Problem { path: String::new(), message: "and more".to_owned() });
        }
    }

    /// Whether it was already said that there is more.
    fn is_full(&self) -> bool {
        self.found.len() > LIMIT
    }
}

fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
}

/// Names a value in a message without repeating more than a few characters of it.
fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.chars().count() <= 40 => format!("{text:?}"),
        Value::String(text) => format!("a string of {} characters", text.chars().count()),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}
