//! Tables for people: columns as wide as they must be, and narrower where the terminal is.
//!
//! Where a table does not fit, the columns that may be cut are cut, the widest first; if that is not enough, the least
//! important columns are left out, and the caller can say so. Where nobody looks (a pipe, a file) nothing is cut.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::console::{Console, Tone, printable};

const GAP: &str = "  ";

/// A column, and what may happen to it where there is little room.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    pub(crate) title: &'static str,
    pub(crate) align: Align,
    pub(crate) room: Room,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// Always whole.
    Whole,
    /// May be cut to this width, and is never left out.
    CutTo(usize),
    /// May be cut to this width, and then left out, by the same rule as the next.
    CutToOrLeaveOut(usize, u8),
    /// May be left out; of several the one with the highest number first.
    LeaveOut(u8),
}

/// One field of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    text: String,
    tone: Option<Tone>,
}

/// How wide each column is; `None` where it is left out.
#[derive(Debug, PartialEq, Eq)]
struct Layout(Vec<Option<usize>>);

impl Cell {
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Cell { text: text.into(), tone: None }
    }

    pub(crate) fn toned(tone: Tone, text: impl Into<String>) -> Self {
        Cell { text: text.into(), tone: Some(tone) }
    }
}

/// Shows the table, and returns the titles of columns for which there was no room.
pub(crate) fn show(columns: &[Column], rows: &[Vec<Cell>], console: &mut Console) -> Vec<&'static str> {
    let layout = Layout::new(columns, rows, console.width());
    let titles: Vec<Cell> = columns.iter().map(|it| Cell::toned(Tone::Strong, it.title)).collect();
    for row in std::iter::once(&titles).chain(rows) {
        let line = layout.line(columns, row, console);
        console.line(&line);
    }
    let left_out = columns.iter().zip(&layout.0).filter(|(_, width)| width.is_none());
    left_out.map(|(column, _)| column.title).collect()
}

impl Layout {
    fn new(columns: &[Column], rows: &[Vec<Cell>], width: Option<usize>) -> Self {
        let natural: Vec<usize> = (0..columns.len())
            .map(|index| {
                let texts = rows.iter().map(|row| shown_width(&row[index].text));
                texts.chain([shown_width(columns[index].title)]).max().unwrap_or(0)
            })
            .collect();
        let mut layout = Layout(natural.iter().copied().map(Some).collect());
        let Some(available) = width else { return layout };
        while layout.total() > available && (layout.cut_one(columns) || layout.leave_out(columns)) {}
        // Where a column was left out there may be room again for what was cut before.
        while layout.total() < available && layout.widen_one(&natural) {}
        layout
    }

    fn total(&self) -> usize {
        let shown: Vec<usize> = self.0.iter().flatten().copied().collect();
        shown.iter().sum::<usize>() + GAP.len() * shown.len().saturating_sub(1)
    }

    /// Takes one cell from the widest column that may lose one.
    fn cut_one(&mut self, columns: &[Column]) -> bool {
        let spare = |index: &usize| match (columns[*index].room, self.0[*index]) {
            (Room::CutTo(least) | Room::CutToOrLeaveOut(least, _), Some(width)) => {
                width > least.max(columns[*index].title.len())
            }
            (Room::CutTo(_) | Room::CutToOrLeaveOut(..), None) | (Room::Whole | Room::LeaveOut(_), _) => false,
        };
        let widest = (0..columns.len()).filter(spare).max_by_key(|index| self.0[*index]);
        widest.map(|index| self.0[index] = self.0[index].map(|width| width - 1)).is_some()
    }

    /// Leaves out the least important columns; those of one rank belong together.
    fn leave_out(&mut self, columns: &[Column]) -> bool {
        let rank = |index: usize| match columns[index].room {
            Room::LeaveOut(rank) | Room::CutToOrLeaveOut(_, rank) if self.0[index].is_some() => Some(rank),
            Room::LeaveOut(_) | Room::CutToOrLeaveOut(..) | Room::Whole | Room::CutTo(_) => None,
        };
        let least = (0..columns.len()).filter_map(rank).max();
        let going: Vec<usize> = (0..columns.len()).filter(|index| least.is_some() && rank(*index) == least).collect();
        going.iter().for_each(|index| self.0[*index] = None);
        !going.is_empty()
    }

