//! Text for the cells of a terminal: how wide it is, where it breaks, and what must never reach the screen.
//!
//! Everything that is shown passes [`printable`] first. What a model, a tool or a file says may hold escape sequences; one
//! that reached the terminal could repaint it, rename its window or type for the user.

use std::borrow::Cow;

use ratatui_core::{
    style::Style,
    text::{Line, Span},
};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Cells that a tab may fill.
const TAB: usize = 4;

/// The cells that a text takes.
pub fn width(text: &str) -> usize {
    text.graphemes(true).map(cells).sum()
}

/// The cells that a line takes.
pub fn line_width(line: &Line<'_>) -> usize {
    line.spans.iter().map(|span| width(&span.content)).sum()
}

/// One line of text without anything that a terminal would obey: escape sequences are removed whole, other control
/// characters are shown as their pictures, tabs become spaces.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            '\t' => shown.extend(std::iter::repeat_n(' ', TAB - width(&shown) % TAB)),
            '\u{1b}' => skip_sequence(&mut rest),
            '\u{9b}' => skip_until(&mut rest, is_final),
            // What was overwritten by what follows is not seen in a terminal either.
            '\r' => shown.clear(),
            '\u{8}' => drop(shown.pop()),
            '\0'..='\u{1f}' => shown.extend(char::from_u32(0x2400 + letter as u32)),
            '\u{7f}' => shown.push('\u{2421}'),
            letter if is_unsafe(letter) => shown.push('\u{fffd}'),
            letter => shown.push(letter),
        }
    }
    Cow::Owned(shown)
}

/// The lines of a text, each [`printable`].
pub fn printable_lines(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    text.lines().map(|line| printable(line.strip_suffix('\r').unwrap_or(line)))
}

/// The beginning of a text that fits into `room` cells, with an ellipsis if that is not all of it.
pub fn shorten(text: &str, room: usize) -> Cow<'_, str> {
    if width(text) <= room {
        return Cow::Borrowed(text);
    }
    let mut used = 0;
    let mut end = 0;
    for (start, grapheme) in text.grapheme_indices(true) {
        used += cells(grapheme);
        if used > room.saturating_sub(1) {
            break;
        }
        end = start + grapheme.len();
    }
    Cow::Owned(if room == 0 { String::new() } else { format!("{}…", &text[..end]) })
}

/// Breaks a line where it leaves `room` cells: behind a space, or between letters that are written without spaces, if there is
/// such a place; inside a word otherwise. What is written without a space stays together, whatever its styles. Lines after
/// the first begin with `hanging`, whose width counts.
pub fn wrap(line: Line<'static>, room: usize, hanging: &Line<'static>) -> Vec<Line<'static>> {
    if line_width(&line) <= room {
        return vec![line];
    }
    let style = line.style;
    let indent = line_width(hanging).min(room.saturating_sub(1));
    let mut wrapped = Wrapped { rows: Vec::new(), row: Vec::new(), used: 0, room: room.max(1), indent, hanging };
    let mut word: Vec<(&str, Style)> = Vec::new();
    for span in &line.spans {
        for piece in span.content.split_word_bounds() {
            if word.last().is_some_and(|(before, _)| may_break(before, piece)) {
                wrapped.word(&std::mem::take(&mut word));
            }
            word.push((piece, span.style));
        }
    }
    wrapped.word(&word);
    wrapped.rows.push(wrapped.row);
    wrapped.rows.into_iter().map(|spans| Line { spans: joined(spans), style, alignment: None }).collect()
}

/// Breaks a line without indentation.
pub fn wrap_plain(line: Line<'static>, room: usize) -> Vec<Line<'static>> {
    wrap(line, room, &Line::default())
}

/// The beginning of a line that fits into `room` cells.
pub fn shorten_line(line: Line<'static>, room: usize) -> Line<'static> {
    if line_width(&line) <= room {
        return line;
    }
    let mut left = room;
    let mut spans = Vec::new();
    for span in line.spans {
        let wide = width(&span.content);
        if wide < left {
            left -= wide;
            spans.push(span);
        } else {
            // One cell more is asked for than there is, so that the ellipsis is always drawn.
            let text = shorten(&span.content, left);
            let text =
                if text.ends_with('…') { text.into_owned() } else { shorten(&format!("{text} "), left).into_owned() };
            spans.push(Span::styled(text, span.style));
            break;
        }
    }
    Line { spans, style: line.style, alignment: None }
}

struct Wrapped<'a> {
    rows: Vec<Vec<Span<'static>>>,
    row: Vec<Span<'static>>,
    used: usize,
    room: usize,
    indent: usize,
    hanging: &'a Line<'static>,
}

impl Wrapped<'_> {
    /// Puts a word, of pieces with their styles.
    fn word(&mut self, word: &[(&str, Style)]) {
        let wide = word.iter().map(|(piece, _)| width(piece)).sum::<usize>();
        if self.used + wide <= self.room {
            return self.put(word);
        }
        if word.iter().all(|(piece, _)| is_space(piece)) {
            // A space at the break is not carried over.
            return self.next();
        }
        if wide <= self.room - self.indent && self.has_text() {
            self.next();
            return self.put(word);
        }
        for (piece, style) in word {
            for grapheme in piece.graphemes(true) {
                let wide = cells(grapheme);
                if self.used + wide > self.room && self.has_text() {
                    self.next();
                }
                self.push(grapheme, *style, wide);
            }
        }
    }

    fn put(&mut self, word: &[(&str, Style)]) {
        for (piece, style) in word {
            self.push(piece, *style, width(piece));
        }
    }

    fn push(&mut self, text: &str, style: Style, wide: usize) {
        let starts_row = !self.rows.is_empty() && self.used <= self.indent;
        if starts_row && text.chars().all(|letter| letter == ' ') {
            return;
        }
        self.row.push(Span::styled(text.to_owned(), style));
        self.used += wide;
    }

    fn has_text(&self) -> bool {
        self.used > if self.rows.is_empty() { 0 } else { self.indent }
    }

    fn next(&mut self) {
        let mut row = std::mem::take(&mut self.row);
        while row.last().is_some_and(|span| row.len() > 1 && span.content.chars().all(|letter| letter == ' ')) {
            row.pop();
        }
        self.rows.push(row);
        self.row = if self.indent > 0 { self.hanging.spans.clone() } else { Vec::new() };
        self.used = self.indent;
    }
}

