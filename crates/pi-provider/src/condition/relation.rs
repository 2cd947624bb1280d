//! What one condition asks for beyond another one, as far as their words show it.

use super::{Comparison, Condition, Literal, Node, Operand};
use crate::path::Path;

/// How a condition stands to a known one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relation {
    /// It asks for nothing that the known one does not ask for, or only that something is there which is taken anyway.
    Like,
    /// It wants another value in the same place: the two never hold at once.
    Apart,
    /// It asks for something of its own.
    Own,
}

impl Condition {
    /// How this stands to a known condition; `is_taken` says whether a path leads to what is taken anyway, so that asking
    /// whether it is there adds nothing.
    pub(crate) fn relation(&self, known: &Self, is_taken: &dyn Fn(&Path) -> bool) -> Relation {
        let (own, known) = (parts(&self.0), parts(&known.0));
        if own.iter().any(|part| known.iter().any(|known| part.excludes(known))) {
            return Relation::Apart;
        }
        let is_like = own.iter().all(|part| part.adds_nothing(&known, is_taken));
        if is_like { Relation::Like } else { Relation::Own }
    }
}

/// What must hold together.
fn parts(node: &Node) -> Vec<&Node> {
    match node {
        Node::All(nodes) => nodes.iter().flat_map(parts).collect(),
        Node::Exists(_) | Node::Compare(..) | Node::In(..) | Node::Like(..) | Node::Not(_) | Node::Any(_) => vec![node],
    }
}

impl Node {
    fn adds_nothing(&self, known: &[&Self], is_taken: &dyn Fn(&Path) -> bool) -> bool {
        if known.iter().any(|known| self.is_instance_of(known) || self.is_among(known)) {
            return true;
        }
        match self {
            Self::Exists(path) => is_taken(path) || known.iter().any(|known| known.is_about(path)),
            // That it is something, or not an empty text, which says nothing.
            Self::Compare(Operand::Path(path), Comparison::NotEqual, Operand::Literal(literal)) => {
                let is_nothing = match literal {
                    Literal::Null => true,
                    Literal::Text(text) => text.is_empty(),
                    Literal::Bool(_) | Literal::Number(_) => false,
                };
                is_nothing && is_taken(path)
            }
            Self::Any(nodes) => nodes.iter().all(|node| node.adds_nothing(known, is_taken)),
            Self::All(nodes) => nodes.iter().all(|node| node.adds_nothing(known, is_taken)),
            Self::Compare(..) | Self::In(..) | Self::Like(..) | Self::Not(_) => false,
        }
    }

    /// The same, with numbers where the other has every element.
    fn is_instance_of(&self, general: &Self) -> bool {
        match (self, general) {
            (Self::Exists(own), Self::Exists(other)) => own.is_instance_of(other),
            (Self::Compare(left, own, right), Self::Compare(other_left, other, other_right)) => {
                own == other && left.is_instance_of(other_left) && right.is_instance_of(other_right)
            }
            (Self::In(own, literals), Self::In(other, others)) => own.is_instance_of(other) && literals == others,
            (Self::Like(own, pattern), Self::Like(other, others)) => own.is_instance_of(other) && pattern == others,
            (Self::Not(own), Self::Not(other)) => own.is_instance_of(other),
            (Self::Any(own), Self::Any(others)) | (Self::All(own), Self::All(others)) => {
                own.len() == others.len() && own.iter().zip(others).all(|(own, other)| own.is_instance_of(other))
            }
            (
                Self::Exists(_)
                | Self::Compare(..)
                | Self::In(..)
                | Self::Like(..)
                | Self::Not(_)
                | Self::Any(_)
                | Self::All(_),
                _,
            ) => false,
        }
    }

    /// Whether it cannot hold without something at the path.
    fn is_about(&self, path: &Path) -> bool {
        match self {
            Self::Exists(known)
            | Self::Like(known, _)
            | Self::In(Operand::Path(known), _)
            | Self::Compare(Operand::Path(known), Comparison::Equal, Operand::Literal(_)) => path.leads_towards(known),
            Self::Compare(..) | Self::In(Operand::Literal(_), _) | Self::Not(_) | Self::Any(_) | Self::All(_) => false,
        }
    }

    /// Whether the two ask for different values in the same place.
    fn excludes(&self, other: &Self) -> bool {
        let (Some((own, wanted)), Some((place, others))) = (self.wants(), other.wants()) else { return false };
        own.is_instance_of(place) && !wanted.iter().any(|value| others.contains(value))
    }

    /// Whether it wants some of the values that the other wants in the same place: frames of a kind that is known.
    fn is_among(&self, other: &Self) -> bool {
        let (Some((own, wanted)), Some((place, others))) = (self.wants(), other.wants()) else { return false };
        own.is_instance_of(place) && wanted.iter().all(|value| others.contains(value))
    }

    /// The values of which one must stand at a path.
    fn wants(&self) -> Option<(&Path, Vec<&Literal>)> {
        match self {
            Self::Compare(Operand::Path(path), Comparison::Equal, Operand::Literal(literal))
            | Self::Compare(Operand::Literal(literal), Comparison::Equal, Operand::Path(path)) => {
                Some((path, vec![literal]))
            }
            Self::In(Operand::Path(path), literals) => Some((path, literals.iter().collect())),
            Self::Exists(_)
            | Self::Compare(..)
            | Self::In(..)
            | Self::Like(..)
            | Self::Not(_)
            | Self::All(_)
            | Self::Any(_) => None,
        }
    }
}

impl Operand {
    fn is_instance_of(&self, general: &Self) -> bool {
        match (self, general) {
            (Self::Path(own), Self::Path(other)) => own.is_instance_of(other),
            (Self::Literal(own), Self::Literal(other)) => own == other,
            (Self::Path(_), Self::Literal(_)) | (Self::Literal(_), Self::Path(_)) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_alike_apart_or_of_their_own() {
        let taken = Path::parse("$.choices[*].delta.content").unwrap();
        let check = |own: &str, known: &str, expected: Relation| {
            let [own, known] = [own, known].map(|text| Condition::parse(text).unwrap());
            assert_eq!(own.relation(&known, &|path| path.leads_towards(&taken)), expected, "{own:?} {known:?}");
        };
        let known = "$.choices[*].delta.content";
        check("$.choices[0].delta.content", known, Relation::Like);
        check("exists($.choices) && $.choices[0].delta.content != null", known, Relation::Like);
        check("$.choices[0].delta.content != ''", known, Relation::Like);
        check("$.choices[0].delta || $.choices[1].delta", known, Relation::Like);
        check("$.choices[0].delta.content && $.kind == 'answer'", known, Relation::Own);
        check("$.choices[0].delta.content && $.kind", known, Relation::Own);
        check("$.choices[0].delta.content && !$.draft", known, Relation::Own);
        check("$.choices[0].delta.content == 'x'", known, Relation::Own);
        let typed = "$.type == 'block' && $.delta.type == 'text'";
        check("$.type == 'block'", typed, Relation::Like);
        check("$.delta.type == 'text' && $.type == 'block'", typed, Relation::Like);
        check("$.delta.type == 'other'", typed, Relation::Apart);
        check("$.type in ['x', 'y'] && $.z", typed, Relation::Apart);
        check("$.type in ['x', 'block']", typed, Relation::Own);
        check("$.type in ['block']", typed, Relation::Like);
        check("$.type == 'start'", "$.type in ['start', 'delta']", Relation::Like);
        check("$.delta", typed, Relation::Like);
    }
}
