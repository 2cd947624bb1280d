//! Text: bounded in UTF-16 units, without NUL, with the characters that its use allows.

use std::fmt;

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use super::{Refused, Report, Rule};
use crate::{
    fault::{Fault, Wanted},
    schema::typescript::Types,
};

/// A rule for text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text {
    /// In UTF-16 units.
    pub(crate) max: usize,
    pub(crate) blank: Blank,
    pub(crate) characters: Characters,
    /// A beginning that clients may not use.
    pub(crate) reserved: Option<&'static str>,
}

/// Which texts count as missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blank {
    Allowed,
    /// The empty text.
    Empty,
    /// The empty text and text of white space alone.
    Space,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Characters {
    /// All but NUL.
    Any,
    /// Nothing below the space, and not 127.
    Printable,
    /// `A-Z a-z 0-9 _ . -`
    SessionId,
    /// `A-Z a-z 0-9 : _ . -`; the reference forgot the dot, which session ids may have and request ids inherit.
    RequestId,
}

impl Text {
    pub(crate) const fn new(max: usize, blank: Blank, characters: Characters) -> Self {
        Self { max, blank, characters, reserved: None }
    }

    pub(crate) fn check(&self, text: &str, report: &mut Report) -> Result<(), Refused> {
        let missing = match self.blank {
            Blank::Allowed => false,
            Blank::Empty => text.is_empty(),
            Blank::Space => text.chars().all(is_space),
        };
        if missing {
            return Err(Refused::Mistyped);
        }
        if is_longer(text, self.max) {
            return Err(report.fault(Fault::TooLong { max: self.max }));
        }
        if let Some(fault) = self.characters.fault(text) {
            return Err(report.fault(fault));
        }
        match self.reserved {
            Some(prefix) if text.starts_with(prefix) => Err(report.fault(Fault::ReservedPrefix { prefix })),
            _ => Ok(()),
        }
    }

    pub(crate) fn describe(&self) -> Schema {
        let mut schema = json_schema!({ "type": "string", "maxLength": self.max });
        if self.blank != Blank::Allowed {
            schema.insert("minLength".to_owned(), 1.into());
        }
        schema.insert("pattern".to_owned(), self.characters.pattern(self.blank).into());
        if let Some(prefix) = self.reserved {
            schema.insert("not".to_owned(), serde_json::json!({ "pattern": format!("^{prefix}") }));
        }
        schema
    }
}

impl Rule for Text {
    type Output = String;

    fn wanted(&self) -> Wanted {
        match self.blank {
            Blank::Allowed => Wanted::String,
            Blank::Empty | Blank::Space => Wanted::NonEmptyString,
        }
    }

    fn read(&self, value: Value, report: &mut Report) -> Result<String, Refused> {
        let Value::String(text) = value else { return Err(Refused::Mistyped) };
        self.check(&text, report)?;
        Ok(text)
    }

    fn schema(&self, _: &mut SchemaGenerator) -> Schema {
        self.describe()
    }

    fn typescript(&self, _: &mut Types) -> String {
        "string".to_owned()
    }
}

/// A rule for text that becomes a type of its own.
pub(crate) struct TextOf<T> {
    pub(crate) text: Text,
    pub(crate) make: fn(String) -> T,
}

impl<T> Rule for TextOf<T> {
    type Output = T;

    fn wanted(&self) -> Wanted {
        self.text.wanted()
    }

    fn read(&self, value: Value, report: &mut Report) -> Result<T, Refused> {
        self.text.read(value, report).map(self.make)
    }

    fn schema(&self, _: &mut SchemaGenerator) -> Schema {
        self.text.describe()
    }

    fn typescript(&self, types: &mut Types) -> String {
        self.text.typescript(types)
    }
}

impl<T> fmt::Debug for TextOf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

impl Characters {
    fn fault(self, text: &str) -> Option<Fault> {
        match self {
            Self::Any => text.contains('\0').then_some(Fault::Nul),
            Self::Printable => {
                let control = |byte: u8| byte < b' ' || byte == 0x7f;
                text.bytes().any(control).then_some(Fault::ControlCharacters)
            }
            Self::SessionId => {
                let good = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
                (!text.bytes().all(good)).then_some(Fault::SessionIdCharacters)
            }
            Self::RequestId => {
                let good = |byte: u8| byte.is_ascii_alphanumeric() || b":_.-".contains(&byte);
                (!text.bytes().all(good)).then_some(Fault::RequestIdCharacters)
            }
        }
    }

    /// The same as a regular expression, together with what `blank` refuses.
    fn pattern(self, blank: Blank) -> &'static str {
        match (self, blank) {
            (Self::Any, Blank::Space) => r"^[^\u0000]*[^\s\u0000][^\u0000]*$",
            (Self::Any, Blank::Allowed | Blank::Empty) => r"^[^\u0000]*$",
            (Self::Printable, Blank::Space) => {
                r"^[^\u0000-\u001f\u007f]*[^\s\u0000-\u001f\u007f][^\u0000-\u001f\u007f]*$"
            }
            (Self::Printable, Blank::Allowed | Blank::Empty) => r"^[^\u0000-\u001f\u007f]*$",
            (Self::SessionId, _) => "^[A-Za-z0-9_.-]*$",
            (Self::RequestId, _) => "^[A-Za-z0-9:_.-]*$",
        }
    }
}

/// Whether `text` has more than `max` UTF-16 units. A text never has more of them than bytes, nor fewer than a third.
pub(crate) fn is_longer(text: &str, max: usize) -> bool {
    text.len() > max && (text.len() / 3 > max || text.encode_utf16().count() > max)
}

/// White space as JavaScript's `trim` and `\s` have it.
fn is_space(character: char) -> bool {
    (character.is_whitespace() && character != '\u{85}') || character == '\u{feff}'
}
