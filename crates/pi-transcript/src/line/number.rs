//! Numbers that a 64-bit integer or a double cannot hold.
//!
//! Two numbers are the same if they have the same sign and the same decimal value, and are both written as integers or
//! both not: `1.50`, `15e-1` and `1.5` are one number, `1` and `1.0` are two, and so are `0` and `-0`.

use serde::de::IgnoredAny;
use serde_json::Number;

use super::scan::{Token, Tokens};

/// So many digits come back from a double, whatever they are.
const KEPT_DIGITS: usize = 15;

/// Any integer of so many bytes, a sign included, fits into 64 bits.
const KEPT_INTEGER: usize = 19;

/// Whether `literal`, a number of JSON, is the same number when it is read and written again.
pub(super) fn is_exact(literal: &str) -> bool {
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

/// `text` with every number that is too large for a double replaced by the largest double, or nothing if there is none.
pub(super) fn repair(text: &str) -> Option<String> {
    let mut repaired = String::new();
    let mut copied = 0;
    for token in Tokens::new(text) {
        if let Token::Number(place) = token
            && is_too_large(&text[place.clone()])
        {
            repaired.push_str(&text[copied..place.start]);
            let largest = if text[place.clone()].starts_with('-') { f64::MIN } else { f64::MAX };
            repaired.push_str(&format!("{largest:e}"));
            copied = place.end;
        }
    }
    repaired.push_str(&text[copied..]);
    (copied > 0).then_some(repaired)
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
