//! Comparing texts without regard to case.
//!
//! Sign by sign, so that a folded path still has the shape that `?` in a pattern counts. Through upper case, because some
//! systems take for one name what differs in lower case only: `ſ` and `s`, `ς` and `σ`.

/// Whether two texts differ at most in case. Does not allocate.
pub(crate) fn is_same(left: &str, right: &str) -> bool {
    left.eq_ignore_ascii_case(right)
        || (!(left.is_ascii() && right.is_ascii())
            && left.chars().flat_map(fold_sign).eq(right.chars().flat_map(fold_sign)))
}

/// The text without case. The fold of a beginning is the beginning of the fold.
pub(crate) fn fold(text: &str) -> String {
    text.chars().flat_map(fold_sign).collect()
}

fn fold_sign(sign: char) -> std::char::ToLowercase {
    let mut upper = sign.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(upper), None) => upper.to_lowercase(),
        (_, _) => sign.to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_that_differ_in_case_are_the_same() {
        for (left, right, expected) in [
            ("auth.json", "AUTH.JSON", true),
            ("auth.j\u{17f}on", "auth.json", true),
            ("\u{212a}ey", "key", true),
            ("ΟΔΟΣ", "οδος", true),
            ("οδοσ", "οδος", true),
            ("É", "é", true),
            ("auth.json", "auth.jsn", false),
            ("é", "e", false),
            ("ß", "ss", false),
        ] {
            assert_eq!((is_same(left, right), fold(left) == fold(right)), (expected, expected), "{left} {right}");
        }
    }
}
