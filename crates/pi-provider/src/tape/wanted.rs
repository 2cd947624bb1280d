//! Which parts of a JSON text anybody looks at.
//!
//! Most of a frame interests nobody. [`Wanted`] is made of all paths that will be followed, and a [`Tape`](super::Tape)
//! leaves out what none of them leads to. While it reads, it marks in [`Seen`] what conditions need to hold, so that a rule
//! that cannot apply anywhere in the text is passed over.

use crate::{
    condition::{Condition, Need},
    path::{Path, Segment},
};

/// The places that paths lead to, and all on the way to them.
#[derive(Debug, Clone)]
pub struct Wanted {
    places: Vec<Place>,
    /// How many bits of [`Seen`] are given away.
    marks: u32,
}

#[derive(Debug, Clone, Default)]
struct Place {
    members: Vec<(Box<str>, PlaceId)>,
    /// The elements of an array, all alike, or the values of an object.
    each: Option<PlaceId>,
    /// A path ends here, so that everything inside is kept.
    whole: bool,
    /// What is marked if anything but `null` stands here.
    mark: Seen,
    /// What is marked if one of some texts stands here.
    texts: Vec<(Vec<Box<str>>, Seen)>,
}

/// A place among those that are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlaceId(u16);

/// Marks for what was found in a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen(u128);

impl PlaceId {
    pub(super) const ROOT: Self = Self(0);
    /// Inside a place that is kept whole, where no path leads.
    const INSIDE: Self = Self(1);
}

impl Wanted {
    /// Nothing but the outermost value, until paths are added.
    pub fn nothing() -> Self {
        Self { places: vec![Place::default(), Place { whole: true, ..Place::default() }], marks: 0 }
    }

    pub fn everything() -> Self {
        let mut wanted = Self::nothing();
        wanted.keep(PlaceId::ROOT);
        wanted
    }

    /// Wants what a path leads to.
    pub fn add(&mut self, path: &Path) {
        self.want(path);
    }

    /// Wants all that a condition looks at. The result is what must be seen for it to hold.
    pub fn add_condition(&mut self, condition: &Condition) -> Seen {
        condition.any_path(&mut |path| {
            self.want(path);
            false
        });
        condition.needs().into_iter().fold(Seen::NOTHING, |needed, need| {
            needed.with(match need {
                Need::Something(path) => self.mark(path),
                Need::OneOf(path, texts) => self.mark_texts(path, &texts),
            })
        })
    }

    /// The place at the end of a path. Without one, what is there cannot be told apart from its surroundings, which are
    /// kept; nothing is ever passed over for its sake.
    fn want(&mut self, path: &Path) -> Option<PlaceId> {
        // `@` starts at what a filter looks at, and that is kept whole.
        if !path.starts_at_root() {
            return None;
        }
        let mut at = PlaceId::ROOT;
        for segment in path.segments() {
            let next = match segment {
                Segment::Member(name) => self.want_member(at, name),
                Segment::Element(_) | Segment::Each => self.want_each(at),
                Segment::Number(..) => None,
                Segment::Filter(condition) => {
                    condition.any_path(&mut |path| {
                        self.want(path);
                        false
                    });
                    None
                }
            };
            let Some(next) = next else {
                self.keep(at);
                return None;
            };
            at = next;
        }
        self.keep(at);
        Some(at)
    }

    fn mark(&mut self, path: &Path) -> Seen {
        let Some(at) = self.want(path) else { return Seen::NOTHING };
        if self.place(at).mark == Seen::NOTHING {
            let mark = self.new_mark();
            self.places[usize::from(at.0)].mark = mark;
        }
        self.place(at).mark
    }

    fn mark_texts(&mut self, path: &Path, texts: &[&str]) -> Seen {
        let Some(at) = self.want(path) else { return Seen::NOTHING };
        let is_same = |own: &[Box<str>]| own.iter().map(|own| &**own).eq(texts.iter().copied());
        if let Some((_, mark)) = self.place(at).texts.iter().find(|(own, _)| is_same(own)) {
            return *mark;
        }
        let mark = self.new_mark();
        let texts = texts.iter().map(|text| (*text).into()).collect();
        self.places[usize::from(at.0)].texts.push((texts, mark));
        mark
    }

