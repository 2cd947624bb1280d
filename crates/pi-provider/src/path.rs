//! Compiled paths into JSON: the part of JSONPath that manifests use.
//!
//! `$.choices[0].delta.content`, `choices[*].index`, `$.a['b c'][-1]`, `choices.0.delta`, `$.content[?(@.type=='text')].text`.
//! The leading `$.` may be left out. A path is compiled once and then followed in any [`Tree`].
//!
//! A place may be given as several nodes, outermost first (the *scope*): `$` is the first of them, and in a filter `@` is
//! the last. [`Path::bind`] uses the same means to follow several paths through the same element of an array.

pub(crate) mod syntax;
pub(crate) mod tree;

use std::ops::ControlFlow;

use self::{
    syntax::{Cursor, SyntaxError},
    tree::Tree,
};
use crate::condition::Condition;

/// The path with its root, which older files leave out.
pub(crate) fn rooted(path: &str) -> String {
    if path.starts_with('$') { path.to_owned() } else { format!("$.{path}") }
}

/// A compiled path.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    /// Which node of the scope it starts from.
    level: usize,
    segments: Vec<Segment>,
    /// It leads to at most one place.
    single: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Segment {
    Member(Box<str>),
    /// `.0`: an element of an array, or a member with such a name.
    Number(Box<str>, i64),
    Element(i64),
    Each,
    Filter(Box<Condition>),
}

/// The places through which several paths are followed together: the path to each array, up to and including `[*]`, and
/// perhaps to an object inside.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spine {
    levels: Vec<Vec<Segment>>,
}

impl Spine {
    /// Whether it walks nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }
}

/// How many places inside each other a [`Spine`] follows; the rest of a path is followed for itself.
pub(crate) const DEEPEST: usize = 4;

impl Path {
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        let mut cursor = Cursor::new(text);
        cursor.skip_space();
        let path = Self::read(&mut cursor)?;
        cursor.skip_space();
        cursor.expect_end("the end of the path")?;
        Ok(path)
    }

    /// Like [`parse`](Self::parse), from the root, which older files leave out.
    pub(crate) fn parse_rooted(text: &str) -> Result<Self, SyntaxError> {
        Self::parse(&rooted(text))
    }

    fn new(level: usize, segments: Vec<Segment>) -> Self {
        let single = !segments.iter().any(Segment::is_multiple);
        Self { level, segments, single }
    }

    /// Reads a path and leaves the cursor behind it.
    pub(crate) fn read(cursor: &mut Cursor<'_>) -> Result<Self, SyntaxError> {
        let mut segments = Vec::new();
        let level = match cursor.peek() {
            Some('$') => 0,
            Some('@') => 1,
            _ => {
                segments.push(Segment::named(cursor.word().ok_or_else(|| cursor.error("a path"))?));
                0
            }
        };
        if segments.is_empty() {
            cursor.bump();
        }
        loop {
            if cursor.take(".") {
                if cursor.take("*") {
                    segments.push(Segment::Each);
                } else {
                    segments.push(Segment::named(cursor.word().ok_or_else(|| cursor.error("a name or *"))?));
                }
            } else if cursor.take("[") {
                segments.push(Segment::in_brackets(cursor)?);
            } else {
                return Ok(Self::new(level, segments));
            }
        }
    }

    /// The first place that the path leads to.
    pub fn first<'a, T: Tree<'a>>(&self, root: T) -> Option<T> {
        self.first_in(&[root])
    }

    /// Every place that the path leads to, in order.
    pub fn all<'a, T: Tree<'a>>(&self, root: T) -> Vec<T> {
        let mut found = Vec::new();
        let _ = self.each_in(&[root], &mut |node| {
            found.push(node);
            ControlFlow::Continue(())
        });
        found
    }

    pub(crate) fn first_in<'a, T: Tree<'a>>(&self, scope: &[T]) -> Option<T> {
        let mut node = *scope.get(self.level)?;
        for (place, segment) in self.segments.iter().enumerate() {
            node = match segment {
                Segment::Member(name) => node.member(name)?,
                Segment::Element(index) => node.element(*index)?,
                Segment::Number(..) | Segment::Each | Segment::Filter(_) => {
                    let mut found = None;
                    let _ = follow(&self.segments[place..], scope[0], node, &mut |node| {
                        found = Some(node);
                        ControlFlow::Break(())
                    });
                    return found;
                }
            };
        }
        Some(node)
    }

    pub(crate) fn each_in<'a, T: Tree<'a>>(
        &self,
        scope: &[T],
        visit: &mut dyn FnMut(T) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match scope.get(self.level) {
            Some(start) => follow(&self.segments, scope[0], *start, visit),
            None => ControlFlow::Continue(()),
        }
    }

    /// Whether it looks at what is in a place before it goes on.
    pub(crate) fn has_filter(&self) -> bool {
        self.segments.iter().any(|segment| matches!(segment, Segment::Filter(_)))
    }

    /// Whether it can lead to at most one place.
    pub(crate) fn is_single(&self) -> bool {
        self.single
    }

    /// The arrays that it goes through, and the object inside the innermost of them that holds its last member: without
    /// that object there is nothing to find.
    pub fn spine(&self) -> Spine {
        let multiple = self.segments.iter().enumerate().filter(|(_, segment)| segment.is_multiple());
        let mut levels: Vec<_> = multiple.take(DEEPEST).map(|(place, _)| self.segments[..=place].to_vec()).collect();
        let holder = self.segments.len().saturating_sub(1);
        if levels.len() < DEEPEST && levels.last().is_some_and(|level| level.len() < holder) {
            levels.push(self.segments[..holder].to_vec());
        }
        Spine { levels }
    }

    /// The same path from the innermost array of the spine that it goes through. Followed in a scope of the elements, it
    /// leads to the place inside these elements.
    pub fn bind(&self, spine: &Spine) -> Self {
        if self.level > 0 {
            return self.clone();
        }
        let shared = spine.levels.iter().take_while(|level| self.segments.starts_with(level)).count();
        let skipped = shared.checked_sub(1).map_or(0, |last| spine.levels[last].len());
        Self::new(shared, self.segments[skipped..].to_vec())
    }

    /// Whether it leads to places that `general` leads to as well: the same path, with numbers where that has `[*]`.
    pub fn is_instance_of(&self, general: &Self) -> bool {
        self.segments.len() == general.segments.len()
            && self.segments.iter().zip(&general.segments).all(|(own, other)| {
                own == other
                    || matches!(other, Segment::Each | Segment::Filter(_)) && (own.is_multiple() || own.is_place())
            })
    }

    /// Whether it leads to where `general` leads, or to something on the way there.
    pub(crate) fn leads_towards(&self, general: &Self) -> bool {
        let Some(way) = general.segments.get(..self.segments.len()) else { return false };
        self.is_instance_of(&Self::new(general.level, way.to_vec()))
    }

    /// Whether it starts at `$`, and not inside a filter or at an element that it was bound to.
    pub(crate) fn starts_at_root(&self) -> bool {
        self.level == 0
    }

    pub(crate) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Whether its last steps are this path.
    pub fn ends_with(&self, end: &Self) -> bool {
        self.segments.ends_with(&end.segments)
    }

    /// Whether its first step is the member of this name.
    pub fn starts_at(&self, name: &str) -> bool {
        self.first_name() == Some(name)
    }

    /// The member that is its first step, from the root.
    pub(crate) fn first_name(&self) -> Option<&str> {
        match self.segments.first() {
            Some(Segment::Member(name)) if self.level == 0 => Some(name),
            _ => None,
        }
    }
}

