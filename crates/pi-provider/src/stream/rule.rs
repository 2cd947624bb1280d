//! Compiled rules: which events a frame gives, and with which fields.
//!
//! This is the first half of the way from a frame to a [`StreamEvent`](crate::StreamEvent): it finds values and gives
//! them the manifest's names. What they mean is decided by the interpreter.

mod found;
mod recipe;
mod word;

use std::sync::Arc;

use serde_json::Value;

use self::found::Places;
pub(super) use self::recipe::Recipe;
pub use self::{
    found::{Emission, Found, Match, uuid},
    word::{EVENTS, FIELDS, Kind, Role},
};
use crate::{
    condition::{Condition, Relation},
    manifest::streaming::Rule,
    path::{Path, Spine, syntax::SyntaxError},
    tape::{
        View,
        wanted::{Seen, Wanted},
    },
};

/// Rules, compiled.
#[derive(Debug, Clone)]
pub struct Mapping {
    groups: Vec<Group>,
    wanted: Arc<Wanted>,
}

/// Neighbouring rules that walk the same arrays; they are applied element by element.
#[derive(Debug, Clone)]
struct Group {
    spine: Spine,
    rules: Vec<CompiledRule>,
}

/// One rule, compiled.
#[derive(Debug, Clone)]
pub struct CompiledRule {
    name: Box<str>,
    kind: Kind,
    condition: Condition,
    fields: Vec<CompiledField>,
    /// The field without which an element of an array gives no event.
    primary: Option<usize>,
    candidate: Option<Path>,
    /// Applies only to frames that the manifest's selector lets through.
    selected: bool,
    /// What must be in a frame for the condition to hold anywhere in it.
    needed: Seen,
    /// The shape of a frame alone decides where it applies and where its fields are.
    is_of_shape: bool,
}

/// A condition on whole frames.
#[derive(Debug, Clone)]
pub struct FrameCondition {
    condition: Condition,
    needed: Seen,
    is_of_shape: bool,
}

#[derive(Debug, Clone)]
struct CompiledField {
    name: Box<str>,
    role: Role,
    source: Source,
}

/// Where the value of a field comes from.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    Path(Path),
    Literal(Value),
    /// `_generate_uuid`: a new id where the wire has none.
    Generated,
}

/// What the manifest's selector says of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection {
    Passed,
    /// Only rules that do not ask the selector apply.
    HeldBack,
}

/// A rule cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rule {number} ({emit}), {member}: {source}")]
pub struct RuleError {
    /// From one, in the order of the file.
    pub number: usize,
    pub emit: String,
    /// `match`, or the field.
    pub member: String,
    #[source]
    pub source: SyntaxError,
}

/// What a rule is compiled with, beside itself.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'a> {
    pub candidate: Option<&'a Path>,
    pub selected: bool,
}

impl Mapping {
    /// Compiles rules as they stand in a manifest.
    pub fn compile(rules: &[Rule]) -> Result<Self, RuleError> {
        let compile =
            |(place, rule)| CompiledRule::compile(place + 1, rule, Terms { candidate: None, selected: false });
        rules.iter().enumerate().map(compile).collect::<Result<Vec<_>, _>>().map(Self::new)
    }

    pub fn new(mut rules: Vec<CompiledRule>) -> Self {
        let mut groups: Vec<Group> = Vec::new();
        let mut wanted = Wanted::nothing();
        for rule in &mut rules {
            rule.want(&mut wanted);
        }
        for mut rule in rules {
            rule.is_of_shape = rule.depends_on_shape_only(&wanted);
            let spine = rule.spine();
            rule.bind(&spine);
            match groups.last_mut() {
                Some(group) if group.spine == spine => group.rules.push(rule),
                _ => groups.push(Group { spine, rules: vec![rule] }),
            }
        }
        Self { groups, wanted: Arc::new(wanted) }
    }

    /// Prepares a condition that will be asked of the same frames.
    pub fn condition(&mut self, condition: Condition) -> FrameCondition {
        let needed = Arc::make_mut(&mut self.wanted).add_condition(&condition);
        let is_of_shape = condition.is_of_shape(&|path| self.wanted.tells_apart_at(path));
        FrameCondition { condition, needed, is_of_shape }
    }

    /// What a frame must be read for.
    pub fn wanted(&self) -> &Arc<Wanted> {
        &self.wanted
    }

    /// Every event of a frame.
    pub fn map(&self, frame: View<'_>) -> Vec<Emission> {
        let mut emissions = Vec::new();
        self.each(frame, Selection::Passed, &mut |found| emissions.push(found.to_emission()));
        emissions
    }

    /// Hands on every rule that applies, in order.
    pub fn each<'a>(&self, frame: View<'a>, selection: Selection, visit: &mut dyn FnMut(Match<'_, 'a>)) {
        let seen = frame.seen();
        for group in &self.groups {
            if !group.rules.iter().any(|rule| seen.has_all(rule.needed)) {
                continue;
            }
            group.spine.each(frame, &mut |scope| {
                for rule in &group.rules {
                    let found = Match { rule, places: Places::Scope(scope) };
                    let is_candidate = seen.has_all(rule.needed) && (selection == Selection::Passed || !rule.selected);
                    if is_candidate && rule.condition.holds_in(scope) && found.is_filled() {
                        visit(found);
                    }
                }
            });
        }
    }

    /// Whether a rule looks at what surrounds the data of a server-sent event.
    pub fn uses_envelope(&self) -> bool {
        let mut is_envelope = |path: &Path| path.starts_at("event") || path.starts_at("data");
        self.groups.iter().flat_map(|group| &group.rules).any(|rule| rule.any_path(&mut is_envelope))
    }
}