fn is_space(piece: &str) -> bool {
    piece.chars().all(|letter| letter == ' ')
}

/// Whether a line may be broken between two pieces. Letters that are two cells wide are written without spaces.
fn may_break(before: &str, behind: &str) -> bool {
    let is_wide =
        |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() && letter.width() == Some(2));
    is_space(before) || is_space(behind) || (is_wide(before.chars().next_back()) && is_wide(behind.chars().next()))
}

/// Neighbours of the same style become one span.
fn joined(spans: Vec<Span<'static>>) -> Vec<Span<'static>> {
    let mut joined: Vec<Span<'static>> = Vec::new();
    for span in spans {
        match joined.last_mut() {
            Some(last) if last.style == span.style => last.content.to_mut().push_str(&span.content),
            _ => joined.push(span),
        }
    }
    joined
}

/// The cells of one grapheme, which no terminal draws wider than two.
pub(crate) fn cells(grapheme: &str) -> usize {
    grapheme.width().min(2)
}

fn is_unsafe(letter: char) -> bool {
    // C0 and C1 controls, and the marks that turn the direction of what follows around.
    letter.is_control() || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Skips what follows an escape character.
fn skip_sequence(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match rest.next_if(|next| !is_unsafe(*next)) {
        Some('[') => skip_until(rest, is_final),
        // Strings to the terminal end with a bell, or with an escape and a backslash.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(letter) = rest.next() {
                if letter == '\u{7}' || (letter == '\u{1b}' && rest.next_if_eq(&'\\').is_some()) {
                    return;
                }
            }
        }
        Some('(' | ')' | '#') => drop(rest.next()),
        Some(_) | None => {}
    }
}

fn skip_until(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, is_end: fn(char) -> bool) {
    for letter in rest.by_ref() {
        if is_end(letter) {
            return;
        }
    }
}

fn is_final(letter: char) -> bool {
    matches!(letter, '@'..='~')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(lines: &[Line<'static>]) -> Vec<String> {
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn nothing_that_a_terminal_obeys_is_shown() {
        for (text, shown) in [
            ("plain", "plain"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}after", "after"),
            ("\u{1b}]8;;http://x\u{1b}\\link", "link"),
            ("\u{9b}2Jgone", "gone"),
            ("a\tb", "a   b"),
            ("10%\r20%", "20%"),
            ("bell\u{7}", "bell\u{2407}"),
            ("right\u{202e}left", "right\u{fffd}left"),
            ("\u{1b}", ""),
            ("\u{1b}(Bx", "x"),
        ] {
            assert_eq!(printable(text), shown, "{text:?}");
        }
    }

    #[test]
    fn width_is_that_of_cells() {
        for (text, wide) in [("abc", 3), ("日本", 4), ("👩‍👩‍👧", 2), ("e\u{301}", 1), ("❤️", 2), ("🇩🇪", 2)]
        {
            assert_eq!(width(text), wide, "{text}");
        }
    }

    #[test]
    fn lines_break_at_spaces_and_inside_long_words_only() {
        for (text, room, hanging, expected) in [
            ("one two three", 8, "", vec!["one two", "three"]),
            ("one two three", 7, "  ", vec!["one two", "  three"]),
            ("abcdefghij", 4, "", vec!["abcd", "efgh", "ij"]),
            ("日本語テキスト", 6, "", vec!["日本語", "テキス", "ト"]),
            ("日本語", 5, "", vec!["日本", "語"]),
            ("use --base-url here", 12, "", vec!["use", "--base-url", "here"]),
            ("(see a/b.rs).", 8, "", vec!["(see", "a/b.rs)."]),
            ("a verylongword", 6, " ", vec!["a very", " longw", " ord"]),
            ("", 5, "", vec![""]),
        ] {
            let wrapped = wrap(Line::from(text.to_owned()), room, &Line::from(hanging.to_owned()));
            assert!(wrapped.iter().all(|line| line_width(line) <= room), "{wrapped:?}");
            assert_eq!(plain(&wrapped), expected, "{text}");
        }
    }

    #[test]
    fn word_of_several_styles_stays_together() {
        let spans = vec![Span::raw("see the "), Span::styled("file", Style::new().bold()), Span::raw("s.")];
        let wrapped = wrap(Line::from(spans), 12, &Line::default());
        assert_eq!(plain(&wrapped), ["see the", "files."]);
    }

    #[test]
    fn shortened_text_fits() {
        for (text, room, expected) in
            [("short", 5, "short"), ("longer", 5, "long…"), ("日本語", 5, "日本…"), ("日本語", 4, "日…"), ("x", 0, "")]
        {
            assert_eq!(shorten(text, room), expected);
            assert!(width(&shorten(text, room)) <= room);
        }
        let line = Line::from(vec![Span::raw("ab"), Span::raw("cdef")]);
        assert_eq!(shorten_line(line.clone(), 6).to_string(), "abcdef");
        assert_eq!(shorten_line(line.clone(), 5).to_string(), "abcd…");
        assert_eq!(shorten_line(line, 2).to_string(), "a…");
    }
}
