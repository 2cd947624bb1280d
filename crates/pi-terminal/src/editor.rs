//! The text that a person is writing: many lines, a cursor, a history, and pastes that are too long to look at.
//!
//! The text and its cursor are kept by `ratatui-textarea`; breaking it into rows is ours, because rows are part of a frame.
//! A long paste stands in the text as a marker and is put back in its place when the text is taken.

mod rows;

use ratatui_core::text::{Line, Span};
use ratatui_textarea::{CursorMove, TextArea};

use self::rows::Rows;
use crate::{look::Look, text::printable};

/// A paste of more lines, or of more letters, becomes a marker.
const LONGEST_PASTE_LINES: usize = 10;
const LONGEST_PASTE: usize = 1000;
/// How many texts are remembered.
const MOST_REMEMBERED: usize = 200;

/// Something to do to the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edit {
    Insert(char),
    NewLine,
    DeleteBack,
    DeleteForward,
    DeleteWordBack,
    DeleteWordForward,
    DeleteToStart,
    DeleteToEnd,
    Left,
    Right,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
    Undo,
    Redo,
    Yank,
}

/// A text under work.
#[derive(Debug, Default)]
pub(crate) struct Editor {
    area: TextArea<'static>,
    /// What the markers in the text stand for.
    pastes: Vec<String>,
    history: Vec<String>,
    /// Which text of the history is shown, and what was written before one was.
    browsing: Option<(usize, String)>,
}

impl Editor {
    /// With what was said before, the oldest first.
    pub(crate) fn new(history: Vec<String>) -> Self {
        Self { history, ..Self::default() }
    }

