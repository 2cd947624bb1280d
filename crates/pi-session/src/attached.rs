//! How files and skills stand in what somebody says: written here, and read here by whoever shows it.
//!
//! `<file name="/p/a.rs">`, the text between two line breaks, `</file>`; of a picture only a word stands between the marks. The
//! form is Pi's.

use std::path::Path;

const FILE: &str = "<file name=\"";
const FILE_END: &str = "</file>";

/// A file in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct File<'a> {
    /// As it is written, with quotes escaped.
    path: &'a str,
    /// The text of the file; nothing if it is a picture.
    pub text: Option<&'a str>,
}

/// A text file as it stands in a message.
pub fn text_file(path: &Path, text: &str) -> String {
    wrap(path, &format!("\n{text}\n"))
}

/// The place of a picture in a message, with a note about it.
pub fn picture_file(path: &Path, note: &str) -> String {
    wrap(path, note)
}

/// Whether a file begins here.
pub fn begins_file(text: &str) -> bool {
    text.starts_with(FILE)
}

/// A file at the beginning of a text, and what follows it.
pub fn split_file(text: &str) -> Option<(File<'_>, &str)> {
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
pub fn split_skill(text: &str) -> Option<(&str, &str)> {
    let (name, inside) = text.strip_prefix("<skill name=\"")?.split_once('"')?;
    Some((name, inside.split_once("</skill>")?.1))
}

impl File<'_> {
    /// The name without its folders.
    pub fn name(&self) -> String {
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
}
