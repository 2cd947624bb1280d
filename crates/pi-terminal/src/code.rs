//! Colours of code: what it means, in the styles of a theme. So it looks right with sixteen colours and on a light ground too.

use pi_session::code::{Meaning, Reader};
use ratatui_core::{
    style::Style,
    text::{Line, Span},
};

use crate::{text::printable, theme::Theme};

/// The lines of a block of code. `language` is what stands behind the fence, or the ending of a file.
pub(crate) fn highlight(code: &str, language: &str, theme: &Theme) -> Vec<Line<'static>> {
    let Some(mut reader) = Reader::new(language, code.len()) else {
        return code.lines().map(|line| Line::styled(printable(line).into_owned(), theme.code)).collect();
    };
    let coloured = |line: &str| {
        let line = printable(line);
        let stretches = reader.line(&line);
        let span = |(bytes, meaning): (std::ops::Range<usize>, Meaning)| {
            Span::styled(line[bytes].to_owned(), style(meaning, theme))
        };
        Line::from(stretches.into_iter().map(span).collect::<Vec<_>>())
    };
    code.lines().map(coloured).collect()
}

fn style(meaning: Meaning, theme: &Theme) -> Style {
    match meaning {
        Meaning::Plain => Style::new(),
        Meaning::Comment => theme.comment,
        Meaning::String => theme.string,
        Meaning::Number => theme.number,
        Meaning::Keyword => theme.keyword,
        Meaning::Function => theme.function,
        Meaning::Kind => theme.kind,
        Meaning::Added => theme.added,
        Meaning::Removed => theme.removed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_coloured_by_its_language() {
        let theme = Theme::dark();
        let lines = highlight("fn main() {\n    // hi\n}", "rust", &theme);
        let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
        assert_eq!(text, ["fn main() {", "    // hi", "}"]);
        let of = |line: usize, word: &str| {
            lines[line].spans.iter().find(|span| span.content.trim() == word).map(|span| span.style)
        };
        assert_eq!(of(0, "fn"), Some(theme.keyword));
        assert_eq!(of(0, "main"), Some(theme.function));
        assert_eq!(of(1, "// hi"), Some(theme.comment));
    }

    #[test]
    fn unknown_language_is_shown_as_it_is() {
        let theme = Theme::dark();
        assert_eq!(highlight("a\u{1b}[2Jb", "nonsense", &theme), [Line::styled("ab", theme.code)]);
    }
}
