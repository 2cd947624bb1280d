//! Whether reading a text has kept all of it.
//!
//! One look over the bytes, which steps over strings: `serde_json` reads strings exactly or not at all. It loses digits of
//! numbers, and all but the last of members with one name.

use std::ops::Range;

use memchr::memchr2;
use serde_json::Value;

use super::number;

/// Whether `value`, which was read from `text`, says all that `text` says.
pub(super) fn is_whole(text: &str, value: &Value) -> bool {
    let mut written = 0;
    for token in Tokens::new(text) {
        match token {
            Token::Colon => written += 1,
            Token::Number(place) if number::is_exact(&text[place.clone()]) => {}
            Token::Number(_) => return false,
        }
    }
    written == members(value)
}

/// How many members the objects in `value` have.
fn members(value: &Value) -> usize {
    match value {
        Value::Object(object) => object.len() + object.values().map(members).sum::<usize>(),
        Value::Array(items) => items.iter().map(members).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// What is of interest outside strings.
pub(super) enum Token {
    /// There is one for every member.
    Colon,
    /// What may be a number: in text that is not JSON it need not be one.
    Number(Range<usize>),
}

/// The tokens of a text, whether it is JSON or not.
pub(super) struct Tokens<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { bytes: text.as_bytes(), at: 0 }
    }

    /// Steps over a string, to behind its closing quote.
    fn skip_string(&mut self) {
        self.at += 1;
        while let Some(found) = self.bytes.get(self.at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
            self.at += found;
            if self.bytes[self.at] == b'"' {
                self.at += 1;
                return;
            }
            // The backslash and what it escapes.
            self.at += 2;
        }
        self.at = self.bytes.len();
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        loop {
            match self.bytes.get(self.at)? {
                b'"' => self.skip_string(),
                b':' => {
                    self.at += 1;
                    return Some(Token::Colon);
                }
                b'-' | b'0'..=b'9' => {
                    let start = self.at;
                    let rest = &self.bytes[start..];
                    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                    self.at += rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
                    return Some(Token::Number(start..self.at));
                }
                _ => self.at += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_that_stand_twice_are_missed() {
        let cases = [
            (r#"{}"#, true),
            (r#"{"a":1,"b":{"a":[{"a":2},{"a":3}]}}"#, true),
            (r#"{"a":":\":","\"":":\\"}"#, true),
            (r#"{"a":1,"a":1}"#, false),
            (r#"{"a":1,"\u0061":2}"#, false),
            (r#"[{"b":[{"a":1,"c":2,"a":3}]}]"#, false),
            (r#"{"a":{"b":1,"c":2},"a":{"b":1,"c":2,"d":3}}"#, false),
        ];
        for (text, whole) in cases {
            assert_eq!(is_whole(text, &serde_json::from_str(text).unwrap()), whole, "{text}");
        }
    }

    #[test]
    fn only_numbers_outside_strings_are_found() {
        let text = r#"{"1":-2.5e+3,"\"4\\":[5],"6\"#;
        let numbers = Tokens::new(text).filter_map(|token| match token {
            Token::Colon => None,
            Token::Number(place) => Some(&text[place]),
        });
        assert_eq!(numbers.collect::<Vec<_>>(), ["-2.5e+3", "5"]);
    }
}
