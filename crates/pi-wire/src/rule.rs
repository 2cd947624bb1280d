//! What a field may hold, said once.
//!
//! A [`Rule`] reads a field, describes it in JSON Schema and names it in TypeScript, so the three cannot drift apart.
//! Rules are constants ([`names`]) and the payloads of `command` are lists of them.

mod content;
pub(crate) mod names;
mod path;
mod text;
mod value;

use std::fmt::Write as _;

use schemars::{Schema, SchemaGenerator};
use serde_json::Value;

pub(crate) use self::{
    content::{AnswerRule, Image},
    path::Path,
    text::{Blank, Characters, Text, TextOf},
    value::{Flag, List, Object, Whole, Word},
};
use crate::{
    fault::{Fault, FieldFault, Wanted},
    schema::typescript::Types,
};

/// Implemented by every kind of field: text, paths, flags, numbers, words, lists, objects.
pub(crate) trait Rule {
    type Output;

    /// The JSON type to name when the field is missing or has another one.
    fn wanted(&self) -> Wanted;
    fn read(&self, value: Value, report: &mut Report) -> Result<Self::Output, Refused>;
    fn schema(&self, generator: &mut SchemaGenerator) -> Schema;
    fn typescript(&self, types: &mut Types) -> String;
}

/// Why a rule gave no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The value has another JSON type, or is empty where that counts as missing: whoever knows whether the field is
    /// required reports it.
    Mistyped,
    /// The rule has reported what is wrong.
    Reported,
}

/// How many faults of a frame are named. A client mends a few at a time, and two bytes of a hostile frame must not become
/// a hundred bytes of answer without end.
const NAMED: usize = 100;

/// Collects faults, each with the path at which it was found; after [`NAMED`] of them only that there are more.
#[derive(Debug, Default)]
pub(crate) struct Report {
    path: String,
    faults: Vec<FieldFault>,
}

impl Report {
    pub(crate) fn fault(&mut self, fault: Fault) -> Refused {
        if self.faults.len() < NAMED {
            self.faults.push(FieldFault { field: self.path.clone(), fault });
        } else if !self.is_full() {
            self.faults.push(FieldFault { field: String::new(), fault: Fault::More });
        }
        Refused::Reported
    }

    /// Whether it was already said that there are more.
    pub(crate) fn is_full(&self) -> bool {
        self.faults.len() > NAMED
    }

    pub(crate) fn within_member<T>(&mut self, name: &str, inner: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(name);
        let result = inner(self);
        self.path.truncate(length);
        result
    }

    pub(crate) fn within_item<T>(&mut self, index: usize, inner: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        write!(self.path, "[{index}]").expect("writing to memory cannot fail");
        let result = inner(self);
        self.path.truncate(length);
        result
    }

    pub(crate) fn faults(self) -> Vec<FieldFault> {
        self.faults
    }
}
