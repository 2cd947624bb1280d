//! Refuses choices that hide what kind of pattern they stand in.
//!
//! Whether a pattern is relative or absolute is told from its beginning, as text. So `{ }` and `[ ]` may choose between
//! names and parts of names, but not between a path of the project and another one (`{src,/etc}/**`, `[/]etc`), and not
//! something that no path contains (`{.,src}/a`, `{src/,docs}`): such a deny would deny nothing.

use super::WILD;

/// Whether every choice leaves the kind of the pattern as it looks.
pub(super) fn is_plain(written: &str) -> bool {
    let drive = written.split('/').next().unwrap_or_default();
    if drive.ends_with(':') && drive.contains(WILD) {
        return false;
    }
    without_classes(written)
        .is_some_and(|text| !text.contains("}:/") && are_alternatives_plain(&text) && are_names_plain(&text))
}

/// The same pattern, where a class that leaves signs out leaves out `/` as well: without that it would cross folders.
pub(super) fn confine(pattern: &str) -> String {
    let mut confined = String::new();
    let mut rest = pattern;
    while let Some(class) = Class::first(rest) {
        let (head, dash) = match class.content.strip_suffix('-') {
            Some(head) if !head.is_empty() => (head, "-"),
            Some(_) | None => (class.content, ""),
        };
        let content = if class.negated { format!("!{head}/{dash}") } else { class.content.to_owned() };
        confined.push_str(&format!("{}[{content}]", class.before));
        rest = class.after;
    }
    confined + rest
}

/// A `[ ]` and what stands around it.
struct Class<'a> {
    before: &'a str,
    negated: bool,
    content: &'a str,
    after: &'a str,
}

impl<'a> Class<'a> {
    /// The first class of a text, if one is closed.
    fn first(text: &'a str) -> Option<Self> {
        let (before, rest) = text.split_once('[')?;
        let content = rest.strip_prefix(['!', '^']).unwrap_or(rest);
        // A `]` that comes first is meant literally.
        let first = usize::from(content.starts_with(']'));
        let end = first + content[first..].find(']')?;
        let negated = content.len() < rest.len();
        Some(Self { before, negated, content: &content[..end], after: &content[end + 1..] })
    }

    /// Whether it speaks of `/`, by itself or within a range.
    fn spans_separator(&self) -> bool {
        let signs: Vec<char> = self.content.chars().collect();
        signs.contains(&'/') || signs.windows(3).any(|it| it[1] == '-' && (it[0]..=it[2]).contains(&'/'))
    }
}

/// The text with a letter in place of every class; nothing if one of them speaks of `/`.
fn without_classes(written: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = written;
    while let Some(class) = Class::first(rest) {
        if class.spans_separator() {
            return None;
        }
        text.push_str(class.before);
        text.push('x');
        rest = class.after;
    }
    Some(text + rest)
}

/// Whether no alternative begins or ends with `/`, and none that could be a whole name is empty.
fn are_alternatives_plain(text: &str) -> bool {
    // What stands before each `{` that is open.
    let mut open: Vec<char> = Vec::new();
    let mut previous = '/';
    for sign in text.chars() {
        let begins = !open.is_empty() && matches!(previous, '{' | ',');
        let ends = !open.is_empty() && matches!(sign, ',' | '}');
        let name = open.iter().all(|before| matches!(before, '/' | '{' | ','));
        if (begins && sign == '/') || (ends && previous == '/') || (begins && ends && name) {
            return false;
        }
        match sign {
            '{' => open.push(previous),
            '}' => drop(open.pop()),
            _ => {}
        }
        previous = sign;
    }
    true
}

/// Whether no alternative holds a name that a path has only before it is resolved: `.`, `..`, `~` or a drive.
fn are_names_plain(text: &str) -> bool {
    let mut before = '/';
    let mut rest = text;
    while text.contains('{') {
        let end = rest.find(['/', '{', ',', '}']).unwrap_or(rest.len());
        let (name, after) = (&rest[..end], rest[end..].chars().next());
        let whole = before != '}' && after != Some('{');
        let chosen = matches!(before, '{' | ',');
        let drive = name.len() == 2 && name.ends_with(':') && after == Some('/');
        if whole && (name == "." || name == ".." || (chosen && (name == "~" || drive))) {
            return false;
        }
        let Some(sign) = after else { break };
        (before, rest) = (sign, &rest[end + 1..]);
    }
    true
}
