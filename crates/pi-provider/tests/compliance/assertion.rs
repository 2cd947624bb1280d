//! The assertions of the format: what a case expects, held against what came.
//!
//! Members that the runner did not answer are findings, so that nothing passes because nobody looked. Objects may hold
//! more than is expected, but for those in [`CLOSED`]; lists are as long as expected.

use regex::Regex;
use serde_json::{Map, Value};

/// Objects of which the case names every member.
const CLOSED: [&str; 4] = ["arguments", "encoded", "headers", "query_params"];

/// Beginnings of what the format does to a value, after the name of that value.
const CONTAINS: [&str; 3] = ["_contains", "_should_mention", "_must_contain"];
const LACKS: &str = "_must_not_contain";

/// A list of which the case knows words, not the whole: each must be in some element.
const WORDS: &str = "errors";

/// A value for which several spellings are right: the provider's word and the standard's.
pub(crate) const ANY: &str = "$any";

/// Compares; each finding names its place.
pub(crate) fn compare(expected: &Value, actual: &Value) -> Vec<String> {
    let mut findings = Findings(Vec::new());
    findings.value("", expected, actual, false);
    findings.0
}

struct Findings(Vec<String>);

impl Findings {
    fn push(&mut self, place: &str, expected: impl std::fmt::Display, actual: &Value) {
        let place = if place.is_empty() { "the answer" } else { place };
        self.0.push(format!("{place}: expected {expected}, came {actual}"));
    }

    fn value(&mut self, place: &str, expected: &Value, actual: &Value, closed: bool) {
        if let Some(alternatives) = actual.get(ANY).and_then(Value::as_array) {
            if !alternatives.iter().any(|alternative| fits(expected, alternative)) {
                self.push(place, expected, &Value::from(alternatives.clone()));
            }
            return;
        }
        match (expected, actual) {
            (Value::Object(assertion), _) if assertion.contains_key("assert") => {
                self.assertion(place, assertion, actual)
            }
            (Value::Object(range), Value::Number(number)) if is_range(range) => {
                if !in_range(range, number.as_f64().unwrap_or(f64::NAN)) {
                    self.push(place, expected, actual);
                }
            }
            (Value::Object(expected), Value::Object(actual)) => self.members(place, expected, actual, closed),
            (Value::Array(assertions), Value::Array(_)) if is_about_the_list(assertions) => {
                assertions.iter().filter_map(Value::as_object).for_each(|one| self.assertion(place, one, actual));
            }
            (Value::Array(wanted), Value::Array(found)) => {
                if wanted.len() != found.len() {
                    self.push(place, format!("{} elements {expected}", wanted.len()), actual);
                } else {
                    let pairs = wanted.iter().zip(found).enumerate();
                    pairs.for_each(|(index, (wanted, found))| {
                        self.value(&join(place, &index.to_string()), wanted, found, closed)
                    });
                }
            }
            (Value::Number(wanted), Value::Number(found)) => {
                if wanted.as_f64() != found.as_f64() {
                    self.push(place, expected, actual);
                }
            }
            _ => {
                if expected != actual {
                    self.push(place, expected, actual);
                }
            }
        }
    }

    fn members(&mut self, place: &str, expected: &Map<String, Value>, actual: &Map<String, Value>, closed: bool) {
        for (name, wanted) in expected {
            let inside = join(place, name);
            let closed = closed || CLOSED.contains(&name.as_str());
            if let (WORDS, Value::Array(words), Some(found)) = (name.as_str(), wanted, actual.get(name))
                && words.iter().any(Value::is_string)
            {
                self.holds(&inside, wanted, found, true);
            } else if let Some(found) = actual.get(name) {
                self.value(&inside, wanted, found, closed);
            } else if let Some((base, positive)) = about(name, actual) {
                self.holds(&inside, wanted, base, positive);
            } else if let Some(found) = follow(actual, name) {
                self.value(&inside, wanted, found, closed);
            } else if wanted.is_null() {
                // Absent is as good as null.
            } else {
                self.0.push(format!("{inside}: expected {wanted}, and nothing came"));
            }
        }
        let is_more = |name: &&String| !expected.contains_key(*name);
        if closed || (expected.is_empty() && !actual.is_empty() && !place.is_empty()) {
            let more: Vec<&String> = actual.keys().filter(is_more).collect();
            if !more.is_empty() {
                self.0.push(format!("{place}: came also with {more:?}"));
            }
        }
    }

