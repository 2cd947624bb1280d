//! JSON as models write it: behind a fence, with a comma too many, and cut off.

use serde_json::Value;

/// Where something ends.
pub(super) enum End {
    At(usize),
    NotYet,
    /// It is nothing of the kind; everything up to this place is text.
    Never(usize),
}

/// What is known of a list or an object whose end was not there yet.
#[derive(Debug, Default)]
pub(super) struct JsonSearch {
    depth: usize,
    in_string: bool,
    escaped: bool,
}

/// The JSON value at the beginning of a text, with the mistakes that models make.
pub(super) fn json_value(text: &str) -> Option<Value> {
    let text = unfenced(text);
    value(&text[..json_end(text)?])
}

/// The JSON values at the beginning of a text, behind one another with or without commas between them.
pub(super) fn json_values(text: &str) -> Vec<Value> {
    let mut rest = unfenced(text);
    let mut values = Vec::new();
    while let Some(end) = json_end(rest)
        && let Some(value) = value(&rest[..end])
    {
        values.push(value);
        rest = rest[end..].trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    }
    values
}

fn unfenced(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix("```json").or_else(|| text.strip_prefix("```")).unwrap_or(text).trim_start()
}

fn value(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().or_else(|| serde_json::from_str(&without_last_commas(text)).ok())
}

/// Where the object or list at the beginning of a text ends.
fn json_end(text: &str) -> Option<usize> {
    match JsonSearch::default().find_end(text, 0, 0) {
        End::At(end) => Some(end),
        End::NotYet | End::Never(_) => None,
    }
}

impl JsonSearch {
    /// Whether the object or list at the beginning of a text is cut off inside of a text of its own.
    pub(super) fn is_in_string(text: &str) -> bool {
        let mut search = Self::default();
        matches!(search.find_end(text, 0, 0), End::NotYet) && search.in_string
    }

    /// Looks on from `from`. Where neither an object nor a list begins, all before `begin` is text.
    pub(super) fn find_end(&mut self, text: &str, from: usize, begin: usize) -> End {
        for (at, byte) in text.bytes().enumerate().skip(from) {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'{' | b'[' if !self.in_string => self.depth += 1,
                b' ' | b'\n' | b'\r' | b'\t' if self.depth == 0 => {}
                _ if self.depth == 0 => return End::Never(begin),
                b'"' => self.in_string = !self.in_string,
                b'}' | b']' if !self.in_string => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return End::At(at + 1);
                    }
                }
                _ => {}
            }
        }
        End::NotYet
    }
}

/// The text without commas before a closing bracket.
fn without_last_commas(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    for c in text.chars() {
        if !in_string && matches!(c, '}' | ']') && kept.trim_end().ends_with(',') {
            kept.truncate(kept.trim_end().len() - 1);
        }
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ => {}
        }
        kept.push(c);
    }
    kept
}
