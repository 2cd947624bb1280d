//! What is odd about the tools of guests: told when a session begins, and of those that come later when they come.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Mutex, PoisonError},
};

use super::Guests;
use crate::guest::{GuestId, RefusedTool};

/// Of one guest, until it is loaded anew: a server may change its list every second.
const MOST: usize = 32;

/// Something about a tool that a person would not expect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OddTool {
    /// No model is told of it.
    Refused(RefusedTool),
    /// It is in the place of one of ours.
    Replaces { guest: GuestId, tool: String },
}

/// What was told of each guest, in words.
#[derive(Default)]
pub(super) struct Told {
    /// A lock and no task: held for a comparison, by the session and by whoever starts its guests.
    known: Mutex<BTreeMap<GuestId, BTreeSet<String>>>,
}

impl OddTool {
    pub fn guest(&self) -> &GuestId {
        match self {
            Self::Refused(refused) => &refused.guest,
            Self::Replaces { guest, .. } => guest,
        }
    }
}

impl Told {
    /// Notes it; answers whether it is new and there is still room for it.
    fn note(&self, odd: &OddTool) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let of_guest = known.entry(odd.guest().clone()).or_default();
        of_guest.len() < MOST && of_guest.insert(odd.to_string())
    }

    /// For a guest that goes or is exchanged: what the next one of its name offers is told anew.
    pub(super) fn forget(&self, guest: &GuestId) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(guest);
    }
}

impl Guests {
    /// Everything that is odd about their tools now; it counts as told.
    pub fn odd_tools(&self, is_ours: impl Fn(&str) -> bool) -> Vec<OddTool> {
        let odd = self.find_odd_tools(is_ours);
        for one in &odd {
            self.told.note(one);
        }
        odd
    }

    /// What is odd and was not told yet; from now on it counts as told. Of one guest it has an end.
    pub fn new_odd_tools(&self, is_ours: impl Fn(&str) -> bool) -> Vec<OddTool> {
        let mut odd = self.find_odd_tools(is_ours);
        odd.retain(|one| self.told.note(one));
        odd
    }

    fn find_odd_tools(&self, is_ours: impl Fn(&str) -> bool) -> Vec<OddTool> {
        let refused = self.refused_tools().into_iter().map(OddTool::Refused);
        let replacing = self.tools().into_iter().filter(|tool| is_ours(&tool.offer.definition.name));
        let replacing =
            replacing.map(|tool| OddTool::Replaces { tool: tool.offer.definition.name.clone(), guest: tool.guest });
        refused.chain(replacing).collect()
    }
}

impl fmt::Display for OddTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refused) => refused.fmt(f),
            Self::Replaces { guest, tool } => {
                write!(f, "the tool {tool} is that of extension {guest}, in the place of ours")
            }
        }
    }
}
