//! Compiled conditions on JSON: when a rule applies, a frame counts, or a stream is over.
//!
//! `$.type == 'error' || exists($.error)`, `$.a in ['x', 'y'] && !($.n > 3)`, `$.name =~ 'get_*'`, `$.name =~ /^get/i`.
//! A path alone, like `exists(…)`, holds when it leads to something that is not `null`. A path that leads to nothing
//! compares like `null`; one that leads to several places compares if one of them does. On the right of a comparison a
//! word without `$` is a text.

mod pattern;
mod read;
mod relation;

use std::{cmp::Ordering, ops::ControlFlow};

use serde_json::Number;

pub(crate) use self::relation::Relation;
use self::{pattern::Pattern, read::read_any};
use crate::path::{
    Path, Spine,
    syntax::{Cursor, SyntaxError},
    tree::{Scalar, Tree},
};

/// A compiled condition.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition(Node);

/// What must be found for a condition to hold.
pub(crate) enum Need<'c> {
    /// Anything but `null`.
    Something(&'c Path),
    /// One of these texts.
    OneOf(&'c Path, Vec<&'c str>),
}

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Exists(Path),
    Compare(Operand, Comparison, Operand),
    In(Operand, Vec<Literal>),
    Like(Path, Pattern),
    Not(Box<Node>),
    All(Vec<Node>),
    Any(Vec<Node>),
}

#[derive(Debug, Clone, PartialEq)]
enum Operand {
    Path(Path),
    Literal(Literal),
}

#[derive(Debug, Clone, PartialEq)]
enum Literal {
    Null,
    Bool(bool),
    Number(Number),
    Text(Box<str>),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Comparison {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

impl Condition {
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        let mut cursor = Cursor::new(text);
        let condition = Self::read(&mut cursor)?;
        cursor.expect_end("the end of the condition")?;
        Ok(condition)
    }

    /// Reads a condition and leaves the cursor behind it.
    pub(crate) fn read(cursor: &mut Cursor<'_>) -> Result<Self, SyntaxError> {
        cursor.enter()?;
        let node = read_any(cursor)?;
        cursor.leave();
        Ok(Self(node))
    }

    /// That the path leads to something.
    pub fn exists(path: Path) -> Self {
        Self(Node::Exists(path))
    }

    pub fn holds<'a, T: Tree<'a>>(&self, root: T) -> bool {
        self.holds_in(&[root])
    }

    pub(crate) fn holds_in<'a, T: Tree<'a>>(&self, scope: &[T]) -> bool {
        self.0.holds(scope)
    }

    /// The same condition with its paths [bound](Path::bind).
    pub fn bind(&self, spine: &Spine) -> Self {
        Self(self.0.map(&|path| path.bind(spine)))
    }

    /// Whether a path in it fulfils the test; those inside filters of paths are not looked at.
    pub fn any_path(&self, test: &mut dyn FnMut(&Path) -> bool) -> bool {
        self.0.any_path(test)
    }

    /// Whether it holds in all texts of one shape or in none of them. `is_fixed` says whether the text at a place is part of
    /// the shape.
    pub(crate) fn is_of_shape(&self, is_fixed: &dyn Fn(&Path) -> bool) -> bool {
        self.0.is_of_shape(is_fixed)
    }

    /// What is to be found wherever the condition holds.
    pub(crate) fn needs(&self) -> Vec<Need<'_>> {
        let mut needs = Vec::new();
        self.0.collect_needs(&mut needs);
        needs
    }
}

