//! Where words end, before their letters are merged to tokens.
//!
//! Both tables come with a regular expression for it. What the expressions say is written out here: nothing has to be
//! compiled, and nothing goes back over what it has seen, so that every text is cut in linear time. A property test
//! compares with the expressions themselves.

use super::letter::Kind;

/// The end of the first word by the rules of `o200k_base`. The text is not empty.
pub(super) fn o200k(text: &str) -> usize {
    let prefix = first(text).filter(|(kind, _)| kind.is_prefix()).map(|(_, end)| end);
    let tries = || prefix.into_iter().chain([0]);
    let word = tries().find_map(|from| mixed(text, from)).or_else(|| tries().find_map(|from| capitals(text, from)));
    word.map(|end| end + contraction(&text[end..]).unwrap_or(0))
        .or_else(|| digits(text))
        .or_else(|| signs(text, |letter| matches!(letter, '\r' | '\n' | '/')))
        .unwrap_or_else(|| {
            let spaces = Spaces::of(text);
            spaces.line_end.unwrap_or_else(|| spaces.before_word(text))
        })
}

/// The same for `cl100k_base`.
pub(super) fn cl100k(text: &str) -> usize {
    let prefix = first(text).filter(|(kind, _)| kind.is_prefix()).map_or(0, |(_, end)| end);
    let letters = || Some(run(text, prefix, Kind::is_letter)).filter(|end| *end > prefix);
    contraction(text)
        .or_else(letters)
        .or_else(|| digits(text))
        .or_else(|| signs(text, |letter| matches!(letter, '\r' | '\n')))
        .unwrap_or_else(|| {
            let spaces = Spaces::of(text);
            if spaces.end == text.len() {
                return spaces.end;
            }
            spaces.line_end.unwrap_or_else(|| spaces.before_word(text))
        })
}

/// Letters that may be capitals and then at least one that need not be. The first part takes as many as it can, and gives
/// back only what the second cannot do without.
fn mixed(text: &str, from: usize) -> Option<usize> {
    let (mut end, mut last) = (from, None);
    for letter in text[from..].chars() {
        let kind = Kind::of(letter);
        if !kind.is_upper() {
            break;
        }
        end += letter.len_utf8();
        if kind.is_lower() {
            last = Some(end);
        }
    }
    let lower = run(text, end, Kind::is_lower);
    if lower > end { Some(lower) } else { last }
}

/// At least one letter that may be a capital, and then some that need not be.
fn capitals(text: &str, from: usize) -> Option<usize> {
    let end = run(text, from, Kind::is_upper);
    (end > from).then(|| run(text, end, Kind::is_lower))
}

/// What English puts behind an apostrophe, with it.
fn contraction(text: &str) -> Option<usize> {
    let rest = text.strip_prefix('\'')?;
    let mut letters = rest.chars();
    let first = letters.next()?;
    match (first.to_ascii_lowercase(), letters.next().map(|second| second.to_ascii_lowercase())) {
        // The long s is an s.
        ('s' | 't' | 'm' | 'd' | 'ſ', _) => Some(1 + first.len_utf8()),
        ('r' | 'v', Some('e')) | ('l', Some('l')) => Some(3),
        _ => None,
    }
}

fn digits(text: &str) -> Option<usize> {
    let digits = text.chars().take(3).take_while(|letter| Kind::of(*letter) == Kind::Number);
    Some(digits.map(char::len_utf8).sum()).filter(|end| *end > 0)
}

/// Signs with the space before them, and what may follow.
fn signs(text: &str, follows: fn(char) -> bool) -> Option<usize> {
    let from = usize::from(text.starts_with(' '));
    let end = run(text, from, Kind::is_sign);
    let behind = text[end..].chars().take_while(|letter| follows(*letter)).count();
    (end > from).then_some(end + behind)
}

/// The space at the beginning of a text.
struct Spaces {
    end: usize,
    /// Behind the last line end in it.
    line_end: Option<usize>,
    /// Where its last letter begins.
    last: usize,
}

impl Spaces {
    fn of(text: &str) -> Self {
        let mut spaces = Self { end: 0, line_end: None, last: 0 };
        for letter in text.chars() {
            let kind = Kind::of(letter);
            if !kind.is_space() {
                break;
            }
            spaces.last = spaces.end;
            spaces.end += letter.len_utf8();
            if kind == Kind::LineEnd {
                spaces.line_end = Some(spaces.end);
            }
        }
        spaces
    }

    /// The last one belongs to the word behind it, unless it is the only one.
    fn before_word(&self, text: &str) -> usize {
        if self.end == text.len() || self.last == 0 { self.end } else { self.last }
    }
}

/// The kind of the first letter, and its end.
fn first(text: &str) -> Option<(Kind, usize)> {
    text.chars().next().map(|letter| (Kind::of(letter), letter.len_utf8()))
}

/// The end of the longest run from a place.
fn run(text: &str, from: usize, is_in: fn(Kind) -> bool) -> usize {
    let letters = text[from..].chars().take_while(|letter| is_in(Kind::of(*letter)));
    from + letters.map(char::len_utf8).sum::<usize>()
}
