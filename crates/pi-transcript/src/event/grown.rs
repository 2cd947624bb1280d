//! How a text that is told again and again became another one: one that grew, and one that slid because only its end is kept.

/// The characters by which a text is found again in the one before it, and the places at which it is looked for. Beyond, the whole
/// text is told: it repeats itself too much to be compared in a moment.
const HEAD: usize = 64;
const PLACES: usize = 64;

/// How a text became another one.
#[derive(Debug, PartialEq, Eq)]
pub struct Grown {
    /// Characters (Unicode code points) that went from its beginning.
    pub dropped: u64,
    /// The bytes of the other one that were there before.
    pub kept: usize,
}

impl Grown {
    /// Nothing if the second has nothing of the first.
    pub fn between(before: &str, after: &str) -> Option<Self> {
        if after.starts_with(before) {
            return Some(Self { dropped: 0, kept: before.len() });
        }
        let head = after.char_indices().nth(HEAD).map_or(after, |(end, _)| &after[..end]);
        if head.is_empty() {
            return None;
        }
        let mut places = before.match_indices(head).take(PLACES).map(|(place, _)| place);
        let place = places.find(|place| after.starts_with(&before[*place..]))?;
        let dropped = u64::try_from(before[..place].chars().count()).unwrap_or(u64::MAX);
        Some(Self { dropped, kept: before.len() - place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str, expected: Option<(u64, &str)>) {
        let grown = Grown::between(before, after);
        assert_eq!(grown.as_ref().map(|grown| (grown.dropped, &after[grown.kept..])), expected);
        if let Some(grown) = grown {
            let rest: String = before.chars().skip(usize::try_from(grown.dropped).expect("a place")).collect();
            assert_eq!(rest + &after[grown.kept..], after);
        }
    }

    #[test]
    fn text_that_grew_is_told_by_what_came() {
        check("", "a", Some((0, "a")));
        check("ab", "ab", Some((0, "")));
        check("é\n", "é\nü\n", Some((0, "ü\n")));
    }

    #[test]
    fn text_that_slid_is_told_by_what_went_and_what_came() {
        let lines = |range: std::ops::Range<u32>| range.map(|line| format!("lïne {line}\n")).collect::<String>();
        check(&lines(10..60), &lines(15..62), Some((40, "lïne 60\nlïne 61\n")));
        check(&lines(10..60), &lines(70..99), None);
        check("ab", "", None);
        check("aab", "xaab", None);
    }

    #[test]
    fn text_that_repeats_itself_is_not_searched_for_ever() {
        let (before, after) = ("a".repeat(50_000), format!("{}b", "a".repeat(40_000)));
        check(&before, &after, None);
    }
}