    /// When all bits are given away, what would need one counts as seen.
    fn new_mark(&mut self) -> Seen {
        let mark = Seen(1_u128.checked_shl(self.marks).unwrap_or_default());
        self.marks += 1;
        mark
    }

    /// What is seen where something other than `null` stands, which is not a text.
    pub(super) fn seen(&self, at: PlaceId) -> Seen {
        self.place(at).mark
    }

    /// What is seen where this text stands.
    pub(super) fn seen_text(&self, at: PlaceId, text: &str) -> Seen {
        let place = self.place(at);
        let fitting = place.texts.iter().filter(|(texts, _)| texts.iter().any(|own| **own == *text));
        fitting.fold(place.mark, |seen, (_, mark)| seen.with(*mark))
    }

    /// Whether it is marked which text stands here, and not only that one does.
    pub(super) fn tells_apart(&self, at: PlaceId) -> bool {
        !self.place(at).texts.is_empty()
    }

    /// Whether the texts at the end of a path are told apart, so that they are the same in all texts of one shape.
    pub(crate) fn tells_apart_at(&self, path: &Path) -> bool {
        let mut at = path.starts_at_root().then_some(PlaceId::ROOT);
        for segment in path.segments() {
            at = at.and_then(|at| match segment {
                Segment::Member(name) => self.member(at, name),
                Segment::Element(_) | Segment::Each => self.element(at),
                Segment::Number(..) | Segment::Filter(_) => None,
            });
        }
        at.is_some_and(|at| self.tells_apart(at))
    }

    /// Where a member belongs; `None` if nobody wants it.
    pub(super) fn member(&self, at: PlaceId, name: &str) -> Option<PlaceId> {
        let place = self.place(at);
        let named = place.members.iter().find(|(own, _)| **own == *name);
        named.map(|(_, member)| *member).or_else(|| place.inside())
    }

    /// Where the elements of an array belong; `None` if nobody wants them.
    pub(super) fn element(&self, at: PlaceId) -> Option<PlaceId> {
        self.place(at).inside()
    }

    fn place(&self, at: PlaceId) -> &Place {
        &self.places[usize::from(at.0)]
    }

    /// An object whose values are all wanted cannot also have members of their own: a value has one place.
    fn want_member(&mut self, at: PlaceId, name: &str) -> Option<PlaceId> {
        let place = self.place(at);
        if let Some((_, member)) = place.members.iter().find(|(own, _)| **own == *name) {
            return Some(*member);
        }
        let member = if place.each.is_none() { self.new_place(at) } else { None }?;
        self.places[usize::from(at.0)].members.push((name.into(), member));
        Some(member)
    }

    fn want_each(&mut self, at: PlaceId) -> Option<PlaceId> {
        let place = self.place(at);
        if place.each.is_some() || !place.members.is_empty() {
            return place.each;
        }
        let each = self.new_place(at)?;
        self.places[usize::from(at.0)].each = Some(each);
        Some(each)
    }

    fn new_place(&mut self, inside: PlaceId) -> Option<PlaceId> {
        let id = u16::try_from(self.places.len()).ok()?;
        let whole = self.place(inside).whole;
        self.places.push(Place { whole, ..Place::default() });
        Some(PlaceId(id))
    }

    fn keep(&mut self, at: PlaceId) {
        let place = &mut self.places[usize::from(at.0)];
        place.whole = true;
        let inside: Vec<PlaceId> = place.members.iter().map(|(_, member)| *member).chain(place.each).collect();
        inside.into_iter().for_each(|inside| self.keep(inside));
    }
}

impl Place {
    fn inside(&self) -> Option<PlaceId> {
        self.each.or(self.whole.then_some(PlaceId::INSIDE))
    }
}

