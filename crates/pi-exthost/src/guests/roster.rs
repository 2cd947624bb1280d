//! What is known of the guests of a session, for whoever lists them.

use std::sync::{Arc, Weak};

use pi_extproto::manifest::Tier;

use super::Guests;
use crate::{desk::Figures, dispatcher::House};

/// A guest and what it has done.
#[derive(Debug, Clone, PartialEq)]
pub struct Enrolled {
    pub id: String,
    pub name: String,
    /// Where it was loaded from.
    pub path: String,
    pub tier: Tier,
    /// Nothing for one that was started without a desk.
    pub version: Option<String>,
    /// What it says that it needs.
    pub capabilities: Vec<String>,
    pub tools: Vec<String>,
    pub commands: Vec<String>,
    pub figures: Figures,
}

impl Guests {
    /// Where their desks are. Once: the guests of a session do not change under it.
    pub(crate) fn settle_in(&self, house: &Arc<House>) {
        // Guests that are introduced twice are those that are known.
        let _ = self.house.set(Arc::downgrade(house));
    }

    /// All of them, in the order in which they were attached.
    pub fn enrolled(&self) -> Vec<Enrolled> {
        let house = self.house.get().and_then(Weak::upgrade);
        let attached = self.attached();
        let enrolled = attached.iter().map(|attached| {
            let registration = attached.guest.registration();
            let desk = house.as_ref().and_then(|house| house.desk_of(&registration.id));
            let needs = desk.iter().flat_map(|desk| desk.identity().declared.requirements());
            Enrolled {
                id: registration.id.as_str().to_owned(),
                name: registration.name.clone(),
                path: registration.path.clone(),
                tier: attached.guest.tier(),
                version: desk.as_ref().map(|desk| desk.identity().version.clone()),
                capabilities: needs.map(|need| need.capability.as_str().to_owned()).collect(),
                tools: registration.tools.iter().map(|tool| tool.definition.name.clone()).collect(),
                commands: registration.commands.iter().map(|command| command.definition.name.clone()).collect(),
                figures: desk.as_ref().map(|desk| desk.figures()).unwrap_or_default(),
            }
        });
        enrolled.collect()
    }
}