    /// The text as it is seen.
    pub(crate) fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.area.lines().iter().all(String::is_empty)
    }

    /// Replaces the text; the cursor stands behind it.
    pub(crate) fn set(&mut self, text: &str) {
        self.area.select_all();
        self.area.cut();
        self.area.insert_str(text);
    }

    /// The text with all pastes in their places.
    pub(crate) fn whole(&self) -> String {
        let mut whole = self.text();
        for (index, paste) in self.pastes.iter().enumerate() {
            whole = whole.replace(&marker(index, paste), paste);
        }
        whole
    }

    /// Takes the text with all pastes in their places, and remembers it.
    pub(crate) fn take(&mut self) -> String {
        let whole = self.take_unremembered();
        if !whole.trim().is_empty() && self.history.last() != Some(&whole) {
            self.history.push(whole.clone());
            let surplus = self.history.len().saturating_sub(MOST_REMEMBERED);
            self.history.drain(..surplus);
        }
        whole
    }

    /// The same of a text that does not come back as one that was said before.
    pub(crate) fn take_unremembered(&mut self) -> String {
        let whole = self.whole();
        self.clear();
        whole
    }

    pub(crate) fn clear(&mut self) {
        self.area = TextArea::default();
        self.pastes.clear();
        self.browsing = None;
    }

    pub(crate) fn paste(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        if text.lines().count() > LONGEST_PASTE_LINES || text.chars().count() > LONGEST_PASTE {
            let shown = marker(self.pastes.len(), &text);
            self.pastes.push(text);
            self.area.insert_str(shown);
        } else {
            self.area.insert_str(text);
        }
    }

    pub(crate) fn edit(&mut self, edit: Edit) {
        self.browsing = None;
        match edit {
            Edit::Insert(letter) => self.area.insert_char(letter),
            Edit::NewLine => self.area.insert_newline(),
            Edit::DeleteBack if self.delete_marker() => {}
            Edit::DeleteBack => drop(self.area.delete_char()),
            Edit::DeleteForward => drop(self.area.delete_next_char()),
            Edit::DeleteWordBack => drop(self.area.delete_word()),
            Edit::DeleteWordForward => drop(self.area.delete_next_word()),
            Edit::DeleteToStart => drop(self.area.delete_line_by_head()),
            Edit::DeleteToEnd => drop(self.area.delete_line_by_end()),
            Edit::Left => self.area.move_cursor(CursorMove::Back),
            Edit::Right => self.area.move_cursor(CursorMove::Forward),
            Edit::WordLeft => self.area.move_cursor(CursorMove::WordBack),
            Edit::WordRight => self.area.move_cursor(CursorMove::WordForward),
            Edit::LineStart => self.area.move_cursor(CursorMove::Head),
            Edit::LineEnd => self.area.move_cursor(CursorMove::End),
            Edit::Undo => drop(self.area.undo()),
            Edit::Redo => drop(self.area.redo()),
            Edit::Yank => drop(self.area.paste()),
        }
    }

    /// A row up; above the first one, to what was said before.
    pub(crate) fn up(&mut self, room: usize) {
        if !self.step(room, Rows::above) {
            self.browse_back();
        }
    }

    /// A row down; below the last one, to what was said after.
    pub(crate) fn down(&mut self, room: usize) {
        if !self.step(room, Rows::below) {
            self.browse_forward();
        }
    }

    /// The part of the line before the cursor, for completion.
    pub(crate) fn before_cursor(&self) -> String {
        let cursor = self.area.cursor();
        self.area.lines().get(cursor.0).map(|line| line.chars().take(cursor.1).collect()).unwrap_or_default()
    }

    /// Whether the cursor is in the first line, where commands stand.
    pub(crate) fn is_in_first_line(&self) -> bool {
        self.area.cursor().0 == 0
    }

    /// Puts `text` in the place of the `count` letters before the cursor.
    pub(crate) fn replace_before(&mut self, count: usize, text: &str) {
        for _ in 0..count {
            self.area.delete_char();
        }
        self.area.insert_str(text);
    }

    /// The rows of the text, at most `height`, and where the cursor is in them.
    pub(crate) fn rows(&self, look: &Look<'_>, height: usize) -> (Vec<Line<'static>>, (usize, usize)) {
        let rows = self.laid_out(look.width.saturating_sub(2));
        let (row, column) = rows.cursor;
        let first = (row + 1).saturating_sub(height.max(1));
        let shown = rows.texts.iter().enumerate().skip(first).take(height.max(1));
        let lines = shown.map(|(index, text)| {
            let mark = if index == 0 { "❯ " } else { "  " };
            Line::from(vec![Span::styled(mark, look.theme.accent), Span::raw(printable(text).into_owned())])
        });
        (lines.collect(), (row - first, column + 2))
    }

    fn laid_out(&self, room: usize) -> Rows {
        let cursor = self.area.cursor();
        Rows::new(self.area.lines(), (cursor.0, cursor.1), room)
    }

    /// Moves by a row; says whether there was one.
    fn step(&mut self, room: usize, target: fn(&Rows) -> Option<(usize, usize)>) -> bool {
        let Some((line, letter)) = target(&self.laid_out(room.saturating_sub(2))) else { return false };
        let small = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
        self.area.move_cursor(CursorMove::Jump(small(line), small(letter)));
        true
    }

    fn browse_back(&mut self) {
        let (index, written) = match self.browsing.take() {
            Some((0, written)) => (0, written),
            Some((index, written)) => (index - 1, written),
            None if self.history.is_empty() => return,
            None => (self.history.len() - 1, self.text()),
        };
        let text = self.history[index].clone();
        self.set(&text);
        self.browsing = Some((index, written));
    }

    fn browse_forward(&mut self) {
        let Some((index, written)) = self.browsing.take() else { return };
        match self.history.get(index + 1).cloned() {
            Some(text) => {
                self.set(&text);
                self.browsing = Some((index + 1, written));
            }
            None => self.set(&written),
        }
    }

    /// A marker goes as a whole.
    fn delete_marker(&mut self) -> bool {
        let before = self.before_cursor();
        let markers = self.pastes.iter().enumerate().map(|(index, paste)| marker(index, paste));
        let Some(marker) = markers.into_iter().find(|marker| before.ends_with(marker)) else { return false };
        self.replace_before(marker.chars().count(), "");
        true
    }
}

/// How a long paste is shown.
fn marker(index: usize, paste: &str) -> String {
    let lines = paste.lines().count();
    if lines > 1 {
        format!("[paste #{} +{lines} lines]", index + 1)
    } else {
        format!("[paste #{} {} chars]", index + 1, paste.chars().count())
    }
}
