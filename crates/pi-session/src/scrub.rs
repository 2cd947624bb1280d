//! Hides secrets in what comes from files and tools, before a model, a file or a log sees it.
//!
//! Where it must be called:
//! - on the content and details of every tool result, also of one that failed, before the message is made: [`blocks`] and
//!   [`details`]. What a tool streams while it works is content too.
//! - on the text of a command that the person ran, before it becomes a message: [`text`].
//! - on context files, skills and templates: [`Resources::scrub`](crate::resources::Resources::scrub).
//! - on every file that is attached to a message; [`input`](crate::input) does that itself.
//!
//! Not on what the person typed, nor on what a model says: both are what was meant. Text is judged by shape and by known
//! value, never by the name of a variable, because a model writes back what it was shown (see `Evidence::Shapes`).
//! A result is scrubbed *before* it is cut, since half a secret is not recognised.

use std::borrow::Cow;

use pi_redact::{Evidence, MARK, Options, Personal, Redactor, variable_secrets};
use pi_transcript::Block;
use serde_json::Value;

/// The redactor of a session: shapes of secrets, and what of these variables is secret.
pub fn redactor(environment: impl IntoIterator<Item = (String, String)>) -> Redactor {
    Redactor::new(Options { secrets: secrets(environment), evidence: Evidence::Shapes, personal: Personal::Keep })
}

/// What of variables is secret: the values of those whose names say so, and the passwords of addresses.
pub fn secrets(environment: impl IntoIterator<Item = (String, String)>) -> Vec<String> {
    environment.into_iter().flat_map(|(name, value)| variable_secrets(&name, &value)).collect()
}

/// Blocks without secrets, and how many were hidden.
pub fn blocks(redactor: &Redactor, blocks: Vec<Block>) -> (Vec<Block>, usize) {
    let mut hidden = 0;
    let mut scrub = |block: Block| match block {
        Block::Text(mut block) => {
            hidden += replace(redactor, &mut block.text);
            Block::Text(block)
        }
        Block::Thinking(mut block) => {
            hidden += replace(redactor, &mut block.thinking);
            Block::Thinking(block)
        }
        Block::Other(members) => {
            let mut value = Value::Object(members);
            hidden += details(redactor, &mut value);
            match value {
                Value::Object(members) => Block::Other(members),
                // Only whole values of members are replaced, so an object stays one.
                other => Block::text(other.to_string()),
            }
        }
        Block::ToolCall(mut call) => {
            let mut value = Value::Object(std::mem::take(&mut call.arguments));
            hidden += details(redactor, &mut value);
            if let Value::Object(members) = value {
                call.arguments = members;
            }
            Block::ToolCall(call)
        }
        // Nobody reads text in a picture here.
        Block::Image(image) => Block::Image(image),
    };
    let blocks = blocks.into_iter().map(&mut scrub).collect();
    (blocks, hidden)
}

/// Tells the model that something was hidden from it, so that it takes no mark for what stands there.
pub(crate) fn admit(blocks: &mut Vec<Block>, hidden: usize) {
    let what = match hidden {
        0 => return,
        1 => "A secret is".to_owned(),
        hidden => format!("{hidden} secrets are"),
    };
    let note = format!(
        "[{what} not shown here: {MARK} stands in the place. Where a line is written back exactly as it is shown, it \
         keeps its secret.]"
    );
    let last = blocks.iter_mut().rev().find_map(|block| match block {
        Block::Text(block) => Some(&mut block.text),
        Block::Thinking(_) | Block::Image(_) | Block::ToolCall(_) | Block::Other(_) => None,
    });
    match last {
        Some(text) => {
            text.push_str("\n\n");
            text.push_str(&note);
        }
        None => blocks.push(Block::text(note)),
    }
}

/// A text without secrets, and how many were hidden.
pub fn text<'a>(redactor: &Redactor, text: &'a str) -> (Cow<'a, str>, usize) {
    let scrubbed = redactor.redact_text(text);
    let hidden = match &scrubbed {
        Cow::Borrowed(_) => 0,
        Cow::Owned(new) => count(new).saturating_sub(count(text)).max(1),
    };
    (scrubbed, hidden)
}

/// Hides secrets in the details of a result, and says how many.
pub fn details(redactor: &Redactor, value: &mut Value) -> usize {
    let before = count_in(value);
    redactor.redact_value(value);
    count_in(value).saturating_sub(before)
}

/// Hides secrets in a text where it stands, and says how many.
pub(crate) fn replace(redactor: &Redactor, place: &mut String) -> usize {
    let (scrubbed, hidden) = text(redactor, place);
    if let Cow::Owned(scrubbed) = scrubbed {
        *place = scrubbed;
    }
    hidden
}

fn count(text: &str) -> usize {
    text.matches(MARK).count()
}

fn count_in(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => count(text),
        Value::Array(items) => items.iter().map(count_in).sum(),
        Value::Object(members) => members.iter().map(|(name, value)| count(name) + count_in(value)).sum(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PLANTED: &str = "correct-horse-battery-staple";

    fn planted() -> Redactor {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        redactor([
            pair("DATABASE_PASSWORD", PLANTED),
            pair("DATABASE_URL", "postgres://me:of-an-address@host/db"),
            pair("PWD", "/home/somebody"),
            pair("SHORT_TOKEN", "abc"),
        ])
    }

    #[test]
    fn planted_secret_is_hidden_however_it_is_written() {
        let encoded = "Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5LXN0YXBsZQ==";
        let given = vec![
            Block::text(format!("a {PLANTED} b {PLANTED}\n{encoded} /home/somebody abc")),
            Block::image(encoded, "image/png"),
            Block::text("token: String"),
        ];
        let (scrubbed, hidden) = blocks(&planted(), given);
        assert_eq!(hidden, 3);
        assert_eq!(
            scrubbed,
            [
                Block::text(format!("a {MARK} b {MARK}\n{MARK} /home/somebody abc")),
                Block::image(encoded, "image/png"),
                Block::text("token: String"),
            ]
        );
    }

    #[test]
    fn password_of_an_address_is_hidden_and_the_rest_of_it_shown() {
        let (shown, hidden) = text(&planted(), "psql postgres://me:of-an-address@host/db");
        assert_eq!((&*shown, hidden), ("psql postgres://me:[REDACTED]@host/db", 1));
    }

    #[test]
    fn model_is_told_how_much_it_does_not_see() {
        let told = |hidden: usize| {
            let mut blocks = vec![Block::text("a"), Block::text("b"), Block::image("", "image/png")];
            admit(&mut blocks, hidden);
            blocks[1].as_text().expect("text").to_owned()
        };
        assert_eq!(told(0), "b");
        assert!(told(1).starts_with("b\n\n[A secret is not shown here: [REDACTED] "), "{}", told(1));
        assert!(told(3).starts_with("b\n\n[3 secrets are not shown here"), "{}", told(3));
    }

    #[test]
    fn details_are_searched_too() {
        let mut value = json!({ "diff": format!("+ {PLANTED}"), "list": [PLANTED, MARK, 1], "path": "a" });
        assert_eq!(details(&planted(), &mut value), 2);
        assert_eq!(value, json!({ "diff": format!("+ {MARK}"), "list": [MARK, MARK, 1], "path": "a" }));
    }

    #[test]
    fn clean_text_is_not_copied() {
        assert!(matches!(text(&planted(), "let password = read();"), (Cow::Borrowed(_), 0)));
    }
}
