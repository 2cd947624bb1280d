//! Values that are known to be secret, hidden wherever and however they are written.

use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::{MARK, encoding};

/// Shorter secrets are not looked for by value: five characters occur in ordinary text by chance, and hiding every
/// `admin` or `12345` would destroy a log without protecting anything. They are still hidden behind their keys.
pub const SHORTEST_SECRET: usize = 6;

/// The shortest value that is looked for where [`crate::Redactor::hiding_words`] is asked to: two characters are a word of
/// any sentence.
pub const SHORTEST_WORD: usize = 3;

/// A base64 core shorter than this is found in ordinary words by chance.
const SHORTEST_CORE: usize = 10;

pub(crate) struct ExactValues {
    /// Absent when there is nothing to look for, which spares every text a pass.
    search: Option<Search>,
    /// Forms from this index on are base64 cores: what surrounds them may encode the rest of the value.
    first_core: usize,
    ignored: usize,
    longest: usize,
    /// As they are written in the open, in order.
    plain: Vec<String>,
    /// Too short to be looked for inside of others: hidden where they stand alone.
    words: Vec<String>,
}

/// Almost every text is clean, and the search for any value, which may skip, is several times faster than that for all.
struct Search {
    any: AhoCorasick,
    all: AhoCorasick,
}

impl ExactValues {
    pub(crate) fn new(secrets: Vec<String>) -> Self {
        let handed_in = secrets.len();
        let secrets: Vec<String> = secrets.into_iter().filter(|secret| is_usable(secret)).collect();
        let mut forms: Vec<String> = secrets.iter().flat_map(|secret| plain_forms(secret)).collect();
        forms.sort_unstable();
        forms.dedup();
        let (first_core, plain) = (forms.len(), forms.clone());
        forms.extend(secrets.iter().flat_map(|secret| {
            encoding::base64_cores(secret.trim().as_bytes()).into_iter().filter(|core| core.len() >= SHORTEST_CORE)
        }));
        let build = |kind: MatchKind| {
            let automaton = AhoCorasick::builder().match_kind(kind).build(&forms);
            automaton.expect("secrets that were held in memory fit into an automaton")
        };
        let search = (!forms.is_empty())
            .then(|| Search { any: build(MatchKind::LeftmostFirst), all: build(MatchKind::Standard) });
        let longest = forms.iter().map(String::len).max().unwrap_or(0);
        ExactValues { search, first_core, longest, plain, words: Vec::new(), ignored: handed_in - secrets.len() }
    }

    pub(crate) fn add_words(&mut self, words: impl IntoIterator<Item = String>) {
        let is_short = |word: &String| (SHORTEST_WORD..SHORTEST_SECRET).contains(&word.trim().len());
        self.words.extend(words.into_iter().filter(is_short).map(|word| word.trim().to_owned()));
    }

    pub(crate) fn ignored(&self) -> usize {
        self.ignored
    }

    /// The length of the longest form that is looked for.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    pub(crate) fn is_active(&self) -> bool {
        self.search.is_some() || !self.words.is_empty()
    }

    /// How many bytes at the end of a text are the beginning of a known value.
    pub(crate) fn begun_at_the_end_of(&self, text: &str) -> usize {
        let begun = |form: &String| {
            let ends = form.char_indices().rev().map(|(at, _)| at);
            ends.take_while(|at| *at > 0).find(|at| text.ends_with(&form[..*at]))
        };
        self.plain.iter().filter_map(begun).max().unwrap_or(0)
    }

    /// Where known values stand, in order. Values that overlap make one range: no end of either may be seen.
    pub(crate) fn find(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = self.find_values(text);
        found.extend(self.words.iter().flat_map(|word| alone(text, word)));
        if self.words.is_empty() {
            return found;
        }
        found.sort_unstable_by_key(|range| range.end);
        let mut joined = Vec::with_capacity(found.len());
        found.into_iter().for_each(|range| join(&mut joined, range));
        joined
    }

    fn find_values(&self, text: &str) -> Vec<Range<usize>> {
        let Some(search) = self.search.as_ref().filter(|search| search.any.is_match(text)) else { return Vec::new() };
        let mut found: Vec<Range<usize>> = Vec::new();
        let mut run = 0..0;
        // Hits come in the order of their ends.
        for hit in search.all.find_overlapping_iter(text) {
            let range = if hit.pattern().as_usize() < self.first_core {
                hit.range()
            } else if hit.end() <= run.end {
                continue;
            } else {
                run = base64_around(text.as_bytes(), hit.range());
                run.clone()
            };
            join(&mut found, range);
        }
        found
    }
}

/// Where a word stands between signs that belong to no word.
fn alone(text: &str, word: &str) -> impl Iterator<Item = Range<usize>> {
    let belongs = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-');
    text.match_indices(word)
        .map(|(at, word)| at..at + word.len())
        .filter(move |range| !text[..range.start].ends_with(belongs) && !text[range.end..].starts_with(belongs))
}

/// The whole run of base64 that a part of it belongs to.
fn base64_around(bytes: &[u8], core: Range<usize>) -> Range<usize> {
    let start = bytes[..core.start].iter().rposition(|&byte| !encoding::is_base64(byte)).map_or(0, |at| at + 1);
    let end = bytes[core.end..].iter().position(|&byte| !encoding::is_base64(byte));
    start..end.map_or(bytes.len(), |at| core.end + at)
}

/// Adds a range to those that were found before it, none of which lies wholly behind it.
fn join(found: &mut Vec<Range<usize>>, mut range: Range<usize>) {
    while let Some(last) = found.pop_if(|last| range.start < last.end) {
        range = range.start.min(last.start)..range.end.max(last.end);
    }
    found.push(range);
}

fn is_usable(secret: &str) -> bool {
    let secret = secret.trim();
    secret.len() >= SHORTEST_SECRET && !MARK.contains(secret) && !secret.contains(MARK)
}

/// The value itself, as it stands inside a JSON string (once and twice escaped) and percent-encoded.
fn plain_forms(secret: &str) -> Vec<String> {
    let secret = secret.trim();
    let mut forms = vec![secret.to_owned()];
    forms.extend(encoding::json_escaped(secret));
    forms.extend(encoding::percent_encoded(secret));
    forms
}
