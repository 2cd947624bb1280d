//! Redaction of JSON values: by member name, in header lists and command lines, and of every string.

use std::{borrow::Cow, collections::HashMap};

use serde_json::{Map, Value};

use crate::{
    Evidence, MARK, Redactor,
    key::{self, Secrecy},
    personal,
};

/// Members that name what a sibling `value` holds.
const NAME_MEMBERS: [&str; 4] = ["name", "key", "header", "field"];
const VALUE_MEMBERS: [&str; 2] = ["value", "values"];

/// Whether somebody further up has found that everything below is a count. A part of a count is a count, so nobody needs
/// to look again: judging each of many nested `tokens` anew would take their depth times the work.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    Nothing,
    Counts,
}

pub(crate) fn redact(redactor: &Redactor, value: &mut Value) {
    redact_below(redactor, value, Known::Nothing);
}

fn redact_below(redactor: &Redactor, value: &mut Value, known: Known) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => {
            // A number is no key, no vendor shape and no written phone number: only a known value can be one.
            if redactor.exact.is_active()
                && let Cow::Owned(text) = redactor.redact_text(&number.to_string())
            {
                *value = Value::from(text);
            }
        }
        Value::String(text) => {
            if let Cow::Owned(redacted) = redactor.redact_text(text) {
                *text = redacted;
            }
        }
        Value::Array(items) => redact_items(redactor, items, known),
        Value::Object(members) => redact_members(redactor, members, known),
    }
}

fn redact_members(redactor: &Redactor, members: &mut Map<String, Value>, known: Known) {
    if redactor.evidence != Evidence::KeysAndShapes {
        redact_names(redactor, members);
        members.values_mut().for_each(|value| redact_below(redactor, value, known));
        return;
    }
    // First, so that a second look, which sees only the new names, judges the members alike.
    redact_names(redactor, members);
    let descriptions = descriptions(redactor, members);
    for (name, value) in members.iter_mut() {
        let mut known = known;
        if is_secret(name, value, &mut known)
            || (is_value(name) && descriptions.iter().any(|key| is_secret(key, value, &mut known)))
        {
            hide(value);
        } else if name.eq_ignore_ascii_case("rawHeaders") {
            redact_alternating(redactor, value, known);
        } else if !personal::redact_member(&redactor.personal, name, value) {
            redact_below(redactor, value, known);
        }
    }
}

/// Whether the member is secret; `known` learns what was found out on the way.
fn is_secret(name: &str, value: &Value, known: &mut Known) -> bool {
    match key::secrecy(name) {
        None => false,
        Some(Secrecy::Full) => key::holds_something(value),
        Some(Secrecy::UnlessCounted) => {
            if *known == Known::Nothing && key::is_count(value) {
                *known = Known::Counts;
            }
            *known == Known::Nothing && key::holds_something(value)
        }
    }
}

/// What the members of an object call the value beside them: in `{"name": "prod", "key": "api_key", "value": …}` any of
/// them may say that it is secret. As they will be written, so that a second look judges alike.
fn descriptions(redactor: &Redactor, members: &Map<String, Value>) -> Vec<String> {
    if !members.keys().any(|name| is_value(name)) {
        return Vec::new();
    }
    let describing = members.iter().filter(|(name, _)| NAME_MEMBERS.iter().any(|it| name.eq_ignore_ascii_case(it)));
    describing.filter_map(|(_, text)| text.as_str()).map(|text| redactor.redact_text(text).into_owned()).collect()
}

fn is_value(name: &str) -> bool {
    VALUE_MEMBERS.iter().any(|it| name.eq_ignore_ascii_case(it))
}

/// A name may itself be a secret (a map from token to user). Names that become equal are told apart by a number.
fn redact_names(redactor: &Redactor, members: &mut Map<String, Value>) {
    if members.keys().all(|name| matches!(redactor.redact_text(name), Cow::Borrowed(_))) {
        return;
    }
    let mut renamed = Map::with_capacity(members.len());
    let mut last_numbers: HashMap<String, usize> = HashMap::new();
    for (name, value) in std::mem::take(members) {
        let redacted = redactor.redact_text(&name).into_owned();
        let mut unique = redacted.clone();
        if renamed.contains_key(&unique) {
            // Counted on from the last one: thousands of names may become equal.
            let number = last_numbers.entry(redacted.clone()).or_insert(1);
            while renamed.contains_key(&unique) {
                *number += 1;
                unique = format!("{redacted}#{number}");
            }
        }
        renamed.insert(unique, value);
    }
    *members = renamed;
}

fn redact_items(redactor: &Redactor, items: &mut [Value], known: Known) {
    if redactor.evidence != Evidence::KeysAndShapes {
        items.iter_mut().for_each(|item| redact_below(redactor, item, known));
        return;
    }
    // The flag as it came and as it is written: what is hidden in a text may be all that made it no flag.
    let mut flags: [Option<String>; 2] = [None, None];
    for item in items {
        let mut known = known;
        if std::mem::take(&mut flags).iter().flatten().any(|name| is_secret(name, item, &mut known)) {
            hide(item);
            continue;
        }
        if let Value::Array(pair) = item
            && let [Value::String(name), value] = pair.as_mut_slice()
            && names_secret(redactor, name, value, known)
        {
            hide(value);
        }
        let came = flag(item);
        redact_below(redactor, item, known);
        flags = [came, flag(item)];
    }
}

/// The item as the name of what follows it in a command line.
fn flag(item: &Value) -> Option<String> {
    item.as_str().filter(|text| text.starts_with('-') && !text.contains(['=', ' '])).map(str::to_owned)
}

/// Whether a name that stands before a value says that it is secret: as it came, or as it will be written, so that a second
/// look judges alike.
fn names_secret(redactor: &Redactor, name: &str, value: &Value, known: Known) -> bool {
    let says = |name: &str| is_secret(name, value, &mut known.clone());
    says(name) || matches!(redactor.redact_text(name), Cow::Owned(written) if says(&written))
}

/// Name, value, name, value: the shape of Node's `rawHeaders`.
fn redact_alternating(redactor: &Redactor, value: &mut Value, known: Known) {
    if let Value::Array(items) = value {
        for pair in items.chunks_exact_mut(2) {
            if let [Value::String(name), value] = pair
                && names_secret(redactor, name, value, known)
            {
                hide(value);
            }
        }
    }
    redact_below(redactor, value, known);
}

fn hide(value: &mut Value) {
    *value = Value::from(MARK);
}
