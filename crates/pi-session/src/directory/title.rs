//! What a session is called where nobody gave it a name: what was said first, without what was attached to it.

use std::sync::Arc;

use pi_envelope::{Origin, Span};

use crate::{attached, input};

/// The words of a message in one line. A file that is attached to it stands there only if nothing else does, and a skill
/// as it was called.
pub fn title(message: &str) -> String {
    attached::shown(message).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// So much of that as lists tell and a search looks at; nothing if there are no words. Who pastes a book begins a session with a
/// book.
pub fn opening(message: &str) -> Option<Arc<str>> {
    const MOST: usize = 1024;
    let title = title(message);
    let opening = &title[..title.floor_char_boundary(MOST)];
    (!opening.is_empty()).then(|| opening.into())
}

/// A message without what was piped in before its words, unless it has no others. Its text is in its first block.
pub(crate) fn without_pipe(message: String, spans: &[Span]) -> String {
    let is_piped = |span: &&Span| {
        span.block == 0 && matches!(&span.provenance.origin, Origin::File { path } if path == input::PIPE)
    };
    let mut own = message.clone();
    for span in spans.iter().rev().filter(is_piped) {
        // A file can say anything.
        if own.get(span.bytes.clone()).is_some() {
            own.replace_range(span.bytes.clone(), "");
        }
    }
    if own.trim().is_empty() { message } else { own }
}

#[cfg(test)]
mod tests {
    use pi_envelope::{Provenance, SpanSource};

    use super::*;

    #[test]
    fn what_was_piped_in_is_not_what_somebody_said() {
        for (text, piped, expected) in [
            ("a log\n\nWhat is wrong?", 7, "What is wrong?"),
            ("a log\n\n", 7, "a log\n\n"),
            ("a log\n\nWhat is wrong?", 700, "a log\n\nWhat is wrong?"),
        ] {
            let provenance = Provenance::usual(Origin::File { path: input::PIPE.to_owned() });
            let span = Span { block: 0, bytes: 0..piped, provenance, source: SpanSource::Quote };
            assert_eq!(without_pipe(text.to_owned(), &[span]), expected);
        }
    }

    #[test]
    fn title_is_what_somebody_said() {
        for (message, expected) in [
            ("Fix\nthe  tests", "Fix the tests"),
            ("<file name=\"/p/a.rs\">\nfn main() {}\n</file>\nExplain this", "Explain this"),
            ("<file name=\"/p/a.rs\">\nx\n</file>\n<file name=\"/p/b.png\"></file>\n", "@a.rs @b.png"),
            ("<skill name=\"review\" location=\"/s\">\nLook.\n</skill>\n\nonly src", "/skill:review only src"),
            ("see @a.rs\n\n<file name=\"/p/a.rs\">\nfn main() {}\n</file>\n", "see @a.rs"),
            ("<file name=\"/p/a.rs\">never closed", "<file name=\"/p/a.rs\">never closed"),
            ("", ""),
        ] {
            assert_eq!(title(message), expected);
        }
    }
}
