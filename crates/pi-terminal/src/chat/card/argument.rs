//! The arguments of a call, in one line.

use serde_json::{Map, Value};

use crate::text::printable;

/// What a call is about.
pub(super) fn tell(name: &str, arguments: &Map<String, Value>) -> String {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    let path = || text("path").or_else(|| text("file_path"));
    let told = match name {
        "bash" | "!" | "!!" => text("command").map(str::to_owned),
        "read" => path().map(|path| format!("{path}{}", range(arguments))),
        "write" | "edit" => path().map(str::to_owned),
        "ls" => Some(path().unwrap_or(".").to_owned()),
        "grep" | "find" => text("pattern").map(|pattern| match path() {
            Some(path) => format!("{pattern} in {path}"),
            None => pattern.to_owned(),
        }),
        _ => None,
    };
    let told = told.unwrap_or_else(|| match arguments.is_empty() {
        true => String::new(),
        false => Value::Object(arguments.clone()).to_string(),
    });
    let mut lines = told.trim().lines();
    let first = lines.next().unwrap_or_default();
    let more = if lines.next().is_some() { " …" } else { "" };
    printable(&format!("{first}{more}")).into_owned()
}

/// `:10-19`, where only some lines are read.
fn range(arguments: &Map<String, Value>) -> String {
    let number = |key: &str| arguments.get(key).and_then(Value::as_u64);
    match (number("offset"), number("limit")) {
        (None, None) => String::new(),
        (Some(first), None) => format!(":{first}-"),
        (first, Some(count)) => {
            let first = first.unwrap_or(1);
            format!(":{first}-{}", first.saturating_add(count).saturating_sub(1))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_told_in_a_line() {
        for (name, arguments, expected) in [
            ("bash", r#"{"command":"ls\nrm x"}"#, "ls …"),
            ("read", r#"{"path":"a.rs"}"#, "a.rs"),
            ("read", r#"{"path":"a.rs","offset":10,"limit":10}"#, "a.rs:10-19"),
            ("grep", r#"{"pattern":"fn","path":"src"}"#, "fn in src"),
            ("ls", "{}", "."),
            ("other", r#"{"a":1}"#, r#"{"a":1}"#),
            ("other", "{}", ""),
        ] {
            let Value::Object(arguments) = serde_json::from_str(arguments).unwrap() else { panic!("no object") };
            assert_eq!(tell(name, &arguments), expected);
        }
    }
}
