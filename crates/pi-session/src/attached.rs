//! How files and skills stand in what somebody says: written here, and read here by whoever shows it.
//!
//! `<file name="/p/a.rs">`, the text between two line breaks, `</file>`; of a picture only a word stands between the marks. The
//! form is Pi's.

use std::path::Path;

const FILE: &str = "<file name=\"";
const FILE_END: &str = "</file>";

/// A file in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct File<'a> {
    /// As it is written, with quotes escaped.
    path: &'a str,
    /// The text of the file; nothing if it is a picture.
    text: Option<&'a str>,
}

/// Something that was attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attached {
    pub name: String,
    /// How many lines of text it has; none if it is a picture.
    pub lines: Option<usize>,
}

/// A text file as it stands in a message.
pub fn text_file(path: &Path, text: &str) -> String {
    wrap(path, &format!("\n{text}\n"))
}

/// The place of a picture in a message, with a note about it.
pub fn picture_file(path: &Path, note: &str) -> String {
    wrap(path, note)
}

/// A file at the beginning of a text, and what follows it.
fn split_file(text: &str) -> Option<(File<'_>, &str)> {
    let (path, inside) = text.strip_prefix(FILE)?.split_once("\">")?;
    let (text, behind) = match inside.strip_prefix('\n') {
        Some(inside) => {
            // The text may speak of such marks itself: only one that has its line to itself ends it.
            let ends = inside.match_indices("\n</file>").map(|(end, mark)| (end, &inside[end + mark.len()..]));
            let (end, behind) = ends.into_iter().find(|(_, behind)| behind.is_empty() || behind.starts_with('\n'))?;
            (Some(&inside[..end]), behind)
        }
        None => (None, inside.split_once(FILE_END)?.1),
    };
    Some((File { path, text }, behind.strip_prefix('\n').unwrap_or(behind)))
}

/// The name of a skill that is called at the beginning of a text, and what follows it.
fn split_skill(text: &str) -> Option<(&str, &str)> {
    let (name, inside) = text.strip_prefix("<skill name=\"")?.split_once('"')?;
    Some((name, inside.split_once("</skill>")?.1))
}

/// The words of a message, and what is attached before and behind them.
pub fn split(message: &str) -> (String, Vec<Attached>) {
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

/// What somebody knows a message by: its words, or the names of its files if it has none.
pub fn shown(message: &str) -> String {
    let (words, attached) = split(message);
    if !words.trim().is_empty() {
        return words;
    }
    attached.iter().map(|file| format!("@{}", file.name)).collect::<Vec<_>>().join(" ")
}

impl File<'_> {
    /// The name without its folders.
    fn name(&self) -> String {
        let name = Path::new(self.path).file_name().map_or(self.path.into(), |name| name.to_string_lossy());
        name.replace("&quot;", "\"")
    }
}

fn wrap(path: &Path, inside: &str) -> String {
    let path = path.display().to_string().replace('"', "&quot;");
    format!("{FILE}{path}\">{inside}{FILE_END}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_read_as_it_was_written() {
        for (path, text) in [("/p/a.rs", "one\ntwo"), ("/p/a \"b\".txt", ""), ("x", "a </file> b\n")] {
            let message = format!("{}\nand more", text_file(Path::new(path), text));
            let (file, behind) = split_file(&message).expect("a file");
            let name = Path::new(path).file_name().expect("a name").to_string_lossy().into_owned();
            assert_eq!((file.name(), file.text, behind), (name, Some(text), "and more"));
        }
        let message = format!("{}\nand more", picture_file(Path::new("/p/b.png"), "[scaled]"));
        let (file, behind) = split_file(&message).expect("a file");
        assert_eq!((file.name(), file.text, behind), ("b.png".to_owned(), None, "and more"));
    }

    #[test]
    fn file_without_an_end_is_none() {
        assert_eq!(split_file("<file name=\"/p/a.rs\">\nnever closed"), None);
        assert_eq!(split_file("a <file name=\"/p/a.rs\">\nx\n</file>"), None);
    }

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
