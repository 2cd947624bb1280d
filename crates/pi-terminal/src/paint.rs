//! From frames to bytes for the terminal, in as few as possible.
//!
//! The screen is never taken over. What is finished is printed once and belongs to the terminal's own scrollback from then
//! on; only the *live* lines below it are drawn again, and of those only the ones that changed. Every frame is one
//! synchronized update, so that nobody sees half of it.

mod style;

use std::fmt::Write as _;

use ratatui_core::text::Line;

pub use self::style::to_ansi;
use crate::{
    text::{line_width, shorten_line},
    theme::Colours,
};

/// What a terminal is to show.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Frame {
    /// Printed above the live lines, once, and never touched again.
    pub finished: Vec<Line<'static>>,
    /// All that changes; drawn below. Never more than fit on the screen.
    pub live: Vec<Line<'static>>,
    /// Row in `live`, and column. Without one the cursor is hidden.
    pub cursor: Option<(usize, usize)>,
}

/// Knows what the terminal shows now.
#[derive(Debug)]
pub struct Painter {
    colours: Colours,
    width: usize,
    height: usize,
    shown: Vec<Line<'static>>,
    /// The row of `shown` in which the terminal's cursor is.
    row: usize,
    column: usize,
    /// How many lines were written, for those who count.
    written: usize,
}

const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";
const HIDE_CURSOR: &str = "\x1b[?25l";
const SHOW_CURSOR: &str = "\x1b[?25h";
/// The whole line, before it is written: what is cleared behind a text counts as written in tmux, which then breaks it
/// into rows of blanks when the window becomes narrower.
const CLEAR_LINE: &str = "\x1b[2K";
const CLEAR_BELOW: &str = "\x1b[J";
/// The line of the cursor and all below it, wherever that is. What is cleared from the first cell of the screen on counts as
/// read in tmux, which then keeps it in the scrollback: so the first line is cleared by itself.
const CLEAR_FROM_HERE: &str = "\x1b[2K\x1b7\x1b[B\x1b[J\x1b8";

impl Painter {
    /// For a terminal whose cursor stands at the beginning of an empty line.
    pub fn new(colours: Colours, width: usize, height: usize) -> Self {
        Self { colours, width: width.max(1), height: height.max(1), shown: Vec::new(), row: 0, column: 0, written: 0 }
    }

    /// Columns and rows.
    pub fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    /// How many lines were written so far.
    pub fn written(&self) -> usize {
        self.written
    }

    /// What must be written to show a frame; empty if it is shown already.
    pub fn paint(&mut self, mut frame: Frame) -> String {
        // What does not fit would scroll away, and could not be drawn again.
        let surplus = frame.live.len().saturating_sub(self.height);
        frame.live.drain(..surplus);
        let cursor = frame.cursor.map(|(row, column)| (row.saturating_sub(surplus), column.min(self.width - 1)));
        let live: Vec<_> = frame.live.into_iter().map(|line| shorten_line(line, self.width)).collect();
        let mut out = String::new();
        if !frame.finished.is_empty() || live.len() < self.shown.len() {
            self.rewrite(&mut out, &frame.finished, &live);
        } else {
            self.change(&mut out, &live);
        }
        let is_moved = cursor.is_some_and(|place| place != (self.row, self.column));
        self.shown = live;
        if out.is_empty() && !is_moved {
            return out;
        }
        match cursor {
            Some((row, column)) => {
                self.go(&mut out, row);
                let _ = write!(out, "\r{}{SHOW_CURSOR}", forward(column));
                self.column = column;
            }
            None => out.push_str(HIDE_CURSOR),
        }
        format!("{BEGIN}{HIDE_CURSOR}{out}{END}")
    }

    /// The window has another size: removes the live lines wherever they are now. The next frame draws them again.
    ///
    /// Terminals break lines anew that have become too long. So a line above the cursor may take several rows now.
    pub fn resize(&mut self, width: usize, height: usize) -> String {
        (self.width, self.height) = (width.max(1), height.max(1));
        let rows = |line: &Line<'_>| line_width(line).div_ceil(self.width).max(1);
        let above: usize = self.shown.iter().take(self.row).map(rows).sum::<usize>() + self.column / self.width;
        let up = above.min(self.height - 1);
        self.forget();
        format!("{BEGIN}\r{}{CLEAR_FROM_HERE}{END}", upward(up))
    }

    /// Removes the live lines, so that something else can be written where they were.
    pub fn clear(&mut self) -> String {
        let up = upward(self.row);
        self.forget();
        format!("\r{up}{CLEAR_FROM_HERE}{SHOW_CURSOR}")
    }

    fn forget(&mut self) {
        self.shown.clear();
        (self.row, self.column) = (0, 0);
    }

    /// Draws everything from the first live line on.
    fn rewrite(&mut self, out: &mut String, finished: &[Line<'static>], live: &[Line<'static>]) {
        self.go(out, 0);
        out.push('\r');
        for line in finished {
            self.line(out, line);
            out.push_str("\r\n");
        }
        for (row, line) in live.iter().enumerate() {
            if row > 0 {
                out.push_str("\r\n");
            }
            self.line(out, line);
        }
        if finished.len() + live.len() < self.shown.len().max(1) {
            // The cursor may wait behind the last cell of a full line, where clearing would take that cell.
            let (down, up) = if live.is_empty() { ("", String::new()) } else { ("\r\n", upward(1)) };
            let _ = write!(out, "{down}{CLEAR_BELOW}{up}");
        }
        self.row = live.len().saturating_sub(1);
        self.column = live.last().map_or(0, line_width);
    }

    /// Draws the lines that differ.
    fn change(&mut self, out: &mut String, live: &[Line<'static>]) {
        for (row, line) in live.iter().enumerate() {
            if self.shown.get(row) == Some(line) {
                continue;
            }
            if row < self.shown.len().max(1) {
                self.go(out, row);
                out.push('\r');
            } else {
                // A new row at the end: the terminal scrolls if there is none.
                self.go(out, row - 1);
                out.push_str("\r\n");
                self.row = row;
            }
            self.line(out, line);
            self.column = line_width(line);
        }
    }

    fn line(&mut self, out: &mut String, line: &Line<'static>) {
        self.written += 1;
        out.push_str(CLEAR_LINE);
        style::write(out, line, self.colours);
    }

    /// Moves the cursor to a row that is there.
    fn go(&mut self, out: &mut String, row: usize) {
        match row.checked_sub(self.row) {
            None => out.push_str(&upward(self.row - row)),
            Some(0) => {}
            Some(down) => {
                let _ = write!(out, "\x1b[{down}B");
            }
        }
        self.row = row;
    }
}

fn upward(rows: usize) -> String {
    if rows == 0 { String::new() } else { format!("\x1b[{rows}A") }
}

fn forward(columns: usize) -> String {
    if columns == 0 { String::new() } else { format!("\x1b[{columns}C") }
}
