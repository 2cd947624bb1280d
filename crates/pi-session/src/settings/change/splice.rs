//! Replaces one member in the text of a JSON object; every other byte stays.

use serde_json::{Map, Value};

use crate::settings::place::{Member, members};

/// Why a text cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum NoObject {
    #[error("it is not JSON")]
    NotJson(#[source] serde_json::Error),
    #[error("it is JSON and not an object")]
    Other,
}

/// The text with `value` at the path of member names, or without the member. An empty text counts as `{}`. What stands on
/// the way and is not an object is replaced by one.
pub fn splice(text: &str, path: &[&str], value: Option<&Value>) -> Result<String, NoObject> {
    let (mark, body) = match text.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", text),
    };
    let body = if body.trim().is_empty() { "{}\n" } else { body };
    match serde_json::from_str(body).map_err(NoObject::NotJson)? {
        Value::Object(_) => Ok(format!("{mark}{}", change(body, path, value))),
        _ => Err(NoObject::Other),
    }
}

/// `text` is a valid object with white space around it.
fn change(text: &str, path: &[&str], value: Option<&Value>) -> String {
    let Some((name, rest)) = path.split_first() else { return text.to_owned() };
    let members = members(text);
    // Of members with one name, the last one counts.
    let Some(at) = members.iter().rposition(|member| member.name == *name) else {
        return match value {
            Some(value) => insert(text, &members, name, &nested(rest, value)),
            None => text.to_owned(),
        };
    };
    let member = &members[at];
    let old = &text[member.value.clone()];
    let new = match (rest, value) {
        ([], None) => return remove(text, &members, at),
        ([], Some(value)) => written(value, &indentation(text, member.start)),
        (_, _) if old.starts_with('{') => change(old, rest, value),
        (_, None) => return text.to_owned(),
        (rest, Some(value)) => written(&nested(rest, value), &indentation(text, member.start)),
    };
    format!("{}{new}{}", &text[..member.value.start], &text[member.value.end..])
}

fn nested(path: &[&str], value: &Value) -> Value {
    path.iter().rev().fold(value.clone(), |value, name| Value::Object(Map::from_iter([((*name).to_owned(), value)])))
}

/// The value as it is written at this indentation.
fn written(value: &Value, indentation: &str) -> String {
    let text = serde_json::to_string_pretty(value).expect("JSON can be written as text");
    text.replace('\n', &format!("\n{indentation}"))
}

/// White space from the beginning of the line to `place`; none if something else stands there.
fn indentation(text: &str, place: usize) -> String {
    let line = text[..place].rfind('\n').map_or(0, |end| end + 1);
    let before = &text[line..place];
    if before.trim().is_empty() { before.to_owned() } else { String::new() }
}

/// Adds a member behind the others, laid out as they are.
fn insert(text: &str, members: &[Member], name: &str, value: &Value) -> String {
    let name = Value::from(name);
    if let Some(last) = members.last() {
        let before = match members {
            [.., previous, _] => text[previous.value.end..last.start].trim_start().trim_start_matches(','),
            _ => &text[text.find('{').map_or(0, |open| open + 1)..last.start],
        };
        let before = if before.is_empty() { " " } else { before };
        let value = written(value, &indentation(text, last.start));
        let end = last.value.end;
        return format!("{},{before}{name}: {value}{}", &text[..end], &text[end..]);
    }
    let open = text.find('{').expect("an object begins with a brace");
    let close = text.rfind('}').expect("an object ends with a brace");
    let outer = indentation(text, open);
    let inner = format!("{outer}  ");
    let value = written(value, &inner);
    format!("{}\n{inner}{name}: {value}\n{outer}{}", &text[..=open], &text[close..])
}

