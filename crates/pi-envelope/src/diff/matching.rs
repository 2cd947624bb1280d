//! Which segment of one envelope is which of the other.

use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
};

use super::Entry;

/// Which segments belong together, by their places in prompt order.
pub(super) struct Pairing {
    /// For each segment of the first envelope, its partner in the second.
    pub(super) after: Vec<Option<usize>>,
    /// For each segment of the second envelope, its partner in the first.
    pub(super) before: Vec<Option<usize>>,
    /// For each segment of the second envelope, whether it is among those whose order did not change.
    pub(super) kept_order: Vec<bool>,
}

pub(super) fn pair(old: &[Entry<'_>], new: &[Entry<'_>]) -> Pairing {
    let mut pairing =
        Pairing { after: vec![None; old.len()], before: vec![None; new.len()], kept_order: vec![false; new.len()] };
    pairing.join(&keys(old, Entry::id), &keys(new, Entry::id));
    let says = |entry: &Entry<'_>| Some((entry.role, entry.digest));
    pairing.join(&keys(old, says), &keys(new, says));
    if old.iter().chain(new).any(|entry| entry.id().is_none()) {
        pairing.join(&anonymous(old), &anonymous(new));
    }
    pairing.mark_order();
    pairing
}

fn keys<'a, K>(entries: &[Entry<'a>], key: impl Fn(&Entry<'a>) -> Option<K>) -> Vec<Option<K>> {
    entries.iter().map(key).collect()
}

/// What is left to know a segment by that says something else and has no id: its message, its kind and its place.
fn anonymous<'a>(entries: &[Entry<'a>]) -> Vec<Option<(&'a str, crate::Kind, usize)>> {
    keys(entries, |entry| Some((entry.message, entry.segment.body.kind(), entry.place.segment)))
}

impl Pairing {
    /// Joins segments with equal keys that have no partner yet, the first with the first.
    fn join<K: Hash + Eq>(&mut self, old: &[Option<K>], new: &[Option<K>]) {
        let mut waiting: HashMap<&K, VecDeque<usize>> = HashMap::new();
        for (index, key) in old.iter().enumerate().filter(|(index, _)| self.after[*index].is_none()) {
            if let Some(key) = key {
                waiting.entry(key).or_default().push_back(index);
            }
        }
        for (index, key) in new.iter().enumerate() {
            if self.before[index].is_none()
                && let Some(key) = key
                && let Some(partner) = waiting.get_mut(key).and_then(VecDeque::pop_front)
            {
                self.before[index] = Some(partner);
                self.after[partner] = Some(index);
            }
        }
    }

    /// Marks a longest run of pairs that stand in the same order on both sides; the others moved.
    fn mark_order(&mut self) {
        // `ends[n]` is the segment that ends a rising run of length n + 1 with the smallest partner.
        let mut ends: Vec<usize> = Vec::new();
        let mut previous: Vec<Option<usize>> = vec![None; self.before.len()];
        for (index, partner) in self.before.iter().enumerate() {
            if let Some(partner) = partner {
                let length = ends.partition_point(|&end| self.before[end].is_some_and(|other| other < *partner));
                previous[index] = length.checked_sub(1).map(|shorter| ends[shorter]);
                if length == ends.len() {
                    ends.push(index);
                } else {
                    ends[length] = index;
                }
            }
        }
        let mut last = ends.last().copied();
        while let Some(index) = last {
            self.kept_order[index] = true;
            last = previous[index];
        }
    }
}
