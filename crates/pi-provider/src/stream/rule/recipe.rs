//! What rules find in the frames of one shape, found once.
//!
//! Frames of a stream are alike, and in those of one [`Shape`] the same rules apply to the same places, as long as nothing but
//! the shape decides it: whether something is there, and texts that are part of the shape. A [`Recipe`] remembers which rules
//! and which places, so that neither conditions are asked nor paths followed for the next thousand frames.

use super::{CompiledRule, Mapping, Match, Selection, Source, found::Places};
use crate::{
    stream::usage::{Count, UsagePaths},
    tape::{Shape, View},
};

/// Which rules apply to the frames of a shape, and where.
#[derive(Debug)]
pub(in crate::stream) struct Recipe {
    shape: Shape,
    selection: Selection,
    steps: Vec<Step>,
}

/// One rule, and the places of what it takes.
#[derive(Debug)]
pub(super) struct Step {
    group: usize,
    rule: usize,
    /// For each field of the rule; none where it has nothing to take.
    pub(super) fields: Box<[Option<u32>]>,
    pub(super) candidate: Option<u32>,
    /// Where its usage has its counts, if it takes one.
    pub(super) counts: Option<Box<[(Count, u32)]>>,
}

impl Recipe {
    pub(in crate::stream) fn is_for(&self, shape: Option<Shape>, selection: Selection) -> bool {
        shape == Some(self.shape) && selection == self.selection
    }
}

impl Mapping {
    /// Learns what the rules find in frames of this one's shape; `None` if it depends on more than the shape.
    pub(in crate::stream) fn recipe(
        &self,
        frame: View<'_>,
        shape: Shape,
        selection: Selection,
        usage: &UsagePaths,
    ) -> Option<Recipe> {
        let seen = frame.seen();
        let mut rules = self.groups.iter().flat_map(|group| &group.rules);
        if rules.any(|rule| seen.has_all(rule.needed) && !rule.is_of_shape) {
            return None;
        }
        let mut steps = Vec::new();
        self.each(frame, selection, &mut |found| {
            let place = |rule: &CompiledRule| std::ptr::eq(rule, found.rule);
            let mut groups = self.groups.iter().enumerate();
            let place = groups.find_map(|(group, all)| Some((group, all.rules.iter().position(place)?)));
            steps.extend(place.map(|(group, rule)| Step::of(found, group, rule, usage)));
        });
        Some(Recipe { shape, selection, steps })
    }

    /// Hands on every rule that applies to a frame of the recipe's shape, in order.
    pub(in crate::stream) fn follow<'a>(&self, recipe: &Recipe, frame: View<'a>, visit: &mut dyn FnMut(Match<'_, 'a>)) {
        for step in &recipe.steps {
            let rule = &self.groups[step.group].rules[step.rule];
            visit(Match { rule, places: Places::Known { frame, step } });
        }
    }
}

impl Step {
    fn of(found: Match<'_, '_>, group: usize, rule: usize, usage: &UsagePaths) -> Self {
        let place = |(place, field): (usize, &super::CompiledField)| match field.source {
            Source::Path(_) => found.at(place),
            Source::Literal(_) | Source::Generated => None,
        };
        let fields = found.rule.fields.iter().enumerate().map(place);
        Self {
            group,
            rule,
            fields: fields.map(|view| view.map(View::place)).collect(),
            candidate: found.candidate_view().map(View::place),
            counts: found.usage_view().and_then(|view| usage.places(view)),
        }
    }
}