impl FrameCondition {
    /// Whether it holds in all frames of one shape or in none of them.
    pub(super) fn is_of_shape(&self) -> bool {
        self.is_of_shape
    }

    pub fn holds(&self, frame: View<'_>) -> bool {
        frame.seen().has_all(self.needed) && self.condition.holds(frame)
    }
}

impl CompiledRule {
    pub fn compile(number: usize, rule: &Rule, terms: Terms<'_>) -> Result<Self, RuleError> {
        let fault = |member: &str| {
            let (emit, member) = (rule.emit.clone(), member.to_owned());
            move |source| RuleError { number, emit, member, source }
        };
        let condition = Condition::parse(&rule.condition).map_err(fault("match"))?;
        let mut fields = Vec::with_capacity(rule.extract.len());
        for (name, value) in &rule.extract {
            let source = Source::read(value).map_err(fault(name))?;
            fields.push(CompiledField { name: name.as_str().into(), role: Role::of(name), source });
        }
        let kind = Kind::of(&rule.emit);
        let has_path = |field: &CompiledField| matches!(field.source, Source::Path(_));
        let of_role = |role: &Role| fields.iter().position(|field| field.role == *role && has_path(field));
        // Where no field is known to matter most, one that walks an array: else the order of the file would decide
        // whether each element gives an event.
        let walks = |field: &CompiledField| field.path().is_some_and(|path| !path.spine().is_empty());
        let any = || fields.iter().position(walks).or_else(|| fields.iter().position(has_path));
        let primary = kind.primary().iter().find_map(of_role).or_else(any);
        let (candidate, selected) = (terms.candidate.cloned(), terms.selected);
        Ok(Self {
            name: rule.emit.as_str().into(),
            kind,
            condition,
            fields,
            primary,
            candidate,
            selected,
            needed: Seen::NOTHING,
            is_of_shape: false,
        })
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The path of the field that matters most.
    pub fn primary_path(&self) -> Option<&Path> {
        self.primary.and_then(|place| self.fields[place].path())
    }

    /// How the condition of a rule stands to that of this one, which reads the same kind of thing from the same place.
    pub(crate) fn relation_of(&self, other: &Self, places: &[Path]) -> Relation {
        let own = other.fields.iter().filter_map(CompiledField::path);
        let taken: Vec<&Path> = own.chain(self.fields.iter().filter_map(CompiledField::path)).chain(places).collect();
        other.condition.relation(&self.condition, &|path| taken.iter().any(|place| path.leads_towards(place)))
    }

    /// Takes over the fields of another rule whose names it does not have itself.
    pub fn adopt(&mut self, other: &Self) {
        for field in &other.fields {
            let is_known =
                |own: &CompiledField| own.name == field.name || own.role == field.role && own.role != Role::Other;
            if !self.fields.iter().any(is_known) {
                self.fields.push(field.clone());
            }
        }
    }

    /// The arrays whose elements give an event each: those of the primary field.
    fn spine(&self) -> Spine {
        self.primary_path().map(Path::spine).unwrap_or_default()
    }

    fn bind(&mut self, spine: &Spine) {
        self.condition = self.condition.bind(spine);
        for field in &mut self.fields {
            if let Source::Path(path) = &mut field.source {
                *path = path.bind(spine);
            }
        }
        self.candidate = self.candidate.as_ref().map(|path| path.bind(spine));
    }

    /// Wants what it looks at; done before it is bound.
    fn want(&mut self, wanted: &mut Wanted) {
        self.needed = wanted.add_condition(&self.condition);
        for path in self.fields.iter().filter_map(CompiledField::path).chain(&self.candidate) {
            wanted.add(path);
        }
    }

    /// Asked before it is bound, and after all rules have wanted what they look at.
    fn depends_on_shape_only(&self, wanted: &Wanted) -> bool {
        let mut paths = self.fields.iter().filter_map(CompiledField::path).chain(&self.candidate);
        self.condition.is_of_shape(&|path| wanted.tells_apart_at(path)) && !paths.any(Path::has_filter)
    }

    fn any_path(&self, test: &mut dyn FnMut(&Path) -> bool) -> bool {
        self.condition.any_path(test) || self.fields.iter().filter_map(CompiledField::path).any(test)
    }
}

impl CompiledField {
    fn path(&self) -> Option<&Path> {
        match &self.source {
            Source::Path(path) => Some(path),
            Source::Literal(_) | Source::Generated => None,
        }
    }
}

impl Source {
    /// A text that begins with `$`, or that has the steps of a path in it, is a path; everything else stands for itself.
    pub(crate) fn read(value: &Value) -> Result<Self, SyntaxError> {
        let Value::String(text) = value else { return Ok(Self::Literal(value.clone())) };
        if text == "_generate_uuid" {
            return Ok(Self::Generated);
        }
        if text.starts_with('$') {
            return Path::parse(text).map(Self::Path);
        }
        let steps = text.contains(['.', '[']).then(|| Path::parse(text).ok()).flatten();
        Ok(steps.map_or_else(|| Self::Literal(value.clone()), Self::Path))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tape::Tape;

    #[test]
    fn each_element_gives_an_event_whatever_stands_first() {
        for extract in [json!({"id": "$.id", "hit": "$.hits[*].n"}), json!({"hit": "$.hits[*].n", "id": "$.id"})] {
            let rule = json!({"match": "$.hits", "emit": "Searched", "extract": extract});
            let mapping = Mapping::compile(&[serde_json::from_value(rule).unwrap()]).unwrap();
            let frame = json!({"id": "x", "hits": [{"n": 1}, {"n": 2}]}).to_string();
            let mut tape = Tape::new();
            let emissions = mapping.map(tape.read(&frame).unwrap());
            assert_eq!(emissions.len(), 2, "{extract}");
        }
    }
}
