//! Paths as models and people write them.

use unicode_normalization::UnicodeNormalization;

/// How Unicode writes blanks that are no blank.
pub(crate) fn is_odd_space(sign: char) -> bool {
    matches!(sign, '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

/// The path that was meant, the likeliest first; later ones are taken if there is something. `@` in front comes from
/// the way files are mentioned in prompts, odd spaces from copied text.
pub(crate) fn readings(written: &str) -> Vec<String> {
    let bare = written.strip_prefix('@').filter(|bare| !bare.is_empty()).unwrap_or(written);
    let plain: String = bare.chars().map(|sign| if is_odd_space(sign) { ' ' } else { sign }).collect();
    let mut readings = vec![plain];
    for other in [bare, written] {
        if !readings.iter().any(|known| known == other) {
            readings.push(other.to_owned());
        }
    }
    readings
}

/// Names that look like `path` and that macOS gives to files: a narrow space in the time of a screenshot, accents apart
/// from their letters, a curly apostrophe.
pub(crate) fn lookalikes(path: &str) -> Vec<String> {
    let narrow = [" AM.", " PM.", " am.", " pm."]
        .iter()
        .fold(path.to_owned(), |path, time| path.replace(time, &format!("\u{202f}{}", time.trim_start())));
    let apart: String = path.nfd().collect();
    let curly = path.replace('\'', "\u{2019}");
    let both = apart.replace('\'', "\u{2019}");
    let mut found: Vec<String> = Vec::new();
    for name in [narrow, apart, curly, both] {
        if name != path && !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_freed_of_what_its_way_here_added() {
        for (written, expected) in [
            ("a b", &["a b"][..]),
            ("@src/a", &["src/a", "@src/a"]),
            ("@", &["@"]),
            ("a\u{a0}b\u{202f}c", &["a b c", "a\u{a0}b\u{202f}c"]),
            ("@a\u{3000}", &["a ", "a\u{3000}", "@a\u{3000}"]),
        ] {
            assert_eq!(readings(written), expected, "{written:?}");
        }
    }

    #[test]
    fn names_of_macos_look_like_what_people_type() {
        for (path, expected) in [
            ("plain.txt", &[][..]),
            ("Shot at 3.15.00 PM.png", &["Shot at 3.15.00\u{202f}PM.png"]),
            ("é.txt", &["e\u{301}.txt"]),
            ("it's.txt", &["it\u{2019}s.txt"]),
            ("l'été", &["l'e\u{301}te\u{301}", "l\u{2019}été", "l\u{2019}e\u{301}te\u{301}"]),
        ] {
            assert_eq!(lookalikes(path), expected, "{path}");
        }
    }
}
