//! Everything that is not text: flags, numbers, words, lists, objects.

use std::{fmt, marker::PhantomData};

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use super::{Refused, Report, Rule};
use crate::{
    command::{Extended, Payload},
    fault::{Fault, Wanted},
    fields::Fields,
    schema::{self, typescript::Types},
};

/// `true` or `false`.
#[derive(Debug)]
pub(crate) struct Flag;

impl Rule for Flag {
    type Output = bool;

    fn wanted(&self) -> Wanted {
        Wanted::Boolean
    }

    fn read(&self, value: Value, _: &mut Report) -> Result<bool, Refused> {
        value.as_bool().ok_or(Refused::Mistyped)
    }

    fn schema(&self, _: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "boolean" })
    }

    fn typescript(&self, _: &mut Types) -> String {
        "boolean".to_owned()
    }
}

/// A whole number from `least` to `most`; `1.0` is one, as in JavaScript and JSON Schema.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) least: u64,
    pub(crate) most: u64,
}

impl Whole {
    fn number(value: &Value) -> Option<u64> {
        let number = value.as_number()?;
        match number.as_u64() {
            Some(whole) => Some(whole),
            None => {
                let double = number.as_f64().filter(|double| double.fract() == 0.0)?;
                // Beyond 2^53 a double is no exact number; every rule's `most` refuses it anyway.
                (0.0..=crate::limits::WHOLE as f64).contains(&double).then_some(double as u64)
            }
        }
    }
}

impl Rule for Whole {
    type Output = u64;

    fn wanted(&self) -> Wanted {
        Wanted::Integer
    }

    fn read(&self, value: Value, report: &mut Report) -> Result<u64, Refused> {
        match Self::number(&value) {
            Some(number) if (self.least..=self.most).contains(&number) => Ok(number),
            _ if self.least == 0 => Err(report.fault(Fault::NotWhole)),
            _ => Err(report.fault(Fault::OutOfRange { least: self.least, most: self.most })),
        }
    }

    fn schema(&self, _: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": self.least, "maximum": self.most })
    }

    fn typescript(&self, _: &mut Types) -> String {
        "number".to_owned()
    }
}

/// One of a few words, each with its meaning. Two words may mean the same: they are then the same command.
pub(crate) struct Word<T: 'static>(pub(crate) &'static [(&'static str, T)]);

impl<T: Clone> Rule for Word<T> {
    type Output = T;

    fn wanted(&self) -> Wanted {
        Wanted::NonEmptyString
    }

    fn read(&self, value: Value, report: &mut Report) -> Result<T, Refused> {
        let Value::String(text) = value else { return Err(Refused::Mistyped) };
        match self.0.iter().find(|(word, _)| *word == text) {
            Some((_, meaning)) => Ok(meaning.clone()),
            None => Err(report.fault(Fault::NotOneOf { allowed: self.0.iter().map(|(word, _)| *word).collect() })),
        }
    }

    fn schema(&self, _: &mut SchemaGenerator) -> Schema {
        let words: Vec<_> = self.0.iter().map(|(word, _)| *word).collect();
        json_schema!({ "enum": words })
    }

    fn typescript(&self, _: &mut Types) -> String {
        self.0.iter().map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>().join(" | ")
    }
}

impl<T> fmt::Debug for Word<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(word, _)| word)).finish()
    }
}

/// A list of at most `max` items.
#[derive(Debug)]
pub(crate) struct List<R> {
    pub(crate) items: R,
    pub(crate) max: usize,
    pub(crate) too_many: Fault,
}

impl<R: Rule> Rule for List<R> {
    type Output = Vec<R::Output>;

    fn wanted(&self) -> Wanted {
        Wanted::Array
    }

    fn read(&self, value: Value, report: &mut Report) -> Result<Self::Output, Refused> {
        let Value::Array(list) = value else { return Err(Refused::Mistyped) };
        if list.len() > self.max {
            return Err(report.fault(self.too_many.clone()));
        }
        let read = |(index, item)| {
            if report.is_full() {
                return Err(Refused::Reported);
            }
            report.within_item(index, |report| match self.items.read(item, report) {
                Err(Refused::Mistyped) => Err(report.fault(Fault::Required(self.items.wanted().plain()))),
                read => read,
            })
        };
        // All items are read before the first refusal counts, so that every fault is reported as long as the report
        // has room.
        let read: Vec<_> = list.into_iter().enumerate().map(read).collect();
        read.into_iter().collect()
    }

    fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "array", "maxItems": self.max, "items": self.items.schema(generator) })
    }

    fn typescript(&self, types: &mut Types) -> String {
        format!("({})[]", self.items.typescript(types))
    }
}

/// An object with fields of its own. Members that it does not name are kept.
pub(crate) struct Object<T>(PhantomData<fn() -> T>);

impl<T> Object<T> {
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T: Payload> Rule for Object<T> {
    type Output = Extended<T>;

    fn wanted(&self) -> Wanted {
        Wanted::Object
    }

    fn read(&self, value: Value, report: &mut Report) -> Result<Extended<T>, Refused> {
        let Value::Object(map) = value else { return Err(Refused::Mistyped) };
        let mut fields = Fields::new(map.into(), std::mem::take(report));
        let known = T::read(&mut fields);
        let (extra, after) = fields.finish();
        *report = after;
        known.map(|known| Extended { known, extra }).ok_or(Refused::Reported)
    }

    fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        schema::object::<T>(generator)
    }

    fn typescript(&self, types: &mut Types) -> String {
        types.object::<T>()
    }
}

impl<T> fmt::Debug for Object<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Object")
    }
}
