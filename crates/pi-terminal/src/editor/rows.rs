//! A text broken into rows, with its cursor.

use unicode_segmentation::UnicodeSegmentation;

use crate::text::cells;

/// The rows of a text in a column.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rows {
    pub(super) texts: Vec<String>,
    /// Line of the text and first letter, for every row.
    starts: Vec<(usize, usize)>,
    /// Row, and cell in it.
    pub(super) cursor: (usize, usize),
}

impl Rows {
    /// `cursor` is a line and a letter in it.
    pub(super) fn new(lines: &[String], cursor: (usize, usize), room: usize) -> Self {
        let room = room.max(2);
        let mut rows = Self { texts: Vec::new(), starts: Vec::new(), cursor: (0, 0) };
        for (number, line) in lines.iter().enumerate() {
            rows.line(number, line, (cursor.0 == number).then_some(cursor.1), room);
        }
        rows
    }

    fn line(&mut self, number: usize, line: &str, cursor: Option<usize>, room: usize) {
        let (mut text, mut used, mut letter) = (String::new(), 0, 0);
        let mut first = 0;
        for grapheme in line.graphemes(true) {
            let wide = cells_of(grapheme);
            if used + wide > room {
                self.push(std::mem::take(&mut text), (number, first));
                (used, first) = (0, letter);
            }
            if cursor == Some(letter) {
                self.cursor = (self.texts.len(), used);
            }
            text.push_str(grapheme);
            used += wide;
            letter += grapheme.chars().count();
        }
        if cursor.is_some_and(|cursor| cursor >= letter) {
            // Behind a full row the cursor stands at the beginning of the next.
            if used >= room {
                self.push(std::mem::take(&mut text), (number, first));
                (used, first) = (0, letter);
            }
            self.cursor = (self.texts.len(), used);
        }
        self.push(text, (number, first));
    }

    fn push(&mut self, text: String, start: (usize, usize)) {
        self.texts.push(text);
        self.starts.push(start);
    }

    /// Line and letter above the cursor.
    pub(super) fn above(&self) -> Option<(usize, usize)> {
        self.letter_at(self.cursor.0.checked_sub(1)?)
    }

    /// Line and letter below the cursor.
    pub(super) fn below(&self) -> Option<(usize, usize)> {
        self.letter_at(self.cursor.0 + 1)
    }

    fn letter_at(&self, row: usize) -> Option<(usize, usize)> {
        let (line, first) = *self.starts.get(row)?;
        let (mut used, mut letter) = (0, first);
        for grapheme in self.texts[row].graphemes(true) {
            used += cells_of(grapheme);
            if used > self.cursor.1 {
                break;
            }
            letter += grapheme.chars().count();
        }
        Some((line, letter))
    }
}

/// A tab is drawn as a blank.
fn cells_of(grapheme: &str) -> usize {
    if grapheme == "\t" { 1 } else { cells(grapheme) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_follow_cells_and_the_cursor_follows_letters() {
        for (lines, cursor, room, rows, expected) in [
            (vec![""], (0, 0), 4, vec![""], (0, 0)),
            (vec!["abcdef"], (0, 5), 4, vec!["abcd", "ef"], (1, 1)),
            (vec!["abcd"], (0, 4), 4, vec!["abcd", ""], (1, 0)),
            (vec!["日本語"], (0, 2), 4, vec!["日本", "語"], (1, 0)),
            (vec!["日本語"], (0, 1), 5, vec!["日本", "語"], (0, 2)),
            (vec!["ab", "cd"], (1, 1), 4, vec!["ab", "cd"], (1, 1)),
        ] {
            let lines: Vec<String> = lines.into_iter().map(str::to_owned).collect();
            let found = Rows::new(&lines, cursor, room);
            assert_eq!(
                (found.texts, found.cursor),
                (rows.into_iter().map(str::to_owned).collect(), expected),
                "{lines:?}"
            );
        }
    }
}