    /// Gives one cell to the column that lacks most.
    fn widen_one(&mut self, natural: &[usize]) -> bool {
        let lack = |index: usize| self.0[index].map(|width| natural[index] - width).filter(|lack| *lack > 0);
        let most = (0..self.0.len()).filter_map(|index| lack(index).map(|lack| (lack, index))).max();
        most.map(|(_, index)| self.0[index] = self.0[index].map(|width| width + 1)).is_some()
    }

    fn line(&self, columns: &[Column], row: &[Cell], console: &Console) -> String {
        let last = self.0.iter().rposition(Option::is_some);
        let mut line = String::new();
        for (index, cell) in row.iter().enumerate() {
            let Some(width) = self.0[index] else { continue };
            let text = cut(&printable(&cell.text).replace('\n', " "), width);
            let padding = " ".repeat(width.saturating_sub(text.width()));
            let text = cell.tone.map_or_else(|| text.clone(), |tone| console.paint(tone, &text));
            let is_last = Some(index) == last;
            match columns[index].align {
                Align::Right => line.extend([padding.as_str(), &text]),
                // Blanks at the end of a line are nobody's friend.
                Align::Left if is_last => line.push_str(&text),
                Align::Left => line.extend([text.as_str(), &padding]),
            }
            if !is_last {
                line.push_str(GAP);
            }
        }
        line.trim_end().to_owned()
    }
}

/// The text with `…` for what has no room.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut shown = String::new();
    let mut used = 1;
    for letter in text.chars() {
        used += letter.width().unwrap_or(0);
        if used > width {
            break;
        }
        shown.push(letter);
    }
    shown.push('…');
    shown
}

/// Words in lines that fit; a word that is longer than a line stays whole. Where nothing needs to fit it is one line.
pub(crate) fn wrap(text: &str, width: Option<usize>) -> Vec<String> {
    let Some(width) = width else { return vec![text.to_owned()] };
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}

fn shown_width(text: &str) -> usize {
    printable(text).replace('\n', " ").width()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 4] = [
        Column { title: "name", align: Align::Left, room: Room::CutTo(6) },
        Column { title: "size", align: Align::Right, room: Room::Whole },
        Column { title: "note", align: Align::Left, room: Room::LeaveOut(1) },
        Column { title: "more", align: Align::Left, room: Room::LeaveOut(2) },
    ];

    fn layout(width: Option<usize>) -> Vec<Option<usize>> {
        let row = ["a-long-name", "1,000,000", "a note", "more words"].map(Cell::plain);
        Layout::new(&COLUMNS, &[row.to_vec()], width).0
    }

    #[test]
    fn columns_are_cut_then_left_out_and_take_the_room_that_is_free() {
        for (width, expected) in [
            (None, [Some(11), Some(9), Some(6), Some(10)]),
            (Some(42), [Some(11), Some(9), Some(6), Some(10)]),
            (Some(40), [Some(9), Some(9), Some(6), Some(10)]),
            (Some(37), [Some(6), Some(9), Some(6), Some(10)]),
            (Some(36), [Some(11), Some(9), Some(6), None]),
            (Some(26), [Some(7), Some(9), Some(6), None]),
            (Some(20), [Some(9), Some(9), None, None]),
            (Some(1), [Some(6), Some(9), None, None]),
        ] {
            assert_eq!(layout(width), expected, "{width:?}");
        }
    }

    #[test]
    fn words_are_wrapped_where_lines_end() {
        for (text, width, expected) in [
            ("one two three", Some(7), vec!["one two", "three"]),
            ("one two three", Some(3), vec!["one", "two", "three"]),
            ("one two three", None, vec!["one two three"]),
            ("豆包 豆包", Some(8), vec!["豆包", "豆包"]),
            ("", Some(8), vec![]),
        ] {
            assert_eq!(wrap(text, width), expected);
        }
    }

    #[test]
    fn what_is_cut_says_so_and_fits() {
        for (text, width, expected) in [
            ("claude", 6, "claude"),
            ("claude-sonnet", 6, "claud…"),
            ("豆包大模型", 6, "豆包…"),
            ("豆包大模型", 10, "豆包大模型"),
            ("ab", 1, "…"),
        ] {
            let shown = cut(text, width);
            assert_eq!(shown, expected);
            assert!(shown.width() <= width, "{shown}");
        }
    }
}
