//! A table of tokens as it lies in the program, and how many tokens a word has by it.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::place;

/// The tokens of a kind of models, by rank: what is merged first has the lowest.
pub(super) struct Ranks {
    slots: &'static [u8],
    ends: &'static [u8],
    letters: &'static [u8],
}

macro_rules! embedded {
    ($name:literal) => {
        Ranks {
            slots: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".slots")),
            ends: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".ends")),
            letters: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".letters")),
        }
    };
}

pub(super) static O200K: Ranks = embedded!("o200k");
pub(super) static CL100K: Ranks = embedded!("cl100k");

/// Words up to this length are merged by looking at all pairs each time, which is faster for few.
const SHORT: usize = 100;
/// The bits in which a place holds a rank.
const RANKS: u32 = (1 << place::RANK_BITS) - 1;
/// No token: it is merged last, which is never.
const NONE: u32 = u32::MAX;

impl Ranks {
    /// How many tokens a word has that is not cut any more.
    pub(super) fn count(&self, word: &[u8]) -> usize {
        if word.len() < 2 || self.rank(word) != NONE {
            return usize::from(!word.is_empty());
        }
        if word.len() < SHORT { self.merge_short(word) } else { self.merge_long(word) }
    }

    /// The rank of a token, [`NONE`] if it is not one.
    fn rank(&self, token: &[u8]) -> u32 {
        let hash = place::hash(token);
        let count = self.slots.len() / 4;
        let mut slot = place::first(hash, count);
        loop {
            let found = number(self.slots, slot) ^ place::mark(hash);
            let Some(rank) = (found & RANKS).checked_sub(1) else { return NONE };
            if found == rank + 1 && self.token(rank) == token {
                return rank;
            }
            slot = place::next(slot, count);
        }
    }

    fn token(&self, rank: u32) -> &'static [u8] {
        let rank = rank as usize;
        let begin = rank.checked_sub(1).map_or(0, |before| number(self.ends, before) as usize);
        &self.letters[begin..number(self.ends, rank) as usize]
    }

    /// Merges the pair with the lowest rank, the first of several, until none is left.
    fn merge_short(&self, word: &[u8]) -> usize {
        // Each part with the rank that it and the next one would have as one.
        let mut parts: Vec<(usize, u32)> = (0..=word.len()).map(|begin| (begin, NONE)).collect();
        let rank = |parts: &[(usize, u32)], part: usize| match parts.get(part + 2) {
            Some((end, _)) => self.rank(&word[parts[part].0..*end]),
            None => NONE,
        };
        for part in 0..word.len() {
            parts[part].1 = rank(&parts, part);
        }
        while let Some((part, _)) =
            parts.iter().enumerate().filter(|(_, (_, rank))| *rank != NONE).min_by_key(|(_, (_, rank))| *rank)
        {
            parts.remove(part + 1);
            parts[part].1 = rank(&parts, part);
            if let Some(before) = part.checked_sub(1) {
                parts[before].1 = rank(&parts, before);
            }
        }
        parts.len() - 1
    }

    /// The same with a queue, for words that somebody made long on purpose.
    fn merge_long(&self, word: &[u8]) -> usize {
        let end = word.len();
        let mut next: Vec<usize> = (1..=end).collect();
        let mut previous: Vec<Option<usize>> = (0..end).map(|part| part.checked_sub(1)).collect();
        let rank = |next: &[usize], part: usize| match next.get(next[part]) {
            Some(end) => self.rank(&word[part..*end]),
            None => NONE,
        };
        let mut ranks: Vec<u32> = (0..end).map(|part| rank(&next, part)).collect();
        let pairs = ranks.iter().enumerate().filter(|(_, rank)| **rank != NONE);
        let mut queue: BinaryHeap<_> = pairs.map(|(part, rank)| Reverse((*rank, part))).collect();
        let mut count = end;
        while let Some(Reverse((lowest, part))) = queue.pop() {
            // What was merged meanwhile has another rank or none.
            if ranks[part] != lowest {
                continue;
            }
            let merged = next[part];
            next[part] = next[merged];
            ranks[merged] = NONE;
            count -= 1;
            if let Some(after) = previous.get_mut(next[part]) {
                *after = Some(part);
            }
            for changed in previous[part].into_iter().chain([part]) {
                ranks[changed] = rank(&next, changed);
                if ranks[changed] != NONE {
                    queue.push(Reverse((ranks[changed], changed)));
                }
            }
        }
        count
    }
}

/// A number of a list of them.
fn number(list: &[u8], index: usize) -> u32 {
    let bytes = list[index * 4..].first_chunk().expect("a list of whole numbers");
    u32::from_le_bytes(*bytes)
}
