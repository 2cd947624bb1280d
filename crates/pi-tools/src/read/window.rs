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
