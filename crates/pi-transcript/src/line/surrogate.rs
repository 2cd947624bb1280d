//! Halves of characters in JSON text.
//!
//! JavaScript strings are UTF-16, and a program that cuts one in the middle of a character writes half of it as `\ud83d`.
//! No Rust string can hold that, so such a line would not be readable at all.

/// `text` with every escape of half a character replaced by that of U+FFFD, or nothing if there is none.
pub(super) fn repair(text: &str) -> Option<String> {
    let mut repaired = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = text[at..].find('\\') {
        at += found;
        match escaped_unit(text, at) {
            Some(0xD800..=0xDBFF) if matches!(escaped_unit(text, at + 6), Some(0xDC00..=0xDFFF)) => at += 12,
            Some(0xD800..=0xDFFF) => {
                repaired.push_str(&text[copied..at]);
                repaired.push_str("\\ufffd");
                at += 6;
                copied = at;
            }
            // The backslash and what it escapes; in broken JSON that may be nothing or a longer character.
            _ => at += 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
        }
    }
    repaired.push_str(&text[copied..]);
    (copied > 0).then_some(repaired)
}

/// The UTF-16 unit that is escaped at byte `at`.
fn escaped_unit(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    let hexadecimal = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    hexadecimal.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lone_halves_are_replaced() {
        let cases = [
            (r#""no escapes, é""#, None),
            (r#""\ud83d\ude00 whole""#, None),
            (r#""\\ud83d is text""#, None),
            (r#""\ud83d""#, Some(r#""\ufffd""#)),
            (r#""\uDE00 \ud83d\ud83d\ude00""#, Some(r#""\ufffd \ufffd\ud83d\ude00""#)),
            (r#""\ud83d\n\\\"""#, Some(r#""\ufffd\n\\\"""#)),
            (r#""\ud8"#, None),
            (r#""\ud8é1"#, None),
            (r#""\u+d83""#, None),
            ("\\é\\", None),
        ];
        for (text, repaired) in cases {
            assert_eq!(repair(text).as_deref(), repaired, "{text}");
        }
    }
}
