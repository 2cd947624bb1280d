//! Texts of a manifest that are compiled before they are used.
//!
//! A manifest keeps them as they are written. While it is read, each is compiled with the code with which it is compiled
//! where it is used, so that no manifest that loads holds one that cannot be used. The functions are named in
//! `deserialize_with`; what they refuse is a finding at the text itself.

use std::marker::PhantomData;

use indexmap::IndexMap;
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, Unexpected},
};
use serde_json::{Map, Value};

use super::diagnostic::Rule;
use crate::{
    classify, condition::Condition, limits, path::Path, request::members, response, stream::rule::Source, stream::usage,
};

/// How a kind of expression is compiled. One implementation for each way in which texts are used.
pub(super) trait Expression {
    /// The word by which the reader knows the rule that is broken.
    const KIND: &'static str;

    /// What is wrong with a text.
    fn check(text: &str) -> Result<(), String>;
}

/// The rule for a kind of expression.
pub(super) fn rule(kind: &str) -> Option<Rule> {
    Some(match kind {
        CONDITION => Rule::ConditionSyntax,
        PATH => Rule::PathSyntax,
        PATTERN => Rule::PatternSyntax,
        MEMBER => Rule::MemberSyntax,
        POINTER => Rule::PointerSyntax,
        _ => return None,
    })
}

const CONDITION: &str = "condition";
const PATH: &str = "path";
const PATTERN: &str = "pattern";
const MEMBER: &str = "member";
const POINTER: &str = "pointer";

macro_rules! expressions {
    ($($(#[$doc:meta])* $name:ident $kind:ident |$text:ident| $check:expr;)*) => {
        $(
            $(#[$doc])*
            pub(super) struct $name;

            impl Expression for $name {
                const KIND: &'static str = $kind;

                fn check($text: &str) -> Result<(), String> {
                    ($check).map(drop).map_err(|fault| in_one_line(&fault.to_string()))
                }
            }
        )*
    };
}

expressions! {
    /// When a rule applies, a frame counts, or a stream is over.
    When CONDITION |text| Condition::parse(text);
    /// A path as it is written.
    Plain PATH |text| Path::parse(text);
    /// A path whose root may be left out.
    Rooted PATH |text| Path::parse_rooted(text);
    /// Where a count is, from the root of an answer or from its usage.
    Count PATH |text| usage::contract_path(text);
    /// Where a part of a tool call is, inside the call.
    CallPart PATH |text| response::call_part(text);
    /// Words in a message of an error.
    Words PATTERN |text| classify::pattern(text);
    /// Where a message says how long to wait.
    Wait PATTERN |text| limits::wait_pattern(text);
    /// A member of a request.
    Dotted MEMBER |text| members::check(text);
    /// A member of a request, or an empty text for none.
    DottedOrNone MEMBER |text| if text.is_empty() { Ok(()) } else { members::check(text) };
    /// A place in an answer of a batch.
    Pointer POINTER |text| pointer(text);
}

/// A text that could be compiled.
pub(super) struct Checked<E> {
    pub text: String,
    kind: PhantomData<E>,
}

impl<'de, E: Expression> Deserialize<'de> for Checked<E> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match E::check(&text) {
            Ok(()) => Ok(Self { text, kind: PhantomData }),
            Err(fault) => Err(refused::<D>(E::KIND, &fault)),
        }
    }
}

fn refused<'de, D: Deserializer<'de>>(kind: &'static str, fault: &str) -> D::Error {
    D::Error::invalid_value(Unexpected::Other(kind), &fault)
}

type Optional = Option<String>;
type Texts = IndexMap<String, String>;

pub(crate) fn condition<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    one::<When, D>(deserializer)
}

pub(super) fn optional_condition<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Optional, D::Error> {
    optional::<When, D>(deserializer)
}

pub(crate) fn plain_path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    one::<Plain, D>(deserializer)
}

pub(crate) fn optional_plain_path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Optional, D::Error> {
    optional::<Plain, D>(deserializer)
}

pub(super) fn optional_path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Optional, D::Error> {
    optional::<Rooted, D>(deserializer)
}

pub(super) fn counts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Texts, D::Error> {
    texts::<Count, D>(deserializer)
}

pub(super) fn call_parts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Texts, D::Error> {
    texts::<CallPart, D>(deserializer)
}

pub(super) fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    one::<Words, D>(deserializer)
}

pub(super) fn wait<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    one::<Wait, D>(deserializer)
}

pub(super) fn optional_member<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Optional, D::Error> {
    optional::<Dotted, D>(deserializer)
}

pub(super) fn optional_member_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Optional, D::Error> {
    optional::<DottedOrNone, D>(deserializer)
}

pub(super) fn members<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Texts, D::Error> {
    texts::<Dotted, D>(deserializer)
}

/// Members of a request with what stands there.
pub(super) fn filled_members<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Map<String, Value>, D::Error> {
    let filled = IndexMap::<Key, Value>::deserialize(deserializer)?;
    Ok(filled.into_iter().map(|(Key(key), value)| (key, value)).collect())
}

pub(super) fn optional_pointer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Optional, D::Error> {
    optional::<Pointer, D>(deserializer)
}

/// Fields of an event with a path or a literal each.
pub(super) fn sources<'de, D: Deserializer<'de>>(deserializer: D) -> Result<IndexMap<String, Value>, D::Error> {
    let sources = IndexMap::<String, Field>::deserialize(deserializer)?;
    Ok(sources.into_iter().map(|(name, Field(value))| (name, value)).collect())
}

fn one<'de, E: Expression, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Checked::<E>::deserialize(deserializer).map(|checked| checked.text)
}

fn optional<'de, E: Expression, D: Deserializer<'de>>(deserializer: D) -> Result<Optional, D::Error> {
    Option::<Checked<E>>::deserialize(deserializer).map(|checked| checked.map(|checked| checked.text))
}

fn texts<'de, E: Expression, D: Deserializer<'de>>(deserializer: D) -> Result<Texts, D::Error> {
    let texts = IndexMap::<String, Checked<E>>::deserialize(deserializer)?;
    Ok(texts.into_iter().map(|(name, checked)| (name, checked.text)).collect())
}

/// A member of a request, as the key of what stands there.
#[derive(PartialEq, Eq, Hash)]
struct Key(String);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        one::<Dotted, D>(deserializer).map(Self)
    }
}

/// A path or a literal.
struct Field(Value);

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        match Source::read(&value) {
            Ok(_) => Ok(Self(value)),
            Err(fault) => Err(refused::<D>(PATH, &fault.to_string())),
        }
    }
}

/// What is said of patterns shows them in several lines, with the fault behind a word at the end.
fn in_one_line(fault: &str) -> String {
    match fault.rsplit_once("error: ") {
        Some((_, reason)) => format!("the pattern cannot be read: {}", reason.trim()),
        None => fault.lines().next().unwrap_or_default().to_owned(),
    }
}

fn pointer(text: &str) -> Result<(), &'static str> {
    if text.is_empty() || text.starts_with('/') { Ok(()) } else { Err("a pointer begins with /") }
}
