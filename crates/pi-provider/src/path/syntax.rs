//! Reading paths and conditions letter by letter.

/// Where an expression cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{expected} is expected at column {} of {expression:?}", position + 1)]
pub struct SyntaxError {
    pub expression: String,
    /// Characters before the fault.
    pub position: usize,
    pub expected: String,
}

/// A place in an expression.
#[derive(Debug)]
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    /// How many parentheses and brackets are open.
    depth: usize,
}

/// Deeper nesting is refused, so that no expression can exhaust the stack.
const DEEPEST: usize = 64;

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0, depth: 0 }
    }

    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(crate) fn bump(&mut self) {
        self.at += self.peek().map_or(0, char::len_utf8);
    }

    pub(crate) fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    pub(crate) fn take(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    pub(crate) fn expect(&mut self, text: &str) -> Result<(), SyntaxError> {
        if self.take(text) { Ok(()) } else { Err(self.error(&format!("{text:?}"))) }
    }

    pub(crate) fn expect_end(&self, expected: &str) -> Result<(), SyntaxError> {
        if self.rest().is_empty() { Ok(()) } else { Err(self.error(expected)) }
    }

    /// Letters, digits, `_`, `-`, and everything outside ASCII.
    pub(crate) fn word(&mut self) -> Option<&'a str> {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter) || !letter.is_ascii();
        let rest = self.rest();
        let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        self.at += end;
        (end > 0).then(|| &rest[..end])
    }

    /// Digits, perhaps after a minus.
    pub(crate) fn integer(&mut self) -> Option<i64> {
        let rest = self.rest();
        let digits = rest.strip_prefix('-').unwrap_or(rest);
        let sign = rest.len() - digits.len();
        let end = sign + digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
        let number = rest[..end].parse().ok()?;
        self.at += end;
        Some(number)
    }

    /// What stands between quotes of either kind; a backslash takes the next character as it is.
    pub(crate) fn quoted(&mut self) -> Result<Option<String>, SyntaxError> {
        let Some(quote @ ('\'' | '"')) = self.peek() else { return Ok(None) };
        self.delimited(quote, "a closing quote").map(Some)
    }

    /// What stands between this character and its next occurrence; a backslash before it makes it ordinary.
    pub(crate) fn delimited(&mut self, delimiter: char, expected: &str) -> Result<String, SyntaxError> {
        self.bump();
        let mut text = String::new();
        loop {
            let letter = self.peek().ok_or_else(|| self.error(expected))?;
            self.bump();
            match letter {
                _ if letter == delimiter => return Ok(text),
                '\\' if matches!(self.peek(), Some(next) if next == delimiter || next == '\\' && delimiter != '/') => {
                    text.extend(self.peek());
                    self.bump();
                }
                _ => text.push(letter),
            }
        }
    }

    /// Goes one level down; [`leave`](Self::leave) goes up again.
    pub(crate) fn enter(&mut self) -> Result<(), SyntaxError> {
        self.depth += 1;
        if self.depth > DEEPEST { Err(self.error("less nesting")) } else { Ok(()) }
    }

    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }

    pub(crate) fn error(&self, expected: &str) -> SyntaxError {
        SyntaxError {
            expression: self.text.to_owned(),
            position: self.text[..self.at].chars().count(),
            expected: expected.to_owned(),
        }
    }
}
