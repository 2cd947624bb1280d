//! Values that are known to be secret, hidden wherever and however they are written.

use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::{MARK, encoding};

/// Shorter secrets are not looked for by value: five characters occur in ordinary text by chance, and hiding every
/// `admin` or `12345` would destroy a log without protecting anything. They are still hidden behind their keys.
pub const SHORTEST_SECRET: usize = 6;

/// A base64 core shorter than this is found in ordinary words by chance.
const SHORTEST_CORE: usize = 10;

pub(crate) struct ExactValues {
    /// Absent when there is nothing to look for, which spares every text a pass.
    automaton: Option<AhoCorasick>,
    /// Forms from this index on are base64 cores: what surrounds them may encode the rest of the value.
    first_core: usize,
    ignored: usize,
}

impl ExactValues {
    pub(crate) fn new(secrets: Vec<String>) -> Self {
        let handed_in = secrets.len();
        let secrets: Vec<String> = secrets.into_iter().filter(|secret| is_usable(secret)).collect();
        let mut forms: Vec<String> = secrets.iter().flat_map(|secret| plain_forms(secret)).collect();
        forms.sort_unstable();
        forms.dedup();
        let first_core = forms.len();
        forms.extend(secrets.iter().flat_map(|secret| {
            encoding::base64_cores(secret.trim().as_bytes()).into_iter().filter(|core| core.len() >= SHORTEST_CORE)
        }));
        // Longest first, so that a secret which begins with another one is hidden as a whole.
        let build = || AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&forms);
        let automaton =
            (!forms.is_empty()).then(|| build().expect("secrets that were held in memory fit into an automaton"));
        ExactValues { automaton, first_core, ignored: handed_in - secrets.len() }
    }

    pub(crate) fn ignored(&self) -> usize {
        self.ignored
    }

    pub(crate) fn is_active(&self) -> bool {
        self.automaton.is_some()
    }

    /// Where known values stand, in order and without overlap.
    pub(crate) fn find(&self, text: &str) -> Vec<Range<usize>> {
        let Some(automaton) = &self.automaton else { return Vec::new() };
        let bytes = text.as_bytes();
        let mut found: Vec<Range<usize>> = Vec::new();
        for hit in automaton.find_iter(text) {
            let floor = found.last().map_or(0, |range| range.end);
            if hit.start() < floor {
                continue;
            }
            found.push(if hit.pattern().as_usize() < self.first_core {
                hit.range()
            } else {
                let start = bytes[floor..hit.start()].iter().rposition(|&byte| !encoding::is_base64(byte));
                let end = bytes[hit.end()..].iter().position(|&byte| !encoding::is_base64(byte));
                start.map_or(floor, |at| floor + at + 1)..end.map_or(bytes.len(), |at| hit.end() + at)
            });
        }
        found
    }
}

fn is_usable(secret: &str) -> bool {
    let secret = secret.trim();
    secret.len() >= SHORTEST_SECRET && !MARK.contains(secret) && !secret.contains(MARK)
}

/// The value itself, as it stands inside a JSON string (once and twice escaped) and percent-encoded.
fn plain_forms(secret: &str) -> Vec<String> {
    let secret = secret.trim();
    let escaped = json_escaped(secret);
    vec![
        secret.to_owned(),
        json_escaped(&escaped),
        escaped,
        encoding::percent_encoded(secret, encoding::UPPER_DIGITS, "%20"),
        encoding::percent_encoded(secret, encoding::LOWER_DIGITS, "%20"),
        encoding::percent_encoded(secret, encoding::UPPER_DIGITS, "+"),
    ]
}

fn json_escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}
