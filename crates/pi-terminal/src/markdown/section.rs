//! Where a text of markdown can be cut so that its parts are drawn as the whole would be.

/// The parts of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sections<'a> {
    /// Complete: whatever is added to the text, these stay as they are.
    pub whole: Vec<&'a str>,
    /// The last one, which may still grow.
    pub open: &'a str,
    /// Where the open one begins.
    pub open_at: usize,
    /// The fence that the open one has not closed.
    pub fence: Option<&'a str>,
}

/// Cuts a text at every empty line that is followed by a line without indentation, but not inside a block of code.
pub fn sections(text: &str) -> Sections<'_> {
    let mut whole = Vec::new();
    let mut fence: Option<&str> = None;
    let (mut start, mut at) = (0, 0);
    // Whether the line before was empty, outside of a block of code.
    let mut gap = false;
    for line in text.split_inclusive('\n') {
        let is_complete = line.ends_with('\n');
        let bare = line.trim_end();
        let is_flush = !bare.is_empty() && !bare.starts_with([' ', '\t']);
        // Only a line that is complete, or one that began without a blank, says where it belongs.
        if gap && is_flush {
            if !text[start..at].trim().is_empty() {
                whole.push(&text[start..at]);
            }
            start = at;
        }
        fence = match fence {
            Some(open) => (!closes(bare, open) || !is_complete).then_some(open),
            None => opening(bare),
        };
        gap = fence.is_none() && bare.is_empty() && (is_complete || gap);
        at += line.len();
    }
    Sections { whole, open: &text[start..], open_at: start, fence }
}

/// The fence that a line opens.
fn opening(line: &str) -> Option<&str> {
    let inner = line
        .trim_start_matches([' ', '>', '-', '*', '+'])
        .trim_start_matches(|letter: char| letter.is_ascii_digit() || matches!(letter, '.' | ')' | ' '));
    let mark = inner.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let length = inner.chars().take_while(|letter| *letter == mark).count();
    let rest = &inner[length..];
    (length >= 3 && !(mark == '`' && rest.contains('`'))).then_some(&inner[..length])
}

fn closes(line: &str, fence: &str) -> bool {
    let inner = line.trim_start_matches([' ', '>']);
    let mark = fence.chars().next().unwrap_or('`');
    inner.len() >= fence.len() && inner.chars().all(|letter| letter == mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_blocks_and_not_inside() {
        for (text, whole, open) in [
            ("one", vec![], "one"),
            ("one\n\ntwo", vec!["one\n\n"], "two"),
            ("one\n\n", vec![], "one\n\n"),
            ("- a\n\n  more\n\nafter", vec!["- a\n\n  more\n\n"], "after"),
            ("```\na\n\nb\n```\n\nafter", vec!["```\na\n\nb\n```\n\n"], "after"),
            ("```\na\n\nb", vec![], "```\na\n\nb"),
            ("~~~\n```\n\n~~~\n\nx", vec!["~~~\n```\n\n~~~\n\n"], "x"),
            ("1. ```\n   a\n\n   ```\n\nx", vec!["1. ```\n   a\n\n   ```\n\n"], "x"),
            ("\n\n\nx", vec![], "x"),
            ("a\n\n b", vec![], "a\n\n b"),
        ] {
            let found = sections(text);
            assert_eq!((found.whole.clone(), found.open), (whole, open), "{text:?}");
        }
    }

    #[test]
    fn complete_sections_stay_as_they_are() {
        let text = "# T\n\nfirst para\n\n- a\n- b\n\n  c\n\n```rust\nfn f() {\n\n}\n```\n\n| a |\n|---|\n| 1 |\n\nend\n\n1. x\n\n2. y";
        let all = sections(text);
        for end in 0..=text.len() {
            let part = sections(&text[..end]);
            assert_eq!(part.whole, all.whole[..part.whole.len()], "cut at {end}");
        }
    }
}
