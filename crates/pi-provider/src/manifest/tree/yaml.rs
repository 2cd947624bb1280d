//! YAML into a tree, within budgets that no honest file reaches.

use std::{fmt, sync::LazyLock};

use serde::{
    Deserialize,
    de::{Deserializer, Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::Number;
use serde_saphyr::{
    Error, Spanned,
    budget::BudgetBreach,
    options::{DuplicateKeyPolicy, NonFiniteFloatPolicy},
};

use super::{
    super::diagnostic::Rule, MAX_BYTES, MAX_DEPTH, MAX_MEMBERS, MAX_NODES, Member, Node, Position, SyntaxError, Tree,
};

/// Values that come from anchors. Manifests share little, and a merge costs many times what it brings.
const MAX_REPLAYED: usize = 10_000;
const REPEATS: &str =
    "the document repeats its anchors (&name, *name) until it is far larger than it looks; write it out";
const TOO_MANY: &str = "an object has too many members";
const TWICE: &str = "stands here for the second time";
/// The explanation that is about a tab.
const TAB: &str = "tab";

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
        // Whoever reads the member says what is expected in its place, and how much it matters.
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        strict_booleans: true,
        with_snippet: false,
    };
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        let message = "the file is empty".to_owned();
        let hint = Some("`pi provider new ID` writes a manifest to begin with".to_owned());
        return Err(SyntaxError { at: Position::default(), rule: Rule::FileSyntax, message, hint });
    }
    let read = serde_saphyr::from_str_with_options::<Located>(text, options);
    read.map(|Located(node)| node).map_err(|error| explain(&error, text))
}

/// What the library says, in words for people.
#[derive(Deserialize)]
struct Explanation {
    says: String,
    message: String,
    hint: String,
}

static EXPLANATIONS: LazyLock<Vec<Explanation>> =
    LazyLock::new(|| serde_saphyr::from_str(include_str!("faults.yaml")).expect("our own file, read by a test"));

fn explain(error: &Error, text: &str) -> SyntaxError {
    // Where the reader gave up is a place, and no stretch of text.
    let at = error.location().map_or_else(Position::default, |location| Position { length: 0, ..position(&location) });
    let plain = |rule, message: String| SyntaxError { at, rule, message, hint: None };
    match error {
        Error::AliasError { error, .. } => SyntaxError { at, ..explain(error, text) },
        Error::DuplicateMappingKey { key, .. } => {
            plain(Rule::FileDuplicateKey, twice(key.as_deref().unwrap_or_default()))
        }
        Error::UnknownAnchor { .. } => unknown_anchor(at, text),
        Error::Budget { breach: BudgetBreach::Documents { .. }, .. } => SyntaxError {
            hint: Some("make a file of each document, without --- between them".to_owned()),
            ..plain(Rule::FileSyntax, "a file holds one document".to_owned())
        },
        Error::Budget { breach: BudgetBreach::Depth { .. }, .. } => {
            plain(Rule::FileBudget, format!("the document is nested deeper than {MAX_DEPTH} levels"))
        }
        Error::Budget {
            breach:
                BudgetBreach::RecordedAnchorEvents { .. }
                | BudgetBreach::RecordedAnchorBytes { .. }
                | BudgetBreach::Aliases { .. }
                | BudgetBreach::Anchors { .. }
                | BudgetBreach::AliasAnchorRatio { .. },
            ..
        }
        | Error::AliasReplayCounterOverflow { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => plain(Rule::FileBudget, REPEATS.to_owned()),
        Error::Budget { .. } => plain(Rule::FileBudget, "the document holds more than a manifest can need".to_owned()),
        _ => match message(error) {
            message if message.ends_with(TOO_MANY) => plain(Rule::FileBudget, message),
            message if message.ends_with(TWICE) => plain(Rule::FileDuplicateKey, message),
            message => syntax(at, &message, text),
        },
    }
}

/// Words of the table for a fault of syntax, at the place that is to be changed.
fn syntax(at: Position, message: &str, text: &str) -> SyntaxError {
    let rule = Rule::FileSyntax;
    let Some(known) = EXPLANATIONS.iter().find(|known| message.contains(&known.says)) else {
        return SyntaxError { at, rule, message: format!("this is not YAML: {message}"), hint: None };
    };
    let at = if known.says == TAB { indenting_tab(at, text).unwrap_or(at) } else { at };
    SyntaxError { at, rule, message: known.message.clone(), hint: Some(known.hint.clone()) }
}

/// The first tab before the text of a line, from the line at which the reader gave up: it points at what stands before.
fn indenting_tab(at: Position, text: &str) -> Option<Position> {
    let passed = at.line.saturating_sub(1) as usize;
    let tab = |(index, line): (usize, &str)| {
        let indentation = line.split(|letter: char| !letter.is_whitespace()).next()?;
        let column = indentation.chars().position(|letter| letter == '\t')?;
        Some(Position { line: u32::try_from(index).ok()? + 1, column: u32::try_from(column).ok()? + 1, length: 1 })
    };
    text.lines().enumerate().skip(passed).find_map(tab)
}

fn unknown_anchor(at: Position, text: &str) -> SyntaxError {
    let line = text.lines().nth(at.line.saturating_sub(1) as usize).unwrap_or_default();
    let rest: String = line.chars().skip(at.column.saturating_sub(1) as usize).collect();
    let end = |letter: char| letter.is_whitespace() || ",[]{}".contains(letter);
    let name = rest.strip_prefix('*').and_then(|name| name.split(end).next()).unwrap_or_default();
    SyntaxError {
        at,
        rule: Rule::FileSyntax,
        message: format!("*{name} repeats what is marked with &{name}, and nothing before it is"),
        hint: Some(
            "mark the first occurrence with & and the name, or put a text that begins with * into quotes".to_owned(),
        ),
    }
}

/// The library ends its messages with the place, which the diagnostic has already.
fn message(error: &Error) -> String {
    let text = error.to_string();
    let text = text.lines().next().unwrap_or_default();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    text[..end].trim_end_matches([',', ' ']).to_owned()
}

fn twice(key: &str) -> String {
    format!("{key:?} {TWICE}")
}

fn position(location: &serde_saphyr::Location) -> Position {
    let number = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    let length = number(location.span().len());
    Position { line: number(location.line()), column: number(location.column()), length }
}

struct Located(Node);

impl<'de> Deserialize<'de> for Located {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Bare>::deserialize(deserializer)?;
        let (at, value) = (position(&spanned.referenced), spanned.value.0);
        // Of a list or an object only the beginning is told.
        let length = if matches!(value, Tree::List(_) | Tree::Map(_)) { 0 } else { at.length };
        Ok(Self(Node { at: Position { length, ..at }, value }))
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
                return Err(A::Error::custom(twice(&key.value)));
            }
            members.push(Member { key: key.value, at: position(&key.referenced), node });
        }
        Ok(Tree::Map(members))
    }
}
