//! How well a path or name fits what was typed.

/// The better, the higher; `None` if the letters of `query` do not stand in `text` in this order. Capitals count only if
/// somebody typed one.
///
/// The letters are looked for from the end, because the name of a file says more than its folders. Neighbours and
/// beginnings of words count more than scattered letters, and so does a whole name.
pub(super) fn score(query: &str, text: &str) -> Option<i64> {
    let is_exact = query.chars().any(char::is_uppercase);
    let fold = |letter: char| if is_exact { letter } else { letter.to_lowercase().next().unwrap_or(letter) };
    let wanted: Vec<char> = query.chars().map(fold).collect();
    let letters: Vec<char> = text.chars().map(fold).collect();
    let name = letters.iter().rposition(|&letter| letter == '/').map_or(0, |slash| slash + 1);
    let mut score = 0;
    let mut place = letters.len();
    let mut after = None;
    for &letter in wanted.iter().rev() {
        place = letters[..place].iter().rposition(|&it| it == letter)?;
        score += 1;
        if after == Some(place + 1) {
            score += 6;
        }
        if place == 0 || !letters[place - 1].is_alphanumeric() {
            score += 3;
        }
        if place >= name {
            score += 2;
        }
        after = Some(place);
    }
    let last = &letters[name..];
    if !wanted.is_empty() && last.starts_with(&wanted) {
        score += 20;
    }
    if last == wanted {
        score += 20;
    }
    Some(score)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The candidates that fit, in the order of their scores.
    fn check(query: &str, candidates: &[&str], expected: &[&str]) {
        let mut ranked: Vec<_> = candidates.iter().filter_map(|it| Some((score(query, it)?, *it))).collect();
        ranked.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        let ranked: Vec<&str> = ranked.into_iter().map(|(_, it)| it).collect();
        assert_eq!(ranked, expected, "{query:?}");
    }

    #[test]
    fn names_come_before_folders_and_wholes_before_pieces() {
        check("main", &["domain/x.rs", "src/main.rs", "m/a/i/n.rs"], &["src/main.rs", "domain/x.rs", "m/a/i/n.rs"]);
        check("main", &["main.rs", "main"], &["main", "main.rs"]);
        check("src/m", &["src/main.rs", "other/src.m"], &["src/main.rs"]);
        check("rm", &["README.md", "src/rm.rs"], &["src/rm.rs", "README.md"]);
    }

    #[test]
    fn capitals_count_if_typed() {
        check("Re", &["README.md", "Report"], &["Report"]);
        check("re", &["README.md"], &["README.md"]);
        check("zz", &["README.md"], &[]);
        check("", &["a"], &["a"]);
    }

    proptest! {
        #[test]
        fn letters_in_order_always_fit(text in "\\PC{0,20}", keep in prop::collection::vec(any::<bool>(), 20)) {
            let query: String = text.chars().zip(&keep).filter(|(_, keep)| **keep).map(|(letter, _)| letter).collect();
            prop_assert!(score(&query, &text).is_some());
        }
    }
}
