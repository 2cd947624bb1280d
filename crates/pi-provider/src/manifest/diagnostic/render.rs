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

/// What is shown of a finding, whoever found it.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    pub severity: Severity,
    pub rule: &'a str,
    pub message: &'a str,
    pub file: &'a str,
    /// From one; zero stands for the file as a whole.
    pub line: u32,
    pub column: u32,
    /// How many characters it is about; zero where nobody counted.
    pub length: u32,
    /// The line, if it is at hand.
    pub text: Option<&'a str>,
    /// Where in a document; may be empty.
    pub path: &'a str,
    pub hint: &'a str,
}

/// The diagnostic with the line that it is about. `source` is the text of the file.
pub fn render(diagnostic: &Diagnostic, source: &str, style: Style) -> String {
    let Diagnostic { severity, rule, file, line, column, length, path, message, hint } = diagnostic;
    let text = line.checked_sub(1).and_then(|index| source.lines().nth(index as usize));
    let (severity, line, column, length) = (*severity, *line, *column, *length);
    render_frame(&Frame { severity, rule: rule.name(), message, file, line, column, length, text, path, hint }, style)
}

/// A finding as a compiler shows it.
pub fn render_frame(frame: &Frame, style: Style) -> String {
    let paint = Paint { style };
    let severity = frame.severity;
    let mut out = String::new();
    let head = paint.severity(severity, &format!("{}[{}]", severity.word(), frame.rule));
    push(&mut out, format_args!("{head}{}", paint.bold(&format!(": {}", clean(frame.message)))));
    let number = frame.line.to_string();
    let margin = " ".repeat(number.len());
    let place = match frame.line {
        0 => frame.file.to_owned(),
        line => format!("{}:{line}:{}", frame.file, frame.column),
    };
    push(&mut out, format_args!("{margin}{} {place}", paint.frame("-->")));
    if let Some(line) = frame.text {
        let (text, offset, length) = cut(line, frame.column, frame.length);
        let marks = paint.severity(severity, &"^".repeat(length));
        push(&mut out, format_args!("{margin} {}", paint.frame("|")));
        push(&mut out, format_args!("{} {text}", paint.frame(&format!("{number} |"))));
        push(&mut out, format_args!("{margin} {} {}{marks}", paint.frame("|"), " ".repeat(offset)));
    }
    if !frame.path.is_empty() {
        push(&mut out, format_args!("{margin} {} in {}", paint.frame("="), clean(frame.path)));
    }
    push(&mut out, format_args!("{margin} {} help: {}", paint.frame("="), clean(frame.hint)));
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
