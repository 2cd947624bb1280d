//! What a terminal shows after frames were painted.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::num::NonZeroU16;

use pi_terminal::{Colours, Frame, Painter};
use ratatui_core::text::Line;

struct Screen {
    painter: Painter,
    terminal: vt100::Parser,
    printed: Vec<String>,
    live: Vec<String>,
    rows: u16,
}

fn size(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}

impl Screen {
    fn new(columns: u16, rows: u16) -> Self {
        Self {
            painter: Painter::new(Colours::True, columns.into(), rows.into()),
            terminal: vt100::Parser::new(size(rows), size(columns), 10_000),
            printed: Vec::new(),
            live: Vec::new(),
            rows,
        }
    }

    fn show(&mut self, finished: &[&str], live: &[&str], cursor: Option<(usize, usize)>) {
        let lines = |texts: &[&str]| texts.iter().map(|text| Line::raw((*text).to_owned())).collect();
        let bytes = self.painter.paint(Frame { finished: lines(finished), live: lines(live), cursor });
        self.terminal.process(bytes.as_bytes());
        self.printed.extend(finished.iter().map(|text| (*text).to_owned()));
        self.live = live.iter().map(|text| (*text).to_owned()).collect();
        if let Some((row, column)) = cursor {
            let (actual_row, actual_column) = self.terminal.screen().cursor_position();
            let last = self.last_row();
            assert_eq!(
                (usize::from(actual_row), usize::from(actual_column)),
                (last + 1 - live.len() + row, column),
                "the cursor is elsewhere"
            );
        }
    }

    fn last_row(&self) -> usize {
        let all = self.printed.len() + self.live.len();
        all.min(usize::from(self.rows)).saturating_sub(1)
    }

    /// Every line that was ever on the screen, the oldest first.
    fn all(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        self.terminal.screen_mut().set_scrollback(usize::MAX);
        let hidden = self.terminal.screen().scrollback();
        for offset in (1..=hidden).rev() {
            self.terminal.screen_mut().set_scrollback(offset);
            lines.extend(self.terminal.screen().rows(0, u16::MAX).next());
        }
        self.terminal.screen_mut().set_scrollback(0);
        lines.extend(self.terminal.screen().rows(0, u16::MAX));
        while lines.last().is_some_and(|line| line.trim().is_empty()) {
            lines.pop();
        }
        lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
    }

    #[track_caller]
    fn check(&mut self) {
        let expected: Vec<String> = self.printed.iter().chain(&self.live).cloned().collect();
        assert_eq!(self.all(), expected);
    }
}

#[test]
fn live_lines_are_replaced_and_finished_ones_stay() {
    let mut screen = Screen::new(20, 6);
    screen.show(&[], &["answer…", "footer"], Some((0, 3)));
    screen.check();
    screen.show(&[], &["answer… more", "tail", "footer"], Some((1, 0)));
    screen.check();
    screen.show(&["answer"], &["footer"], Some((0, 0)));
    screen.check();
    screen.show(&[], &["new", "two", "footer"], Some((2, 6)));
    screen.show(&["one", "two"], &["footer"], None);
    screen.check();
}

#[test]
fn scrollback_holds_everything_once() {
    let mut screen = Screen::new(10, 5);
    for number in 0..200 {
        let streaming = format!("line {number}…");
        screen.show(&[], &[&streaming, "edit", "foot"], Some((1, 4)));
        screen.show(&[], &[&streaming, "more", "edit", "foot"], Some((2, 4)));
        let done = format!("line {number}");
        screen.show(&[&done, "more"], &["edit", "foot"], Some((0, 2)));
    }
    screen.check();
}

#[test]
fn lines_as_wide_as_the_screen_keep_their_last_cell() {
    let mut screen = Screen::new(5, 5);
    screen.show(&["abcde", "fghij"], &["12345", "67890"], Some((1, 4)));
    screen.check();
    screen.show(&[], &["12345", "x"], Some((1, 1)));
    screen.show(&["日本x"], &["abcde"], Some((0, 0)));
    screen.check();
}

#[test]
fn only_changed_lines_are_written() {
    let mut painter = Painter::new(Colours::None, 20, 10);
    let frame = |text: &str| Frame {
        finished: Vec::new(),
        live: vec![Line::raw("one"), Line::raw(text.to_owned()), Line::raw("three")],
        cursor: Some((1, 2)),
    };
    painter.paint(frame("a"));
    assert_eq!(painter.written(), 3);
    assert_eq!(painter.paint(frame("a")), "", "nothing changed");
    let bytes = painter.paint(frame("b"));
    assert_eq!(painter.written(), 4);
    assert_eq!(bytes, "\u{1b}[?2026h\u{1b}[?25l\r\u{1b}[2Kb\r\u{1b}[2C\u{1b}[?25h\u{1b}[?2026l");
}

#[test]
fn more_than_fits_is_cut_at_the_top() {
    let mut screen = Screen::new(10, 3);
    let bytes = screen.painter.paint(Frame {
        finished: Vec::new(),
        live: ["a", "b", "c", "d"].map(|text| Line::raw(text.to_owned())).to_vec(),
        cursor: Some((3, 0)),
    });
    screen.terminal.process(bytes.as_bytes());
    assert_eq!(screen.all(), ["b", "c", "d"]);
}

#[test]
fn resize_finds_the_live_lines_where_the_terminal_moved_them() {
    let mut painter = Painter::new(Colours::None, 10, 10);
    painter.paint(Frame {
        finished: Vec::new(),
        live: ["1234567890", "short", "1234567890", "end"].map(|text| Line::raw(text.to_owned())).to_vec(),
        cursor: Some((3, 2)),
    });
    // At six columns both long lines take two rows: the cursor is five rows below the first.
    let clear = "\u{1b}[2K\u{1b}7\u{1b}[B\u{1b}[J\u{1b}8";
    assert_eq!(painter.resize(6, 10), format!("\u{1b}[?2026h\r\u{1b}[5A{clear}\u{1b}[?2026l"));
}
