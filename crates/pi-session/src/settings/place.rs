//! Where the members of a settings file stand in its text.

use std::fmt;

use serde::Serialize;

/// A place in a text. Both count from 1, columns in letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    pub line: usize,
    pub column: usize,
}

/// Where the name of the member at this path stands in `text`, which is a JSON object. Of members with one name, the last
/// one counts.
pub(super) fn find(text: &str, path: &[&str]) -> Option<Place> {
    let (mut start, mut rest) = (0, text);
    let mut steps = path.iter().peekable();
    while let Some(step) = steps.next() {
        let members = members(rest);
        let member = members.iter().rev().find(|member| member.name == *step)?;
        if steps.peek().is_none() {
            return Some(place(text, start + member.start));
        }
        rest = &rest[member.value.clone()];
        start += member.value.start;
        if !rest.starts_with('{') {
            return None;
        }
    }
    None
}

/// Names that stand more than once among the members of `group`, in `text`, which is a JSON object; and `group` itself if it does. Whoever wrote
/// them means all of them, and one counts.
pub(super) fn repeated(text: &str, group: &str) -> Vec<String> {
    let groups: Vec<Member> = members(text).into_iter().filter(|member| member.name == group).collect();
    let mut found: Vec<String> = (groups.len() > 1).then(|| group.to_owned()).into_iter().collect();
    let Some(value) = groups.last().map(|last| &text[last.value.clone()]).filter(|value| value.starts_with('{')) else {
        return found;
    };
    let names: Vec<String> = members(value).into_iter().map(|member| member.name).collect();
    let again = names.iter().enumerate().filter(|(index, name)| names[..*index].contains(name));
    for (_, name) in again {
        let whole = format!("{group}.{name}");
        if !found.contains(&whole) {
            found.push(whole);
        }
    }
    found
}

fn place(text: &str, at: usize) -> Place {
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    Place { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A member of an object: where its name and its value stand.
pub(super) struct Member {
    pub(super) name: String,
    pub(super) start: usize,
    pub(super) value: std::ops::Range<usize>,
}

/// The members of the object that `text` is. The text was read as JSON before, so brackets and quotes are where they belong.
pub(super) fn members(text: &str) -> Vec<Member> {
    let bytes = text.as_bytes();
    let skip = |from: usize| from + bytes[from..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let mut members = Vec::new();
    let mut at = skip(skip(0) + 1);
    while bytes[at] != b'}' {
        let start = at;
        let name_end = end_of_value(bytes, start);
        let name = serde_json::from_str(&text[start..name_end]).expect("a name is a JSON text");
        let value_start = skip(skip(name_end) + 1);
        let value_end = end_of_value(bytes, value_start);
        members.push(Member { name, start, value: value_start..value_end });
        at = skip(value_end);
        if bytes[at] == b',' {
            at = skip(at + 1);
        }
    }
    members
}

fn end_of_value(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0usize;
    let mut at = start;
    loop {
        match bytes[at] {
            b'"' => at = end_of_text(bytes, at) - 1,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
        let is_plain = !matches!(bytes[start], b'"' | b'{' | b'[');
        let goes_on =
            is_plain && at < bytes.len() && !matches!(bytes[at], b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
        if depth == 0 && !goes_on {
            return at;
        }
    }
}

fn end_of_text(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_stand_more_than_once_are_found() {
        for (text, expected) in [
            (r#"{"g": {"a": 1, "b": {"c": 1, "c": 2}}, "a": 1, "a": 2}"#, &[][..]),
            (r#"{"g": {"a": 1, "b": 2, "\u0061": 3, "a": 4}}"#, &["g.a"]),
            (r#"{"g": {"a": 1}, "g": {"b": 1, "b": 1}}"#, &["g", "g.b"]),
            (r#"{"g": 1}"#, &[]),
            ("{}", &[]),
        ] {
            assert_eq!(repeated(text, "g"), expected, "{text}");
        }
    }

    #[test]
    fn members_are_found_in_lines_and_letters() {
        let text = "{\n  \"größe\": {\"a\": 1}, \"b\": 2,\n\t\"c\": {\"d\": [{\"e\": 1}], \"b\": 1},\n  \"b\": 3\n}\n";
        for (path, expected) in [
            (&["größe"][..], Some((2, 3))),
            (&["größe", "a"], Some((2, 13))),
            (&["b"], Some((4, 3))),
            (&["c", "b"], Some((3, 25))),
            (&["c", "e"], None),
            (&["b", "a"], None),
            (&[], None),
        ] {
            let found = find(text, path).map(|place| (place.line, place.column));
            assert_eq!(found, expected, "{path:?}");
        }
    }
}
