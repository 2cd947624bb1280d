//! Some lines of a file of any size, with what must be known about the rest, in memory that does not grow with it.

use std::io::{self, Read};

use tokio_util::sync::CancellationToken;

use crate::truncate::{Extent, MAX_BYTES};

/// Which lines are wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    /// Counted from 0.
    pub(super) first: usize,
    /// All that follow, unless given.
    pub(super) lines: Option<usize>,
}

/// What was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// The wanted lines, as far as they can be shown.
    pub(super) text: String,
    /// How much the wanted lines are in all.
    pub(super) selected: Extent,
    /// How long the first wanted line is.
    pub(super) first_line: usize,
    pub(super) total_lines: usize,
}

/// More than this cannot be shown, however it is cut; and a character more, for the limit to be seen to be exceeded.
const KEPT: usize = MAX_BYTES + 4;
const CHUNK: usize = 128 * 1024;

impl Window {
    /// Reads all of the file. Stops early, with what it has, when the call is cancelled.
    pub(super) fn read(file: &mut impl Read, span: Span, cancel: &CancellationToken) -> io::Result<Self> {
        let end = span.lines.map_or(usize::MAX, |lines| span.first.saturating_add(lines));
        let mut chunk = vec![0; CHUNK];
        let (mut kept, mut selected, mut first_line) = (Vec::new(), 0, 0);
        // The line that we are in; its `\n` belongs to the wanted text if another wanted line follows.
        let mut line = 0;
        while !cancel.is_cancelled() {
            let count = match file.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let mut rest = &chunk[..count];
            while !rest.is_empty() {
                if line >= end {
                    line += memchr::memchr_iter(b'\n', rest).count();
                    break;
                }
                let (part, ended) = match memchr::memchr(b'\n', rest) {
                    Some(at) => (&rest[..at], true),
                    None => (rest, false),
                };
                if line >= span.first {
                    let breaks = usize::from(ended && line + 1 < end);
                    let wanted = &rest[..part.len() + breaks];
                    selected += wanted.len();
                    first_line += if line == span.first { part.len() } else { 0 };
                    let room = KEPT.saturating_sub(kept.len());
                    kept.extend_from_slice(&wanted[..wanted.len().min(room)]);
                }
                line += usize::from(ended);
                rest = &rest[part.len() + usize::from(ended)..];
            }
        }
        let total_lines = line + 1;
        // The `\n` before a line that the file does not have was counted as wanted: it ends the last line, as everywhere.
        let lines = total_lines.min(end).saturating_sub(span.first);
        let text = String::from_utf8_lossy(&kept).into_owned();
        let bytes = if kept.len() == selected { text.len() } else { selected };
        Ok(Self { text, selected: Extent { lines, bytes }, first_line, total_lines })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Gives a few bytes at a time.
    struct Slowly<'a>(&'a [u8], usize);

    impl Read for Slowly<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.0.len().min(self.1).min(buffer.len());
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn window_is_what_splitting_the_whole_text_gives(
            text in "[aé\n]{0,30}", first in 0usize..8, lines in prop::option::of(1usize..6), piece in 1usize..5,
        ) {
            let all: Vec<&str> = text.split('\n').collect();
            let end = lines.map_or(all.len(), |lines| (first + lines).min(all.len()));
            let wanted = all.get(first..end).unwrap_or_default();
            let expected = wanted.join("\n");
            let window = Window::read(&mut Slowly(text.as_bytes(), piece), Span { first, lines }, &CancellationToken::new());
            let window = window.expect("text");
            prop_assert_eq!(&window.text, &expected);
            prop_assert_eq!(window.total_lines, all.len());
            prop_assert_eq!(window.selected, Extent { lines: wanted.len(), bytes: expected.len() });
            prop_assert_eq!(window.first_line, wanted.first().map_or(0, |line| line.len()));
        }
    }
}
