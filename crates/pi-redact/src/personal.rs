//! Mail addresses and phone numbers in text; phone numbers and postal addresses by member name. Numbers that prove
//! themselves are in [`number`].
//!
//! Phones are taken only where they cannot be something else: `+` and a country code, or the North American 3-3-4
//! groups. A national number without either is found by its key (`phone`, `mobile`, `fax`).

pub(crate) mod number;

use std::ops::Range;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{Personal, encoding, key};

const LONGEST_LOCAL: usize = 64;
const LONGEST_DOMAIN: usize = 253;
/// Digits of a number with its country code (E.164 allows 15; fewer than 8 is a difference or an offset).
const INTERNATIONAL_DIGITS: std::ops::RangeInclusive<usize> = 8..=15;
/// `icon@2x.png` is no address.
const FILE_ENDINGS: [&str; 8] = ["png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "avif"];
const PHONE_WORDS: [&str; 5] = ["phone", "telephone", "mobile", "fax", "msisdn"];
const ADDRESS_WORDS: [&str; 6] = ["street", "postal", "home", "mailing", "billing", "shipping"];

/// The mail address around an `@` (or `%40`) at `at`.
pub(crate) fn mail_around(text: &str, at: Range<usize>) -> Option<Range<usize>> {
    let before = text[..at.start].char_indices().rev().take(LONGEST_LOCAL);
    let start = before.take_while(|&(_, letter)| is_local(letter)).last().map(|(index, _)| index)?;
    let start = start + text[start..at.start].len() - text[start..at.start].trim_start_matches(['.', '-', '%']).len();
    let after = text[at.end..].char_indices().take(LONGEST_DOMAIN);
    let end =
        at.end + after.take_while(|&(_, letter)| is_domain(letter)).last().map(|(index, it)| index + it.len_utf8())?;
    let domain = text[at.end..end].trim_end_matches(['.', '-']);
    let (host, ending) = domain.rsplit_once('.')?;
    let is_ending = (2..=24).contains(&ending.len()) && ending.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_image = FILE_ENDINGS.iter().any(|it| ending.eq_ignore_ascii_case(it));
    let local = &text[start..at.start];
    // A remote of version control and the user of a URL are names of machines, not of people.
    let is_remote = local == "git" || text[..start].ends_with("://");
    let is_mail = !local.is_empty() && !host.is_empty() && !host.starts_with(['.', '-']);
    (is_mail && is_ending && !is_image && !is_remote).then(|| start..at.end + domain.len())
}

pub(crate) fn treat_mail(personal: &Personal, mail: &str) -> String {
    let (local, domain) = mail.split_once('@').or_else(|| mail.split_once("%40")).unwrap_or((mail, ""));
    match personal {
        Personal::Keep => mail.to_owned(),
        Personal::Mask => {
            let first = |part: &str| part.chars().next().map(String::from).unwrap_or_default();
            let ending = domain.rsplit_once('.').map_or("", |(_, ending)| ending);
            format!("{}***@{}***.{ending}", first(local), first(domain))
        }
        Personal::Hash { key } => digest(key, "email", &format!("{local}@{domain}").to_lowercase()),
    }
}

pub(crate) fn treat_phone(personal: &Personal, phone: &str) -> String {
    let digits: String = phone.chars().filter(char::is_ascii_digit).collect();
    match personal {
        Personal::Keep => phone.to_owned(),
        Personal::Mask => format!("***{}", &digits[digits.len().saturating_sub(2)..]),
        Personal::Hash { key } => digest(key, "phone", &digits),
    }
}

/// Every phone number of the text, in order.
///
/// Looks only at the places where one can be told: at `+`, and at the last separator of the North American groups.
pub(crate) fn phones(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found: Vec<Range<usize>> = Vec::new();
    for at in memchr::memchr3_iter(b'+', b'-', b'.', bytes) {
        let floor = found.last().map_or(0, |range| range.end);
        let phone = if bytes[at] == b'+' { international(bytes, at) } else { north_american(bytes, at) };
        found.extend(phone.filter(|range| range.start >= floor && starts_alone(bytes, range.start)));
    }
    found
}

/// Treats a member that says by its name that it is personal; false if it does not.
pub(crate) fn redact_member(personal: &Personal, name: &str, value: &mut Value) -> bool {
    if personal.is_kept() {
        return false;
    }
    let written = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return false,
    };
    if names_phone(name) && is_number(&written) {
        *value = Value::from(treat_phone(personal, &written));
        return true;
    }
    if names_address(name) && !written.is_empty() && !is_digest(&written, "address") {
        *value = Value::from(match personal {
            Personal::Hash { key } => digest(key, "address", &written.to_lowercase()),
            Personal::Mask | Personal::Keep => "***".to_owned(),
        });
        return true;
    }
    false
}

/// Whether a member that is named after a phone holds a number: digits and what people put between them.
fn is_number(text: &str) -> bool {
    text.bytes().filter(u8::is_ascii_digit).count() > 4
        && text.bytes().all(|byte| byte.is_ascii_digit() || b" +-()./".contains(&byte))
}

