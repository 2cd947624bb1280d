//! Secrets behind a key in text: `key=value`, `key: value`, JSON fragments, query strings, headers, flags, variables.

use std::ops::Range;

use super::{
    Replacement, Span,
    literal::{Setting, is_literal},
};
use crate::{
    Evidence, MARK,
    key::{self, Secrecy},
};

const LONGEST_KEY_SIDE: usize = 64;
/// The shortest value that is taken for a secret when only a blank separates it from the key.
const LEAST_PROSE_VALUE: usize = 20;
/// How many members may stand between the name of a secret and its value, and how long each may be.
const MEMBERS_PASSED: usize = 4;
const LONGEST_PASSED: usize = 256;
/// Values that hide nothing.
const OPEN_VALUES: [&str; 7] = ["true", "false", "null", "none", "nil", "undefined", "yes"];

/// A quotation mark with the backslashes before it: inside a string that was encoded twice they are part of it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Quote {
    backslashes: usize,
    mark: u8,
}

/// How the value is separated from its key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Separator {
    Colon,
    Equals,
    /// Between the two members of a pair: `"Authorization", "…"`.
    Comma,
    /// After a flag or in a sentence.
    Blank,
}

/// The key that a word of the list belongs to.
struct Key {
    range: Range<usize>,
    secrecy: Secrecy,
    /// The mark directly before the key.
    opening: Option<Quote>,
    /// The mark directly behind it.
    closing: Option<Quote>,
}

/// A stretch of JSON that was parsed and holds nothing but counts, with the backslashes that its quotes have.
///
/// A part of a count is a count. Parsing each of many nested `"tokens":{` anew would take their depth times the work.
#[derive(Default)]
pub(super) struct Counted {
    end: usize,
    backslashes: usize,
}

/// The value assigned to the key around `word`, and up to where keys need not be looked for again.
pub(super) fn find(text: &str, word: Range<usize>, counted: &mut Counted, evidence: Evidence) -> (Option<Span>, usize) {
    let bytes = text.as_bytes();
    let range = key_around(bytes, word);
    let seen = range.end;
    let Some(secrecy) = key::secrecy(&text[range.clone()]) else { return (None, seen) };
    let key = Key { opening: quote_before(bytes, range.start), closing: quote_at(bytes, range.end), range, secrecy };
    let Some((separator, start)) = separator_after(bytes, &key) else { return (None, seen) };
    let span = value_at(text, &key, separator, start, counted);
    match span.filter(|span| evidence != Evidence::Literals || is_written_out(text, &key, separator, start, span)) {
        Some(span) => {
            let end = span.range.end.max(seen);
            (Some(span), end)
        }
        None => (None, seen),
    }
}

/// Whether what was found can only be a value, and no part of a program.
fn is_written_out(text: &str, key: &Key, separator: Separator, start: usize, span: &Span) -> bool {
    let bytes = text.as_bytes();
    let is_attached = separator == Separator::Equals
        && bytes[key.range.end..start].iter().all(|byte| matches!(byte, b'=' | b'"' | b'\'' | b']'));
    let setting = match (quote_at(bytes, start), separator) {
        (Some(_), _) => Setting::Quoted,
        (None, Separator::Equals) if is_attached => Setting::Attached,
        (None, Separator::Colon | Separator::Equals) => Setting::Spaced,
        // A flag, a pair or a sentence: what is long enough to be found there is a value.
        (None, Separator::Comma | Separator::Blank) => Setting::Beside,
    };
    is_literal(text, key.range.clone(), span.range.clone(), setting)
}

fn key_around(bytes: &[u8], word: Range<usize>) -> Range<usize> {
    let is_key = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let left = bytes[..word.start].iter().rev().take(LONGEST_KEY_SIDE).take_while(is_key).count();
    let right = bytes[word.end..].iter().take(LONGEST_KEY_SIDE).take_while(is_key).count();
    let mut start = word.start - left;
    // "API key" in a sentence: the word before belongs to it.
    if bytes[start..word.end].eq_ignore_ascii_case(b"key") && start > 0 && bytes[start - 1] == b' ' {
        start -= 1 + bytes[..start - 1].iter().rev().take(LONGEST_KEY_SIDE).take_while(is_key).count();
    }
    start..word.end + right
}

