//! Which entries the next prompt is made of, and which it is not any more.

use std::{collections::HashMap, sync::Arc};

use pi_transcript::Entry;

use super::{Kept, Kind, Place, Span, Tree};
use crate::{context, offer};

/// An entry of the current path that the model is not shown any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftOut {
    pub place: Place,
    /// The last edit of it on the path.
    pub edit: Option<Place>,
}

impl Tree {
    /// The entries that must be held before [`entries`](Self::entries) can be asked for, with their places in the file.
    ///
    /// Ask again when they are: what a compaction keeps is known only when it was read.
    pub fn missing(&mut self) -> Vec<(Place, Span)> {
        self.region = self.compute_region();
        let absent = self.region.iter().copied().filter(|place| !self.held.contains_key(place));
        absent.map(|place| (place, self.nodes[place.index()].span)).collect()
    }

    /// Holds an entry that was read from the file.
    pub fn hold(&mut self, place: Place, entry: Entry) {
        self.held.insert(place, Arc::new(entry.into()));
    }

    /// The entries of the current path that decide what the model sees, the oldest first.
    ///
    /// [`context::build`] of them is what it would be of the whole path, once nothing is [`missing`](Self::missing).
    pub fn entries(&self) -> Vec<Arc<Kept>> {
        self.region.iter().filter_map(|place| self.held.get(place).cloned()).collect()
    }

    /// The path from the first entry that the last compaction kept, and before it what tells model, thinking level and offer.
    /// If an entry is not held that must be known to say more, that is the last word for now.
    pub(super) fn compute_region(&self) -> Vec<Place> {
        let path = self.path(self.leaf);
        let start = match self.first_kept(&path) {
            Ok(start) => start,
            Err(unknown) => return vec![unknown],
        };
        let mut region = self.settings_before(&path, start);
        // The first one counts in any case: a compaction may name an entry that nobody sees.
        let seen =
            path[start..].iter().enumerate().filter(|(index, place)| *index == 0 || self.kind(**place).is_seen());
        region.extend(seen.map(|(_, place)| *place));
        region
    }

    /// What can have been said on the current path before what the last compaction kept, the oldest first; see
    /// [`context::said`]. Nothing before everything that [`missing`](Self::missing) names is held.
    pub fn left_out(&self) -> Vec<LeftOut> {
        let path = self.path(self.leaf);
        let Ok(start) = self.first_kept(&path) else { return Vec::new() };
        // A parent stands before its child, so a path is sorted.
        let is_on_path = |place: &Place| path.binary_search(place).is_ok();
        let last_edits = self.edits.iter().filter_map(|(target, edits)| {
            let target = self.names.find(target.as_str())?;
            // Nobody edits what is yet to come.
            let last = edits.iter().rev().find(|edit| **edit > target && is_on_path(edit))?;
            Some((target, *last))
        });
        let last_edits: HashMap<Place, Place> = last_edits.collect();
        let speaking = path[..start].iter().filter(|place| self.kind(**place).speaks());
        speaking.map(|place| LeftOut { place: *place, edit: last_edits.get(place).copied() }).collect()
    }

    /// Where on a path begins what its last compaction kept; at its beginning, if there is none. Refused with a compaction that
    /// is not held.
    fn first_kept(&self, path: &[Place]) -> Result<usize, Place> {
        for (index, place) in path.iter().enumerate().rev() {
            if self.kind(*place) != Kind::Compaction {
                continue;
            }
            // What only calls itself a compaction is none.
            if let Kept::Other(Entry::Compaction(compaction)) = &**self.held.get(place).ok_or(*place)? {
                let kept = compaction.first_kept_entry_id.as_str();
                let is_kept = |place: &Place| self.names.is(self.nodes[place.index()].name, kept);
                return Ok(path[..index].iter().position(is_kept).unwrap_or(index));
            }
        }
        Ok(0)
    }

    /// The last entries before `start` that tell model, thinking level and offer, whatever those behind it tell.
    fn settings_before(&self, path: &[Place], start: usize) -> Vec<Place> {
        let tells_model = |place: &&Place| matches!(self.kind(**place), Kind::ModelChange | Kind::Assistant);
        let tells_level = |place: &&Place| self.kind(**place) == Kind::ThinkingLevelChange;
        let tells_offer = |place: &&Place| self.kind(**place) == Kind::Offer;
        let model = self.last_telling(&path[..start], tells_model, |kept| context::model_of(kept).is_some());
        let level = self.last_telling(&path[..start], tells_level, |kept| context::level_of(kept).is_some());
        let offer = self.last_telling(&path[..start], tells_offer, |kept| offer::of(kept).is_some());
        let mut found: Vec<Place> = [model, level, offer].into_iter().flatten().collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The last entries of a kind up to one that `tells`; one that is not held may.
    fn last_telling(
        &self,
        path: &[Place],
        is_kind: impl Fn(&&Place) -> bool,
        tells: impl Fn(&Kept) -> bool,
    ) -> Option<Place> {
        path.iter().rev().filter(is_kind).find(|place| self.held.get(place).is_none_or(|kept| tells(kept))).copied()
    }
}
