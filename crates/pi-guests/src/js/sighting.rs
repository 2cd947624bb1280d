//! Where in a source the engine's words belong that have no place of their own.
//!
//! QuickJS remembers the places of variables, calls and operators, and takes the last of them for whatever fails behind it: a
//! property that is read of a value, as bundles have it where a variable was, is told where its function begins. But the words
//! name the property, and the first one of that name behind the place is it.

use pi_extc::Position;

/// Lines behind the place that the engine names in which a property is looked for.
const MOST_LINES: usize = 60;

const NOT_A_FUNCTION: &str = "not a function";

/// What a message is about.
pub(super) enum Subject<'a> {
    /// The property of something that has none.
    Property(&'a str),
    /// Something that was called.
    Callee,
}

/// Where it was found.
pub(super) struct Sighting {
    /// The engine's words, where the source has better ones.
    pub(super) message: Option<String>,
    pub(super) position: Position,
}

impl<'a> Subject<'a> {
    pub(super) fn of(message: &'a str) -> Option<Self> {
        if message == NOT_A_FUNCTION {
            return Some(Self::Callee);
        }
        let rest =
            ["cannot read property '", "cannot set property '"].iter().find_map(|words| message.strip_prefix(words));
        let (name, of) = rest?.rsplit_once("' of ")?;
        let is_name = !name.is_empty() && name.chars().all(is_letter);
        (is_name && matches!(of, "undefined" | "null")).then_some(Self::Property(name))
    }

    /// Looks for it in the sources, from the place on that the engine names, if it names one.
    pub(super) fn sight(&self, texts: &[(String, String)], found: Option<&Position>) -> Option<Sighting> {
        let text_of = |position: &Position| {
            texts.iter().find(|(source, _)| *source == position.source).map(|(_, text)| text.as_str())
        };
        match (self, found) {
            (Self::Callee, found) => {
                let position = found?.clone();
                let line = text_of(&position)?.lines().nth(usize::try_from(position.line.checked_sub(1)?).ok()?)?;
                let name = callee(line, usize::try_from(position.column.checked_sub(1)?).ok()?)?;
                Some(Sighting { message: Some(format!("{name} is {NOT_A_FUNCTION}")), position })
            }
            (Self::Property(name), Some(position)) => {
                let behind = access(text_of(position)?, name, position.line, MOST_LINES)?;
                // The variable of it stands in the same line, and its place is the better one.
                if behind.line == position.line {
                    return None;
                }
                Some(Sighting { message: None, position: Position { source: position.source.clone(), ..behind } })
            }
            (Self::Property(name), None) => {
                let sighted = texts.iter().find_map(|(source, text)| {
                    let position = access(text, name, 1, usize::MAX)?;
                    Some(Position { source: source.clone(), ..position })
                });
                Some(Sighting { message: None, position: sighted? })
            }
        }
    }
}

/// The first place from a line on at which a property is read or written.
fn access(text: &str, name: &str, line: u32, most: usize) -> Option<Position> {
    let first = usize::try_from(line.checked_sub(1)?).ok()?;
    let is_remark = |line: &str| ["//", "*", "/*"].iter().any(|sign| line.trim_start().starts_with(sign));
    let mut lines = text.lines().enumerate().skip(first).take(most).filter(|(_, line)| !is_remark(line));
    let (number, at, written) = lines.find_map(|(number, line)| Some((number, access_in(line, name)?, line)))?;
    let column = written[..at].chars().count() + 1;
    Some(Position { source: String::new(), line: u32::try_from(number + 1).ok()?, column: u32::try_from(column).ok()? })
}

/// `.name`, `{ name }` or `["name"]`: its name, and no part of another one.
fn access_in(line: &str, name: &str) -> Option<usize> {
    line.match_indices(name).map(|(at, _)| at).find(|at| {
        let (before, behind) = (line[..*at].trim_end(), &line[at + name.len()..]);
        let is_whole = !line[..*at].ends_with(is_letter) && !behind.starts_with(is_letter);
        is_whole && before.ends_with(['.', '{', ',', '\'', '"', '`'])
    })
}

/// What a line calls at a place in it: `list.nosuch` of `list.nosuch(1)`. Nothing where that is no plain name.
fn callee(line: &str, column: usize) -> Option<&str> {
    let at = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
    let is_part = |letter: char| is_letter(letter) || ".?!".contains(letter);
    let calls = line.match_indices('(').filter_map(|(end, _)| {
        let name = line[..end].trim_end_matches(is_part);
        (name.len() < end).then_some((name.len(), end))
    });
    // The engine names the place behind the bracket; the map leads to what begins there or before.
    let (start, end) = calls.filter(|(start, _)| *start <= at).last()?;
    let name = line[start..end].trim_end_matches(['?', '.', '!']);
    name.starts_with(|letter: char| is_letter(letter) && !letter.is_numeric()).then_some(name)
}

fn is_letter(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '$'
}
