//! Compares one path with many patterns, fast.
//!
//! Patterns of plain names, `*`, `?` and `**` are compared name by name, which costs some tens of nanoseconds. Those with
//! `[ ]` or `{ }` are regular expressions of `globset`, which also is the reference for the others in the tests.

use globset::{GlobBuilder, GlobMatcher};

use super::{GlobFault, choice};

/// Patterns, each with the index of the written pattern that it comes from.
#[derive(Debug, Default)]
pub(super) struct Matcher {
    patterns: Vec<(Pattern, usize)>,
}

#[derive(Debug)]
enum Pattern {
    Names { names: Vec<Name>, fixed: Fixed },
    Regular(GlobMatcher),
}

/// What every matching path has in common: most paths are refused by looking at this alone.
#[derive(Debug)]
struct Fixed {
    /// The names before the first wildcard.
    head: Box<str>,
    /// What stands behind the last wildcard.
    tail: Box<str>,
}

/// What may stand between two `/` of a pattern.
#[derive(Debug, PartialEq, Eq)]
enum Name {
    Literal(Box<[u8]>),
    /// `*`.
    One,
    /// `*` and then this.
    Ending(Box<[u8]>),
    /// With `*` and `?` among others.
    Wild(Vec<char>),
    /// `**`: any number of names, none included.
    Any,
}

impl Matcher {
    /// Adds a pattern. The empty pattern is the root itself.
    pub(super) fn add(&mut self, pattern: &str, owner: usize) -> Result<(), GlobFault> {
        let compiled = match is_regular(pattern) {
            true => Pattern::Regular(regular(pattern)?),
            false => Pattern::of_names(pattern),
        };
        self.patterns.push((compiled, owner));
        Ok(())
    }

    /// Adds a pattern together with everything that is below what it names.
    pub(super) fn add_with_content(&mut self, pattern: &str, owner: usize) -> Result<(), GlobFault> {
        if is_regular(pattern) {
            self.add(pattern, owner)?;
            return self.add(&format!("{pattern}/**"), owner);
        }
        let mut names = names(pattern);
        if names.last() != Some(&Name::Any) {
            names.push(Name::Any);
        }
        let fixed = Fixed { tail: "".into(), ..Fixed::of(pattern) };
        self.patterns.push((Pattern::Names { names, fixed }, owner));
        Ok(())
    }

    /// The owners of the patterns that match.
    pub(super) fn matching(&self, path: &str) -> impl Iterator<Item = usize> {
        self.patterns.iter().filter(move |(pattern, _)| pattern.is_match(path)).map(|(_, owner)| *owner)
    }
}

impl Pattern {
    fn of_names(pattern: &str) -> Self {
        let mut names = names(pattern);
        // `a/**` is what is below `a`, not `a`; `**` alone is everything.
        if names.len() > 1 && names.last() == Some(&Name::Any) {
            names.insert(names.len() - 1, Name::One);
        }
        Self::Names { names, fixed: Fixed::of(pattern) }
    }

    fn is_match(&self, path: &str) -> bool {
        match self {
            Self::Regular(matcher) => matcher.is_match(path),
            Self::Names { names, fixed } => {
                let path = path.trim_start_matches('/');
                let parts = path.as_bytes().split(|byte| *byte == b'/').filter(|name| !name.is_empty());
                fixed.is_part_of(path) && fits(names, parts, |name| *name == Name::Any, |name, it| name.is_match(it))
            }
        }
    }
}

impl Fixed {
    fn of(pattern: &str) -> Self {
        let pattern = pattern.trim_matches('/');
        let wild = ['*', '?'];
        let (head, tail) = match (pattern.find(wild), pattern.rfind(wild)) {
            // `a/**` has no more in common than `a`, and `**/a` matches `a` without a `/` before it.
            (Some(first), Some(last)) => {
                let head = pattern[..first].rsplit_once('/').map_or("", |(head, _)| head);
                (head, pattern[last + 1..].trim_start_matches('/'))
            }
            (None, _) | (_, None) => (pattern, ""),
        };
        Self { head: head.into(), tail: tail.into() }
    }