impl Node {
    fn holds<'a, T: Tree<'a>>(&self, scope: &[T]) -> bool {
        match self {
            Self::Exists(path) => any(path, scope, &|node| node.scalar() != Scalar::Null),
            Self::Compare(left, comparison, right) => match (left, right) {
                (Operand::Path(path), other) if path.is_single() => {
                    let scalar = path.first_in(scope).map_or(Scalar::Null, Tree::scalar);
                    compares(&scalar, *comparison, other, scope)
                }
                (Operand::Path(path), other) => {
                    any(path, scope, &|node| compares(&node.scalar(), *comparison, other, scope))
                        || !any(path, scope, &|_| true) && compares(&Scalar::Null, *comparison, other, scope)
                }
                (Operand::Literal(literal), other) => compares(&literal.scalar(), *comparison, other, scope),
            },
            Self::In(operand, literals) => {
                let is_one = |scalar: &Scalar<'_>| literals.iter().any(|literal| equal(scalar, &literal.scalar()));
                match operand {
                    Operand::Path(path) => any(path, scope, &|node| is_one(&node.scalar())),
                    Operand::Literal(literal) => is_one(&literal.scalar()),
                }
            }
            Self::Like(path, pattern) => {
                any(path, scope, &|node| matches!(node.scalar(), Scalar::Text(text) if pattern.fits(text)))
            }
            Self::Not(node) => !node.holds(scope),
            Self::All(nodes) => nodes.iter().all(|node| node.holds(scope)),
            Self::Any(nodes) => nodes.iter().any(|node| node.holds(scope)),
        }
    }

    fn map(&self, change: &dyn Fn(&Path) -> Path) -> Self {
        let operand = |operand: &Operand| match operand {
            Operand::Path(path) => Operand::Path(change(path)),
            Operand::Literal(literal) => Operand::Literal(literal.clone()),
        };
        let all = |nodes: &[Self]| nodes.iter().map(|node| node.map(change)).collect();
        match self {
            Self::Exists(path) => Self::Exists(change(path)),
            Self::Compare(left, comparison, right) => Self::Compare(operand(left), *comparison, operand(right)),
            Self::In(left, literals) => Self::In(operand(left), literals.clone()),
            Self::Like(path, pattern) => Self::Like(change(path), pattern.clone()),
            Self::Not(node) => Self::Not(Box::new(node.map(change))),
            Self::All(nodes) => Self::All(all(nodes)),
            Self::Any(nodes) => Self::Any(all(nodes)),
        }
    }

    fn any_path(&self, test: &mut dyn FnMut(&Path) -> bool) -> bool {
        let mut operand = |operand: &Operand| matches!(operand, Operand::Path(path) if test(path));
        match self {
            Self::Compare(left, _, right) => operand(left) || operand(right),
            Self::In(left, _) => operand(left),
            Self::Exists(path) | Self::Like(path, _) => test(path),
            Self::Not(node) => node.any_path(test),
            Self::All(nodes) | Self::Any(nodes) => nodes.iter().any(|node| node.any_path(test)),
        }
    }

    fn is_of_shape(&self, is_fixed: &dyn Fn(&Path) -> bool) -> bool {
        let fits = |path: &Path, literal: &Literal| match literal {
            // No text and no count is one of these.
            Literal::Null | Literal::Bool(_) => !path.has_filter(),
            Literal::Text(_) => is_fixed(path),
            Literal::Number(_) => false,
        };
        match self {
            Self::Exists(path) => !path.has_filter(),
            Self::Compare(Operand::Path(path), Comparison::Equal | Comparison::NotEqual, Operand::Literal(literal)) => {
                fits(path, literal)
            }
            Self::In(Operand::Path(path), literals) => literals.iter().all(|literal| fits(path, literal)),
            Self::Compare(..) | Self::In(Operand::Literal(_), _) | Self::Like(..) => false,
            Self::Not(node) => node.is_of_shape(is_fixed),
            Self::All(nodes) | Self::Any(nodes) => nodes.iter().all(|node| node.is_of_shape(is_fixed)),
        }
    }

