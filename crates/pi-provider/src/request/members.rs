//! Members of a request body that do not come from the conversation, addressed by dotted paths.

use serde_json::{Map, Value};

/// Puts `value` at a dotted path, making objects on the way. What stood there before is replaced.
pub(super) fn place(members: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => {
            members.insert(path.to_owned(), value);
        }
        Some((head, rest)) => {
            let inner = members.entry(head).or_insert_with(|| Value::Object(Map::new()));
            if !inner.is_object() {
                *inner = Value::Object(Map::new());
            }
            if let Value::Object(inner) = inner {
                place(inner, rest, value);
            }
        }
    }
}

/// Why a text is not a dotted path.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MemberError {
    #[error("{0:?} has a dot without a name beside it")]
    Nameless(String),
    #[error("{0:?} is a path for reading; members of a request are named with dots only")]
    Path(String),
    #[error("{0:?} has a space in it")]
    Space(String),
}

/// Whether a text is a dotted path.
pub(crate) fn check(path: &str) -> Result<(), MemberError> {
    if path.starts_with('$') || path.contains(['[', ']']) {
        Err(MemberError::Path(path.to_owned()))
    } else if path.contains(char::is_whitespace) {
        Err(MemberError::Space(path.to_owned()))
    } else if path.split('.').any(str::is_empty) {
        Err(MemberError::Nameless(path.to_owned()))
    } else {
        Ok(())
    }
}

/// What stands at a dotted path.
pub(super) fn at<'a>(members: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    match path.split_once('.') {
        None => members.get(path),
        Some((head, rest)) => at(members.get(head)?.as_object()?, rest),
    }
}

/// Takes away what stands at a dotted path, and objects that are empty without it.
pub(super) fn remove(members: &mut Map<String, Value>, path: &str) -> Option<Value> {
    let Some((head, rest)) = path.split_once('.') else { return members.shift_remove(path) };
    let inner = members.get_mut(head)?.as_object_mut()?;
    let removed = remove(inner, rest);
    if inner.is_empty() {
        members.shift_remove(head);
    }
    removed
}

/// Puts all of `from`, whose keys are dotted paths, into `members`; objects are merged, everything else is replaced.
pub(super) fn merge(members: &mut Map<String, Value>, from: &Map<String, Value>) {
    for (path, value) in from {
        let mut merged = match at(members, path) {
            Some(known @ Value::Object(_)) if value.is_object() => known.clone(),
            Some(_) | None => {
                place(members, path, value.clone());
                continue;
            }
        };
        blend(&mut merged, value);
        place(members, path, merged);
    }
}

/// Objects are merged by their keys, in which a dot is only a dot.
fn blend(known: &mut Value, value: &Value) {
    match (known, value) {
        (Value::Object(known), Value::Object(value)) => {
            for (key, value) in value {
                blend(known.entry(key).or_insert(Value::Null), value);
            }
        }
        (known, value) => *known = value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: &Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn dotted_paths_make_objects_and_keep_neighbours() {
        let mut members = object(&json!({"a": {"b": 1}, "s": "text"}));
        place(&mut members, "a.c.d", json!(2));
        place(&mut members, "s.t", json!(3));
        assert_eq!(Value::Object(members.clone()), json!({"a": {"b": 1, "c": {"d": 2}}, "s": {"t": 3}}));
        assert_eq!(at(&members, "a.c.d"), Some(&json!(2)));
        assert_eq!(remove(&mut members, "a.c.d"), Some(json!(2)));
        assert_eq!(Value::Object(members), json!({"a": {"b": 1}, "s": {"t": 3}}));
    }

    #[test]
    fn merging_replaces_values_and_keeps_other_members() {
        let mut members = object(&json!({"stream_options": {"include_usage": true}, "stop": ["a"]}));
        merge(&mut members, &object(&json!({"stream_options": {"x.y": 1}, "stop": ["b"], "r.e": 2})));
        assert_eq!(
            Value::Object(members),
            json!({"stream_options": {"include_usage": true, "x.y": 1}, "stop": ["b"], "r": {"e": 2}})
        );
    }
}
