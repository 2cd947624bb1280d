//! Lines as extensions draw them, with the codes of a terminal, as text with styles.
//!
//! Colours and styles are understood; every other code is left out, so that nothing that leaves here makes a terminal do
//! anything. What is too much for a screen is cut.

use std::{iter::Peekable, str::Chars};

use pi_transcript::drawn::{Colour, Span, Style};

use crate::port::Frame;

/// More rows than a screen has.
pub const MOST_LINES: usize = 300;
/// Bytes of text in all lines together.
pub const MOST_BYTES: usize = 64 << 10;
/// Changes of style in all lines together: each costs more than its text.
pub const MOST_SPANS: usize = 4096;

/// Bytes of all lines with their codes: more than that is not read.
const MOST_READ: usize = 1 << 20;

/// Stands for what was cut.
const CUT: &str = "…";

/// The lines of a frame, as much of them as is shown.
pub fn styled(frame: &Frame) -> Vec<Vec<Span>> {
    let (mut bytes, mut spans, mut read) = (MOST_BYTES, MOST_SPANS, 0);
    let mut lines = Vec::new();
    let mut all = frame.lines.iter();
    while let Some(text) = all.next() {
        read += text.len();
        let is_too_much = read > MOST_READ || (lines.len() + 1 == MOST_LINES && !all.as_slice().is_empty());
        let line = if is_too_much { None } else { read_line(text, bytes, spans) };
        let Some((line, used)) = line else {
            lines.push(vec![Span { text: CUT.to_owned(), style: None }]);
            break;
        };
        bytes -= used;
        spans -= line.len();
        lines.push(line);
    }
    lines
}

/// The spans of one line, and the bytes of their text; nothing if that is more than may be.
fn read_line(text: &str, most_bytes: usize, most_spans: usize) -> Option<(Vec<Span>, usize)> {
    let (mut line, mut style, mut used) = (Line::default(), Style::default(), 0);
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            '\u{1b}' => follow(&mut rest, &mut style),
            '\u{9b}' => control(&mut rest, &mut style),
            '\t' => line.push(' ', &style),
            letter if is_obeyed(letter) => continue,
            letter => line.push(letter, &style),
        }
        used = line.bytes;
        if used > most_bytes || line.spans.len() > most_spans {
            return None;
        }
    }
    Some((line.spans, used))
}

#[derive(Default)]
struct Line {
    spans: Vec<Span>,
    bytes: usize,
}

impl Line {
    fn push(&mut self, letter: char, style: &Style) {
        self.bytes += letter.len_utf8();
        let style = (*style != Style::default()).then_some(style);
        match self.spans.last_mut() {
            Some(last) if last.style.as_ref() == style => last.text.push(letter),
            _ => self.spans.push(Span { text: letter.into(), style: style.cloned() }),
        }
    }
}

