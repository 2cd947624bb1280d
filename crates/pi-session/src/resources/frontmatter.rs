//! The head of a Markdown file: YAML between two lines of three hyphens.

use serde_json::{Map, Value};

use super::notice::Problem;

/// The members of the head, and the text behind it. A file without a head has no members.
pub(super) fn split(text: &str) -> (Result<Map<String, Value>, Problem>, &str) {
    let Some((head, body)) = head(text) else { return (Ok(Map::new()), text) };
    let members = if head.trim().is_empty() { Ok(Map::new()) } else { parse(head) };
    (members, body)
}

fn parse(head: &str) -> Result<Map<String, Value>, Problem> {
    // The line of hyphens is counted too, so that places are those of the file.
    serde_saphyr::from_str(&format!("\n{head}")).map_err(|error| {
        let told = error.to_string();
        let first = told.lines().next().unwrap_or_default();
        Problem::Head { why: first.trim_start_matches("error: ").to_owned() }
    })
}

fn head(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix("---")?;
    let inside = rest.strip_prefix('\n').or_else(|| rest.strip_prefix("\r\n"))?;
    let mut at = 0;
    for line in inside.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((&inside[..at], &inside[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

/// A member as text: numbers and the like as they are written.
pub(super) fn word(members: &Map<String, Value>, name: &str) -> Option<String> {
    match members.get(name)? {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, members: &str, body: &str) {
        let (found, rest) = split(text);
        let found = found.map_or_else(|problem| problem.to_string(), |it| Value::Object(it).to_string());
        assert_eq!((found.as_str(), rest), (members, body), "{text:?}");
    }

    #[test]
    fn head_is_between_two_lines() {
        check("---\na: b\n---\nbody\n", r#"{"a":"b"}"#, "body\n");
        check("---\r\na: b\r\n---\r\nbody", r#"{"a":"b"}"#, "body");
        check("---\n---\nbody", "{}", "body");
        check("---\na: 1\n---", r#"{"a":1}"#, "");
    }

    #[test]
    fn other_texts_have_no_head() {
        for text in ["", "body", "--- a: b", "---\nnever ends\n", " ---\na: b\n---\n", "----\na\n----\n"] {
            check(text, "{}", text);
        }
    }

    #[test]
    fn head_that_is_not_yaml_is_told() {
        let (members, body) = split("---\na: [1\n---\nbody");
        assert!(matches!(members, Err(Problem::Head { .. })), "{members:?}");
        assert_eq!(body, "body");
    }
}
