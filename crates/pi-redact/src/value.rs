//! Redaction of JSON values: by member name, in header lists and command lines, and of every string.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::{MARK, Redactor, key, personal};

/// Members that name what a sibling `value` holds.
const NAME_MEMBERS: [&str; 4] = ["name", "key", "header", "field"];
const VALUE_MEMBERS: [&str; 2] = ["value", "values"];

pub(crate) fn redact(redactor: &Redactor, value: &mut Value) {
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
        Value::Array(items) => redact_items(redactor, items),
        Value::Object(members) => redact_members(redactor, members),
    }
}

fn redact_members(redactor: &Redactor, members: &mut Map<String, Value>) {
    // First, so that a second look, which sees only the new names, judges the members alike.
    redact_names(redactor, members);
    let names_secret = NAME_MEMBERS.iter().find_map(|name| named(members, name)).map(str::to_owned);
    for (name, value) in members.iter_mut() {
        let described =
            names_secret.as_deref().filter(|_| VALUE_MEMBERS.iter().any(|it| name.eq_ignore_ascii_case(it)));
        if key::is_secret_member(name, value) || described.is_some_and(|key| key::is_secret_member(key, value)) {
            hide(value);
        } else if name.eq_ignore_ascii_case("rawHeaders") {
            redact_alternating(redactor, value);
        } else if !personal::redact_member(&redactor.personal, name, value) {
            redact(redactor, value);
        }
    }
}

/// A name may itself be a secret (a map from token to user). Names that become equal are told apart by a number.
fn redact_names(redactor: &Redactor, members: &mut Map<String, Value>) {
    if members.keys().all(|name| matches!(redactor.redact_text(name), Cow::Borrowed(_))) {
        return;
    }
    let mut renamed = Map::with_capacity(members.len());
    for (name, value) in std::mem::take(members) {
        let redacted = redactor.redact_text(&name).into_owned();
        let mut unique = redacted.clone();
        let mut copies = 1;
        while renamed.contains_key(&unique) {
            copies += 1;
            unique = format!("{redacted}#{copies}");
        }
        renamed.insert(unique, value);
    }
    *members = renamed;
}

fn redact_items(redactor: &Redactor, items: &mut [Value]) {
    let mut flag: Option<String> = None;
    for item in items {
        if let Some(name) = flag.take()
            && key::is_secret_member(&name, item)
        {
            hide(item);
            continue;
        }
        if let Value::Array(pair) = item
            && let [Value::String(name), value] = pair.as_mut_slice()
            && key::is_secret_member(name, value)
        {
            hide(value);
        }
        flag = item.as_str().filter(|text| text.starts_with('-') && !text.contains(['=', ' '])).map(str::to_owned);
        redact(redactor, item);
    }
}

/// Name, value, name, value: the shape of Node's `rawHeaders`.
fn redact_alternating(redactor: &Redactor, value: &mut Value) {
    if let Value::Array(items) = value {
        for pair in items.chunks_exact_mut(2) {
            if let [Value::String(name), value] = pair
                && key::is_secret_member(name, value)
            {
                hide(value);
            }
        }
    }
    redact(redactor, value);
}

fn named<'a>(members: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    let (_, value) = members.iter().find(|(member, _)| member.eq_ignore_ascii_case(name))?;
    value.as_str()
}

fn hide(value: &mut Value) {
    *value = Value::from(MARK);
}