    fn is_part_of(&self, path: &str) -> bool {
        // Comparing with nothing is a call all the same, and most patterns have no head or no tail.
        (self.head.is_empty() || path.starts_with(&*self.head)) && (self.tail.is_empty() || path.ends_with(&*self.tail))
    }
}

impl Name {
    fn is_match(&self, name: &[u8]) -> bool {
        match self {
            Self::Literal(literal) => **literal == *name,
            Self::Ending(ending) => name.ends_with(ending),
            Self::Wild(signs) => std::str::from_utf8(name).is_ok_and(|name| {
                fits(signs, name.chars(), |sign| *sign == '*', |sign, it| *sign == '?' || sign == it)
            }),
            Self::One | Self::Any => true,
        }
    }
}

/// Whether `items` consist of what `pattern` says in turn, where some parts of the pattern stand for any number of items.
/// On a mismatch the last of those takes one item more: it is never necessary to go back further.
fn fits<P, I: Iterator + Clone>(
    pattern: &[P],
    items: I,
    is_any: impl Fn(&P) -> bool,
    is_one: impl Fn(&P, &I::Item) -> bool,
) -> bool {
    let (mut at, mut rest) = (0, items);
    let mut again: Option<(usize, I)> = None;
    loop {
        if pattern.get(at).is_some_and(&is_any) {
            at += 1;
            again = Some((at, rest.clone()));
            continue;
        }
        match (pattern.get(at), rest.next()) {
            (None, None) => return true,
            (Some(_), None) => return false,
            (Some(part), Some(item)) if is_one(part, &item) => at += 1,
            (_, Some(_)) => {
                let Some((start, from)) = &mut again else { return false };
                from.next();
                (at, rest) = (*start, from.clone());
            }
        }
    }
}

fn names(pattern: &str) -> Vec<Name> {
    let mut names: Vec<Name> = Vec::new();
    for name in pattern.split('/').filter(|name| !name.is_empty()) {
        match name {
            "**" if names.last() == Some(&Name::Any) => {}
            "**" => names.push(Name::Any),
            "*" => names.push(Name::One),
            literal if !literal.contains(['*', '?']) => names.push(Name::Literal(literal.as_bytes().into())),
            wild => match wild.strip_prefix('*').filter(|ending| !ending.contains(['*', '?'])) {
                Some(ending) => names.push(Name::Ending(ending.as_bytes().into())),
                None => names.push(Name::Wild(wild.chars().collect())),
            },
        }
    }
    names
}

fn is_regular(pattern: &str) -> bool {
    pattern.contains(['[', ']', '{', '}'])
}

fn regular(pattern: &str) -> Result<GlobMatcher, GlobFault> {
    let confined = choice::confine(pattern);
    let built =
        GlobBuilder::new(&confined).literal_separator(true).backslash_escape(false).empty_alternates(true).build();
    built.map(|glob| glob.compile_matcher()).map_err(|error| GlobFault::Malformed(error.kind().to_string()))
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*, sample::select};

    use super::*;

    #[track_caller]
    fn check(pattern: &str, path: &str, expected: bool) {
        assert_eq!(Pattern::of_names(pattern).is_match(path), expected, "{pattern} {path}");
    }

    #[test]
    fn root_is_everything_and_nothing() {
        for root in ["", "/"] {
            check("**", root, true);
            check("", root, true);
            check("*", root, false);
            check("a/**", root, false);
        }
        check("", "a", false);
    }

    #[test]
    fn signs_are_characters_and_not_bytes() {
        check("?", "é", true);
        check("a?b*", "aéb", true);
        check("*é", "aéé", true);
    }

    fn pattern() -> impl Strategy<Value = String> {
        vec(select(vec!["a", "b", "ab", "*", "?", "a*", "*b", "a?", "*a*b*", "**"]), 1..6)
            .prop_map(|names| names.join("/"))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn names_mean_what_globset_says(pattern in pattern(), path in vec(select(vec!["a", "b", "ab", "ba", "aab", "c"]), 1..7)) {
            // Twice `**` in a row has no meaning of its own, and globset treats it as something else.
            prop_assume!(!pattern.contains("**/**"));
            let path = path.join("/");
            prop_assert_eq!(Pattern::of_names(&pattern).is_match(&path), regular(&pattern).expect("a glob").is_match(&path));
        }
    }
}
