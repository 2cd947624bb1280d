//! Whether two texts say the same, compared without reading numbers into any type and without dropping any member.
//!
//! The fuzz target of session lines uses this file too. It knows nothing of the code that it judges.

use std::{iter::Peekable, str::Chars};

/// Whether the texts are equal, or are both JSON of the same meaning.
///
/// Space between tokens, escapes in strings and the order of members with different names mean nothing. Numbers are the
/// same by [`Number`], and members with one name by their order.
pub(crate) fn same(left: &str, right: &str) -> bool {
    left == right || matches!((read(left), read(right)), (Some(left), Some(right)) if left == right)
}

#[derive(PartialEq)]
enum Json {
    Word(String),
    Number(Number),
    /// In UTF-16 units, as only they can hold half a character.
    String(Vec<u16>),
    Array(Vec<Self>),
    /// Sorted by name, and otherwise as written.
    Object(Vec<(Vec<u16>, Self)>),
}

/// A number is its sign, its decimal value, and whether it is written as an integer.
#[derive(PartialEq)]
struct Number {
    negative: bool,
    integer: bool,
    /// Without zeros at either end.
    digits: String,
    /// The power of ten of the last digit.
    power: i128,
}

type Text<'a> = Peekable<Chars<'a>>;

fn read(text: &str) -> Option<Json> {
    let mut text = text.chars().peekable();
    let value = value(&mut text)?;
    skip_space(&mut text);
    text.next().is_none().then_some(value)
}

fn value(text: &mut Text<'_>) -> Option<Json> {
    skip_space(text);
    match text.peek()? {
        '"' => string(text).map(Json::String),
        '-' | '0'..='9' => number(text).map(Json::Number),
        '[' => items(text, ']', value).map(Json::Array),
        '{' => {
            let mut members = items(text, '}', member)?;
            members.sort_by(|left, right| left.0.cmp(&right.0));
            Some(Json::Object(members))
        }
        _ => {
            let word = take(text, |character| character.is_ascii_lowercase());
            ["true", "false", "null"].contains(&word.as_str()).then_some(Json::Word(word))
        }
    }
}

fn member(text: &mut Text<'_>) -> Option<(Vec<u16>, Json)> {
    skip_space(text);
    let name = string(text)?;
    skip_space(text);
    text.next_if_eq(&':')?;
    Some((name, value(text)?))
}

/// What stands between brackets, separated by commas.
fn items<T>(text: &mut Text<'_>, close: char, item: fn(&mut Text<'_>) -> Option<T>) -> Option<Vec<T>> {
    let mut items = Vec::new();
    text.next();
    skip_space(text);
    if text.next_if_eq(&close).is_some() {
        return Some(items);
    }
    loop {
        items.push(item(text)?);
        skip_space(text);
        match text.next()? {
            ',' => {}
            character => return (character == close).then_some(items),
        }
    }
}

fn string(text: &mut Text<'_>) -> Option<Vec<u16>> {
    let mut units = Vec::new();
    text.next_if_eq(&'"')?;
    loop {
        let plain = match text.next()? {
            '"' => return Some(units),
            '\\' => match text.next()? {
                'u' => {
                    let digits: String = text.take(4).collect();
                    let hexadecimal = digits.len() == 4 && digits.chars().all(|digit| digit.is_ascii_hexdigit());
                    units.push(hexadecimal.then(|| u16::from_str_radix(&digits, 16).ok())??);
                    continue;
                }
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                character @ ('"' | '\\' | '/') => character,
                _ => return None,
            },
            character if character < ' ' => return None,
            character => character,
        };
        units.extend_from_slice(plain.encode_utf16(&mut [0; 2]));
    }
}

fn number(text: &mut Text<'_>) -> Option<Number> {
    let negative = text.next_if_eq(&'-').is_some();
    let whole = digits(text)?;
    if whole.len() > 1 && whole.starts_with('0') {
        return None;
    }
    let mut integer = true;
    let mut fraction = String::new();
    if text.next_if_eq(&'.').is_some() {
        integer = false;
        fraction = digits(text)?;
    }
    let mut power = 0;
    if text.next_if(|character| matches!(character, 'e' | 'E')).is_some() {
        integer = false;
        let sign = text.next_if(|character| matches!(character, '+' | '-'));
        // One beyond all measure is equal to no other but such.
        let size = digits(text)?.parse::<i64>().map_or(i128::MAX, i128::from);
        power = if sign == Some('-') { -size } else { size };
    }
    let all = whole + &fraction;
    let kept = all.trim_end_matches('0');
    power = power.saturating_add(all.len() as i128 - kept.len() as i128 - fraction.len() as i128);
    match kept.trim_start_matches('0') {
        "" => Some(Number { negative, integer, digits: String::new(), power: 0 }),
        digits => Some(Number { negative, integer, digits: digits.to_owned(), power }),
    }
}

/// One digit or more.
fn digits(text: &mut Text<'_>) -> Option<String> {
    let digits = take(text, char::is_ascii_digit);
    (!digits.is_empty()).then_some(digits)
}

fn take(text: &mut Text<'_>, belongs: fn(&char) -> bool) -> String {
    std::iter::from_fn(|| text.next_if(belongs)).collect()
}

fn skip_space(text: &mut Text<'_>) {
    take(text, |character| matches!(character, ' ' | '\t' | '\n' | '\r'));
}
