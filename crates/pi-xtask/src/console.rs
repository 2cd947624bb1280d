//! What the tasks say: the only place that prints, and the only one that knows colours.

use std::io::IsTerminal;
use std::sync::OnceLock;

/// How a piece of text is meant; colour follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Strong,
    Good,
    Bad,
    Warning,
    Quiet,
}

impl Tone {
    const fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Strong => "1",
            Self::Good => "32",
            Self::Bad => "1;31",
            Self::Warning => "33",
            Self::Quiet => "2",
        }
    }
}

#[expect(clippy::print_stdout, reason = "a task talks to the person who started it")]
pub(crate) fn say(text: &str) {
    println!("{text}");
}

#[expect(clippy::print_stderr, reason = "a task talks to the person who started it")]
pub(crate) fn complain(text: &str) {
    eprintln!("{}", paint(Tone::Bad, &format!("error: {text}")));
}

/// Passes on what another program said on stderr.
#[expect(clippy::print_stderr, reason = "a task talks to the person who started it")]
pub(crate) fn pass_on(text: &str) {
    eprintln!("{text}");
}

/// Whether cargo, whose output we read first, should use colours all the same.
pub(crate) fn cargo_colour() -> &'static str {
    if std::io::stderr().is_terminal() { "always" } else { "auto" }
}

/// The line before a step, so that a long log can be searched for `==`.
pub(crate) fn header(text: &str) {
    say(&format!("\n{}", paint(Tone::Strong, &format!("== {text}"))));
}

/// Colours are for terminals: off in pipes and with `NO_COLOR`, on everywhere with `CLICOLOR_FORCE`.
pub(crate) fn paint(tone: Tone, text: &str) -> String {
    static COLOURED: OnceLock<bool> = OnceLock::new();
    let coloured = *COLOURED.get_or_init(|| {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        !set("NO_COLOR") && (set("CLICOLOR_FORCE") || std::io::stdout().is_terminal())
    });
    if coloured && tone != Tone::Plain { format!("\x1b[{}m{text}\x1b[0m", tone.code()) } else { text.to_owned() }
}

/// A cell of a table: its width is that of the text, not of the colour around it.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub text: String,
    pub tone: Tone,
    pub align: Align,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

impl Cell {
    pub(crate) fn left(tone: Tone, text: impl Into<String>) -> Self {
        Self { text: text.into(), tone, align: Align::Left }
    }

    pub(crate) fn right(tone: Tone, text: impl Into<String>) -> Self {
        Self { text: text.into(), tone, align: Align::Right }
    }

    fn width(&self) -> usize {
        self.text.chars().count()
    }

    fn padded(&self, width: usize) -> String {
        let gap = " ".repeat(width - self.width());
        let text = paint(self.tone, &self.text);
        match self.align {
            Align::Left => format!("{text}{gap}"),
            Align::Right => format!("{gap}{text}"),
        }
    }
}

/// Rows of cells in columns as wide as their widest cell.
pub(crate) fn table(rows: &[Vec<Cell>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(Cell::width).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<Cell>| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| cell.padded(*width)).collect();
        format!("  {}", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [
            vec![Cell::left(Tone::Plain, "step"), Cell::right(Tone::Plain, "time"), Cell::left(Tone::Plain, "note")],
            vec![Cell::left(Tone::Plain, "formatting"), Cell::right(Tone::Plain, "1.2 s"), Cell::left(Tone::Plain, "")],
        ];
        assert_eq!(table(&rows), "  step         time  note\n  formatting  1.2 s");
    }
}
