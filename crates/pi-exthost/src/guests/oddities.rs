//! What is odd about what guests offer: told when a session begins, and of what comes later when it comes.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Mutex, PoisonError},
};

use super::Guests;
use crate::guest::{GuestId, RefusedTool, UnusableOffer};

/// Of one guest, until it is loaded anew: a server may change its list every second.
const MOST: usize = 32;

/// Something about an offer that a person would not expect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Oddity {
    /// It is left out: it is not what it should be.
    Unusable { guest: GuestId, offer: UnusableOffer },
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

impl Oddity {
    pub fn guest(&self) -> &GuestId {
        match self {
            Self::Refused(refused) => &refused.guest,
            Self::Replaces { guest, .. } | Self::Unusable { guest, .. } => guest,
        }
    }
}

impl Told {
    /// Notes it; answers whether it is new and there is still room for it.
    fn note(&self, odd: &Oddity) -> bool {
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
    /// Everything that is odd about what they offer now; it counts as told.
    pub fn oddities(&self, is_ours: impl Fn(&str) -> bool) -> Vec<Oddity> {
        let odd = self.find_oddities(is_ours);
        for one in &odd {
            self.told.note(one);
        }
        odd
    }

    /// What is odd and was not told yet; from now on it counts as told. Of one guest it has an end.
    pub fn new_oddities(&self, is_ours: impl Fn(&str) -> bool) -> Vec<Oddity> {
        let mut odd = self.find_oddities(is_ours);
        odd.retain(|one| self.told.note(one));
        odd
    }

    fn find_oddities(&self, is_ours: impl Fn(&str) -> bool) -> Vec<Oddity> {
        let refused = self.refused_tools().into_iter().map(Oddity::Refused);
        let replacing = self.tools().into_iter().filter(|tool| is_ours(&tool.offer.definition.name));
        let replacing =
            replacing.map(|tool| Oddity::Replaces { tool: tool.offer.definition.name.clone(), guest: tool.guest });
        let registrations = self.registrations();
        let unusable = registrations.iter().flat_map(|registration| {
            let of_guest =
                |offer: &UnusableOffer| Oddity::Unusable { guest: registration.id.clone(), offer: offer.clone() };
            registration.unusable.iter().map(of_guest)
        });
        unusable.chain(refused).chain(replacing).collect()
    }
}

impl fmt::Display for Oddity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unusable { guest, offer: UnusableOffer { what, why } } => {
                write!(f, "extension {guest} registers {what}, which is left out: {why}")
            }
            Self::Refused(refused) => refused.fmt(f),
            Self::Replaces { guest, tool } => {
                write!(f, "the tool {tool} is that of extension {guest}, in the place of ours")
            }
        }
    }
}
