//! How well a path or name fits what was typed.

/// What was typed, prepared for many comparisons.
pub(super) struct Query {
    letters: Vec<char>,
    /// Somebody typed a capital, so capitals count.
    is_exact: bool,
}

impl Query {
    pub(super) fn new(typed: &str) -> Self {
        let is_exact = typed.chars().any(char::is_uppercase);
        let mut query = Self { letters: Vec::new(), is_exact };
        query.letters = typed.chars().map(|letter| query.fold(letter)).collect();
        query
    }

    /// The better, the higher; `None` if the letters do not stand in `text` in this order.
    ///
    /// The letters are looked for from the end, because the name of a file says more than its folders. Neighbours and
    /// beginnings of words count more than scattered letters, and so does a whole name.
    pub(super) fn score(&self, text: &str) -> Option<i64> {
        let name = text.rfind('/').map_or(0, |slash| slash + 1);
        let mut wanted = self.letters.iter().rev().peekable();
        let mut score = 0;
        let mut after = None;
        for (place, letter) in text.char_indices().rev() {
            if wanted.next_if(|wanted| **wanted == self.fold(letter)).is_none() {
                continue;
            }
            score += 1;
            if after == Some(place + letter.len_utf8()) {
                score += 6;
            }
            if text[..place].chars().next_back().is_none_or(|before| !before.is_alphanumeric()) {
                score += 3;
            }
            if place >= name {
                score += 2;
            }
            after = Some(place);
        }
        wanted.peek().is_none().then(|| score + self.score_of_name(&text[name..]))
    }

    fn score_of_name(&self, name: &str) -> i64 {
        let mut rest = name.chars().map(|letter| self.fold(letter));
        let begins = !self.letters.is_empty() && self.letters.iter().all(|wanted| rest.next() == Some(*wanted));
        match (begins, rest.next()) {
            (false, _) => 0,
            (true, Some(_)) => 20,
            (true, None) => 40,
        }
    }

    fn fold(&self, letter: char) -> char {
        if self.is_exact || letter.is_ascii_lowercase() {
            return letter;
        }
        letter.to_lowercase().next().unwrap_or(letter)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The candidates that fit, in the order of their scores.
    fn check(query: &str, candidates: &[&str], expected: &[&str]) {
        let mut ranked: Vec<_> = candidates.iter().filter_map(|it| Some((Query::new(query).score(it)?, *it))).collect();
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
            prop_assert!(Query::new(&query).score(&text).is_some());
        }
    }
}
