//! JSON as editors write it: with comments, with commas before a closing bracket, and with a mark at its beginning.

use std::borrow::Cow;

/// A text that is JSON if the one that was read is JSON but for these. Every letter that stays stands where it stood, so that
/// faults are told with their places.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Strict<'a> {
    pub(super) text: Cow<'a, str>,
    /// Whoever writes the document anew loses them.
    pub(super) has_comments: bool,
}

/// Takes out what JSON does not have.
pub(super) fn strict(text: &str) -> Strict<'_> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (mut bytes, mut at) = (text.as_bytes().to_vec(), 0);
    let (mut comma, mut has_comments) = (None, false);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = end_of_string(&bytes, at);
                comma = None;
                continue;
            }
            b'/' if matches!(bytes.get(at + 1), Some(b'/' | b'*')) => {
                let end = end_of_comment(&bytes, at);
                has_comments = true;
                bytes[at..end].iter_mut().filter(|byte| !matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
                at = end;
                continue;
            }
            b',' => comma = Some(at),
            b']' | b'}' => {
                if let Some(comma) = comma.take() {
                    bytes[comma] = b' ';
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => comma = None,
        }
        at += 1;
    }
    // Only whole comments and single commas became blanks, so that it is still text.
    match String::from_utf8(bytes) {
        Ok(changed) if changed != text => Strict { text: Cow::Owned(changed), has_comments },
        Ok(_) | Err(_) => Strict { text: Cow::Borrowed(text), has_comments },
    }
}

/// Behind the string that begins here.
fn end_of_string(bytes: &[u8], begin: usize) -> usize {
    let mut at = begin + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Behind the comment that begins here.
fn end_of_comment(bytes: &[u8], begin: usize) -> usize {
    let inside = &bytes[begin + 2..];
    let length = match bytes[begin + 1] {
        b'/' => inside.iter().position(|byte| *byte == b'\n'),
        _ => inside.windows(2).position(|pair| pair == b"*/").map(|end| end + 2),
    };
    begin + 2 + length.unwrap_or(inside.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str, has_comments: bool) {
        assert_eq!(strict(text), Strict { text: Cow::Borrowed(expected), has_comments }, "{text}");
    }

    #[test]
    fn comments_commas_and_the_mark_are_taken_out() {
        check("\u{feff}{\"a\": 1}", "{\"a\": 1}", false);
        check("{\"a\": [1, 2,\n],}", "{\"a\": [1, 2 \n] }", false);
        check("{ // ü\n \"a\": 1 /* , } */ , }", "{      \n \"a\": 1             }", true);
        check("[1,/* ] */]", "[1        ]", true);
        check("[1 // the end", "[1           ", true);
    }

    #[test]
    fn strings_stay_as_they_are() {
        let text = r#"{"url": "https://h/*x*/", "b\"//": ",]", "c": "\\"}"#;
        check(text, text, false);
        // What is no JSON either way is told by whoever reads it.
        check("[,,]", "[, ]", false);
        check("{\"a", "{\"a", false);
    }
}