impl Spine {
    pub fn depth(&self) -> usize {
        self.levels.len()
    }

    /// Calls `visit` for every place at the innermost level, with the scope that leads there: the root first.
    pub fn each<'a, T: Tree<'a>>(&self, root: T, visit: &mut dyn FnMut(&[T])) {
        let mut scope = [root; DEEPEST + 1];
        self.descend(0, &mut scope, visit);
    }

    fn descend<'a, T: Tree<'a>>(&self, depth: usize, scope: &mut [T; DEEPEST + 1], visit: &mut dyn FnMut(&[T])) {
        let Some(level) = self.levels.get(depth) else { return visit(&scope[..=depth]) };
        let skipped = depth.checked_sub(1).map_or(0, |above| self.levels[above].len());
        let (root, start) = (scope[0], scope[depth]);
        let _ = follow(&level[skipped..], root, start, &mut |node| {
            scope[depth + 1] = node;
            self.descend(depth + 1, scope, visit);
            ControlFlow::Continue(())
        });
    }
}

impl Segment {
    fn named(word: &str) -> Self {
        match word.parse() {
            Ok(index) => Self::Number(word.into(), index),
            Err(_) => Self::Member(word.into()),
        }
    }

    fn in_brackets(cursor: &mut Cursor<'_>) -> Result<Self, SyntaxError> {
        cursor.skip_space();
        let segment = if cursor.take("*") {
            Self::Each
        } else if let Some(quoted) = cursor.quoted()? {
            Self::Member(quoted.into())
        } else if cursor.take("?") {
            cursor.skip_space();
            Self::Filter(Box::new(Condition::read(cursor)?))
        } else {
            Self::Element(cursor.integer().ok_or_else(|| cursor.error("a number, *, a quoted name or a filter"))?)
        };
        cursor.skip_space();
        cursor.expect("]")?;
        Ok(segment)
    }

    fn is_multiple(&self) -> bool {
        matches!(self, Self::Each | Self::Filter(_))
    }

    fn is_place(&self) -> bool {
        matches!(self, Self::Number(..) | Self::Element(_))
    }
}

