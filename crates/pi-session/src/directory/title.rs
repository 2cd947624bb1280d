//! What a session is called where nobody gave it a name: what was said first, without what was attached to it.

use std::path::Path;

/// The words of a message in one line. A file that is attached to it stands there only if nothing else does, and a skill
/// as it was called.
pub fn title(message: &str) -> String {
    let (mut rest, mut files) = (message.trim_start(), Vec::new());
    while let Some((name, behind)) = file(rest) {
        files.push(format!("@{name}"));
        rest = behind.trim_start();
    }
    let called = skill(rest).map(|(name, behind)| format!("/skill:{name} {behind}"));
    let words = called.as_deref().unwrap_or(rest).split_whitespace().collect::<Vec<_>>().join(" ");
    if words.is_empty() { files.join(" ") } else { words }
}

/// The name of a file that is attached at the beginning, and what follows it.
fn file(text: &str) -> Option<(String, &str)> {
    let (path, inside) = text.strip_prefix("<file name=\"")?.split_once("\">")?;
    let (_, behind) = inside.split_once("</file>")?;
    let name = Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
    Some((name.unwrap_or_else(|| path.to_owned()), behind))
}

/// The name of a skill that is called at the beginning, and what follows it.
fn skill(text: &str) -> Option<(&str, &str)> {
    let (name, inside) = text.strip_prefix("<skill name=\"")?.split_once('"')?;
    Some((name, inside.split_once("</skill>")?.1))
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
