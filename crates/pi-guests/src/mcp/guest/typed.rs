//! What somebody types behind the command of a prompt.

use serde_json::Value;

use pi_extproto::Object;

use crate::mcp::reading::{PromptArgument, PromptFace};

/// Why what was typed cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum TypedFault {
    #[error("missing: {}", .0.join(", "))]
    Missing(Vec<String>),
    #[error("{0} is given twice")]
    Twice(String),
}

/// Arguments of a prompt: values in their order, the last of which takes the rest, and behind them `name=value`, each value up
/// to the next name. A value may stand in quotes.
pub(super) fn arguments(prompt: &PromptFace, typed: &str) -> Result<Object, TypedFault> {
    let typed = typed.trim();
    let names = names(prompt, typed);
    let given = match names.first() {
        Some((start, _)) => {
            let is_open = |argument: &&PromptArgument| names.iter().all(|(_, name)| argument.name != *name);
            let open: Vec<_> = prompt.arguments.iter().filter(is_open).collect();
            match (typed[..*start].trim(), open.is_empty()) {
                ("", _) => named(typed, &names)?,
                // Words that no argument is left for are no names.
                (_, true) => in_order(&prompt.arguments.iter().collect::<Vec<_>>(), typed),
                (before, false) => in_order(&open, before).into_iter().chain(named(typed, &names)?).collect(),
            }
        }
        None => in_order(&prompt.arguments.iter().collect::<Vec<_>>(), typed),
    };
    let missing =
        prompt.arguments.iter().filter(|argument| argument.is_required && !given.contains_key(&argument.name));
    let missing: Vec<String> = missing.map(|argument| argument.name.clone()).collect();
    if missing.is_empty() { Ok(given) } else { Err(TypedFault::Missing(missing)) }
}

/// How the command is typed.
pub(super) fn usage(command: &str, prompt: &PromptFace) -> String {
    let argument = |(name, is_required): (&String, bool)| match is_required {
        true => format!(" {name}=…"),
        false => format!(" [{name}=…]"),
    };
    let arguments = prompt.arguments.iter().map(|known| argument((&known.name, known.is_required)));
    format!("type /{command}{}", arguments.collect::<String>())
}

/// Where names of arguments stand that a value follows, outside of quotes.
fn names<'a>(prompt: &'a PromptFace, typed: &str) -> Vec<(usize, &'a str)> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < typed.len() {
        let rest = &typed[at..];
        let is_named = |name: &str| rest.strip_prefix(name).is_some_and(|behind| behind.starts_with('='));
        let name = prompt.arguments.iter().map(|argument| argument.name.as_str()).find(|name| is_named(name));
        if let Some(name) = name {
            found.push((at, name));
            at += name.len() + 1;
        }
        // To the end of the word, or of the quotes that begin here.
        let rest = &typed[at..];
        at += quoted(rest).map_or(0, |(_, behind)| rest.len() - behind.len());
        let rest = &typed[at..];
        let word = rest.find(char::is_whitespace).unwrap_or(rest.len());
        at += word + (rest[word..].len() - rest[word..].trim_start().len());
    }
    found
}

fn named(typed: &str, names: &[(usize, &str)]) -> Result<Object, TypedFault> {
    let mut given = Object::new();
    let ends = names.iter().skip(1).map(|(at, _)| *at).chain([typed.len()]);
    for ((at, name), end) in names.iter().zip(ends) {
        let value = plain(typed[at + name.len() + 1..end].trim());
        if given.insert((*name).to_owned(), Value::from(value)).is_some() {
            return Err(TypedFault::Twice((*name).to_owned()));
        }
    }
    Ok(given)
}

fn in_order(arguments: &[&PromptArgument], typed: &str) -> Object {
    let mut given = Object::new();
    let mut rest = typed;
    for (at, argument) in arguments.iter().enumerate() {
        let is_last = at + 1 == arguments.len();
        let (value, behind) = match (quoted(rest), rest.split_once(char::is_whitespace)) {
            _ if is_last => (plain(rest), ""),
            (Some((inside, behind)), _) => (inside, behind.trim_start()),
            (None, Some((word, behind))) => (word, behind.trim_start()),
            (None, None) => (rest, ""),
        };
        if !rest.is_empty() {
            given.insert(argument.name.clone(), Value::from(value));
        }
        rest = behind;
    }
    given
}

/// Without the quotes around all of it.
fn plain(value: &str) -> &str {
    quoted(value).filter(|(_, behind)| behind.is_empty()).map_or(value, |(inside, _)| inside)
}

/// What stands between the quotes that a text begins with, and what follows them: an end, or another word.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let (inside, behind) = text[1..].split_once(quote)?;
    (behind.is_empty() || behind.starts_with(char::is_whitespace)).then_some((inside, behind))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn prompt() -> PromptFace {
        let argument = |name: &str, is_required| PromptArgument { name: name.to_owned(), is_required };
        PromptFace {
            name: "p".into(),
            description: None,
            arguments: vec![argument("city", true), argument("note", false)],
        }
    }

    #[track_caller]
    fn check(typed: &str, expected: Result<Value, &str>) {
        let read = arguments(&prompt(), typed).map(Value::Object).map_err(|fault| fault.to_string());
        assert_eq!(read, expected.map_err(str::to_owned), "{typed}");
    }

    #[test]
    fn arguments_are_named_or_in_order() {
        check("Paris", Ok(json!({ "city": "Paris" })));
        check(" Paris in  spring", Ok(json!({ "city": "Paris", "note": "in  spring" })));
        check("note=x city=Rome", Ok(json!({ "note": "x", "city": "Rome" })));
        check("a=b", Ok(json!({ "city": "a=b" })));
        check("Rome note=x", Ok(json!({ "city": "Rome", "note": "x" })));
        check("New York note=x y", Ok(json!({ "city": "New York", "note": "x y" })));
        check("Rome city=x note=y", Ok(json!({ "city": "Rome", "note": "city=x note=y" })));
        check(r#"Rome "note=x""#, Ok(json!({ "city": "Rome", "note": "note=x" })));
        check("", Err("missing: city"));
        check("note=x", Err("missing: city"));
        check("city=a city=b", Err("city is given twice"));
    }

    #[test]
    fn values_may_have_blanks() {
        check("city=New York note=x", Ok(json!({ "city": "New York", "note": "x" })));
        check(r#"city="New York" note=x"#, Ok(json!({ "city": "New York", "note": "x" })));
        check(r#"city="a note=b" note='c'"#, Ok(json!({ "city": "a note=b", "note": "c" })));
        check(r#""New York" in spring"#, Ok(json!({ "city": "New York", "note": "in spring" })));
        check("O'Hare it's", Ok(json!({ "city": "O'Hare", "note": "it's" })));
        check(r#"Rome "all of it""#, Ok(json!({ "city": "Rome", "note": "all of it" })));
        check(r#"city="half"#, Ok(json!({ "city": "\"half" })));
    }

    #[test]
    fn usage_names_what_is_needed() {
        assert_eq!(usage("s:p", &prompt()), "type /s:p city=… [note=…]");
    }
}