impl Seen {
    pub const NOTHING: Self = Self(0);
    /// For texts that were read without looking for anything.
    pub(super) const ANYTHING: Self = Self(u128::MAX);

    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub fn has_all(self, needed: Self) -> bool {
        self.0 & needed.0 == needed.0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::tape::Tape;

    fn wanted(conditions: &[&str]) -> (Wanted, Vec<Seen>) {
        let mut wanted = Wanted::nothing();
        let condition = |condition: &&str| wanted.add_condition(&Condition::parse(condition).unwrap());
        let needed = conditions.iter().map(condition).collect();
        (wanted, needed)
    }

    /// What is kept of the document for these conditions, and which of them are known not to hold.
    fn check(conditions: &[&str], document: &Value, kept: &Value, absent: &[&str]) {
        let (wanted, needed) = wanted(conditions);
        let text = document.to_string();
        let mut tape = Tape::new();
        let view = tape.read_wanted(&text, &Arc::new(wanted), &[]).unwrap();
        assert_eq!(&view.to_value(), kept, "{conditions:?}");
        let missed = conditions.iter().zip(needed).filter(|(_, needed)| !view.seen().has_all(*needed));
        assert_eq!(missed.map(|(condition, _)| *condition).collect::<Vec<_>>(), absent, "{conditions:?}");
    }

    #[test]
    fn what_no_path_leads_to_is_left_out() {
        let document = json!({"id": 1, "a": {"b": {"c": [1, {"d": 2}]}, "x": 1}, "list": [{"n": 1, "m": 2}, 3, {"n": null}], "z": null});
        check(&["$.id"], &document, &json!({"id": 1}), &[]);
        check(
            &["$.a.b", "$.z", "$.gone.b"],
            &document,
            &json!({"a": {"b": {"c": [1, {"d": 2}]}}, "z": null}),
            &["$.z", "$.gone.b"],
        );
        check(&["$.list[*].n"], &document, &json!({"list": [{"n": 1}, 3, {"n": null}]}), &[]);
        check(&["$.list[1]", "$.list[*].m"], &document, &json!({"list": document["list"]}), &[]);
        check(&["$.list", "$.list[*].gone"], &document, &json!({"list": document["list"]}), &["$.list[*].gone"]);
        check(&["exists($)"], &document, &document, &[]);
    }

    #[test]
    fn what_cannot_be_told_apart_is_kept() {
        let document = json!({"a": {"b": {"c": 1}, "0": 2}, "kind": "t", "list": [{"type": "t", "n": 1}], "other": 1});
        let a = json!({"a": document["a"]});
        check(&["$.a.b.c", "$.a[*].d"], &document, &a, &[]);
        check(&["$.a[*].d", "$.a.b.c"], &document, &json!({"a": document["a"]}), &["$.a[*].d"]);
        check(&["a.0.gone"], &document, &a, &[]);
        check(
            &["$.list[?(@.type == $.kind)].n"],
            &document,
            &json!({"kind": "t", "list": [{"type": "t", "n": 1}]}),
            &[],
        );
    }

    #[test]
    fn texts_are_told_apart_where_somebody_asks_for_them() {
        let document = json!({"type": "b", "list": [{"type": "x"}, {"type": "y"}], "n": 1, "z": null});
        let absent = [
            "$.type == 'a'",
            "$.type in ['x', 'a']",
            "$.list[*].type == 'b' && $.n",
            "$.n == '1'",
            "$.z != null",
            "$.z > 1",
            "$.n && $.gone =~ '*'",
        ];
        let possible = [
            "$.type == 'b'",
            "$.type in ['a', 'b']",
            "$.list[*].type == 'y' && $.n > 3",
            "$.n == 2",
            "$.type != 'a'",
            "$.z == null",
            "$.z in [null]",
            "!$.z || $.gone",
            "'a' == $.type",
        ];
        let all: Vec<&str> = absent.iter().chain(&possible).copied().collect();
        check(&all, &document, &document, &absent);
    }

    #[test]
    fn what_has_no_mark_is_never_missed() {
        let names: Vec<String> = (0..200).map(|number| format!("$.m{number}")).collect();
        let conditions: Vec<&str> = names.iter().map(String::as_str).collect();
        let (wanted, needed) = wanted(&conditions);
        let mut tape = Tape::new();
        let seen = tape.read_wanted("{}", &Arc::new(wanted), &[]).unwrap().seen();
        assert_eq!(needed.iter().filter(|needed| seen.has_all(**needed)).count(), 200 - 128);
    }
}
