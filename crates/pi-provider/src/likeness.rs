//! What somebody may have meant: the known words that are nearest to a misspelt one.

/// Those of `words` that are near enough to be meant, the nearest first: a third of the letters may differ, and upper and
/// lower case are the same. The word itself is none of them.
pub fn nearest<'a>(word: &str, words: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = word.to_lowercase();
    let near = |known: &'a str| {
        let allowed = word.chars().count().max(known.chars().count()).div_ceil(3);
        let distance = distance(&wanted, &known.to_lowercase());
        (known != word && distance <= allowed).then_some((distance, known))
    };
    let mut ranked: Vec<(usize, &str)> = words.into_iter().filter_map(near).collect();
    ranked.sort_unstable();
    ranked.dedup();
    ranked.into_iter().map(|(_, known)| known).collect()
}

/// How many letters must be put in, taken out, replaced or swapped with their neighbour to get from one word to the other.
pub fn distance(from: &str, to: &str) -> usize {
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
        let words = ["policy", "path-guard", "git", "got"];
        for (word, expected) in [
            ("polcy", vec!["policy"]),
            ("plocy", vec!["policy"]),
            ("pathguard", vec!["path-guard"]),
            ("gut", vec!["git", "got"]),
            ("gti", vec!["git"]),
            ("Git", vec!["git", "got"]),
            ("git", vec!["got"]),
            ("messages", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(nearest(word, words), expected, "{word}");
        }
    }
}