fn follow<'a, T: Tree<'a>>(
    segments: &[Segment],
    root: T,
    node: T,
    visit: &mut dyn FnMut(T) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let Some((segment, rest)) = segments.split_first() else { return visit(node) };
    let single = match segment {
        Segment::Member(name) => node.member(name),
        Segment::Number(name, index) => node.element(*index).or_else(|| node.member(name)),
        Segment::Element(index) => node.element(*index),
        Segment::Each => return node.elements().try_for_each(|node| follow(rest, root, node, visit)),
        Segment::Filter(condition) => {
            let mut fitting = node.elements().filter(|node| condition.holds_in(&[root, *node]));
            return fitting.try_for_each(|node| follow(rest, root, node, visit));
        }
    };
    single.map_or(ControlFlow::Continue(()), |node| follow(rest, root, node, visit))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::tape::Tape;

    /// What the path leads to, which must be the same on a tape and in a value.
    fn check(path: &str, document: &Value, expected: &[Value]) {
        let path = Path::parse(path).unwrap();
        let text = document.to_string();
        let mut tape = Tape::new();
        let view = tape.read(&text).unwrap();
        let in_tape: Vec<_> = path.all(view).into_iter().map(crate::tape::View::to_value).collect();
        let in_value: Vec<_> = path.all(document).into_iter().cloned().collect();
        assert_eq!((in_tape.as_slice(), in_value.as_slice()), (expected, expected));
        assert_eq!(path.first(view).map(crate::tape::View::to_value), expected.first().cloned());
        assert_eq!(path.first(document), expected.first());
    }

    #[test]
    fn paths_lead_to_places() {
        let document = json!({
            "a": {"b c": [1, [2, 3]], "0": "zero", "": "empty"},
            "list": [{"type": "text", "text": "x"}, {"type": "image"}, {"type": "text", "text": null}],
        });
        check("$", &document, std::slice::from_ref(&document));
        check("$.a['b c'][0]", &document, &[json!(1)]);
        check("a[\"b c\"][-1][-2]", &document, &[json!(2)]);
        check("a['b c'][-3]", &document, &[]);
        check("a.0", &document, &[json!("zero")]);
        check("$.a['']", &document, &[json!("empty")]);
        check("list.1.type", &document, &[json!("image")]);
        check("$.list[*].type", &document, &[json!("text"), json!("image"), json!("text")]);
        check("$.list[?(@.type=='text')].text", &document, &[json!("x"), Value::Null]);
        check("$.list[?(@.text)].text", &document, &[json!("x")]);
        check("$.list[?@.type != $.list[0].type].type", &document, &[json!("image")]);
        check("$.a.*", &document, &[json!([1, [2, 3]]), json!("zero"), json!("empty")]);
        check("$.a.x.y[0]", &document, &[]);
        check("$['list'][ 0 ]['type']", &document, &[json!("text")]);
    }

    #[test]
    fn faults_are_reported_with_their_place() {
        let fault = |text: &str| Path::parse(text).unwrap_err().to_string();
        assert_eq!(fault(""), "a path is expected at column 1 of \"\"");
        assert_eq!(fault("$.a["), "a number, *, a quoted name or a filter is expected at column 5 of \"$.a[\"");
        assert_eq!(fault("$.a[1"), "\"]\" is expected at column 6 of \"$.a[1\"");
        assert_eq!(fault("$.a b"), "the end of the path is expected at column 5 of \"$.a b\"");
        assert_eq!(fault("$..a"), "a name or * is expected at column 3 of \"$..a\"");
        assert_eq!(fault("$.é['x"), "a closing quote is expected at column 7 of \"$.é['x\"");
        assert_eq!(fault("$.a[?(@.b ==)]"), "a value is expected at column 13 of \"$.a[?(@.b ==)]\"");
    }

    #[test]
    fn a_number_is_an_instance_of_each() {
        let is_instance =
            |own: &str, general: &str| Path::parse(own).unwrap().is_instance_of(&Path::parse(general).unwrap());
        assert!(is_instance("choices[0].delta.content", "$.choices[*].delta.content"));
        assert!(is_instance("$.choices[*].delta.content", "$.choices[*].delta.content"));
        assert!(is_instance("$.choices.0.x", "$.choices[?(@.x)].x"));
        assert!(!is_instance("$.choices[*].x", "$.choices[0].x"));
        assert!(!is_instance("$.choices[0].delta", "$.choices[*].delta.content"));
        assert!(!is_instance("$.choices.a.x", "$.choices[*].x"));
    }

    #[test]
    fn paths_through_the_same_array_stay_together() {
        let document = json!({"id": 7, "rows": [{"n": 1, "cells": [{"v": "a"}, {"v": "b"}]}, {"cells": [{"v": "c"}]}]});
        let value = Path::parse("$.rows[*].cells[*].v").unwrap();
        let spine = value.spine();
        let paths = ["$.id", "rows[*].n", "$.rows[*].cells[*].v", "$.rows[0].n", "$.rows[*].cells[0].v"];
        let paths = paths.map(|path| Path::parse(path).unwrap().bind(&spine));
        let mut rows = Vec::new();
        spine.each(&document, &mut |scope| {
            rows.push(paths.iter().map(|path| path.first_in(scope).cloned()).collect::<Vec<_>>());
        });
        let expected = json!([[7, 1, "a", 1, "a"], [7, 1, "b", 1, "a"], [7, null, "c", 1, "c"]]);
        assert_eq!(serde_json::to_value(rows).unwrap(), expected);
    }
}
