//! Where a quoted text stands in a file: exactly, or but for signs that are easily mistaken for others.

use std::ops::Range;

use super::{fold, with_plain_breaks};

/// A file and the same with `\n` between lines, which is what models quote.
pub(super) struct Source<'a> {
    text: &'a str,
    plain: String,
    /// Where in `plain` a break stands that is `\r\n` in the file.
    returns: Vec<usize>,
}

/// Why a text has no place.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoPlace {
    Empty,
    /// Lines that begin like the text, as far as blanks do not matter.
    Missing {
        similar: Vec<usize>,
    },
    Several {
        lines: Vec<usize>,
        count: usize,
    },
}

/// Not more line numbers than this are told.
const MOST_LINES: usize = 5;

impl<'a> Source<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let plain = with_plain_breaks(text);
        let returns = text.match_indices("\r\n").enumerate().map(|(before, (at, _))| at - before).collect();
        Self { text, plain, returns }
    }

    /// The only place of `quoted`, as a range of the file.
    pub(super) fn find(&self, quoted: &str) -> Result<Range<usize>, NoPlace> {
        let quoted = with_plain_breaks(quoted);
        if quoted.is_empty() {
            return Err(NoPlace::Empty);
        }
        let places = occurrences(&self.plain, &quoted);
        let place = match places[..] {
            [start] => start..start + quoted.len(),
            [] => self.find_folded(&quoted)?,
            _ => return Err(self.several(&places)),
        };
        Ok(self.in_file(place.start)..self.in_file(place.end))
    }

    fn find_folded(&self, quoted: &str) -> Result<Range<usize>, NoPlace> {
        let folded = fold::Folded::new(&self.plain);
        for quoted in fold::quotations(quoted) {
            let places = folded.find(&quoted);
            match &places[..] {
                [] => {}
                [place] => return Ok(place.clone()),
                several => return Err(self.several(&several.iter().map(|place| place.start).collect::<Vec<_>>())),
            }
        }
        Err(NoPlace::Missing { similar: self.similar(quoted) })
    }

    fn in_file(&self, at: usize) -> usize {
        let place = at + self.returns.partition_point(|returned| *returned < at);
        debug_assert!(self.text.is_char_boundary(place));
        place
    }

    fn several(&self, places: &[usize]) -> NoPlace {
        let mut lines: Vec<usize> = places.iter().map(|place| self.line(*place)).collect();
        lines.dedup();
        lines.truncate(MOST_LINES);
        NoPlace::Several { lines, count: places.len() }
    }

    fn line(&self, at: usize) -> usize {
        memchr::memchr_iter(b'\n', &self.plain.as_bytes()[..at]).count() + 1
    }

    fn similar(&self, quoted: &str) -> Vec<usize> {
        let Some(first) = quoted.lines().map(str::trim).find(|line| !line.is_empty()) else { return Vec::new() };
        let alike = self.plain.lines().enumerate().filter(|(_, line)| line.trim() == first);
        alike.take(MOST_LINES).map(|(index, _)| index + 1).collect()
    }
}

/// Where a text occurs, also where the occurrences overlap: then nobody knows which one is meant. Not all if there are many.
pub(super) fn occurrences(text: &str, quoted: &str) -> Vec<usize> {
    const MOST: usize = 1000;
    let finder = memchr::memmem::Finder::new(quoted);
    let mut from = 0;
    let next = std::iter::from_fn(|| {
        let at = from + finder.find(text.as_bytes().get(from..)?)?;
        from = at + 1;
        Some(at)
    });
    next.take(MOST).collect()
}

impl NoPlace {
    /// What to tell the model about its quotation `which`.
    pub(super) fn tell(&self, which: &str, path: &str) -> String {
        let list = |lines: &[usize]| lines.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Self::Empty => format!("{which} is empty, so it has no place in {path}"),
            Self::Missing { similar } => {
                let hint = match &similar[..] {
                    [] => String::new(),
                    lines => format!(" Its first line is like line {} of the file.", list(lines)),
                };
                format!(
                    "Could not find the text of {which} in {path}. \
                     It must be copied exactly from the file, with all blanks and line breaks.{hint}"
                )
            }
            Self::Several { lines, count } => {
                let places = match &lines[..] {
                    [line] => format!("all in line {line}"),
                    lines => format!("for example in line {}", list(lines)),
                };
                format!(
                    "Found {count} occurrences of the text of {which} in {path}, {places}. \
                     It must occur only once: quote more of the text around it."
                )
            }
        }
    }
}