    fn collect_needs<'c>(&'c self, needs: &mut Vec<Need<'c>>) {
        match self {
            Self::Exists(path) | Self::Like(path, _) => needs.push(Need::Something(path)),
            Self::Compare(Operand::Path(path), comparison, Operand::Literal(literal)) => {
                needs.extend(match (comparison, literal) {
                    (Comparison::Equal, Literal::Text(text)) => Some(Need::OneOf(path, vec![text])),
                    (Comparison::Equal, Literal::Null) => None,
                    (Comparison::Equal, Literal::Bool(_) | Literal::Number(_))
                    | (Comparison::NotEqual, Literal::Null) => Some(Need::Something(path)),
                    (Comparison::NotEqual, Literal::Bool(_) | Literal::Number(_) | Literal::Text(_)) => None,
                    // `null` has no order.
                    (
                        Comparison::Greater | Comparison::GreaterOrEqual | Comparison::Less | Comparison::LessOrEqual,
                        _,
                    ) => Some(Need::Something(path)),
                });
            }
            Self::In(Operand::Path(path), literals) => {
                let texts = literals.iter().map(|literal| match literal {
                    Literal::Text(text) => Some(&**text),
                    Literal::Null | Literal::Bool(_) | Literal::Number(_) => None,
                });
                needs.extend(texts.collect::<Option<_>>().map(|texts| Need::OneOf(path, texts)));
            }
            Self::All(nodes) => nodes.iter().for_each(|node| node.collect_needs(needs)),
            Self::Compare(..) | Self::In(Operand::Literal(_), _) | Self::Not(_) | Self::Any(_) => {}
        }
    }
}

impl Literal {
    fn scalar(&self) -> Scalar<'_> {
        match self {
            Self::Null => Scalar::Null,
            Self::Bool(value) => Scalar::Bool(*value),
            Self::Number(number) => Scalar::Number(number.clone()),
            Self::Text(text) => Scalar::Text(text),
        }
    }
}

/// Whether one of the places fulfils the test.
fn any<'a, T: Tree<'a>>(path: &Path, scope: &[T], test: &dyn Fn(T) -> bool) -> bool {
    if path.is_single() {
        return path.first_in(scope).is_some_and(test);
    }
    let visited =
        path.each_in(scope, &mut |node| if test(node) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) });
    visited.is_break()
}

fn compares<'a, T: Tree<'a>>(left: &Scalar<'_>, comparison: Comparison, right: &Operand, scope: &[T]) -> bool {
    match right {
        Operand::Literal(literal) => compare(left, comparison, &literal.scalar()),
        Operand::Path(path) => {
            let right = path.first_in(scope).map_or(Scalar::Null, Tree::scalar);
            compare(left, comparison, &right)
        }
    }
}

fn compare(left: &Scalar<'_>, comparison: Comparison, right: &Scalar<'_>) -> bool {
    let ordered = |fits: fn(Ordering) -> bool| order(left, right).is_some_and(fits);
    match comparison {
        Comparison::Equal => equal(left, right),
        Comparison::NotEqual => !equal(left, right),
        Comparison::Greater => ordered(Ordering::is_gt),
        Comparison::GreaterOrEqual => ordered(Ordering::is_ge),
        Comparison::Less => ordered(Ordering::is_lt),
        Comparison::LessOrEqual => ordered(Ordering::is_le),
    }
}

