//! Where calls begin and end in a text: tags, fences and markers.

use super::{
    Grammar, Leniency, TextCall,
    body::{named_in_tag, read_calls, read_element, read_json_calls},
    json::{End, JsonSearch},
    tag::{self, ORNAMENTS, Tag, is_name},
};

/// Tags around several calls.
pub(super) const GROUPS: [&str; 3] = ["tool_calls", "function_calls", "tools"];

/// Tags of one call, whose name is in an attribute, after an equals sign, or in the body.
pub(super) const CALLS: [&str; 4] = ["tool_call", "function_call", "invoke", "function"];

/// Words before a JSON list or object of calls.
const MARKERS: [&str; 2] = ["[TOOL_CALLS]", "<|python_tag|>"];

/// Words behind such a call that say that it is over.
const END_MARKS: [&str; 2] = ["<|eom_id|>", "<|eot_id|>"];

/// Where a call may begin.
pub(super) struct Opening {
    pub(super) start: usize,
    /// Absent as long as the tag itself is not complete.
    pub(super) block: Option<Block>,
}

/// A stretch of text that is a call, or several.
#[derive(Debug)]
pub(super) struct Block {
    kind: Kind,
    /// Where its body begins, counted from its own beginning.
    body: usize,
}

/// How far the end of a block has been looked for.
#[derive(Debug, Default)]
pub(super) struct Search {
    searched: usize,
    json: JsonSearch,
}

/// What something is that looks like the end of a block.
enum Standing {
    End,
    /// Part of a text.
    Quoted,
    /// More text decides.
    Unknown,
}

#[derive(Debug)]
enum Kind {
    /// Ends with `</tag>`.
    Tag(Tag),
    /// Ends with a fence on a line of its own. The tag is what stands behind the first one.
    Fence(Tag),
    /// Ends with the JSON value.
    Marker,
    /// Says that a call is over, and is none.
    EndMark,
}

/// The first place where a call begins, or where one may begin once more text has arrived.
pub(super) fn find_opening(grammar: &Grammar, text: &str, mut from: usize) -> Option<Opening> {
    while let Some(at) = text[from..].find(['<', '`', '[']).map(|at| from + at) {
        match opening_at(grammar, &text[at..]) {
            Found::Block(block) => return Some(Opening { start: at, block: Some(block) }),
            Found::Maybe => return Some(Opening { start: at, block: None }),
            Found::Nothing => from = at + 1,
        }
    }
    None
}

enum Found {
    Block(Block),
    /// More text decides.
    Maybe,
    Nothing,
}

fn opening_at(grammar: &Grammar, text: &str) -> Found {
    if grammar.leniency == Leniency::Lenient {
        for marker in MARKERS {
            if text.starts_with(marker) {
                return Found::Block(Block { kind: Kind::Marker, body: marker.len() });
            }
            if marker.starts_with(text) {
                return Found::Maybe;
            }
        }
        for mark in END_MARKS {
            if text.starts_with(mark) {
                return Found::Block(Block { kind: Kind::EndMark, body: mark.len() });
            }
            if mark.starts_with(text) {
                return Found::Maybe;
            }
        }
    }
    if text.starts_with('`') {
        return if grammar.is_fenced() { fence_at(grammar, text) } else { Found::Nothing };
    }
    if !text.starts_with('<') {
        return Found::Nothing;
    }
    // A tag that is not complete is looked at again with every piece, so that must cost little.
    let is_complete = text[..text.floor_char_boundary(tag::LONGEST)].contains('>');
    match is_complete.then(|| Tag::read(text)).flatten() {
        Some(tag) if is_call(grammar, &tag) => {
            let body = tag.length;
            Found::Block(Block { kind: Kind::Tag(tag), body })
        }
        Some(_) => Found::Nothing,
        None if text.len() < tag::LONGEST && may_be_tag(grammar, &text[1..]) => Found::Maybe,
        None => Found::Nothing,
    }
}

/// ```` ```tool_call ```` at the beginning of a block of code.
fn fence_at(grammar: &Grammar, text: &str) -> Found {
    let Some(info) = text.strip_prefix("```") else {
        return if "```".starts_with(text) { Found::Maybe } else { Found::Nothing };
    };
    let wanted = grammar.fallback.wrapper.as_str();
    let info = &info[..info.floor_char_boundary(tag::LONGEST)];
    let may_be = || match info.strip_prefix(wanted) {
        Some(rest) => rest.is_empty() || rest.starts_with(char::is_whitespace),
        None => wanted.starts_with(info),
    };
    match info.split_once('\n') {
        Some((line, _)) => match fence_tag(wanted, line.trim()) {
            Some(tag) => Found::Block(Block { kind: Kind::Fence(tag), body: "```".len() + line.len() + 1 }),
            None => Found::Nothing,
        },
        None if info.len() < tag::LONGEST && may_be() => Found::Maybe,
        None => Found::Nothing,
    }
}

