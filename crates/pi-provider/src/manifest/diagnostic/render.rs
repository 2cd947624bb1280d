//! Shows diagnostics the way a compiler does: the rule, the place, the line and a mark under it.

use std::fmt::Write;

use super::{Diagnostic, Severity};

/// Whether colours are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Plain,
    Ansi,
}

/// Longer lines are shown cut, with the place of the finding in sight.
const WIDTH: usize = 120;
/// How much of a cut line stands before the finding.
const BEFORE: usize = 40;

/// The diagnostic with the line that it is about. `source` is the text of the file.
pub fn render(diagnostic: &Diagnostic, source: &str, style: Style) -> String {
    let paint = Paint { style };
    let severity = diagnostic.severity;
    let mut out = String::new();
    let head = paint.severity(severity, &format!("{}[{}]", severity.word(), diagnostic.rule));
    push(&mut out, format_args!("{head}{}", paint.bold(&format!(": {}", clean(&diagnostic.message)))));
    let line = diagnostic.line.checked_sub(1).and_then(|index| source.lines().nth(index as usize));
    let number = diagnostic.line.to_string();
    let margin = " ".repeat(number.len());
    let place = match diagnostic.line {
        0 => diagnostic.file.clone(),
        line => format!("{}:{line}:{}", diagnostic.file, diagnostic.column),
    };
    push(&mut out, format_args!("{margin}{} {place}", paint.frame("-->")));
    if let Some(line) = line {
        let (text, offset, length) = cut(line, diagnostic.column, diagnostic.length);
        let marks = paint.severity(severity, &"^".repeat(length));
        push(&mut out, format_args!("{margin} {}", paint.frame("|")));
        push(&mut out, format_args!("{} {text}", paint.frame(&format!("{number} |"))));
        push(&mut out, format_args!("{margin} {} {}{marks}", paint.frame("|"), " ".repeat(offset)));
    }
    if !diagnostic.path.is_empty() {
        push(&mut out, format_args!("{margin} {} in {}", paint.frame("="), clean(&diagnostic.path)));
    }
    push(&mut out, format_args!("{margin} {} help: {}", paint.frame("="), clean(&diagnostic.hint)));
    out
}

fn push(out: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(out, "{line}").expect("writing to a String cannot fail");
}

/// The part of the line that is shown, where the mark begins in it, and how long the mark is.
fn cut(line: &str, column: u32, length: u32) -> (String, usize, usize) {
    let characters: Vec<char> = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let at = (column.max(1) as usize - 1).min(characters.len());
    let length = extent(&characters[at..], length as usize).max(1);
    if characters.len() <= WIDTH {
        return (characters.iter().collect(), at, length);
    }
    let from = at.saturating_sub(BEFORE);
    let to = (from + WIDTH).min(characters.len());
    let lead = if from > 0 { "…" } else { "" };
    let tail = if to < characters.len() { "…" } else { "" };
    let text: String = characters[from..to].iter().collect();
    (format!("{lead}{text}{tail}"), at - from + lead.chars().count(), length.min(to - at))
}

/// The characters that belong to the thing at the start, of which `known` were counted when it was read. What goes on in the
/// next line is marked to the end of this one.
fn extent(rest: &[char], known: usize) -> usize {
    let line = rest.iter().rposition(|c| !c.is_whitespace()).map_or(0, |last| last + 1);
    match rest.first() {
        Some('{' | '[') => bracketed(rest).unwrap_or(line),
        _ if known > 0 => known.min(line),
        _ => word(rest),
    }
}

/// Everything to the bracket that closes the first one, if that is in this line. Brackets in quotes do not count.
fn bracketed(rest: &[char]) -> Option<usize> {
    let (mut depth, mut quote) = (0_usize, None);
    for (index, &c) in rest.iter().enumerate() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '{' | '[') => depth += 1,
            (None, '}' | ']') if depth == 1 => return Some(index + 1),
            (None, '}' | ']') => depth -= 1,
            (None, _) => {}
        }
    }
    None
}

/// The characters of a word at the start: a quoted text, or everything up to a separator.
fn word(rest: &[char]) -> usize {
    match rest.first() {
        Some(&quote @ ('"' | '\'')) => rest[1..].iter().position(|&c| c == quote).map_or(rest.len(), |end| end + 2),
        _ => rest.iter().position(|c| c.is_whitespace() || matches!(c, ':' | ',' | ']' | '}')).unwrap_or(rest.len()),
    }
}

/// Files are written by others: nothing in them may move the cursor.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

struct Paint {
    style: Style,
}

impl Paint {
    fn severity(&self, severity: Severity, text: &str) -> String {
        self.paint(
            match severity {
                Severity::Error => "1;31",
                Severity::Warning => "1;33",
                Severity::Note => "1;32",
            },
            text,
        )
    }

    fn bold(&self, text: &str) -> String {
        self.paint("1", text)
    }

    fn frame(&self, text: &str) -> String {
        self.paint("1;34", text)
    }

    fn paint(&self, code: &str, text: &str) -> String {
        match self.style {
            Style::Plain => text.to_owned(),
            Style::Ansi => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }
}
