//! From the bytes of a program to text for a model: what a terminal would obey rather than show is left out.

/// Reads bytes in pieces of any size; a character or a sequence may be cut anywhere.
#[derive(Debug, Default)]
pub(super) struct Sanitiser {
    /// The beginning of a character whose rest has not come yet.
    unfinished: Vec<u8>,
    state: State,
}

/// What is to be done with the line that is being written.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stroke<'a> {
    Text(&'a str),
    /// The line begins anew: a progress bar.
    Restart,
    /// The last character goes: overstrike of a manual page.
    Erase,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// Behind a carriage return: the end of a line, or its new beginning.
    Return,
    Escape,
    /// `ESC (`: one more sign chooses a character set.
    Intermediate,
    /// `ESC [`: until a letter.
    Control,
    /// `ESC ]` and its like: until the bell or `ESC \`.
    Command,
    CommandEscape,
}

impl Sanitiser {
    pub(super) fn push(&mut self, bytes: &[u8], mut stroke: impl FnMut(Stroke<'_>)) {
        if self.unfinished.is_empty() {
            return self.decode(bytes, &mut stroke);
        }
        let mut joined = std::mem::take(&mut self.unfinished);
        joined.extend_from_slice(bytes);
        self.decode(&joined, &mut stroke);
    }

    /// The end of the output: what is unfinished stays so.
    pub(super) fn finish(&mut self, mut stroke: impl FnMut(Stroke<'_>)) {
        if !std::mem::take(&mut self.unfinished).is_empty() {
            self.text("\u{fffd}", &mut stroke);
        }
    }

    fn decode(&mut self, bytes: &[u8], stroke: &mut impl FnMut(Stroke<'_>)) {
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.text(chunk.valid(), stroke);
            match (chunk.invalid(), chunks.peek().is_none()) {
                ([], _) => {}
                (invalid, true) if could_continue(invalid) => self.unfinished = invalid.to_vec(),
                (_, _) => self.text("\u{fffd}", stroke),
            }
        }
    }

    fn text(&mut self, text: &str, stroke: &mut impl FnMut(Stroke<'_>)) {
        // Plain stretches are handed on whole; `start` is where the current one begins.
        let mut start = 0;
        for (at, sign) in text.char_indices() {
            let is_plain = match (self.state, sign) {
                (State::Text, '\n' | '\t' | ' '..='~') => true,
                (State::Text, sign) => !sign.is_control() && !('\u{fff9}'..='\u{fffb}').contains(&sign),
                (State::Return, _) => {
                    self.state = State::Text;
                    if sign != '\n' && sign != '\r' {
                        stroke(Stroke::Restart);
                    }
                    start = at;
                    !sign.is_control() || ['\n', '\t'].contains(&sign)
                }
                (_, _) => false,
            };
            if is_plain {
                continue;
            }
            if start < at && self.state == State::Text {
                stroke(Stroke::Text(&text[start..at]));
            }
            start = at + sign.len_utf8();
            self.state = self.state.after(sign);
            if sign == '\u{8}' && self.state == State::Text {
                stroke(Stroke::Erase);
            }
        }
        if start < text.len() && self.state == State::Text {
            stroke(Stroke::Text(&text[start..]));
        }
    }
}

impl State {
    /// The state behind a sign that is not shown.
    fn after(self, sign: char) -> Self {
        match (self, sign) {
            (Self::Text | Self::Return, '\u{1b}') => Self::Escape,
            (Self::Text | Self::Return, '\r') => Self::Return,
            (Self::Text | Self::Return, '\u{9b}') => Self::Control,
            (Self::Text | Self::Return, _) => Self::Text,
            (Self::Escape, '[') => Self::Control,
            (Self::Escape, ']' | 'P' | 'X' | '^' | '_') => Self::Command,
            (Self::Escape, ' '..='/') => Self::Intermediate,
            (Self::Escape | Self::CommandEscape | Self::Control | Self::Command, '\u{18}' | '\u{1a}') => Self::Text,
            (Self::Escape, '\u{1b}') => Self::Escape,
            (Self::Escape, _) => Self::Text,
            (Self::Intermediate, ' '..='/') => Self::Intermediate,
            (Self::Intermediate, _) => Self::Text,
            (Self::Control, '@'..='~') => Self::Text,
            // A new line in the middle of a sequence: it was none.
            (Self::Control, '\n') => Self::Text,
            (Self::Control, _) => Self::Control,
            (Self::Command, '\u{7}' | '\u{9c}') => Self::Text,
            (Self::Command, '\u{1b}') => Self::CommandEscape,
            (Self::Command, _) => Self::Command,
            (Self::CommandEscape, '\\') => Self::Text,
            (Self::CommandEscape, _) => Self::Command,
        }
    }
}

/// Whether these bytes are the beginning of a character.
fn could_continue(bytes: &[u8]) -> bool {
    let length = match bytes.first() {
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => 4,
        Some(_) | None => return false,
    };
    bytes.len() < length
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of `bytes`, given in pieces of `size`.
    fn clean(bytes: &[u8], size: usize) -> String {
        let mut sanitiser = Sanitiser::default();
        let mut text = String::new();
        let mut stroke = |stroke: Stroke<'_>| match stroke {
            Stroke::Text(more) => text.push_str(more),
            Stroke::Restart => text.truncate(text.rfind('\n').map_or(0, |end| end + 1)),
            Stroke::Erase => {
                text.pop();
            }
        };
        bytes.chunks(size).for_each(|piece| sanitiser.push(piece, &mut stroke));
        sanitiser.finish(&mut stroke);
        text
    }

    #[test]
    fn terminal_sequences_are_left_out_wherever_they_are_cut() {
        for (bytes, expected) in [
            (&b"plain\ttext\n"[..], "plain\ttext\n"),
            (b"\x1b[1;31mred\x1b[0m!", "red!"),
            (b"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b", "ab"),
            (b"\x1b(Ba\x1b=b\x1bPq#0\x1b\\c", "abc"),
            ("é\u{9b}1mü→𝄞".as_bytes(), "éü→𝄞"),
            (b"a\r\nb\r\n", "a\nb\n"),
            (b"1%\r20%\r100%\ndone", "100%\ndone"),
            (b"x\r\r\ny", "x\ny"),
            (b"line\r", "line"),
            (b"\r\x1b[Kover", "over"),
            (b"N\x08NA\x08A", "NA"),
            (b"\x00\x01a\x7f\x05b", "ab"),
            (b"a\xffb\xe2\x82", "a\u{fffd}b\u{fffd}"),
            (b"\xe2\x28\xa1", "\u{fffd}(\u{fffd}"),
            ("a\u{fff9}b\u{feff}c".as_bytes(), "ab\u{feff}c"),
        ] {
            for size in 1..=bytes.len() {
                assert_eq!(clean(bytes, size), expected, "{bytes:?} in pieces of {size}");
            }
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

        #[test]
        fn pieces_do_not_matter(bytes in proptest::collection::vec(
            proptest::sample::select(b"ab\n\r\t\x08\x1b[]();m\\\x07\x9b\x18P?0\xc3\xa9\xe2\x82\xac\xf0\x9d\x84\x9e\xff".to_vec()),
            0..40,
        ), size in 1usize..8) {
            let whole = clean(&bytes, bytes.len().max(1));
            proptest::prop_assert_eq!(clean(&bytes, size), whole.as_str());
            proptest::prop_assert!(whole.chars().all(|sign| !sign.is_control() || ['\n', '\t'].contains(&sign)), "{:?}", whole);
        }
    }
}
