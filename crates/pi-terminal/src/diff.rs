//! Changes of a file in colour.

use ratatui_core::{
    style::{Modifier, Style},
    text::{Line, Span},
};
use similar::{ChangeTag, TextDiff};

use crate::{text::printable, theme::Theme};

/// The lines of a change, of which each begins with `+`, `-` or a blank. In a line that was changed, not replaced, the
/// words that differ stand out.
pub(crate) fn render(diff: &str, theme: &Theme) -> Vec<Line<'static>> {
    let rows: Vec<String> = diff.lines().map(|row| printable(row).into_owned()).collect();
    let mut lines = Vec::new();
    let mut at = 0;
    while at < rows.len() {
        let removed = run(&rows[at..], '-');
        let added = run(&rows[at + removed..], '+');
        if removed > 0 && removed == added {
            let (old, new) = (&rows[at..at + removed], &rows[at + removed..at + 2 * removed]);
            let pairs: Vec<_> = old.iter().zip(new).map(|(old, new)| words(old, new, theme)).collect();
            let (old, new): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
            lines.extend(old);
            lines.extend(new);
        } else {
            let block = (removed + added).max(1);
            lines.extend(rows[at..at + block].iter().map(|row| Line::styled(row.clone(), style(row, theme))));
        }
        at += (removed + added).max(1);
    }
    lines
}

fn run(rows: &[String], sign: char) -> usize {
    rows.iter().take_while(|row| row.starts_with(sign)).count()
}

fn style(row: &str, theme: &Theme) -> Style {
    match row.chars().next() {
        Some('+') => theme.added,
        Some('-') => theme.removed,
        Some('@') => theme.accent,
        _ => theme.quiet,
    }
}

/// Both versions of a line.
fn words(old: &str, new: &str, theme: &Theme) -> (Line<'static>, Line<'static>) {
    let ((old_head, old_text), (new_head, new_text)) = (split(old), split(new));
    let diff = TextDiff::from_words(old_text, new_text);
    // Where hardly anything is the same, marking what differs would only be noise.
    let is_close = diff.ratio() > 0.5;
    let mut removed = vec![Span::styled(old_head.to_owned(), theme.removed)];
    let mut added = vec![Span::styled(new_head.to_owned(), theme.added)];
    for change in diff.iter_all_changes() {
        let text = change.value().to_owned();
        let marked = |style: Style| if is_close { style.add_modifier(Modifier::REVERSED) } else { style };
        match change.tag() {
            ChangeTag::Equal => {
                removed.push(Span::styled(text.clone(), theme.removed));
                added.push(Span::styled(text, theme.added));
            }
            ChangeTag::Delete => removed.push(Span::styled(text, marked(theme.removed))),
            ChangeTag::Insert => added.push(Span::styled(text, marked(theme.added))),
        }
    }
    (Line::from(removed), Line::from(added))
}

/// Sign and number, and the text behind them.
fn split(row: &str) -> (&str, &str) {
    let sign = row.chars().next().map_or(0, char::len_utf8);
    let digits = row[sign..].len()
        - row[sign..].trim_start_matches(|letter: char| letter == ' ' || letter.is_ascii_digit()).len();
    let number = row[sign..sign + digits].trim_end_matches(' ').len();
    row.split_at(sign + number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_words_stand_out_in_a_changed_line() {
        let theme = Theme::dark();
        let lines = render(" 1 same\n-2 let a = one;\n+2 let a = two;\n+3 new", &theme);
        let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
        assert_eq!(text, [" 1 same", "-2 let a = one;", "+2 let a = two;", "+3 new"]);
        assert_eq!(lines[1].style, theme.removed, "two lines came for one: they are replaced, not changed");
        let lines = render("-2 let a = one;\n+2 let a = two;\n 3 same", &theme);
        let marked = |line: &Line<'_>| {
            let spans = line.spans.iter().filter(|span| span.style.add_modifier.contains(Modifier::REVERSED));
            spans.map(|span| span.content.to_string()).collect::<String>()
        };
        assert_eq!((marked(&lines[0]), marked(&lines[1])), ("one;".to_owned(), "two;".to_owned()));
        assert_eq!(lines[2], Line::styled(" 3 same", theme.quiet));
    }
}
