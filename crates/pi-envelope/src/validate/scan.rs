//! Walks JSON text without keeping any of it.
//!
//! Accepts exactly what `serde_json` reads into a `Value` (a property test holds the two together): the same depth,
//! the same numbers, no lone surrogates. The text must already be UTF-8. It exists for speed: `serde_json` can skip
//! values quickly, but then lets invalid text through, and it unescapes whatever it does check.

use super::marks::{Marks, unit};

/// Arrays and objects may nest this deep, as in `serde_json`.
const DEPTH: u8 = 127;

/// The text is not JSON, or not JSON that we read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NotJson;

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Null,
    Flag,
    Number,
    Text,
    List,
    Object,
}

/// A string as it stands in the text, between its quotes. As small as it is, it is returned in registers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text<'a> {
    raw: &'a [u8],
}

impl Text<'_> {
    /// What `look` finds for the string's bytes. It is asked for them as they are written first: no word that we look
    /// for has a backslash in it.
    #[inline]
    pub(super) fn find<T>(self, look: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
        look(self.raw).or_else(|| if self.raw.contains(&b'\\') { self.find_unescaped(look) } else { None })
    }

    #[cold]
    fn find_unescaped<T>(self, look: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
        // Longer than any word that we look for.
        let mut buffer = [0; 32];
        let length = unescape(self.raw, &mut buffer)?;
        look(&buffer[..length])
    }
}

pub(super) struct Scanner<'a> {
    bytes: &'a [u8],
    marks: Marks<'a>,
    at: usize,
    depth: u8,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let bytes = text.as_bytes();
        Self { bytes, marks: Marks::new(bytes), at: 0, depth: DEPTH }
    }

    /// What the next value is, without passing it.
    #[inline]
    pub(super) fn sort(&mut self) -> Result<Sort, NotJson> {
        match self.token()? {
            b'"' => Ok(Sort::Text),
            b'{' => Ok(Sort::Object),
            b'[' => Ok(Sort::List),
            b'-' | b'0'..=b'9' => Ok(Sort::Number),
            b't' | b'f' => Ok(Sort::Flag),
            b'n' => Ok(Sort::Null),
            _ => Err(NotJson),
        }
    }

    /// Passes any value.
    pub(super) fn skip(&mut self) -> Result<Sort, NotJson> {
        let sort = self.sort()?;
        match sort {
            Sort::Text => self.text().map(drop)?,
            Sort::Object => self.object(|scanner, _| scanner.skip().map(drop))?,
            Sort::List => self.list(|scanner| scanner.skip().map(drop))?,
            Sort::Number => self.number()?,
            Sort::Flag if self.bytes[self.at] == b't' => self.literal(b"true")?,
            Sort::Flag => self.literal(b"false")?,
            Sort::Null => self.literal(b"null")?,
        }
        Ok(sort)
    }

    /// Passes an object; `member` gets each name and must pass the value behind it.
    #[inline]
    pub(super) fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, Text<'a>) -> Result<(), NotJson>,
    ) -> Result<(), NotJson> {
        self.enter(b'{')?;
        if self.token()? != b'}' {
            loop {
                let name = self.text()?;
                self.punctuation(b':')?;
                member(self, name)?;
                match self.token()? {
                    b',' => self.at += 1,
                    b'}' => break,
                    _ => return Err(NotJson),
                }
            }
        }
        self.leave();
        Ok(())
    }

    /// Passes an array; `item` must pass each value in it.
    #[inline]
    pub(super) fn list(&mut self, mut item: impl FnMut(&mut Self) -> Result<(), NotJson>) -> Result<(), NotJson> {
        self.enter(b'[')?;
        if self.token()? != b']' {
            loop {
                item(self)?;
                match self.token()? {
                    b',' => self.at += 1,
                    b']' => break,
                    _ => return Err(NotJson),
                }
            }
        }
        self.leave();
        Ok(())
    }

    /// Passes a string.
    #[inline]
    pub(super) fn text(&mut self) -> Result<Text<'a>, NotJson> {
        self.punctuation(b'"')?;
        let start = self.at;
        let end = self.marks.end(start).ok_or(NotJson)?;
        self.at = end + 1;
        Ok(Text { raw: &self.bytes[start..end] })
    }

    /// Whether nothing but white space is left.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.token().is_err()
    }

    /// The next byte that is not white space, without passing it.
    #[inline]
    fn token(&mut self) -> Result<u8, NotJson> {
        loop {
            match self.bytes.get(self.at) {
                Some(b' ' | b'\n' | b'\t' | b'\r') => self.at += 1,
                Some(&byte) => return Ok(byte),
                None => return Err(NotJson),
            }
        }
    }

    #[inline]
    fn punctuation(&mut self, wanted: u8) -> Result<(), NotJson> {
        if self.token()? != wanted {
            return Err(NotJson);
        }
        self.at += 1;
        Ok(())
    }

    fn enter(&mut self, bracket: u8) -> Result<(), NotJson> {
        self.punctuation(bracket)?;
        self.depth = self.depth.checked_sub(1).ok_or(NotJson)?;
        Ok(())
    }

    /// Passes the closing bracket, which the caller has seen.
    fn leave(&mut self) {
        self.at += 1;
        self.depth += 1;
    }

    fn literal(&mut self, word: &[u8]) -> Result<(), NotJson> {
        if !self.bytes[self.at..].starts_with(word) {
            return Err(NotJson);
        }
        self.at += word.len();
        Ok(())
    }

    fn number(&mut self) -> Result<(), NotJson> {
        let start = self.at;
        if self.bytes[self.at] == b'-' {
            self.at += 1;
        }
        match self.bytes.get(self.at) {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits()?,
            Some(_) | None => return Err(NotJson),
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        let mut small = self.at - start < 300;
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.at) {
                self.at += 1;
            }
            self.digits()?;
            small = false;
        }
        if small || is_finite(&self.bytes[start..self.at]) { Ok(()) } else { Err(NotJson) }
    }

    /// Passes at least one digit.
    fn digits(&mut self) -> Result<(), NotJson> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.bytes.get(self.at) {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(NotJson) }
    }
}

