//! What is attached to what somebody said: files and skills stand in the message as a whole, and on the screen by name.

use pi_session::attached::{split_file, split_skill};

/// Something that was attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attached {
    pub name: String,
    /// How many lines of text it has; none if it is a picture.
    pub lines: Option<usize>,
}

/// The words of a message, and what is attached before and behind them.
pub(super) fn split(message: &str) -> (String, Vec<Attached>) {
    let (mut words, mut attached) = (String::new(), Vec::new());
    let mut rest = message;
    while !rest.is_empty() {
        // Only the beginning of a line begins an attachment, as it is put there.
        let is_start = words.is_empty() || words.ends_with('\n');
        if let Some((file, behind)) = split_file(rest).filter(|_| is_start) {
            attached.push(Attached { name: file.name(), lines: file.text.map(|text| text.lines().count()) });
            rest = behind;
            continue;
        }
        if let Some((name, behind)) = split_skill(rest).filter(|_| words.is_empty()) {
            words = format!("/skill:{name} ");
            rest = behind.trim_start();
            continue;
        }
        let (line, behind) = rest.split_at(rest.find('\n').map_or(rest.len(), |end| end + 1));
        words.push_str(line);
        rest = behind;
    }
    (words.trim_end().to_owned(), attached)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attachments_are_told_from_words() {
        let file = |name: &str, lines: usize| Attached { name: name.to_owned(), lines: Some(lines) };
        let picture = |name: &str| Attached { name: name.to_owned(), lines: None };
        for (message, words, attached) in [
            ("plain\ntext", "plain\ntext", vec![]),
            ("<file name=\"/p/a.rs\">\none\ntwo\n</file>\nExplain", "Explain", vec![file("a.rs", 2)]),
            (
                "see @a.rs and @b.png\n\n<file name=\"/p/a.rs\">\nx\n</file>\n<file name=\"/p/b.png\">[scaled]</file>\n",
                "see @a.rs and @b.png",
                vec![file("a.rs", 1), picture("b.png")],
            ),
            ("<skill name=\"review\" location=\"/s\">\nLook.\n</skill>\n\nonly src", "/skill:review only src", vec![]),
            ("<file name=\"/p/a.rs\">\nnever closed", "<file name=\"/p/a.rs\">\nnever closed", vec![]),
            ("a <file name=\"x\">\ny\n</file>\n", "a <file name=\"x\">\ny\n</file>", vec![]),
            ("", "", vec![]),
        ] {
            assert_eq!(split(message), (words.to_owned(), attached), "{message:?}");
        }
    }
}