    /// Texts hold texts, lists hold elements, objects hold members.
    fn holds(&mut self, place: &str, wanted: &Value, actual: &Value, positive: bool) {
        let each = match (wanted, actual) {
            (Value::Array(all), _) => all.iter().collect(),
            (one, _) => vec![one],
        };
        for one in each {
            if contains(actual, one) != positive {
                self.push(place, one, actual);
            }
        }
    }

    fn assertion(&mut self, place: &str, assertion: &Map<String, Value>, actual: &Value) {
        let none = Value::Null;
        let value = ["value", "values", "pattern", "expected"].iter().find_map(|name| assertion.get(*name));
        let value = value.unwrap_or(&none);
        let passed = match assertion.get("assert").and_then(Value::as_str).unwrap_or_default() {
            "equals" => return self.value(place, value, actual, true),
            "contains" => return self.holds(place, value, actual, true),
            "matches" => {
                let pattern = value.as_str().and_then(|pattern| Regex::new(pattern).ok());
                pattern.zip(actual.as_str()).is_some_and(|(pattern, text)| pattern.is_match(text))
            }
            "length" => length(actual).is_some_and(|length| match value.as_f64() {
                Some(wanted) => length == wanted,
                None => in_range(assertion, length),
            }),
            "type" => {
                value.as_str() == Some(kind_of(actual)) || (value == "integer" && (actual.is_i64() || actual.is_u64()))
            }
            "any_of" => value.as_array().is_some_and(|options| options.iter().any(|option| fits(option, actual))),
            "error" => {
                let said = actual.get("error").unwrap_or(actual).as_str();
                said.is_some_and(|said| value.as_str().is_none_or(|words| said.contains(words)))
            }
            other => {
                self.0.push(format!("{place}: there is no assertion {other}"));
                return;
            }
        };
        if !passed {
            self.push(place, Value::Object(assertion.clone()), actual);
        }
    }
}

pub(crate) fn fits(expected: &Value, actual: &Value) -> bool {
    let mut findings = Findings(Vec::new());
    findings.value("", expected, actual, false);
    findings.0.is_empty()
}

fn join(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}

/// Whether a name is one of the answers with what is to be done to it: `prompt_contains`, `optional_contains`.
fn about<'a>(name: &str, actual: &'a Map<String, Value>) -> Option<(&'a Value, bool)> {
    let negative = name.strip_suffix(LACKS).map(|base| (base, false));
    let positive = || CONTAINS.iter().find_map(|suffix| name.strip_suffix(suffix)).map(|base| (base, true));
    let (base, positive) = negative.or_else(positive)?;
    Some((actual.get(base)?, positive))
}

/// `arguments.query`, `content.0.type`, `events[0]`.
fn follow<'a>(actual: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let plain = name.replace('[', ".").replace(']', "");
    let mut steps = plain.split('.');
    let mut place = actual.get(steps.next()?)?;
    for step in steps {
        place = match place {
            Value::Array(list) => list.get(step.parse::<usize>().ok()?)?,
            Value::Object(members) => members.get(step)?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        };
    }
    Some(place)
}

fn contains(actual: &Value, one: &Value) -> bool {
    match (actual, one) {
        (Value::String(text), Value::String(part)) => text.contains(part),
        (Value::Array(list), _) => list.iter().any(|element| match (element, one) {
            (Value::String(text), Value::String(part)) => text.contains(part),
            _ => fits(one, element),
        }),
        _ => fits(one, actual),
    }
}

fn is_range(members: &Map<String, Value>) -> bool {
    !members.is_empty() && members.keys().all(|name| name == "min" || name == "max")
}

fn in_range(range: &Map<String, Value>, number: f64) -> bool {
    let bound = |name: &str| range.get(name).and_then(Value::as_f64);
    bound("min").is_none_or(|least| number >= least) && bound("max").is_none_or(|most| number <= most)
}

/// `events: [{assert: length, value: 5}]` is about the list and not about its first element.
fn is_about_the_list(assertions: &[Value]) -> bool {
    let whole = |one: &Value| matches!(one.get("assert").and_then(Value::as_str), Some("length" | "contains"));
    !assertions.is_empty() && assertions.iter().all(whole)
}

fn length(value: &Value) -> Option<f64> {
    let length = match value {
        Value::String(text) => text.chars().count(),
        Value::Array(list) => list.len(),
        Value::Object(members) => members.len(),
        Value::Null | Value::Bool(_) | Value::Number(_) => return None,
    };
    u32::try_from(length).ok().map(f64::from)
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