/// Whether the text is what [`redact_member`] leaves behind.
pub(crate) fn is_treated(text: &str) -> bool {
    let is_masked =
        text.strip_prefix("***").is_some_and(|end| end.len() <= 2 && end.bytes().all(|it| it.is_ascii_digit()));
    is_masked || is_digest(text, "phone") || is_digest(text, "address")
}

/// `+`, a country code and groups with separators.
fn international(bytes: &[u8], start: usize) -> Option<Range<usize>> {
    if !matches!(bytes.get(start + 1), Some(b'1'..=b'9')) {
        return None;
    }
    let mut digits = 0;
    let mut separators = 0;
    let mut end = start + 1;
    for (at, &byte) in bytes.iter().enumerate().skip(start + 1) {
        match byte {
            b'0'..=b'9' => {
                digits += 1;
                separators = 0;
                end = at + 1;
            }
            // `+49 (0)170` and `+1 (555) 123` have two in a row.
            b' ' | b'-' | b'.' | b'(' | b')' | b'/' if separators < 2 => separators += 1,
            _ => break,
        }
        if digits > *INTERNATIONAL_DIGITS.end() {
            return None;
        }
    }
    (INTERNATIONAL_DIGITS.contains(&digits) && ends_alone(bytes, end)).then_some(start..end)
}

/// `(555) 123-4567`, `555-123-4567`, `555.123.4567`, each with an optional `1` in front; `last` is the last separator.
fn north_american(bytes: &[u8], last: usize) -> Option<Range<usize>> {
    let end = last + 5;
    let digits = |range: Range<usize>| bytes.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit));
    if !digits(last + 1..end) || last < 7 || !digits(last - 3..last) || !ends_alone(bytes, end) {
        return None;
    }
    let separator = bytes[last];
    let before = &bytes[..last - 3];
    let (area, start) = match before {
        [.., b'(', _, _, _, b')'] => (before.len() - 4, before.len() - 5),
        [.., b'(', _, _, _, b')', b' ' | b'-'] => (before.len() - 5, before.len() - 6),
        [.., _, _, _, it] if *it == separator => (before.len() - 4, before.len() - 4),
        _ => return None,
    };
    if !digits(area..area + 3) || bytes[area] < b'2' {
        return None;
    }
    let start = if matches!(&bytes[..start], [.., b'1', b'-' | b'.' | b' ']) { start - 2 } else { start };
    Some(start..end)
}

fn starts_alone(bytes: &[u8], start: usize) -> bool {
    bytes[..start].last().is_none_or(|byte| !byte.is_ascii_alphanumeric() && !b"._-/+#*".contains(byte))
}

fn ends_alone(bytes: &[u8], end: usize) -> bool {
    let continues = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphanumeric);
    match bytes.get(end) {
        Some(b'-' | b'.' | b'/' | b':' | b'_' | b'@') => !continues(end + 1),
        _ => !continues(end),
    }
}

fn is_local(letter: char) -> bool {
    is_domain(letter) || matches!(letter, '_' | '%' | '+')
}

fn is_domain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '\u{c0}'..='\u{24f}')
}

/// `phone`, `workPhone`, `phone_number`; not `microphone`.
fn names_phone(name: &str) -> bool {
    let (before, last) = key::last_two_words(name);
    let is_phone = |word: &str| PHONE_WORDS.iter().any(|it| word.eq_ignore_ascii_case(it));
    is_phone(last) || (is_phone(before) && last.eq_ignore_ascii_case("number"))
}

/// `street`, `billing_address`, `streetAddress`; not `ip_address`.
fn names_address(name: &str) -> bool {
    let (before, last) = key::last_two_words(name);
    last.eq_ignore_ascii_case("street")
        || (last.eq_ignore_ascii_case("address") && ADDRESS_WORDS.iter().any(|it| before.eq_ignore_ascii_case(it)))
}

/// The first digit is a letter, so that a digest is never taken for a phone number.
fn digest(key: &[u8], kind: &str, normal: &str) -> String {
    let bytes = hmac(key, format!("{kind}:{normal}").as_bytes());
    let mut text = format!("{kind}:{}", char::from(b'a' + bytes[0] % 6));
    for index in 0..11 {
        let byte = bytes[1 + index / 2];
        let nibble = if index % 2 == 0 { byte >> 4 } else { byte & 15 };
        text.push(char::from(encoding::LOWER_DIGITS[usize::from(nibble)]));
    }
    text
}

fn is_digest(text: &str, kind: &str) -> bool {
    text.strip_prefix(kind).and_then(|rest| rest.strip_prefix(':')).is_some_and(|digits| {
        digits.len() == 12
            && digits.starts_with(|first: char| ('a'..='f').contains(&first))
            && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// HMAC-SHA-256 (RFC 2104).
fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut block = [0_u8; 64];
    if key.len() > block.len() {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let inner = Sha256::new_with_prefix(block.map(|byte| byte ^ 0x36)).chain_update(message).finalize();
    Sha256::new_with_prefix(block.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize().into()
}
