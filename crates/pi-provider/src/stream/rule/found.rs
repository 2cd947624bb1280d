//! What a rule finds in a frame.

use std::fmt;

use serde_json::{Map, Value};

use super::{CompiledField, CompiledRule, Kind, Role, Source, recipe::Step};
use crate::{
    stream::usage::{Counts, UsagePaths},
    tape::View,
};

/// An event with its fields by the manifest's names.
#[derive(Debug, Clone, PartialEq)]
pub struct Emission {
    pub name: String,
    pub fields: Map<String, Value>,
}

/// A rule that applies to a place of a frame.
#[derive(Clone, Copy)]
pub struct Match<'m, 'a> {
    pub(super) rule: &'m CompiledRule,
    pub(super) places: Places<'m, 'a>,
}

/// Where the fields of a rule are.
#[derive(Clone, Copy)]
pub(super) enum Places<'m, 'a> {
    /// Where their paths lead from here.
    Scope(&'m [View<'a>]),
    /// Where they were in another frame of the same shape.
    Known { frame: View<'a>, step: &'m Step },
}

/// The value of a field.
#[derive(Debug, Clone, Copy)]
pub enum Found<'m, 'a> {
    InFrame(View<'a>),
    Literal(&'m Value),
}

impl<'m, 'a> Match<'m, 'a> {
    pub fn kind(self) -> Kind {
        self.rule.kind
    }

    pub fn name(self) -> &'m str {
        &self.rule.name
    }

    /// The value of the field with this meaning; `null` counts as absent.
    pub fn field(self, role: Role) -> Option<Found<'m, 'a>> {
        let mut fields = self.rule.fields.iter().enumerate().filter(|(_, field)| field.role == role);
        fields.find_map(|(place, field)| self.value(place, field))
    }

    pub fn text(self, role: Role) -> Option<&'m str>
    where
        'a: 'm,
    {
        self.field(role).and_then(Found::as_str)
    }

    pub fn number(self, role: Role) -> Option<u64> {
        self.field(role).and_then(Found::as_u64)
    }

    /// Which of several answers it belongs to.
    pub fn candidate(self) -> u32 {
        let told = self.number(Role::CandidateIndex);
        let found = || self.candidate_view().and_then(View::as_u64);
        told.or_else(found).and_then(|number| u32::try_from(number).ok()).unwrap_or(0)
    }

    pub fn to_emission(self) -> Emission {
        let value = |place: usize, field: &CompiledField| match &field.source {
            Source::Generated => Some(Value::String(uuid(&mut fastrand::Rng::new()))),
            Source::Path(_) | Source::Literal(_) => self.value(place, field).map(Found::to_value),
        };
        let fields = self.rule.fields.iter().enumerate();
        let fields = fields.filter_map(|(place, field)| Some((field.name.to_string(), value(place, field)?)));
        Emission { name: self.rule.name.to_string(), fields: fields.collect() }
    }

    /// Adds what the frame counts, and says whether it counts anything.
    pub(in crate::stream) fn count(self, paths: &UsagePaths, counts: &mut Counts) -> Option<Found<'m, 'a>> {
        let usage = self.field(Role::Usage)?;
        match (usage, self.places) {
            (Found::InFrame(_), Places::Known { frame, step: Step { counts: Some(known), .. } }) => {
                known.iter().for_each(|(count, place)| counts.add(*count, frame.at(*place)));
            }
            (Found::InFrame(usage), Places::Known { .. } | Places::Scope(_)) => paths.add(usage, counts),
            (Found::Literal(usage), _) => paths.add(usage, counts),
        }
        Some(usage)
    }

    /// In an array, elements without the primary field give no event.
    pub(super) fn is_filled(self) -> bool {
        let is_element = match self.places {
            Places::Scope(scope) => scope.len() > 1,
            Places::Known { .. } => false,
        };
        let primary = self.rule.primary.filter(|_| is_element);
        primary.is_none_or(|place| self.at(place).is_some())
    }

    /// What the path of a field leads to, unless that is `null`.
    pub(super) fn at(self, place: usize) -> Option<View<'a>> {
        match self.places {
            Places::Scope(scope) => self.rule.fields[place].path()?.first_in(scope).filter(|view| !view.is_null()),
            Places::Known { frame, step } => step.fields[place].map(|at| frame.at(at)),
        }
    }

    /// Where it stands which of several answers it belongs to.
    pub(super) fn candidate_view(self) -> Option<View<'a>> {
        match self.places {
            Places::Scope(scope) => self.rule.candidate.as_ref()?.first_in(scope),
            Places::Known { frame, step } => step.candidate.map(|at| frame.at(at)),
        }
    }

    /// The usage that the frame has for it.
    pub(super) fn usage_view(self) -> Option<View<'a>> {
        match self.field(Role::Usage)? {
            Found::InFrame(view) => Some(view),
            Found::Literal(_) => None,
        }
    }

    fn value(self, place: usize, field: &'m CompiledField) -> Option<Found<'m, 'a>> {
        match &field.source {
            Source::Path(_) => self.at(place).map(Found::InFrame),
            Source::Literal(value) => Some(Found::Literal(value)),
            Source::Generated => None,
        }
    }
}

impl<'m, 'a: 'm> Found<'m, 'a> {
    pub fn as_str(self) -> Option<&'m str> {
        match self {
            Self::InFrame(view) => view.as_str(),
            Self::Literal(value) => value.as_str(),
        }
    }
}

impl Found<'_, '_> {
    pub fn as_u64(self) -> Option<u64> {
        match self {
            Self::InFrame(view) => view.as_u64(),
            Self::Literal(value) => value.as_u64(),
        }
    }

    pub fn is_true(self) -> bool {
        match self {
            Self::InFrame(view) => view.as_bool() == Some(true),
            Self::Literal(value) => value == &Value::Bool(true),
        }
    }

    pub fn to_value(self) -> Value {
        match self {
            Self::InFrame(view) => view.to_value(),
            Self::Literal(value) => value.clone(),
        }
    }

    /// A text as it is, anything else as JSON.
    pub fn to_text(self) -> String {
        match self.as_str() {
            Some(text) => text.to_owned(),
            None => self.to_value().to_string(),
        }
    }
}

impl fmt::Debug for Match<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_emission().fmt(f)
    }
}

/// A random id of version 4.
pub fn uuid(random: &mut fastrand::Rng) -> String {
    let bits = random.u128(..);
    let bits = bits & !(0xF000 << 64) & !(0xC000 << 48) | (0x4000 << 64) | (0x8000 << 48);
    let (a, b, c) = (bits >> 96, (bits >> 80) & 0xFFFF, (bits >> 64) & 0xFFFF);
    format!("{a:08x}-{b:04x}-{c:04x}-{:04x}-{:012x}", (bits >> 48) & 0xFFFF, bits & 0xFFFF_FFFF_FFFF)
}