fn separator_after(bytes: &[u8], key: &Key) -> Option<(Separator, usize)> {
    let mut at = key.range.end + key.closing.map_or(0, Quote::length);
    // `env["TOKEN"] = …`
    if key.closing.is_some() && bytes.get(at) == Some(&b']') {
        at += 1;
    }
    let blanks = blanks(bytes, at, key.closing.is_some());
    at += blanks;
    let separator = match bytes.get(at) {
        Some(b':') if bytes.get(at + 1) == Some(&b':') => return None,
        Some(b':') => Separator::Colon,
        Some(b'=') => Separator::Equals,
        Some(b',') if key.closing.is_some() && key.opening.is_some() => Separator::Comma,
        _ if blanks > 0 && key.closing.is_none() => return Some((Separator::Blank, at)),
        _ => return None,
    };
    at += bytes[at..].iter().take_while(|byte| matches!(byte, b':' | b'=' | b'>' | b',')).count().min(3);
    at += self::blanks(bytes, at, key.closing.is_some());
    if separator == Separator::Comma {
        at = described_value(bytes, at)?;
    }
    Some((separator, at))
}

/// Where the second of a pair begins: `"Authorization", "…"`. In `"key": "api_key", "name": "prod", "value": "…"` it is not
/// the next member but the one that is called a value, if a few members on there is one.
fn described_value(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at;
    for passed in 0..MEMBERS_PASSED {
        let quote = quote_at(bytes, at)?;
        let content = at + quote.length();
        let near = &bytes[..bytes.len().min(content + LONGEST_PASSED)];
        let name_end = closing_quote(near, content, quote);
        let mut after = name_end + quote.length();
        after += blanks(near, after.min(near.len()), true);
        if near.get(after) != Some(&b':') {
            return (passed == 0).then_some(at);
        }
        after += 1 + blanks(near, after + 1, true);
        if bytes[content..name_end].eq_ignore_ascii_case(b"value") {
            return Some(after);
        }
        let quote = quote_at(near, after)?;
        let value_end = closing_quote(near, after + quote.length(), quote) + quote.length();
        let comma = value_end + blanks(near, value_end.min(near.len()), true);
        if near.get(comma) != Some(&b',') {
            return None;
        }
        at = comma + 1 + blanks(near, comma + 1, true);
    }
    None
}

fn value_at(text: &str, key: &Key, separator: Separator, start: usize, counted: &mut Counted) -> Option<Span> {
    let bytes = text.as_bytes();
    let name = &text[key.range.clone()];
    let is_json = separator != Separator::Equals && key.closing.is_some_and(|quote| quote.mark == b'"');
    let bare = |range: Range<usize>| {
        let backslashes = key.closing.map_or(0, |quote| quote.backslashes);
        let replacement = if is_json { Replacement::QuotedMark { backslashes } } else { Replacement::Mark };
        Span { range, replacement }
    };
    if separator == Separator::Blank {
        let is_flag = name.starts_with('-');
        return if is_flag { after_flag(text, key, start) } else { in_sentence(bytes, start) }.map(Span::mark);
    }
    if let Some(quote) = quote_at(bytes, start) {
        let content = start + quote.length();
        return hidden(text, key, content..closing_quote(bytes, content, quote)).map(Span::mark);
    }
    if separator == Separator::Comma {
        return None;
    }
    if matches!(bytes.get(start), Some(b'{' | b'[')) && !text[start..].starts_with(MARK) {
        return bracketed(text, key, start, counted).map(bare);
    }
    if key::is_long_header(name) && separator == Separator::Colon {
        return hidden(text, key, start..line_end(bytes, start, key.opening)).map(Span::mark);
    }
    // The password of a user in an address, which was hidden before: what follows is the host.
    if separator == Separator::Colon && text[start..].strip_prefix(MARK).is_some_and(|rest| rest.starts_with('@')) {
        return None;
    }
    let mut end = bare_end(bytes, start);
    if key::is_long_header(name) && is_scheme(&bytes[start..end]) && bytes.get(end) == Some(&b' ') {
        end = bare_end(bytes, end + 1);
    }
    hidden(text, key, start..end).filter(|range| !is_open(&text[range.clone()])).map(bare)
}

