//! Numbers that a 64-bit integer or a double cannot hold.
//!
//! Two numbers are the same if they have the same sign and the same decimal value, and are both written as integers or
//! both not: `1.50`, `15e-1` and `1.5` are one number, `1` and `1.0` are two, and so are `0` and `-0`.

use std::ops::Range;

use memchr::memchr;
use serde::de::IgnoredAny;
use serde_json::Number;

/// So many digits come back from a double, whatever they are.
const KEPT_DIGITS: usize = 15;

/// Any integer of so many bytes, a sign included, fits into 64 bits.
const KEPT_INTEGER: usize = 19;

/// Whether each number in `text`, which is JSON, is the same number when it is read and written again.
pub(super) fn are_exact(text: &str) -> bool {
    places(text).all(|place| is_exact(&text[place]))
}

/// `text` with every number that is too large for a double replaced by the largest double, or nothing if there is none.
pub(super) fn repair(text: &str) -> Option<String> {
    let mut repaired = String::new();
    let mut copied = 0;
    for place in places(text) {
        let literal = &text[place.clone()];
        if is_too_large(literal) {
            repaired.push_str(&text[copied..place.start]);
            let largest = if literal.starts_with('-') { f64::MIN } else { f64::MAX };
            repaired.push_str(&format!("{largest:e}"));
            copied = place.end;
        }
    }
    repaired.push_str(&text[copied..]);
    (copied > 0).then_some(repaired)
}

/// Where numbers stand in `text`. If it is not JSON, what stands there need not be one.
fn places(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            match bytes.get(at)? {
                b'"' => at = behind_string(bytes, at + 1),
                b'-' | b'0'..=b'9' => {
                    let start = at;
                    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                    at += bytes[start..].iter().take_while(|byte| is_part(byte)).count();
                    return Some(start..at);
                }
                _ => at += 1,
            }
        }
    })
}

/// Where the string ends whose first byte is at `start`: behind the first quote with an even number of backslashes before.
fn behind_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(found) = memchr(b'"', &bytes[at..]) {
        let quote = at + found;
        at = quote + 1;
        if bytes[start..quote].iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 0 {
            return at;
        }
    }
    bytes.len()
}

/// Whether `literal`, a number of JSON, is the same number when it is read and written again.
fn is_exact(literal: &str) -> bool {
    let bytes = literal.as_bytes();
    let Some(end) = bytes.iter().position(|byte| !matches!(byte, b'-' | b'0'..=b'9')) else {
        return literal != "-0"
            && (bytes.len() <= KEPT_INTEGER || literal.parse::<u64>().is_ok() || literal.parse::<i64>().is_ok());
    };
    // A fraction that is so short and has no exponent is far from the ends of the range of doubles.
    let is_short =
        bytes.len() <= KEPT_DIGITS && bytes[end] == b'.' && !bytes[end..].iter().any(u8::is_ascii_alphabetic);
    is_short || comes_back(literal)
}

/// Whether this is a number, and only its size keeps it from being read.
fn is_too_large(literal: &str) -> bool {
    serde_json::from_str::<Number>(literal).is_err() && serde_json::from_str::<IgnoredAny>(literal).is_ok()
}

/// Reads and writes a number that is no integer, and compares.
fn comes_back(literal: &str) -> bool {
    serde_json::from_str::<Number>(literal).is_ok_and(|number| {
        let written = number.to_string();
        written == literal || decimal(&written) == decimal(literal)
    })
}

/// A decimal value in the one form that has no zeros at either end.
#[derive(PartialEq)]
struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    /// Where the point is: behind so many of the digits.
    point: i64,
}

/// The value of a number of JSON; nothing if its exponent is beyond all measure.
fn decimal(literal: &str) -> Option<Decimal> {
    let (negative, unsigned) = match literal.strip_prefix('-') {
        Some(unsigned) => (true, unsigned),
        None => (false, literal),
    };
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = [whole.as_bytes(), fraction.as_bytes()].concat();
    let Some(first) = all.iter().position(|digit| *digit != b'0') else {
        return Some(Decimal { negative, digits: Vec::new(), point: 0 });
    };
    let last = all.iter().rposition(|digit| *digit != b'0')?;
    let before = i64::try_from(whole.len()).ok()?.checked_sub(i64::try_from(first).ok()?)?;
    let point = exponent.parse::<i64>().ok()?.checked_add(before)?;
    Some(Decimal { negative, digits: all[first..=last].to_vec(), point })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_outside_strings_are_found() {
        let text = r#"{"1":-2.5e+3,"\"4\\":[5],"6\"#;
        assert_eq!(places(text).map(|place| &text[place]).collect::<Vec<_>>(), ["-2.5e+3", "5"]);
    }

    #[test]
    fn only_numbers_that_are_too_large_are_replaced() {
        let cases = [
            ("[1,1e308,-1e-400]", None),
            (r#"{"1e400":"1e400 \" 1e400"}"#, None),
            ("1.e400", None),
            ("01e400", None),
            ("[1e400 , -1E+999]", Some("[1.7976931348623157e308 , -1.7976931348623157e308]")),
            (r#"{"a\\":1e400,1e400"#, Some(r#"{"a\\":1.7976931348623157e308,1.7976931348623157e308"#)),
        ];
        for (text, repaired) in cases {
            assert_eq!(repair(text).as_deref(), repaired, "{text}");
        }
    }
}
