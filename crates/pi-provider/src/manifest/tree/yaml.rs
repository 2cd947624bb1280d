//! YAML into a tree, within budgets that no honest file reaches.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use serde_saphyr::{Error, Spanned, budget::BudgetBreach, options::DuplicateKeyPolicy};

use super::{MAX_BYTES, MAX_DEPTH, MAX_MEMBERS, MAX_NODES, Member, Node, Position, SyntaxError, Tree};

/// Values that come from anchors. Manifests share little, and a merge costs many times what it brings.
const MAX_REPLAYED: usize = 10_000;
const REPEATS: &str =
    "the document repeats its anchors (&name, *name) until it is far larger than it looks; write it out";
const TOO_MANY: &str = "an object has too many members";

pub(super) fn parse(text: &str) -> Result<Node, SyntaxError> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            max_nodes: MAX_NODES,
            max_events: 4 * MAX_NODES,
            max_documents: 1,
            max_total_scalar_bytes: MAX_BYTES,
            max_recorded_anchor_bytes: MAX_BYTES / 4,
            max_recorded_anchor_events: MAX_REPLAYED,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MAX_REPLAYED,
            max_replay_stack_depth: 16,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        strict_booleans: true,
        with_snippet: false,
    };
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        let message = "the file is empty".to_owned();
        return Err(SyntaxError { at: Position::default(), rule: "file.syntax", message });
    }
    serde_saphyr::from_str_with_options::<Located>(text, options).map(|Located(node)| node).map_err(|error| {
        let at = error.location().map_or_else(Position::default, |location| position(&location));
        let (rule, message) = explain(&error);
        SyntaxError { at, rule, message }
    })
}

fn explain(error: &Error) -> (&'static str, String) {
    match error {
        Error::AliasError { error, .. } => explain(error),
        Error::DuplicateMappingKey { key, .. } => {
            ("file.duplicate-key", format!("duplicate mapping key: {}", key.as_deref().unwrap_or_default()))
        }
        Error::Budget { breach: BudgetBreach::Documents { .. }, .. } => {
            ("file.syntax", "a file holds one document".to_owned())
        }
        Error::Budget { breach: BudgetBreach::Depth { .. }, .. } => {
            ("file.budget", format!("the document is nested deeper than {MAX_DEPTH} levels"))
        }
        Error::Budget {
            breach:
                BudgetBreach::RecordedAnchorEvents { .. }
                | BudgetBreach::RecordedAnchorBytes { .. }
                | BudgetBreach::Aliases { .. }
                | BudgetBreach::Anchors { .. }
                | BudgetBreach::AliasAnchorRatio { .. },
            ..
        } => ("file.budget", REPEATS.to_owned()),
        Error::Budget { .. } => ("file.budget", "the document holds more than a manifest can need".to_owned()),
        Error::AliasReplayCounterOverflow { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => ("file.budget", REPEATS.to_owned()),
        _ => match message(error) {
            message if message.ends_with(TOO_MANY) => ("file.budget", message),
            message => ("file.syntax", message),
        },
    }
}

/// The library ends its messages with the place, which the diagnostic has already.
fn message(error: &Error) -> String {
    let text = error.to_string();
    let text = text.lines().next().unwrap_or_default();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    text[..end].trim_end_matches([',', ' ']).to_owned()
}

fn position(location: &serde_saphyr::Location) -> Position {
    let number = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    Position { line: number(location.line()), column: number(location.column()) }
}

struct Located(Node);

impl<'de> Deserialize<'de> for Located {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Bare>::deserialize(deserializer)?;
        Ok(Self(Node { at: position(&spanned.referenced), value: spanned.value.0 }))
    }
}

struct Bare(Tree);

impl<'de> Deserialize<'de> for Bare {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BareVisitor).map(Bare)
    }
}

struct BareVisitor;

impl<'de> Visitor<'de> for BareVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Tree, E> {
        Number::from_f64(value).map(Tree::Number).ok_or_else(|| E::custom("a number must be finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Tree, E> {
        Ok(Tree::Text(value))
    }

    fn visit_bytes<E>(self, value: &[u8]) -> Result<Tree, E> {
        Ok(Tree::Text(String::from_utf8_lossy(value).into_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(Located(node)) = access.next_element()? {
            list.push(node);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Tree, A::Error> {
        let mut members: Vec<Member> = Vec::new();
        while let Some(key) = access.next_key::<Spanned<String>>()? {
            let Located(node) = access.next_value()?;
            if members.len() == MAX_MEMBERS {
                return Err(A::Error::custom(TOO_MANY));
            }
            // Keys that differ as YAML (`1` and `"1"`) can still be the same text.
            if members.iter().any(|member| member.key == key.value) {
                return Err(A::Error::custom(format!("duplicate mapping key: {}", key.value)));
            }
            members.push(Member { key: key.value, at: position(&key.referenced), node });
        }
        Ok(Tree::Map(members))
    }
}
