//! Styles as escape sequences.

use std::fmt::Write as _;

use ratatui_core::{
    style::{Color, Modifier, Style},
    text::Line,
};

use crate::theme::Colours;

/// Writes a line; the style is the terminal's own before and after.
pub(super) fn write(out: &mut String, line: &Line<'_>, colours: Colours) {
    for span in &line.spans {
        let codes = codes(line.style.patch(span.style), colours);
        if codes.is_empty() {
            out.push_str(&span.content);
        } else {
            let _ = write!(out, "\x1b[{codes}m{}\x1b[0m", span.content);
        }
    }
}

/// A line with its style as escape sequences, for whoever prints it elsewhere.
pub fn to_ansi(line: &Line<'_>, colours: Colours) -> String {
    let mut out = String::new();
    write(&mut out, line, colours);
    out
}

fn codes(style: Style, colours: Colours) -> String {
    let mut codes = Vec::new();
    for (modifier, code) in [
        (Modifier::BOLD, "1"),
        (Modifier::DIM, "2"),
        (Modifier::ITALIC, "3"),
        (Modifier::UNDERLINED, "4"),
        (Modifier::REVERSED, "7"),
        (Modifier::CROSSED_OUT, "9"),
    ] {
        if style.add_modifier.contains(modifier) {
            codes.push(code.to_owned());
        }
    }
    codes.extend(style.fg.and_then(|colour| colours.nearest(colour)).map(|colour| code(colour, 30)));
    codes.extend(style.bg.and_then(|colour| colours.nearest(colour)).map(|colour| code(colour, 40)));
    codes.join(";")
}

/// The code of a colour; `base` is 30 for letters and 40 for the ground.
fn code(colour: Color, base: u8) -> String {
    let bright = base + 60;
    let number = match colour {
        Color::Rgb(red, green, blue) => return format!("{};2;{red};{green};{blue}", base + 8),
        Color::Indexed(index) => return format!("{};5;{index}", base + 8),
        Color::Reset => base + 9,
        Color::Black => base,
        Color::Red => base + 1,
        Color::Green => base + 2,
        Color::Yellow => base + 3,
        Color::Blue => base + 4,
        Color::Magenta => base + 5,
        Color::Cyan => base + 6,
        Color::Gray => base + 7,
        Color::DarkGray => bright,
        Color::LightRed => bright + 1,
        Color::LightGreen => bright + 2,
        Color::LightYellow => bright + 3,
        Color::LightBlue => bright + 4,
        Color::LightMagenta => bright + 5,
        Color::LightCyan => bright + 6,
        Color::White => bright + 7,
    };
    number.to_string()
}

#[cfg(test)]
mod tests {
    use ratatui_core::text::Span;

    use super::*;

    #[test]
    fn styles_are_written_in_the_colours_that_there_are() {
        let style = Style::new().fg(Color::Rgb(224, 108, 117)).add_modifier(Modifier::BOLD);
        let line = Line::from(vec![Span::raw("a"), Span::styled("b", style)]);
        for (colours, expected) in [
            (Colours::True, "a\x1b[1;38;2;224;108;117mb\x1b[0m"),
            (Colours::Palette, "a\x1b[1;38;5;168mb\x1b[0m"),
            (Colours::Sixteen, "a\x1b[1;31mb\x1b[0m"),
            (Colours::None, "a\x1b[1mb\x1b[0m"),
        ] {
            assert_eq!(to_ansi(&line, colours), expected);
        }
    }
}