/// Whether a terminal would do something else than show it, or show it elsewhere.
fn is_obeyed(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// What stands behind an escape character.
fn follow(rest: &mut Peekable<Chars<'_>>, style: &mut Style) {
    match rest.next() {
        Some('[') => control(rest, style),
        // Titles, links, pictures: up to the bell, or an escape character with a backslash.
        Some(']' | '_' | 'P' | '^' | 'X') => {
            while let Some(letter) = rest.next() {
                if letter == '\u{7}' || letter == '\u{9c}' {
                    break;
                }
                if letter == '\u{1b}' {
                    rest.next_if_eq(&'\\');
                    break;
                }
            }
        }
        // Character sets take one more letter.
        Some('(' | ')' | '*' | '+' | '#' | '%' | ' ') => drop(rest.next()),
        Some(_) | None => {}
    }
}

/// A control sequence: parameters up to a final letter. Only those that end with `m` mean a style.
fn control(rest: &mut Peekable<Chars<'_>>, style: &mut Style) {
    let mut parameters = String::new();
    while let Some(letter) = rest.next_if(|letter| ('\u{20}'..='\u{7e}').contains(letter)) {
        if ('\u{40}'..='\u{7e}').contains(&letter) {
            if letter == 'm' {
                apply(&parameters, style);
            }
            return;
        }
        parameters.push(letter);
    }
}

fn apply(parameters: &str, style: &mut Style) {
    // A colon separates the parts of a colour in newer terminals.
    let mut numbers = parameters.split([';', ':']).map(|number| match number {
        "" => Some(0),
        number => number.parse::<u16>().ok(),
    });
    while let Some(Some(number)) = numbers.next() {
        match number {
            0 => *style = Style::default(),
            1 => style.bold = true,
            2 => style.dim = true,
            3 => style.italic = true,
            4 => style.underline = true,
            7 => style.inverse = true,
            9 => style.strikethrough = true,
            22 => (style.bold, style.dim) = (false, false),
            23 => style.italic = false,
            24 => style.underline = false,
            27 => style.inverse = false,
            29 => style.strikethrough = false,
            30..=37 => style.foreground = named(number - 30),
            38 => style.foreground = extended(&mut numbers),
            39 => style.foreground = None,
            40..=47 => style.background = named(number - 40),
            48 => style.background = extended(&mut numbers),
            49 => style.background = None,
            90..=97 => style.foreground = named(number - 90 + 8),
            100..=107 => style.background = named(number - 100 + 8),
            _ => {}
        }
    }
}

fn named(number: u16) -> Option<Colour> {
    Colour::NAMES.get(usize::from(number)).map(|name| Colour((*name).to_owned()))
}

/// A colour of a palette of 256, or of its three parts.
fn extended(numbers: &mut impl Iterator<Item = Option<u16>>) -> Option<Colour> {
    let mut next = || numbers.next().flatten().filter(|number| *number < 256);
    match next()? {
        5 => palette(next()?),
        2 => Some(mixed(next()?, next()?, next()?)),
        _ => None,
    }
}

fn palette(number: u16) -> Option<Colour> {
    match number {
        0..=15 => named(number),
        16..=231 => {
            let part = |step: u16| if step == 0 { 0 } else { 55 + 40 * step };
            let number = number - 16;
            Some(mixed(part(number / 36), part(number / 6 % 6), part(number % 6)))
        }
        _ => {
            let grey = 8 + 10 * (number - 232);
            Some(mixed(grey, grey, grey))
        }
    }
}

fn mixed(red: u16, green: u16, blue: u16) -> Colour {
    Colour(format!("#{red:02x}{green:02x}{blue:02x}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn frame(lines: impl IntoIterator<Item = impl Into<String>>) -> Frame {
        Frame { lines: lines.into_iter().map(Into::into).collect() }
    }

    #[track_caller]
    fn check(line: &str, expected: &serde_json::Value) {
        assert_eq!(json!(styled(&frame([line]))[0]), *expected, "{line:?}");
    }

    #[test]
    fn codes_of_a_terminal_are_styles() {
        check("plain", &json!([{ "text": "plain" }]));
        check("", &json!([]));
        check(
            "\u{1b}[1;31mred\u{1b}[0m and \u{1b}[4mline",
            &json!([
                { "text": "red", "style": { "bold": true, "foreground": "red" } },
                { "text": " and " },
                { "text": "line", "style": { "underline": true } },
            ]),
        );
        check("\u{1b}[38;2;1;2;255mx", &json!([{ "text": "x", "style": { "foreground": "#0102ff" } }]));
        check("\u{1b}[48;5;196mx", &json!([{ "text": "x", "style": { "background": "#ff0000" } }]));
        check("\u{1b}[38;5;244mx", &json!([{ "text": "x", "style": { "foreground": "#808080" } }]));
        check("\u{1b}[38:5:9mx", &json!([{ "text": "x", "style": { "foreground": "brightRed" } }]));
        check(
            "\u{1b}[104mx\u{1b}[49my",
            &json!([{ "text": "x", "style": { "background": "brightBlue" } }, { "text": "y" }]),
        );
        check(
            "\u{1b}[7;3;9mx\u{1b}[27;23;29my",
            &json!([
            { "text": "x", "style": { "inverse": true, "italic": true, "strikethrough": true } }, { "text": "y" }]),
        );
    }

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        check("a\u{1b}[2J\u{1b}[Hb", &json!([{ "text": "ab" }]));
        check("a\u{1b}]0;title\u{7}b\u{1b}]8;;http://x\u{1b}\\c", &json!([{ "text": "abc" }]));
        check(
            "a\u{1b}_Gpicture\u{1b}\\b\u{9b}31mc\u{8}\r\n",
            &json!([
            { "text": "ab" }, { "text": "c", "style": { "foreground": "red" } }]),
        );
        check("a\tb\u{202e}c", &json!([{ "text": "a bc" }]));
        check("a\u{1b}[", &json!([{ "text": "a" }]));
        check("a\u{1b}", &json!([{ "text": "a" }]));
        check("a\u{1b}[38;5;999mb\u{1b}[99999999mc", &json!([{ "text": "abc" }]));
    }

    #[test]
    fn what_is_too_much_is_cut() {
        let tall = styled(&frame(vec!["x"; 1000]));
        assert_eq!((tall.len(), json!(tall[MOST_LINES - 1])), (MOST_LINES, json!([{ "text": CUT }])));
        assert_eq!(styled(&frame(vec!["x"; MOST_LINES])).len(), MOST_LINES);
        let wide = styled(&frame(["x".repeat(MOST_BYTES), "y".to_owned()]));
        assert_eq!((wide[0][0].text.len(), wide[1][0].text.as_str()), (MOST_BYTES, CUT));
        let motley = styled(&frame(["\u{1b}[1mx\u{1b}[0my".repeat(MOST_SPANS)]));
        assert_eq!(json!(motley), json!([[{ "text": CUT }]]));
    }
}
