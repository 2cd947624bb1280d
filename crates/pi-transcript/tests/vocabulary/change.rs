//! Lines of every kind, changed in every way.

use proptest::{collection, prelude::*, sample::Index};
use serde_json::{Value, json};

/// One line of every kind, with every member that we know.
pub(crate) const LINES: &str = include_str!("../fixtures/every-line.jsonl");

/// Names that mean something somewhere, so that a member in the wrong place is often one of them.
const NAMES: &[&str] = &[
    "type",
    "role",
    "id",
    "parentId",
    "timestamp",
    "message",
    "content",
    "usage",
    "cost",
    "details",
    "label",
    "name",
    "version",
    "cwd",
    "stopReason",
    "thinkingLevel",
    "arguments",
    "replacement",
    "summary",
    "extra",
];

/// Words that are tags somewhere.
const WORDS: &[&str] = &["session", "message", "user", "assistant", "custom", "text", "toolCall", "label", "stop", ""];

/// A change somewhere in a document.
#[derive(Debug, Clone)]
enum Change {
    Remove(Index),
    Replace(Index, Value),
    Insert(Index, String, Value),
    Append(Index, Value),
}

pub(crate) fn config() -> ProptestConfig {
    let cases = std::env::var("PI_TEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(200);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (0u8..20).prop_map(|small| json!(f64::from(small))),
        any::<String>().prop_map(Value::from),
        proptest::sample::select(WORDS).prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            collection::vec((any_name(), inner), 0..4).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn any_name() -> impl Strategy<Value = String> {
    prop_oneof![3 => proptest::sample::select(NAMES).prop_map(str::to_owned), 1 => any::<String>()]
}

fn any_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        any::<Index>().prop_map(Change::Remove),
        (any::<Index>(), any_json()).prop_map(|(at, value)| Change::Replace(at, value)),
        (any::<Index>(), any_name(), any_json()).prop_map(|(at, name, value)| Change::Insert(at, name, value)),
        (any::<Index>(), any_json()).prop_map(|(at, value)| Change::Append(at, value)),
    ]
}

/// A line of a known kind, changed in up to four places.
pub(crate) fn any_line() -> impl Strategy<Value = Value> {
    let lines: Vec<Value> = LINES.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (proptest::sample::select(lines), collection::vec(any_change(), 0..5)).prop_map(|(mut line, changes)| {
        for change in changes {
            apply(&mut line, change);
        }
        line
    })
}

fn apply(document: &mut Value, change: Change) {
    let mut pointers = Vec::new();
    collect(document, String::new(), &mut pointers);
    match change {
        Change::Remove(at) => {
            let Some((parent, last)) = at.get(&pointers).rsplit_once('/') else { return };
            match document.pointer_mut(parent).unwrap() {
                Value::Object(object) => drop(object.shift_remove(&last.replace("~1", "/").replace("~0", "~"))),
                Value::Array(items) => drop(items.remove(last.parse().unwrap())),
                leaf => unreachable!("a leaf has no members: {leaf}"),
            }
        }
        Change::Replace(at, value) => *pick(document, at, &pointers) = value,
        Change::Insert(at, name, value) => {
            if let Value::Object(object) = pick(document, at, &pointers) {
                object.insert(name, value);
            }
        }
        Change::Append(at, value) => {
            if let Value::Array(items) = pick(document, at, &pointers) {
                items.push(value);
            }
        }
    }
}

fn pick<'a>(document: &'a mut Value, at: Index, pointers: &[String]) -> &'a mut Value {
    document.pointer_mut(at.get(pointers).as_str()).unwrap()
}

fn collect(value: &Value, pointer: String, pointers: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            for (name, member) in object {
                collect(member, format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1")), pointers);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, format!("{pointer}/{index}"), pointers);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    pointers.push(pointer);
}