fn remove(text: &str, members: &[Member], at: usize) -> String {
    let (start, end) = match (at.checked_sub(1).map(|before| &members[before]), members.get(at + 1)) {
        (Some(before), _) => (before.value.end, members[at].value.end),
        (None, Some(after)) => (members[at].start, after.start),
        (None, None) => {
            let open = text.find('{').expect("an object begins with a brace");
            let close = text.rfind('}').expect("an object ends with a brace");
            (open + 1, close)
        }
    };
    format!("{}{}", &text[..start], &text[end..])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn check(text: &str, path: &[&str], value: impl Into<Value>, expected: &str) {
        let value = value.into();
        let value = (!value.is_null()).then_some(&value);
        assert_eq!(splice(text, path, value).unwrap(), expected, "{text:?}");
    }

    #[test]
    fn only_the_member_changes() {
        check("{\n\t\"a\" : 1,\n\n\t\"b\": [1,2] }\n", &["a"], json!(2), "{\n\t\"a\" : 2,\n\n\t\"b\": [1,2] }\n");
        check(r#"{"a":{"x":"}","y":1},"b":2}"#, &["a", "y"], json!(true), r#"{"a":{"x":"}","y":true},"b":2}"#);
        check("{\"a\": 1, \"a\": 2}", &["a"], json!(3), "{\"a\": 1, \"a\": 3}");
        check("\u{feff}{\"a\": 1}", &["a"], json!(3), "\u{feff}{\"a\": 3}");
    }

    #[test]
    fn new_member_is_laid_out_like_its_neighbours() {
        check("", &["a"], json!(1), "{\n  \"a\": 1\n}\n");
        check("{}", &["a", "b"], json!(1), "{\n  \"a\": {\n    \"b\": 1\n  }\n}");
        check("{\n    \"a\": 1\n}\n", &["b"], json!([1]), "{\n    \"a\": 1,\n    \"b\": [\n      1\n    ]\n}\n");
        check(r#"{"a":1,"b":2}"#, &["c"], json!(3), r#"{"a":1,"b":2, "c": 3}"#);
        check(
            "{\n  \"a\": {\n    \"x\": 1\n  }\n}",
            &["a", "y"],
            json!(2),
            "{\n  \"a\": {\n    \"x\": 1,\n    \"y\": 2\n  }\n}",
        );
        check("{\"a\": 1}", &["a", "b"], json!(2), "{\"a\": {\n  \"b\": 2\n}}");
    }

    #[test]
    fn member_is_taken_out_with_its_comma() {
        check("{\n  \"a\": 1,\n  \"b\": 2\n}", &["a"], Value::Null, "{\n  \"b\": 2\n}");
        check("{\n  \"a\": 1,\n  \"b\": 2\n}", &["b"], Value::Null, "{\n  \"a\": 1\n}");
        check("{\n  \"a\": 1\n}", &["a"], Value::Null, "{}");
        check("{\"a\": {\"b\": 1}}", &["a", "c"], Value::Null, "{\"a\": {\"b\": 1}}");
        check("{\"a\": 1}", &["a", "c"], Value::Null, "{\"a\": 1}");
    }

    #[test]
    fn other_texts_are_refused() {
        assert!(matches!(splice("[1]", &["a"], None), Err(NoObject::Other)));
        assert!(matches!(splice("{", &["a"], None), Err(NoObject::NotJson(_))));
    }

    fn tree() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-c\"\\\\{}\\[\\]:, ]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::vec(("[ab\"\\\\ ]{0,2}", inner), 0..4)
                    .prop_map(|it| Value::Object(it.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn result_reads_as_the_changed_tree(
            members in prop::collection::vec(("[ab]", tree()), 0..4),
            path in prop::collection::vec("[ab]", 1..3),
            value in tree(),
            pretty in any::<bool>(),
        ) {
            let mut tree = Value::Object(members.into_iter().collect());
            let text = if pretty { serde_json::to_string_pretty(&tree) } else { serde_json::to_string(&tree) }.unwrap();
            let steps: Vec<&str> = path.iter().map(String::as_str).collect();
            let changed: Value = serde_json::from_str(&splice(&text, &steps, Some(&value)).unwrap()).unwrap();
            let mut place = &mut tree;
            for step in steps {
                if !place.is_object() {
                    *place = json!({});
                }
                place = &mut place[step];
            }
            *place = value;
            prop_assert_eq!(changed, tree);
        }
    }
}
