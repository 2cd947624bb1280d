//! What is what in code: where a keyword stands, a comment, a name.
//!
//! The grammars are unpacked when the first block of code is read, not before. What a grammar finds is given one of a dozen
//! meanings, so that whoever shows the code needs a look for each of these and none for every scope of a grammar.

use std::{ops::Range, sync::LazyLock};

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

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

/// What a stretch of code means to whoever reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
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

/// Reads a block of code, line by line.
pub struct Reader {
    state: ParseState,
    stack: ScopeStack,
}

impl Reader {
    /// For a block of so many bytes. `language` is what stands behind the fence, or the ending of a file; without a grammar for
    /// it, or for a block that is too large, there is no reader.
    pub fn new(language: &str, bytes: usize) -> Option<Self> {
        let grammar = grammar(language).filter(|_| bytes <= MOST_BYTES)?;
        Some(Self { state: ParseState::new(grammar), stack: ScopeStack::new() })
    }

    /// The next line, without its end, as stretches that follow each other and mean different things.
    pub fn line(&mut self, line: &str) -> Vec<(Range<usize>, Meaning)> {
        let plain = || vec![(0..line.len(), Meaning::Plain)];
        if line.len() > LONGEST_LINE {
            return plain();
        }
        // Grammars want to see the end of a line.
        let whole = format!("{line}\n");
        let Ok(changes) = self.state.parse_line(&whole, &GRAMMARS) else { return plain() };
        let mut stretches = Vec::new();
        let mut from = 0;
        for (at, change) in changes {
            let at = at.min(line.len());
            push(&mut stretches, from..at, meaning(&self.stack));
            from = at;
            if self.stack.apply(&change).is_err() {
                return plain();
            }
        }
        push(&mut stretches, from..line.len(), meaning(&self.stack));
        stretches
    }
}

fn grammar(language: &str) -> Option<&'static SyntaxReference> {
    let word = language.split([',', ' ', '{']).next().unwrap_or_default();
    if word.is_empty() {
        return None;
    }
    GRAMMARS.find_syntax_by_token(word).filter(|grammar| grammar.name != "Plain Text")
}

fn push(stretches: &mut Vec<(Range<usize>, Meaning)>, bytes: Range<usize>, meaning: Meaning) {
    match stretches.last_mut() {
        _ if bytes.is_empty() => {}
        Some((last, known)) if *known == meaning => last.end = bytes.end,
        _ => stretches.push((bytes, meaning)),
    }
}

/// The innermost scope that has a meaning decides.
fn meaning(stack: &ScopeStack) -> Meaning {
    let known = stack.as_slice().iter().rev().find_map(|scope| {
        let fitting = MEANINGS.iter().filter(|(prefix, _)| prefix.is_prefix_of(*scope));
        fitting.max_by_key(|(prefix, _)| prefix.len()).map(|(_, meaning)| *meaning)
    });
    known.unwrap_or(Meaning::Plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(language: &str, line: &str, expected: &[(&str, Meaning)]) {
        let mut reader = Reader::new(language, line.len()).expect("a grammar");
        let stretches = reader.line(line);
        let told: Vec<(&str, Meaning)> =
            stretches.iter().map(|(bytes, meaning)| (&line[bytes.clone()], *meaning)).collect();
        assert_eq!(told, expected);
    }

    #[test]
    fn stretches_follow_each_other_and_have_meanings() {
        let plain = Meaning::Plain;
        check("rust", "fn é() {", &[("fn", Meaning::Keyword), (" ", plain), ("é", Meaning::Function), ("() {", plain)]);
        check("py", "x = 1 # n", &[("x = ", plain), ("1", Meaning::Number), (" ", plain), ("# n", Meaning::Comment)]);
        let long = "1".repeat(LONGEST_LINE + 1);
        check("rust", &long, &[(&long, plain)]);
    }

    #[test]
    fn what_has_no_grammar_or_is_too_large_has_no_reader() {
        for (language, bytes) in [("", 1), ("nonsense", 1), ("text", 1), ("rust", MOST_BYTES + 1)] {
            assert!(Reader::new(language, bytes).is_none(), "{language} {bytes}");
        }
    }
}