/// `1` and `1.0` are the same number. What has parts equals nothing that can be written in a condition.
fn equal(left: &Scalar<'_>, right: &Scalar<'_>) -> bool {
    match (left, right) {
        (Scalar::Number(left), Scalar::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        (Scalar::Array | Scalar::Object, _) => false,
        _ => left == right,
    }
}

/// Numbers and texts have an order, each among themselves.
fn order(left: &Scalar<'_>, right: &Scalar<'_>) -> Option<Ordering> {
    match (left, right) {
        (Scalar::Number(left), Scalar::Number(right)) => left.as_f64()?.partial_cmp(&right.as_f64()?),
        (Scalar::Text(left), Scalar::Text(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::tape::Tape;

    fn check(condition: &str, document: &Value, expected: bool) {
        let compiled = Condition::parse(condition).unwrap();
        let text = document.to_string();
        let in_tape = compiled.holds(Tape::new().read(&text).unwrap());
        assert_eq!((in_tape, compiled.holds(document)), (expected, expected), "{condition} on {document}");
    }

    #[test]
    fn a_path_alone_holds_when_something_is_there() {
        let document = json!({"a": null, "b": false, "c": {"d": ""}, "e": [], "f": [null, {"g": 0}]});
        for (condition, expected) in [
            ("$.a", false),
            ("exists($.a)", false),
            ("exists( b )", true),
            ("$.c.d", true),
            ("$.c.x", false),
            ("c", true),
            ("$.e[*]", false),
            ("$.f[*]", true),
            ("$.f[*].g", true),
            ("$.f[*].h", false),
            ("!$.a", true),
            ("exists", false),
        ] {
            check(condition, &document, expected);
        }
    }

    #[test]
    fn values_compare() {
        let document = json!({"type": "error", "n": 5, "f": 5.0, "neg": -2, "t": true, "z": null,
            "list": [{"r": null}, {"r": "stop"}], "quote": "it's", "in": 1});
        for (condition, expected) in [
            ("$.type == 'error'", true),
            ("$.type == \"error\"", true),
            ("$.type == error", true),
            ("$.type=='other'", false),
            ("'error' == $.type", true),
            ("$.type != 'error'", false),
            ("$.gone != 'error'", true),
            ("$.gone != null", false),
            ("$.z == null", true),
            ("$.gone == null", true),
            ("$.n == 5.0 && $.f == 5", true),
            ("$.n == '5'", false),
            ("$.n > 4 && $.n < 6 && $.n >= 5 && $.n <= 5", true),
            ("$.n > 5 || $.neg < -2", false),
            ("$.type > 'eror'", true),
            ("$.n > 'a'", false),
            ("$.t == true && $.t != false", true),
            ("$.list[*].r != null", true),
            ("$.list[0].r != null", false),
            ("$.list[*].r == 'stop'", true),
            ("$.list[*].gone == null", true),
            ("$.type in ['a', 'error']", true),
            ("$.type in [a, b]", false),
            ("$.n in [1, 5]", true),
            ("$.gone in []", false),
            ("in in [1]", true),
            ("$.quote == 'it\\'s'", true),
            ("$.type == $.type", true),
            ("$.type == $.n", false),
        ] {
            check(condition, &document, expected);
        }
    }

    #[test]
    fn and_binds_tighter_than_or() {
        let document = json!({"a": 1});
        for (condition, expected) in [
            ("$.a || $.b && $.b", true),
            ("($.a || $.b) && $.b", false),
            ("!($.a && $.b)", true),
            ("!!$.a", true),
            ("!$.b && !$.c || $.d", true),
            ("$.a&&$.a", true),
        ] {
            check(condition, &document, expected);
        }
    }

    #[test]
    fn texts_fit_patterns() {
        let document = json!({"name": "get_weather", "n": 5});
        for (condition, expected) in [
            ("$.name =~ 'get_*'", true),
            ("$.name =~ 'get_weathe?'", true),
            ("$.name =~ 'weather'", false),
            ("$.name =~ '*weather'", true),
            ("$.name =~ 'GET*'", false),
            ("$.name =~ /^GET.*r$/i", true),
            ("$.name =~ /et_/", true),
            ("$.name =~ '^get_[a-z]+$'", true),
            ("$.n =~ '*'", false),
            ("$.gone =~ '*'", false),
        ] {
            check(condition, &document, expected);
        }
    }

    #[test]
    fn faults_are_reported_with_their_place() {
        let fault = |text: &str| Condition::parse(text).unwrap_err().to_string();
        assert_eq!(fault(""), "a path is expected at column 1 of \"\"");
        assert_eq!(fault("$.a =="), "a value is expected at column 7 of \"$.a ==\"");
        assert_eq!(fault("$.a = 1"), "the end of the condition is expected at column 5 of \"$.a = 1\"");
        assert_eq!(fault("($.a"), "\")\" is expected at column 5 of \"($.a\"");
        assert_eq!(fault("$.a && "), "a path is expected at column 8 of \"$.a && \"");
        assert_eq!(fault("$.a in ['x' 'y']"), "\",\" is expected at column 13 of \"$.a in ['x' 'y']\"");
        assert_eq!(fault("$.a =~ /(/"), "a regular expression is expected at column 11 of \"$.a =~ /(/\"");
        assert_eq!(fault("'x'"), "a comparison is expected at column 4 of \"'x'\"");
        let nested = "(".repeat(100);
        assert_eq!(Condition::parse(&nested).unwrap_err().expected, "less nesting");
    }
}
