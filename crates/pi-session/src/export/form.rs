//! In which form a session is written to a file: what the ending of its name promises.

use std::path::Path;

/// A form in which a session can be written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// One page that needs nothing else.
    Html,
    Markdown,
    /// What the model was shown, as a prompt envelope.
    Envelope,
    /// The session as it is kept, every branch of it.
    Session,
}

/// The ending of a file promises no form that there is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a session is not written as {}", if ending.is_empty() { "a file without an ending".to_owned() } else { format!(".{ending}") })]
pub struct UnknownEnding {
    pub ending: String,
}

/// Every ending and what is written.
const ENDINGS: [(&str, Form); 7] = [
    ("html", Form::Html),
    ("htm", Form::Html),
    ("md", Form::Markdown),
    ("markdown", Form::Markdown),
    ("txt", Form::Markdown),
    ("json", Form::Envelope),
    ("jsonl", Form::Session),
];

impl Form {
    /// What the ending of a file promises.
    pub fn of_file(file: &Path) -> Result<Self, UnknownEnding> {
        let ending = file.extension().unwrap_or_default().to_string_lossy().into_owned();
        let known = ENDINGS.iter().find(|(name, _)| ending.eq_ignore_ascii_case(name));
        known.map(|(_, form)| *form).ok_or(UnknownEnding { ending })
    }

    /// What is written, in words.
    pub fn told(self) -> &'static str {
        match self {
            Self::Html => "a page",
            Self::Markdown => "Markdown",
            Self::Envelope => "a prompt envelope",
            Self::Session => "a session file",
        }
    }
}

impl UnknownEnding {
    /// The endings that there are, for whoever chose another.
    pub fn hint(&self) -> &'static str {
        "end the name with .html (a page), .md or .txt (Markdown), .json (what the model was shown last) or .jsonl (the session)"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ending_of_a_file_says_what_is_written() {
        for (file, expected) in [
            ("a.html", Ok(Form::Html)),
            ("a.md", Ok(Form::Markdown)),
            ("a.TXT", Ok(Form::Markdown)),
            ("a.json", Ok(Form::Envelope)),
            ("a.b.jsonl", Ok(Form::Session)),
            ("a.pdf", Err("a session is not written as .pdf")),
            ("a", Err("a session is not written as a file without an ending")),
        ] {
            let form = Form::of_file(Path::new(file)).map_err(|unknown| unknown.to_string());
            assert_eq!(form, expected.map_err(str::to_owned), "{file}");
        }
    }
}
