//! Which parts of a JSON text anybody looks at.
//!
//! Most of a frame interests nobody. [`Wanted`] is made of all paths that will be followed, and a [`Tape`](super::Tape)
//! leaves out what none of them leads to. While it reads, it marks in [`Seen`] which places hold something, so that a rule
//! that asks for another place need not be tried.

use crate::path::{Path, Segment};

/// The places that paths lead to, and all on the way to them.
#[derive(Debug, Clone)]
pub struct Wanted {
    places: Vec<Place>,
}

#[derive(Debug, Clone, Default)]
struct Place {
    members: Vec<(Box<str>, PlaceId)>,
    /// The elements of an array, all alike, or the values of an object.
    each: Option<PlaceId>,
    /// A path ends here, so that everything inside is kept.
    whole: bool,
}

/// A place among those that are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlaceId(u16);

/// Places at which something other than `null` stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen(u128);

impl PlaceId {
    pub(super) const ROOT: Self = Self(0);
    /// Inside a place that is kept whole, where no path leads.
    const INSIDE: Self = Self(1);
}

impl Wanted {
    /// Nothing but the outermost value, until paths are added.
    pub fn nothing() -> Self {
        Self { places: vec![Place::default(), Place { whole: true, ..Place::default() }] }
    }

    pub fn everything() -> Self {
        let mut wanted = Self::nothing();
        wanted.keep(PlaceId::ROOT);
        wanted
    }

    /// Wants what a path leads to. The result is what must be seen for the path to lead to something.
    pub fn add(&mut self, path: &Path) -> Seen {
        // `@` starts at what a filter looks at, and that is kept whole.
        if !path.starts_at_root() {
            return Seen::NOTHING;
        }
        let mut at = PlaceId::ROOT;
        for segment in path.segments() {
            let next = match segment {
                Segment::Member(name) => self.want_member(at, name),
                Segment::Element(_) | Segment::Each => self.want_each(at),
                Segment::Number(..) => None,
                Segment::Filter(condition) => {
                    condition.any_path(&mut |path| {
                        self.add(path);
                        false
                    });
                    None
                }
            };
            match next {
                Some(next) => at = next,
                // What cannot be told apart is kept, and is never a reason to pass over a rule.
                None => {
                    self.keep(at);
                    return Seen::NOTHING;
                }
            }
        }
        self.keep(at);
        Seen::NOTHING.and(at)
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

    /// Places beyond those that have a bit are not told apart from places that hold something.
    #[must_use]
    pub(super) fn and(self, place: PlaceId) -> Self {
        Self(self.0 | 1_u128.checked_shl(u32::from(place.0)).unwrap_or_default())
    }

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
    use serde_json::{Value, json};

    use super::*;
    use crate::tape::Tape;

    fn wanted(paths: &[&str]) -> (Wanted, Vec<Seen>) {
        let mut wanted = Wanted::nothing();
        let needed = paths.iter().map(|path| wanted.add(&Path::parse(path).unwrap())).collect();
        (wanted, needed)
    }

    /// What is kept of the document for these paths, and which of them are known to lead nowhere.
    fn check(paths: &[&str], document: &Value, kept: &Value, absent: &[&str]) {
        let (wanted, needed) = wanted(paths);
        let text = document.to_string();
        let mut tape = Tape::new();
        let view = tape.read_wanted(&text, &wanted, &[]).unwrap();
        assert_eq!(&view.to_value(), kept, "{paths:?}");
        let missed = paths.iter().zip(needed).filter(|(_, needed)| !view.seen().has_all(*needed));
        assert_eq!(missed.map(|(path, _)| *path).collect::<Vec<_>>(), absent, "{paths:?}");
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
        check(&["$"], &document, &document, &[]);
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
    fn places_without_a_bit_are_never_missed() {
        let names: Vec<String> = (0..200).map(|number| format!("$.m{number}")).collect();
        let paths: Vec<&str> = names.iter().map(String::as_str).collect();
        let (wanted, needed) = wanted(&paths);
        let mut tape = Tape::new();
        let seen = tape.read_wanted("{}", &wanted, &[]).unwrap().seen();
        assert_eq!(needed.iter().filter(|needed| seen.has_all(**needed)).count(), 200 - 126);
    }
}
