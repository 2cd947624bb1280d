//! Why a document is not what was asked for: no JSON at all, or JSON of another shape.

use std::str;

use pi_provider::catalog::is_utf16;
use pi_transcript::json::Problem;
use serde_json::{Value, error::Category};

/// Everything that is wrong with one document.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) cause: Cause,
    pub(crate) problems: Vec<Problem>,
}

/// How far reading came; what to do next depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    Empty,
    ByteOrderMark,
    NotUtf8,
    NotJson,
    /// It is JSON, and something in it is not as expected.
    Shape,
}

/// How the place of a fault is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbering {
    LinesAndColumns,
    /// The document is one line of a file, and whoever reads knows which.
    Columns,
}

/// Hands a document to its parser, unless it is no text at all: then that is the only thing wrong with it.
pub(crate) fn parse<T>(
    bytes: &[u8],
    numbering: Numbering,
    parser: impl FnOnce(&[u8]) -> Result<T, Vec<Problem>>,
) -> Result<T, Refusal> {
    if is_utf16(bytes) {
        return Err(whole(Cause::NotUtf8, "UTF-16, and only UTF-8 is read".to_owned()));
    }
    let text = match str::from_utf8(bytes) {
        Err(error) => return Err(whole(Cause::NotUtf8, format!("not UTF-8 at byte {}", error.valid_up_to()))),
        Ok(text) => text,
    };
    if text.trim().is_empty() {
        return Err(whole(Cause::Empty, "empty: there is no document".to_owned()));
    }
    if text.starts_with('\u{feff}') {
        return Err(whole(Cause::ByteOrderMark, "begins with a byte order mark, which JSON has not".to_owned()));
    }
    // Every parser has words of its own for what is no JSON; people get the same from all.
    parser(bytes).map_err(|problems| json(text, numbering).err().unwrap_or(Refusal { cause: Cause::Shape, problems }))
}

/// Reads any JSON.
pub(crate) fn parse_any(bytes: &[u8]) -> Result<Value, Refusal> {
    let read = |bytes: &[u8]| serde_json::from_slice(bytes).map_err(|_| Vec::new());
    parse(bytes, Numbering::LinesAndColumns, read)
}

impl Cause {
    /// What to do next, where a document of this schema is expected.
    pub(crate) fn hint(self, schema: &str) -> String {
        match self {
            Cause::Empty => "check what was to write it, and whether it ended early".to_owned(),
            Cause::ByteOrderMark => "save it as UTF-8 without a byte order mark".to_owned(),
            Cause::NotUtf8 => "save it as UTF-8".to_owned(),
            Cause::NotJson => "correct the JSON at that place".to_owned(),
            Cause::Shape => format!("`pi schema {schema}` prints what is expected"),
        }
    }
}

fn json(text: &str, numbering: Numbering) -> Result<Value, Refusal> {
    serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let place = match numbering {
            Numbering::LinesAndColumns => format!("line {line}, column {column}"),
            Numbering::Columns => format!("column {column}"),
        };
        whole(Cause::NotJson, format!("not JSON: {} at {place}", reason(&error)))
    })
}

/// The parser's reason without its place, in words for those who do not write parsers.
fn reason(error: &serde_json::Error) -> String {
    let told = error.to_string();
    let reason = told.split(" at line ").next().unwrap_or(&told);
    match (error.classify(), reason) {
        (Category::Eof, _) => "the text ends too early".to_owned(),
        (_, "expected value" | "expected ident") => "expected a value".to_owned(),
        (_, "key must be a string") => "expected a name in double quotes".to_owned(),
        (_, "trailing characters") => "something follows the document".to_owned(),
        (_, "recursion limit exceeded") => "nested too deeply".to_owned(),
        (_, other) => other.to_owned(),
    }
}

fn whole(cause: Cause, message: String) -> Refusal {
    Refusal { cause, problems: vec![Problem { path: String::new(), message }] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parser_gets_the_same_words_for_what_is_no_json() {
        for (text, expected) in [
            ("nonsense", "not JSON: expected a value at line 1, column 2"),
            ("{\n  \"a\": }", "not JSON: expected a value at line 2, column 8"),
            ("{\"a\": 1", "not JSON: the text ends too early at line 1, column 7"),
            ("{a: 1}", "not JSON: expected a name in double quotes at line 1, column 2"),
            ("{} {}", "not JSON: something follows the document at line 1, column 4"),
            ("[1 2]", "not JSON: expected `,` or `]` at line 1, column 4"),
            (&"[".repeat(200), "not JSON: nested too deeply at line 1, column 128"),
        ] {
            let refusal = parse_any(text.as_bytes()).expect_err("it is no JSON");
            assert_eq!((refusal.cause, &*refusal.problems[0].message), (Cause::NotJson, expected));
        }
    }
}