/// The range, unless there is nothing to hide in it.
fn hidden(text: &str, key: &Key, range: Range<usize>) -> Option<Range<usize>> {
    let value = text[range.clone()].trim_end();
    let is_counted = key.secrecy == Secrecy::UnlessCounted && key::is_written_count(value);
    let says_something = value.bytes().any(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii());
    (says_something && !is_counted && value != MARK).then(|| range.start..range.start + value.len())
}

fn is_open(value: &str) -> bool {
    OPEN_VALUES.iter().any(|open| value.eq_ignore_ascii_case(open))
}

fn is_scheme(word: &[u8]) -> bool {
    [&b"bearer"[..], b"basic", b"token", b"digest"].iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

/// `--token value`; what follows a flag is its value unless it is the next flag.
fn after_flag(text: &str, key: &Key, start: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    if bytes.get(start) == Some(&b'-') {
        return None;
    }
    if let Some(quote) = quote_at(bytes, start) {
        let content = start + quote.length();
        return hidden(text, key, content..closing_quote(bytes, content, quote));
    }
    hidden(text, key, start..bare_end(bytes, start))
}

/// "the API key is 0123456789abcdef…": only long mixtures of letters and digits.
fn in_sentence(bytes: &[u8], start: usize) -> Option<Range<usize>> {
    let start =
        start + [&b"is "[..], b"was "].iter().find(|verb| bytes[start..].starts_with(verb)).map_or(0, |it| it.len());
    let is_value = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'/' | b'=');
    let rest = &bytes[start..];
    let beginning = rest.get(..LEAST_PROSE_VALUE)?;
    let is_mixture = beginning.iter().all(is_value)
        && beginning[0].is_ascii_alphanumeric()
        && beginning.iter().any(u8::is_ascii_digit)
        && beginning.iter().any(u8::is_ascii_alphabetic);
    is_mixture.then(|| start..start + rest.iter().take_while(|byte| is_value(byte)).count())
}

/// An object or array; one that is never closed reaches to the end of the text.
fn bracketed(text: &str, key: &Key, start: usize, counted: &mut Counted) -> Option<Range<usize>> {
    let may_be_counted = key.secrecy == Secrecy::UnlessCounted;
    if may_be_counted && counted.covers(key, start) {
        return None;
    }
    let end = closing_bracket(text.as_bytes(), start);
    if end - start <= 2 {
        return None;
    }
    if may_be_counted {
        let backslashes = key.closing.map_or(0, |quote| quote.backslashes);
        let written = text[start..end].replace(&format!("{}\"", "\\".repeat(backslashes)), "\"");
        if serde_json::from_str(&written).is_ok_and(|value| key::is_count(&value)) {
            *counted = Counted { end, backslashes };
            return None;
        }
    }
    Some(start..end)
}

