//! Where in a source the engine's words belong that have no place of their own.
//!
//! QuickJS remembers the places of variables, calls and operators, and takes the last of them for whatever fails behind it: a
//! property that is read of a value, as bundles have it where a variable was, is told where its function begins. But the words
//! name the property, and the first one of that name behind the place is it.

use pi_extc::Position;
use pi_exthost::guest::Certainty;

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

/// What came of looking for it.
pub(super) enum Sight {
    Found(Sighting),
    /// The engine named no place, and nothing in the sources says which it is.
    Nowhere,
    /// The engine's place is the better one.
    Nothing,
}

/// Where it was found.
pub(super) struct Sighting {
    /// The engine's words, where the source has better ones.
    pub(super) message: Option<String>,
    pub(super) position: Position,
    pub(super) certainty: Certainty,
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
    pub(super) fn sight(&self, texts: &[(String, String)], found: Option<&Position>) -> Sight {
        match (self, found, self.look(texts, found)) {
            (_, _, Some(sighting)) => Sight::Found(sighting),
            (Self::Property(_), None, None) => Sight::Nowhere,
            (Self::Property(_) | Self::Callee, _, None) => Sight::Nothing,
        }
    }

    fn look(&self, texts: &[(String, String)], found: Option<&Position>) -> Option<Sighting> {
        let certainty = Certainty::Named;
        let text_of = |position: &Position| {
            texts.iter().find(|(source, _)| *source == position.source).map(|(_, text)| text.as_str())
        };
        match (self, found) {
            (Self::Callee, found) => {
                let position = found?.clone();
                let line = line_of(text_of(&position)?, &position)?;
                let name = callee(line, usize::try_from(position.column.checked_sub(1)?).ok()?)?;
                Some(Sighting { message: Some(format!("{name} is {NOT_A_FUNCTION}")), position, certainty })
            }
            (Self::Property(name), Some(position)) => {
                let text = text_of(position)?;
                // In whatever way it is named there, such as `const { name } = of`: the engine's place is the better one.
                if words(line_of(text, position)?, name).next().is_some() {
                    return None;
                }
                let behind = accesses(text, name, position.line, MOST_LINES).next()?;
                let position = Position { source: position.source.clone(), ..behind };
                Some(Sighting { message: None, position, certainty })
            }
            (Self::Property(name), None) => {
                let mut sighted = texts.iter().flat_map(|(source, text)| {
                    let of_source = move |position| Position { source: source.clone(), ..position };
                    accesses(text, name, 1, usize::MAX).map(of_source)
                });
                let position = sighted.next()?;
                // Of several nobody knows which it was; and the only one may be another, for properties are read in other ways too.
                let certainty = Certainty::Guessed;
                sighted.next().is_none().then_some(Sighting { message: None, position, certainty })
            }
        }
    }
}

fn line_of<'a>(text: &'a str, position: &Position) -> Option<&'a str> {
    text.lines().nth(usize::try_from(position.line.checked_sub(1)?).ok()?)
}

/// The lines from one on in which a property is read or written, with the first place in each.
fn accesses<'a>(text: &'a str, name: &'a str, line: u32, most: usize) -> impl Iterator<Item = Position> + 'a {
    let first = line.checked_sub(1).and_then(|line| usize::try_from(line).ok()).unwrap_or(usize::MAX);
    let is_remark = |line: &str| ["//", "*", "/*"].iter().any(|sign| line.trim_start().starts_with(sign));
    let lines = text.lines().enumerate().skip(first).take(most).filter(move |(_, line)| !is_remark(line));
    lines.filter_map(move |(number, line)| {
        let column = line[..access_in(line, name)?].chars().count() + 1;
        let (line, column) = (u32::try_from(number + 1).ok()?, u32::try_from(column).ok()?);
        Some(Position { source: String::new(), line, column })
    })
}

/// Where a line has `.name` or `["name"]`.
fn access_in(line: &str, name: &str) -> Option<usize> {
    words(line, name).find(|at| {
        let before = line[..*at].trim_end();
        before.ends_with('.') || before.strip_suffix(['\'', '"', '`']).is_some_and(|before| before.ends_with('['))
    })
}

/// Where a line has a name that is no part of another one.
fn words<'a>(line: &'a str, name: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_whole =
        move |at: &usize| !line[..*at].ends_with(is_letter) && !line[at + name.len()..].starts_with(is_letter);
    line.match_indices(name).map(|(at, _)| at).filter(is_whole)
}

/// What a line calls at a place in it: `list.nosuch` of `list.nosuch(1)`. Nothing where that is no plain name.
fn callee(line: &str, column: usize) -> Option<&str> {
    let at = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
    let is_part = |letter: char| is_letter(letter) || ".?!".contains(letter);
    let mut calls = line.match_indices('(').filter_map(|(end, _)| {
        let name = line[..end].trim_end_matches(is_part);
        (name.len() < end).then_some((name.len(), end))
    });
    // The engine names the place behind the bracket; the map leads to what begins there or before.
    let (start, end) = calls.rfind(|(start, _)| *start <= at)?;
    let name = line[start..end].trim_end_matches(['?', '.', '!']);
    name.starts_with(|letter: char| is_letter(letter) && !letter.is_numeric()).then_some(name)
}

fn is_letter(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '$'
}
