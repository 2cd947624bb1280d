//! What somebody may have meant: the known word that is nearest to a misspelt one.

/// The nearest of `words`, if it is near enough to be a slip: a third of the letters may differ.
pub(crate) fn nearest<'a>(word: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = words.into_iter().map(|it| (distance(word, it), it)).min()?;
    let allowed = word.chars().count().max(near.1.chars().count()).div_ceil(3);
    (0 < near.0 && near.0 <= allowed).then_some(near.1)
}

/// How many letters must be put in, taken out, replaced or swapped with their neighbour to get from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let [from, to] = [from, to].map(|word| word.chars().collect::<Vec<char>>());
    let mut rows: Vec<Vec<usize>> = vec![(0..=to.len()).collect()];
    for (above, letter) in from.iter().enumerate() {
        let mut row = vec![above + 1];
        for (left, other) in to.iter().enumerate() {
            let replaced = rows[above][left] + usize::from(letter != other);
            let mut least = replaced.min(rows[above][left + 1] + 1).min(row[left] + 1);
            if above > 0 && left > 0 && *letter == to[left - 1] && from[above - 1] == *other {
                least = least.min(rows[above - 1][left - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slip_finds_its_word_and_other_words_do_not() {
        let words = ["policy", "path-guard", "git"];
        for (word, expected) in [
            ("polcy", Some("policy")),
            ("plocy", Some("policy")),
            ("pathguard", Some("path-guard")),
            ("got", Some("git")),
            ("gti", Some("git")),
            ("git", None),
            ("messages", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, words), expected, "{word}");
        }
    }
}