fn closing_bracket(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = start;
    while at < bytes.len() {
        match bytes[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            b'"' | b'\\' => {
                if let Some(quote) = quote_at(bytes, at).filter(|quote| quote.mark == b'"') {
                    let content = at + quote.length();
                    let close = closing_quote(bytes, content, quote);
                    at = (close + quote.length()).min(bytes.len());
                    continue;
                }
            }
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

/// The end of a value without quotes.
fn bare_end(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = start;
    while let Some(&byte) = bytes.get(at) {
        let next = bytes.get(at + 1);
        let ends = match byte {
            b'"' | b'\'' | b'`' | b'&' | b'<' | b'>' => true,
            b'(' | b'[' | b'{' => {
                depth += 1;
                false
            }
            b')' | b']' | b'}' if depth > 0 => {
                depth -= 1;
                false
            }
            b')' | b']' | b'}' => !next.is_some_and(u8::is_ascii_alphanumeric),
            b',' | b';' => starts_member(bytes, at + 1),
            b'\\' => matches!(next, Some(b'n' | b'r' | b't' | b'"' | b'\'' | b'\\')),
            _ => byte.is_ascii_whitespace(),
        };
        if ends {
            break;
        }
        at += 1;
    }
    at
}

/// Whether a comma before this position separates members: nothing, a blank, a quote or another key follows.
fn starts_member(bytes: &[u8], at: usize) -> bool {
    let name = bytes[at..]
        .iter()
        .take(LONGEST_KEY_SIDE)
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    match bytes.get(at) {
        None => true,
        Some(byte) if byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'\\' | b'{' | b'[') => true,
        Some(_) => {
            let length = name.count();
            length > 0 && matches!(bytes.get(at + length), Some(b'=' | b':'))
        }
    }
}

/// The end of the line, or the quote that encloses key and value together.
///
/// Looks no further than the first of them: what lies behind may be the value of the next key, and of the one after it.
fn line_end(bytes: &[u8], start: usize, enclosing: Option<Quote>) -> usize {
    let ends_line = |at: usize| match bytes[at] {
        b'\n' | b'\r' => true,
        b'\\' => matches!(bytes.get(at + 1), Some(b'n' | b'r')),
        _ => false,
    };
    let line = (start..bytes.len()).find(|&at| ends_line(at)).unwrap_or(bytes.len());
    enclosing.map_or(line, |quote| closing_quote(&bytes[..line], start, quote))
}

/// Where the content that began at `start` ends: before its closing quote, the end of the line or of the text.
fn closing_quote(bytes: &[u8], start: usize, quote: Quote) -> usize {
    let mut backslashes = 0;
    for (at, &byte) in bytes.iter().enumerate().skip(start) {
        match byte {
            b'\\' => {
                backslashes += 1;
                continue;
            }
            b'\n' => return at,
            _ if byte == quote.mark => {
                let closes =
                    if quote.backslashes == 0 { backslashes % 2 == 0 } else { backslashes <= quote.backslashes };
                if closes {
                    return at - backslashes.min(quote.backslashes);
                }
            }
            _ => {}
        }
        backslashes = 0;
    }
    bytes.len()
}

fn quote_at(bytes: &[u8], at: usize) -> Option<Quote> {
    let backslashes = bytes[at..].iter().take(8).take_while(|&&byte| byte == b'\\').count();
    let mark = *bytes.get(at + backslashes)?;
    matches!(mark, b'"' | b'\'' | b'`').then_some(Quote { backslashes, mark })
}

fn quote_before(bytes: &[u8], at: usize) -> Option<Quote> {
    let (&mark, before) = bytes[..at].split_last()?;
    let backslashes = before.iter().rev().take(8).take_while(|&&byte| byte == b'\\').count();
    matches!(mark, b'"' | b'\'' | b'`').then_some(Quote { backslashes, mark })
}

/// Blanks at this position; line ends count only where JSON allows them.
fn blanks(bytes: &[u8], at: usize, over_lines: bool) -> usize {
    let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t') || (over_lines && matches!(byte, b'\n' | b'\r'));
    bytes[at..].iter().take_while(is_blank).count()
}

impl Counted {
    /// Whether the value at `start` belongs to a member of what was parsed: its name stands in quotes of the same kind.
    fn covers(&self, key: &Key, start: usize) -> bool {
        let quote = Quote { backslashes: self.backslashes, mark: b'"' };
        start < self.end && key.opening == Some(quote) && key.closing == Some(quote)
    }
}

impl Quote {
    fn length(self) -> usize {
        self.backslashes + 1
    }
}
