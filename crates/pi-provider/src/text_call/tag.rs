//! Tags as models write them: `<name key="value">`, `<name=value>`, and some with an ornament before the name.

use std::collections::BTreeSet;

/// What some models put into every tag.
pub(super) const ORNAMENTS: [&str; 2] = ["｜｜DSML｜｜", "｜DSML｜"];

/// The longest beginning that may still become an opening, in bytes: a tag with attributes.
pub(super) const LONGEST: usize = 512;

/// So many tags without an end are looked past in the body of a call; a text with more is none.
const MOST_UNCLOSED: usize = 64;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tag {
    /// As written, with what stands before the name.
    pub(super) written: String,
    pub(super) name: String,
    /// Name and value of each attribute; `<function=x>` is an attribute without a name.
    pub(super) attributes: Vec<(String, String)>,
    /// The length of the whole tag.
    pub(super) length: usize,
}

impl Tag {
    /// Reads the tag at the beginning of a text; `None` if it is not one, or not complete.
    pub(super) fn read(text: &str) -> Option<Self> {
        let text = &text[..text.floor_char_boundary(LONGEST)];
        let inside = text.strip_prefix('<')?;
        let prefix = ORNAMENTS.iter().find(|prefix| inside.starts_with(**prefix)).copied().unwrap_or_default();
        let rest = &inside[prefix.len()..];
        let name: String = rest.chars().take_while(|c| is_name(*c)).collect();
        if name.is_empty() {
            return None;
        }
        let mut attributes = Vec::new();
        let mut rest = &rest[name.len()..];
        loop {
            rest = rest.trim_start();
            if let Some(after) = rest.strip_prefix('>') {
                let length = text.len() - after.len();
                return Some(Self { written: format!("{prefix}{name}"), name, attributes, length });
            }
            let key: String = rest.chars().take_while(|c| is_name(*c)).collect();
            let after = rest[key.len()..].trim_start().strip_prefix('=')?;
            let (value, left) = read_attribute(after.trim_start())?;
            attributes.push((key, value));
            rest = left;
        }
    }

    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The tool's name in the tag: `name="x"` or `<function=x>`.
    pub(super) fn named_tool(&self) -> Option<&str> {
        self.attribute("name").or_else(|| self.attribute(""))
    }
}

fn read_attribute(text: &str) -> Option<(String, &str)> {
    match text.chars().next()? {
        quote @ ('"' | '\'') => {
            let (value, rest) = text[1..].split_once(quote)?;
            Some((value.to_owned(), rest))
        }
        _ => {
            let end = text.find(|c: char| c.is_whitespace() || c == '>')?;
            Some((text[..end].to_owned(), &text[end..]))
        }
    }
}

/// The elements directly in a body, with what is in them.
pub(super) fn children(body: &str) -> Vec<(Tag, &str)> {
    let mut found = Vec::new();
    let mut rest = body;
    // A tag whose end is not behind it has none further on.
    let mut unclosed = BTreeSet::new();
    while let Some(at) = rest.find('<').filter(|_| unclosed.len() < MOST_UNCLOSED) {
        let Some(tag) = Tag::read(&rest[at..]) else {
            rest = &rest[at + 1..];
            continue;
        };
        let inside = &rest[at + tag.length..];
        let close = format!("</{}>", tag.written);
        let end = if unclosed.contains(&close) { None } else { inside.find(&close) };
        let Some(end) = end else {
            unclosed.insert(close);
            rest = inside;
            continue;
        };
        rest = &inside[end + close.len()..];
        found.push((tag, &inside[..end]));
    }
    found
}

pub(super) fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | ':' | '.')
}
