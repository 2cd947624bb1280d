//! Which member names, header names and parameters hold a secret; [`variable`](crate::variable) adds to it what variables say.
//!
//! The rule: a key is secret when one of its words ends a secret word, unless its last word says that the value is only
//! *about* the secret (`token_count`, `cookieConsent`). Numbers under the plural `tokens` are counts and stay.
//!
//! Words end at separators, at a change from lower to upper case and between letters and digits; separators are then
//! forgotten, so that `api_key`, `apiKey`, `X-Api-Key` and `APIKEY` are one case.

use serde_json::Value;

use crate::{MARK, personal};

/// The document's list (`extensions.md` §3.1) without separators, then the synonyms that occur in the wild.
const SECRET_WORDS: [&str; 27] = [
    "apikey",
    "token",
    "authorization",
    "cookie",
    "password",
    "secret",
    "privatekey",
    "credential",
    "bearer",
    // Synonyms.
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "accesskey",
    "accountkey",
    "authkey",
    "deploykey",
    "encryptionkey",
    "licensekey",
    "masterkey",
    "signingkey",
    "sshkey",
    "subscriptionkey",
    "dbpass",
    "smtppass",
    "userpass",
    "proxypass",
];

/// Last words that turn a key into a statement about the secret. Deliberately without `id`, `hash` and `value`.
const ABOUT_WORDS: [&str; 64] = [
    "age",
    "at",
    "banner",
    "bucket",
    "budget",
    "consent",
    "cost",
    "count",
    "counter",
    "counts",
    "details",
    "disabled",
    "enabled",
    "endpoint",
    "env",
    "expired",
    "expires",
    "expiration",
    "expiry",
    "field",
    "file",
    "format",
    "header",
    "in",
    "index",
    "kind",
    "len",
    "length",
    "limit",
    "limits",
    "max",
    "min",
    "missing",
    "mode",
    "name",
    "names",
    "offset",
    "path",
    "policy",
    "position",
    "present",
    "price",
    "rate",
    "ref",
    "required",
    "rules",
    "scheme",
    "seconds",
    "size",
    "source",
    "status",
    "total",
    "totals",
    "ttl",
    "type",
    "types",
    "uri",
    "url",
    "usage",
    "used",
    "valid",
    "variable",
    "version",
    "window",
];

/// What a key that names a secret may still hold in the open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Secrecy {
    /// Whatever stands there is hidden.
    Full,
    /// The plural `tokens`: a number is a count.
    UnlessCounted,
}

/// Whether a key of this name holds a secret, whatever its value.
///
/// ```
/// assert!(pi_redact::is_secret_key("X-Api-Key"));
/// assert!(!pi_redact::is_secret_key("token_count"));
/// assert!(!pi_redact::is_secret_key("max_tokens")); // its value decides: a number is a count
/// ```
pub fn is_secret_key(key: &str) -> bool {
    secrecy(key) == Some(Secrecy::Full)
}

/// Whether there is anything to hide: `null`, booleans and what is empty say nothing.
pub(crate) fn holds_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::Number(_) => true,
    }
}

pub(crate) fn secrecy(key: &str) -> Option<Secrecy> {
    let bytes = key.as_bytes();
    let mut found: Option<Secrecy> = None;
    for end in (0..bytes.len()).filter(|&end| ends_word(bytes, end)) {
        match secret_word_ending(&bytes[..=end]) {
            Some(Secrecy::Full) => found = Some(Secrecy::Full),
            Some(Secrecy::UnlessCounted) => found = found.or(Some(Secrecy::UnlessCounted)),
            None => {}
        }
    }
    found.filter(|_| !is_about(last_word(key)))
}

/// Whether the key belongs to a header whose value is a list with blanks and commas.
pub(crate) fn is_long_header(key: &str) -> bool {
    let word = last_word(key);
    ["authorization", "cookie"].iter().any(|name| word.eq_ignore_ascii_case(name))
}

/// Whether the value measures something: numbers, also nested or written as text.
pub(crate) fn is_count(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        // What is already hidden says nothing against the rest being counts.
        Value::String(text) => text == MARK || personal::is_treated(text) || is_written_count(text),
        Value::Array(items) => items.iter().all(is_count),
        Value::Object(members) => members.values().all(is_count),
    }
}

/// Whether the text is a number as people write them: `4096`, `1,024`, `12.5k`, `812/4096`.
pub(crate) fn is_written_count(text: &str) -> bool {
    let digits = text.trim_end_matches(['k', 'K', 'm', 'M', '%']);
    digits.bytes().any(|byte| byte.is_ascii_digit())
        && digits.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b',' | b'.' | b'_' | b'/' | b'-' | b'~'))
}

fn secret_word_ending(bytes: &[u8]) -> Option<Secrecy> {
    if ends_with(bytes, "tokens") {
        return Some(Secrecy::UnlessCounted);
    }
    let singular = bytes.strip_suffix(b"s").or_else(|| bytes.strip_suffix(b"S")).unwrap_or(bytes);
    SECRET_WORDS.iter().any(|word| ends_with(bytes, word) || ends_with(singular, word)).then_some(Secrecy::Full)
}

/// Compares from the end of a word backwards, over separators and without regard to case.
fn ends_with(bytes: &[u8], word: &str) -> bool {
    let mut letters = bytes.iter().rev().filter(|byte| is_word_byte(**byte));
    word.bytes().rev().all(|expected| letters.next().is_some_and(|byte| byte.to_ascii_lowercase() == expected))
}

fn is_about(word: &str) -> bool {
    ABOUT_WORDS.iter().any(|about| about.eq_ignore_ascii_case(word))
}

fn last_word(key: &str) -> &str {
    last_two_words(key).1
}

/// The last word of the key and the one before it; empty where there is none.
pub(crate) fn last_two_words(key: &str) -> (&str, &str) {
    let (rest, last) = split_last_word(key);
    (split_last_word(rest).1, last)
}

fn split_last_word(key: &str) -> (&str, &str) {
    let key = key.trim_end_matches(|letter: char| letter.is_ascii() && !letter.is_ascii_alphanumeric());
    let bytes = key.as_bytes();
    let start = (0..bytes.len().saturating_sub(1)).rev().find(|&at| ends_word(bytes, at)).map_or(0, |at| at + 1);
    let word = key[start..].trim_start_matches(|letter: char| letter.is_ascii() && !letter.is_ascii_alphanumeric());
    (&key[..start], word)
}

fn ends_word(bytes: &[u8], at: usize) -> bool {
    let current = bytes[at];
    let Some(&next) = bytes.get(at + 1) else { return is_word_byte(current) };
    if !is_word_byte(current) {
        return false;
    }
    let is_lower = |offset: usize| bytes.get(at + offset).is_some_and(u8::is_ascii_lowercase);
    // `APIKey` ends a word before `Key`; `TOKENs` does not end one before `Ns`.
    let acronym_ends = current.is_ascii_uppercase() && next.is_ascii_uppercase() && is_lower(2) && is_lower(3);
    !is_word_byte(next)
        || (current.is_ascii_lowercase() && next.is_ascii_uppercase())
        || (current.is_ascii_digit() != next.is_ascii_digit())
        || acronym_ends
}

/// Letters and digits; what is not ASCII counts as a letter, so that it never separates.
fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}
