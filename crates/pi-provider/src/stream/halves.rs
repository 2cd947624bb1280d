//! Characters that a server cut in two.
//!
//! Beyond the first 65 536 characters JSON may write one as two escapes. A server that counts in such units, and cuts a text between
//! them, sends half a character in one frame and the rest in the next; neither of them is proper JSON.

/// Keeps half a character until the rest comes.
#[derive(Debug, Default)]
pub(super) struct Halves {
    first: Option<u16>,
}

/// What stands in the place of a half whose other one is nowhere.
const LOST: &str = "\\ufffd";

impl Halves {
    /// The frame with whole characters only; nothing if there is no half in it. A first half at the end of a text is kept for
    /// the next text that begins with a second one.
    pub(super) fn mend(&mut self, frame: &str) -> Option<String> {
        let mut mended = String::with_capacity(frame.len());
        let (mut rest, mut has_halves) = (frame, false);
        while let Some(at) = rest.find('\\') {
            let (before, escape) = rest.split_at(at);
            mended.push_str(before);
            let begins_text = before.ends_with('"');
            match unit(escape) {
                Some(0xd800..=0xdbff) if unit(&escape[6..]).is_some_and(is_second) => {
                    mended.push_str(&escape[..12]);
                    rest = &escape[12..];
                }
                Some(first @ 0xd800..=0xdbff) => {
                    has_halves = true;
                    rest = &escape[6..];
                    match rest.starts_with('"') {
                        true => self.first = Some(first),
                        false => mended.push_str(LOST),
                    }
                }
                Some(second @ 0xdc00..=0xdfff) => {
                    has_halves = true;
                    rest = &escape[6..];
                    let whole = self.first.take_if(|_| begins_text).map(|first| [first, second]);
                    match whole.and_then(|units| char::decode_utf16(units).next()?.ok()) {
                        Some(whole) => mended.push(whole),
                        None => mended.push_str(LOST),
                    }
                }
                Some(_) | None => {
                    // A backslash is followed by the letter that it escapes, which may be one too.
                    let end = escape.char_indices().nth(2).map_or(escape.len(), |(end, _)| end);
                    mended.push_str(&escape[..end]);
                    rest = &escape[end..];
                }
            }
        }
        mended.push_str(rest);
        has_halves.then_some(mended)
    }

    /// Whether the rest of a character never came.
    pub(super) fn is_waiting(&self) -> bool {
        self.first.is_some()
    }
}

/// The number of an escape like `\u00e4` at the beginning.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))
}

fn is_second(unit: u16) -> bool {
    (0xdc00..=0xdfff).contains(&unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_half_is_left_alone() {
        for frame in [r#"{"a": "ä\u00e4\ud83d\ude00\\ud83d"}"#, "[1, 2]", r#""\"#, r#""\u12"#, ""] {
            assert_eq!(Halves::default().mend(frame), None, "{frame}");
        }
    }

    #[test]
    fn halves_of_two_frames_become_one_character() {
        let mut halves = Halves::default();
        assert_eq!(halves.mend(r#"{"text": "so \ud83d"}"#).as_deref(), Some(r#"{"text": "so "}"#));
        assert!(halves.is_waiting());
        assert_eq!(halves.mend(r#"{"text": "\ude00!"}"#).as_deref(), Some(r#"{"text": "😀!"}"#));
        assert!(!halves.is_waiting());
    }

    #[test]
    fn a_half_that_stays_alone_is_marked() {
        let marked = |frame: &str| Halves::default().mend(frame).unwrap();
        assert_eq!(marked(r#"["\ud83d and", "\ude00"]"#), r#"["\ufffd and", "\ufffd"]"#);
        assert_eq!(marked(r#"["\ud83d\u0041", "a\ude00"]"#), r#"["\ufffd\u0041", "a\ufffd"]"#);
    }
}
