//! What a session is called where nobody gave it a name: what was said first, without what was attached to it.

use crate::attached::{split_file, split_skill};

/// The words of a message in one line. A file that is attached to it stands there only if nothing else does, and a skill
/// as it was called.
pub fn title(message: &str) -> String {
    let (mut rest, mut files) = (message.trim_start(), Vec::new());
    while let Some((file, behind)) = split_file(rest) {
        files.push(format!("@{}", file.name()));
        rest = behind.trim_start();
    }
    let called = split_skill(rest).map(|(name, behind)| format!("/skill:{name} {behind}"));
    let words = called.as_deref().unwrap_or(rest).split_whitespace().collect::<Vec<_>>().join(" ");
    if words.is_empty() { files.join(" ") } else { words }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_is_what_somebody_said() {
        for (message, expected) in [
            ("Fix\nthe  tests", "Fix the tests"),
            ("<file name=\"/p/a.rs\">\nfn main() {}\n</file>\nExplain this", "Explain this"),
            ("<file name=\"/p/a.rs\">\nx\n</file>\n<file name=\"/p/b.png\"></file>\n", "@a.rs @b.png"),
            ("<skill name=\"review\" location=\"/s\">\nLook.\n</skill>\n\nonly src", "/skill:review only src"),
            ("<file name=\"/p/a.rs\">never closed", "<file name=\"/p/a.rs\">never closed"),
            ("", ""),
        ] {
            assert_eq!(title(message), expected);
        }
    }
}
