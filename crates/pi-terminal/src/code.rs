//! Colours of code.
//!
//! The grammars are unpacked when the first block of code is shown, not before. What a grammar finds is given one of a
//! dozen meanings of the theme, so that code looks right with sixteen colours and on a light ground too.

use std::sync::LazyLock;

use ratatui_core::{
    style::Style,
    text::{Line, Span},
};
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use crate::{text::printable, theme::Theme};

/// Longer lines are not coloured: they are no code that anybody reads, and some grammars are slow on them.
const LONGEST_LINE: usize = 2000;
/// Nor are larger blocks.
const MOST_BYTES: usize = 256 << 10;

static GRAMMARS: LazyLock<SyntaxSet> = LazyLock::new(two_face::syntax::extra_newlines);

/// Meanings by the beginning of a scope; the longest that fits counts.
static MEANINGS: LazyLock<Vec<(Scope, Meaning)>> = LazyLock::new(|| {
    let table = [
        ("comment", Meaning::Comment),
        ("string", Meaning::String),
        ("constant.character.escape", Meaning::Number),
        ("constant", Meaning::Number),
        ("keyword", Meaning::Keyword),
        ("keyword.operator", Meaning::Plain),
        ("storage", Meaning::Keyword),
        ("storage.type.class", Meaning::Keyword),
        ("entity.name.function", Meaning::Function),
        ("support.function", Meaning::Function),
        ("variable.function", Meaning::Function),
        ("entity.name.type", Meaning::Kind),
        ("entity.name.class", Meaning::Kind),
        ("entity.name.struct", Meaning::Kind),
        ("entity.name.enum", Meaning::Kind),
        ("entity.name.tag", Meaning::Keyword),
        ("entity.other.attribute-name", Meaning::Kind),
        ("support.type", Meaning::Kind),
        ("support.class", Meaning::Kind),
        ("markup.inserted", Meaning::Added),
        ("markup.deleted", Meaning::Removed),
        ("markup.heading", Meaning::Keyword),
    ];
    table.into_iter().filter_map(|(name, meaning)| Some((Scope::new(name).ok()?, meaning))).collect()
});

#[derive(Debug, Clone, Copy)]
enum Meaning {
    Plain,
    Comment,
    String,
    Number,
    Keyword,
    Function,
    Kind,
    Added,
    Removed,
}

/// The lines of a block of code. `language` is what stands behind the fence, or the ending of a file.
pub(crate) fn highlight(code: &str, language: &str, theme: &Theme) -> Vec<Line<'static>> {
    let grammar = grammar(language).filter(|_| code.len() <= MOST_BYTES);
    let Some(grammar) = grammar else {
        return code.lines().map(|line| Line::styled(printable(line).into_owned(), theme.code)).collect();
    };
    let mut state = ParseState::new(grammar);
    let mut stack = ScopeStack::new();
    code.lines().map(|line| coloured(line, &mut state, &mut stack, theme)).collect()
}

fn grammar(language: &str) -> Option<&'static SyntaxReference> {
    let word = language.split([',', ' ', '{']).next().unwrap_or_default();
    if word.is_empty() {
        return None;
    }
    GRAMMARS.find_syntax_by_token(word).filter(|grammar| grammar.name != "Plain Text")
}

fn coloured(line: &str, state: &mut ParseState, stack: &mut ScopeStack, theme: &Theme) -> Line<'static> {
    let line = printable(line);
    let plain = || Line::raw(line.clone().into_owned());
    if line.len() > LONGEST_LINE {
        return plain();
    }
    // Grammars want to see the end of a line.
    let whole = format!("{line}\n");
    let Ok(changes) = state.parse_line(&whole, &GRAMMARS) else { return plain() };
    let mut spans: Vec<Span<'static>> = Vec::new();
    let mut from = 0;
    for (at, change) in changes {
        let at = at.min(line.len());
        push(&mut spans, &line[from..at], style(stack, theme));
        from = at;
        if stack.apply(&change).is_err() {
            return plain();
        }
    }
    push(&mut spans, &line[from..], style(stack, theme));
    Line::from(spans)
}

fn push(spans: &mut Vec<Span<'static>>, text: &str, style: Style) {
    match spans.last_mut() {
        _ if text.is_empty() => {}
        Some(last) if last.style == style => last.content.to_mut().push_str(text),
        _ => spans.push(Span::styled(text.to_owned(), style)),
    }
}

/// The innermost scope that has a meaning decides.
fn style(stack: &ScopeStack, theme: &Theme) -> Style {
    let meaning = stack.as_slice().iter().rev().find_map(|scope| {
        let fitting = MEANINGS.iter().filter(|(prefix, _)| prefix.is_prefix_of(*scope));
        fitting.max_by_key(|(prefix, _)| prefix.len()).map(|(_, meaning)| *meaning)
    });
    match meaning {
        None | Some(Meaning::Plain) => Style::new(),
        Some(Meaning::Comment) => theme.comment,
        Some(Meaning::String) => theme.string,
        Some(Meaning::Number) => theme.number,
        Some(Meaning::Keyword) => theme.keyword,
        Some(Meaning::Function) => theme.function,
        Some(Meaning::Kind) => theme.kind,
        Some(Meaning::Added) => theme.added,
        Some(Meaning::Removed) => theme.removed,
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