/// A number that no double can hold is refused, as `serde_json` does.
fn is_finite(number: &[u8]) -> bool {
    std::str::from_utf8(number).ok().and_then(|text| text.parse::<f64>().ok()).is_some_and(f64::is_finite)
}

/// Writes the string that `raw`, which the scanner has passed, stands for; `None` if it does not fit the buffer.
fn unescape(mut raw: &[u8], buffer: &mut [u8]) -> Option<usize> {
    let mut length = 0;
    while let [first, rest @ ..] = raw {
        let (byte, left) = match (first, rest) {
            (b'\\', [b'u', left @ ..]) => {
                // No word that we look for has a character beyond ASCII.
                (u8::try_from(unit(left)?).ok()?, left.get(4..)?)
            }
            (b'\\', [letter, left @ ..]) => (control(*letter), left),
            (byte, left) => (*byte, left),
        };
        *buffer.get_mut(length)? = byte;
        length += 1;
        raw = left;
    }
    Some(length)
}

fn control(letter: u8) -> u8 {
    match letter {
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn accepts(bytes: &[u8]) -> bool {
        std::str::from_utf8(bytes).is_ok_and(|text| {
            let mut scanner = Scanner::new(text);
            scanner.skip().is_ok() && scanner.is_at_end()
        })
    }

    fn check(bytes: &[u8]) {
        let read = serde_json::from_slice::<Value>(bytes);
        assert_eq!(accepts(bytes), read.is_ok(), "{:?}: {read:?}", String::from_utf8_lossy(bytes));
    }

    #[test]
    fn same_documents_are_read_as_by_serde_json() {
        let deep = |depth| [b"[".repeat(depth), b"]".repeat(depth)].concat();
        let long = |text: &str| [b"1".repeat(310), text.as_bytes().to_vec()].concat();
        for bytes in [deep(126), deep(127), deep(128), deep(129), long(""), long("e-5"), long("e5"), long(".5")] {
            check(&bytes);
        }
        for text in [
            "",
            " ",
            "\u{feff}1",
            "1",
            " 1 ",
            "1 2",
            "01",
            "-0",
            "-",
            "-01",
            "1.",
            ".5",
            "1.5",
            "1.5.5",
            "+1",
            "1e",
            "1e+",
            "1e5",
            "1E-5",
            "1e308",
            "1e309",
            "-1e309",
            "1.7976931348623157e308",
            "1.7976931348623159e308",
            "1e-400",
            "0e99999999999999999999",
            "1e99999999999999999999",
            "1e-99999999999999999999",
            "18446744073709551616",
            "true",
            "tru",
            "trueq",
            "nul",
            "null",
            "false",
            "\"",
            "\"a",
            "\"a\"",
            "\"\\",
            "\"\\\"",
            "\"\\x\"",
            "\"\\/\"",
            "\"\n\"",
            "\"\u{7f}\"",
            "\"\0\"",
            "\"\\u0000\"",
            "\"\\u12\"",
            "\"\\u12g4\"",
            "\"\\u+123\"",
            "\"\\ud800\"",
            "\"\\ud800\\n\"",
            "\"\\ud800\\ud800\"",
            "\"\\ud83d\\ude00\"",
            "\"\\udc00\"",
            "\"\\ud83d\\u\"",
            "{}",
            "{",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{\"a\":1,}",
            "{\"a\":1,\"a\":2}",
            "{\"a\" : 1 , \"b\":[ ] }",
            "{a:1}",
            "{\"a\":1 \"b\":2}",
            "{,}",
            "[",
            "[]",
            "[,]",
            "[1,]",
            "[1 2]",
            "[1,2]",
            "[[]",
            "]",
            "{\"a\":\"\\ud800\"}",
            "{\"\\ud800\":1}",
            "{1:1}",
            "// a\n1",
            "NaN",
            "Infinity",
        ] {
            check(text.as_bytes());
        }
        for bytes in [&b"\"\xff\""[..], b"\xff", b"\"\xed\xa0\x80\"", b"{\"\xc3\":1}"] {
            check(bytes);
        }
    }

    #[test]
    fn an_escaped_word_reads_as_itself() {
        let word =
            |text: &str| Scanner::new(text).text().unwrap().find(|bytes| (bytes == b"kind").then_some(())).is_some();
        assert!(word(r#""kind""#));
        assert!(word(r#""k\u0069n\u0064""#));
        assert!(!word(r#""k\u0169nd""#));
        assert!(!word(r#""kind\n""#));
        assert!(!word(&format!(r#""\u006bind{}""#, " ".repeat(40))));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(crate::cases(2000)))]

        #[test]
        fn random_json_like_bytes_are_read_as_by_serde_json(
            tokens in prop::collection::vec(prop::sample::select(vec![
                "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\\", "u", "d83d", "\\ude00", "\\ud83d", "0", "1", "-", ".", "e",
                "9", "+", "true", "null", " ", "\t", "é", "\u{1}", "long enough to fill a whole vector block",
            ]), 0..12),
        ) {
            let text = tokens.concat();
            check(text.as_bytes());
            check(format!("[\"{text}\"]").as_bytes());
            check(format!("{{\"a\":{text}}}").as_bytes());
        }

        #[test]
        fn damaged_json_is_read_as_by_serde_json(text in "\\PC{0,40}", at in 0..60usize, byte in any::<u8>()) {
            let mut bytes = serde_json::to_vec(&serde_json::json!([text, {"a": -1.5e3, "b": [true, null]}])).unwrap();
            check(&bytes);
            let at = at % bytes.len();
            bytes[at] = byte;
            check(&bytes);
            bytes.truncate(at);
            check(&bytes);
        }
    }
}
