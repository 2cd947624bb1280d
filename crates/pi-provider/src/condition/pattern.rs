//! What `=~` compares with.

use regex::{Regex, RegexBuilder};

use crate::path::syntax::{Cursor, SyntaxError};

/// `/…/` and quoted text with an anchor (`^` first or `$` last) are regular expressions; other quoted text is taken
/// whole, with `*` for any text and `?` for any character.
#[derive(Debug, Clone)]
pub(super) struct Pattern(Regex);

impl Pattern {
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self, SyntaxError> {
        let expression = if cursor.peek() == Some('/') {
            let expression = cursor.delimited('/', "a closing /")?;
            if cursor.take("i") { format!("(?i){expression}") } else { expression }
        } else {
            let text = cursor.quoted()?.ok_or_else(|| cursor.error("a quoted pattern or /…/"))?;
            let anchored = text.starts_with('^') || text.ends_with('$');
            if anchored { text } else { from_wildcards(&text) }
        };
        let regex = RegexBuilder::new(&expression).size_limit(1 << 20).build();
        regex.map(Self).map_err(|_| cursor.error("a regular expression"))
    }

    pub(super) fn fits(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

/// Two patterns are the same if they are written the same.
impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

fn from_wildcards(text: &str) -> String {
    let escaped = regex::escape(text).replace(r"\*", ".*").replace(r"\?", ".");
    format!("(?s)^{escaped}$")
}
