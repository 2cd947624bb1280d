//! Finds `@name` in a text.

/// What stands behind an `@`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mention<'a> {
    name: &'a str,
    is_quoted: bool,
}

impl<'a> Mention<'a> {
    /// The name, and without the punctuation that may belong to the sentence.
    pub(super) fn readings(&self) -> Vec<&'a str> {
        let shorter = self.name.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}', '\'', '"', '`']);
        if self.is_quoted || shorter == self.name || shorter.is_empty() {
            return vec![self.name];
        }
        vec![self.name, shorter]
    }

    /// The name, if it looks like that of a file: quoted, or with a short ending. Packages and people are called by an `@` too.
    pub(super) fn file_name(&self) -> Option<&'a str> {
        let name = *self.readings().last()?;
        let (stem, ending) = name.rsplit('/').next()?.rsplit_once('.')?;
        let is_ending = (1..=5).contains(&ending.len()) && ending.chars().all(|letter| letter.is_ascii_alphanumeric());
        (self.is_quoted || (is_ending && !stem.is_empty() && !name.contains('@'))).then_some(name)
    }

    /// Whether it can only be meant as the name of a file: it looks like one, or begins as a path that leads elsewhere.
    pub(super) fn is_path(&self) -> bool {
        ["/", "~/", "../"].iter().any(|start| self.name.starts_with(start)) || self.file_name().is_some()
    }
}

/// Every mention, in order. An `@` inside a word is none: it belongs to a mail address.
pub(super) fn mentions(text: &str) -> Vec<Mention<'_>> {
    let mut found = Vec::new();
    let mut before = ' ';
    let mut end = 0;
    for (place, letter) in text.char_indices() {
        let opens = before.is_whitespace() || matches!(before, '(' | '[' | '{' | '"' | '\'' | '`' | ',' | '=');
        if letter == '@' && opens && place >= end {
            let rest = &text[place + 1..];
            let mention = match rest.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').map(|(name, _)| Mention { name, is_quoted: true }),
                None => rest.split(char::is_whitespace).next().map(|name| Mention { name, is_quoted: false }),
            };
            if let Some(mention) = mention.filter(|mention| !mention.name.is_empty()) {
                end = place + 1 + mention.name.len();
                found.push(mention);
            }
        }
        before = letter;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&[&str]]) {
        let found: Vec<Vec<&str>> = mentions(text).iter().map(Mention::readings).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn names_stand_behind_a_sign_at_the_beginning_of_a_word() {
        check("@a and (@b/c.rs), see @d.", &[&["a"], &["b/c.rs),", "b/c.rs"], &["d.", "d"]]);
        check("@\"two words.md\" @'x'", &[&["two words.md"], &["'x'", "'x"]]);
        check("me@example.org a@b @ @", &[]);
        check("@\"never closed", &[]);
        check("@äö\u{3000}@~/x", &[&["äö"], &["~/x"]]);
        check("@a@b", &[&["a@b"]]);
    }

    #[test]
    fn names_of_files_have_an_ending() {
        for (text, expected) in [
            ("@nope.txt", Some("nope.txt")),
            ("@src/nope.rs, please", Some("src/nope.rs")),
            ("@\"two words.md\"", Some("two words.md")),
            ("@types/node", None),
            ("@ada", None),
            ("@org/lib@1.2", None),
            ("@.", None),
        ] {
            assert_eq!(mentions(text).first().and_then(Mention::file_name), expected, "{text}");
        }
    }
}