/// What stands behind a fence, as a tag: the word, perhaps with attributes.
fn fence_tag(wanted: &str, line: &str) -> Option<Tag> {
    if line == wanted {
        return Some(Tag { written: String::new(), name: wanted.to_owned(), attributes: Vec::new(), length: 0 });
    }
    Tag::read(&format!("<{line}>")).filter(|tag| tag.name == wanted && tag.length == line.len() + 2)
}

fn is_call(grammar: &Grammar, tag: &Tag) -> bool {
    if grammar.leniency == Leniency::Strict {
        return tag.name == grammar.fallback.wrapper;
    }
    tag.name == grammar.fallback.wrapper
        || GROUPS.contains(&tag.name.as_str())
        || CALLS.contains(&tag.name.as_str())
        || grammar.tool_of_tag(&tag.name).is_some()
}

/// Whether an incomplete tag may become one of ours.
fn may_be_tag(grammar: &Grammar, inside: &str) -> bool {
    let name = ORNAMENTS.iter().find_map(|prefix| inside.strip_prefix(prefix)).unwrap_or(inside);
    if ORNAMENTS.iter().any(|prefix| prefix.starts_with(inside)) {
        return true;
    }
    let end = name.find(|c: char| !is_name(c)).unwrap_or(name.len());
    let (word, rest) = name.split_at(end);
    let dialects = grammar.fallback.known_dialects.iter().map(|dialect| dialect.tag.as_str());
    let ours = [grammar.fallback.wrapper.as_str()].into_iter();
    let candidates = ours.chain(GROUPS).chain(CALLS).chain(dialects);
    let mut candidates = candidates.into_iter();
    if rest.is_empty() { candidates.any(|tag| tag.starts_with(word)) } else { candidates.any(|tag| tag == word) }
}

impl Block {
    /// Where the block is over, if it is. `text` begins with it, and has grown since the same search was made before.
    pub(super) fn find_end(&self, text: &str, search: &mut Search) -> End {
        let from = search.searched.max(self.body);
        if self.is_end_mark() {
            return End::At(self.body);
        }
        if let Kind::Marker = self.kind {
            search.searched = text.len();
            return search.json.find_end(text, from, self.body);
        }
        let close = self.close();
        // The end may have been cut in two.
        let mut from = text.floor_char_boundary(from.saturating_sub(close.len()).max(self.body));
        while let Some(at) = text[from..].find(&close).map(|at| from + at) {
            let end = at + close.len();
            match self.standing(text, at, end) {
                Standing::End => return End::At(end),
                Standing::Quoted => from = end,
                Standing::Unknown => {
                    search.searched = at;
                    return End::NotYet;
                }
            }
        }
        search.searched = text.len();
        End::NotYet
    }

    /// Whether what closes the block between these places does, or stands in a text of its JSON. A text that goes on to the
    /// end of its line without a quote is not closed at all: then the model forgot one.
    fn standing(&self, text: &str, at: usize, end: usize) -> Standing {
        let body = text[self.body..at].trim_start();
        let inner = |open: char| body.strip_prefix(open).map_or("", str::trim_start);
        let is_json = inner('{').starts_with('"') || inner('[').starts_with('{');
        if !is_json || !JsonSearch::is_in_string(body) {
            return Standing::End;
        }
        let mut escaped = false;
        for byte in text[end..].bytes() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => return Standing::Quoted,
                b'\n' => return Standing::End,
                _ => {}
            }
        }
        Standing::Unknown
    }

    fn close(&self) -> String {
        match &self.kind {
            Kind::Tag(tag) => format!("</{}>", tag.written),
            Kind::Fence(_) => "\n```".to_owned(),
            Kind::Marker | Kind::EndMark => String::new(),
        }
    }

    pub(super) fn is_end_mark(&self) -> bool {
        matches!(self.kind, Kind::EndMark)
    }

    /// The calls of a whole block; `None` if there are none in it after all.
    pub(super) fn read(&self, grammar: &Grammar, block: &str) -> Option<Vec<TextCall>> {
        let close = self.close();
        self.read_body(grammar, block[self.body..].strip_suffix(&close).unwrap_or(&block[self.body..]))
    }

    /// The calls of a block that the model forgot to close, if all that it needs is there.
    pub(super) fn read_open_end(&self, grammar: &Grammar, text: &str) -> Option<Vec<TextCall>> {
        match grammar.leniency {
            Leniency::Strict => None,
            Leniency::Lenient => self.read_body(grammar, &text[self.body..]),
        }
    }

    fn read_body(&self, grammar: &Grammar, body: &str) -> Option<Vec<TextCall>> {
        let calls = match &self.kind {
            Kind::Tag(tag) => read_element(grammar, tag, body),
            Kind::Fence(tag) => read_calls(grammar, body, named_in_tag(grammar, tag)),
            Kind::Marker => read_json_calls(grammar, body, None),
            Kind::EndMark => None,
        }?;
        (!calls.is_empty()).then_some(calls)
    }
}
